"""Figures of the gallery: `make doc` ends if a text is cut or covered, or if a title is missing."""

TOLERANCE = 2  # pixels


def scrape_figures(block, block_vars, gallery_conf):
    """Check the figures of a block of an example, and store them as sphinx-gallery does."""
    import matplotlib.pyplot as plt
    from sphinx_gallery.scrapers import matplotlib_scraper

    for number in plt.get_fignums():
        check_figure(plt.figure(number), block_vars["src_file"])
    return matplotlib_scraper(block, block_vars, gallery_conf)


def check_figure(figure, source):
    """Raise if a text of the figure is cut, if a legend covers one or a line, or without title."""
    cut = list_cut_texts(figure)
    if cut:
        raise ValueError(f"Every text must be within its figure, but {source} draws {cut} outside.")
    if covered := list_covered(figure):
        raise ValueError(f"A legend must cover nothing, but in {source} one covers {covered}.")
    if not list_titles(figure):
        raise ValueError(f"Every figure must have a title that states its claim: see {source}.")


def list_cut_texts(figure):
    """Texts of a figure that leave its canvas, after the layout."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    width, height = figure.canvas.get_width_height()
    labels = set(map(id, list_tick_labels(figure)))
    cut = []
    for text in figure.findobj(lambda one: hasattr(one, "get_text") and one.get_visible()):
        if not text.get_text().strip() or id(text) in labels:
            continue
        box = text.get_window_extent(renderer)
        is_within = box.x0 >= -TOLERANCE and box.x1 <= width + TOLERANCE
        is_within &= box.y0 >= -TOLERANCE and box.y1 <= height + TOLERANCE
        if not is_within:
            cut.append(text.get_text())
    return cut


def list_titles(figure):
    """Titles of a figure and of its axes."""
    titles = [ax.get_title(loc) for ax in figure.axes for loc in ("left", "center", "right")]
    return [title for title in (*titles, figure.get_suptitle()) if title]


def list_covered(figure):
    """Titles of a figure, and labels of lines, that a legend covers."""
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    titles = {*list_titles(figure)}
    covered = []
    for ax in figure.axes:
        legend = ax.get_legend()
        if legend is None:
            continue
        box = legend.get_window_extent(renderer)
        covered += [
            one.get_text()
            for one in figure.findobj(lambda one: hasattr(one, "get_text"))
            if one.get_text() in titles and box.overlaps(one.get_window_extent(renderer))
        ]
        for line in ax.lines:
            path = line.get_transform().transform_path(line.get_path())
            is_joined = line.get_linestyle() not in ("None", "", " ")
            is_covered = is_joined and len(path) > 1 and path.intersects_bbox(box, filled=False)
            if line.get_visible() and (is_covered or box.count_contains(path.vertices)):
                covered.append(line.get_label())
    return covered


def list_tick_labels(figure):
    """Labels of ticks, which are kept for ticks that are out of range as well."""
    axes = [axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)]
    ticks = [tick for axis in axes for tick in (*axis.majorTicks, *axis.minorTicks)]
    return [label for tick in ticks for label in (tick.label1, tick.label2)]
