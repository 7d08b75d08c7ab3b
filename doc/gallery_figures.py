"""Figures of the gallery: `make doc` ends if a text leaves its figure, or a figure has no title."""

TOLERANCE = 2  # pixels


def scrape_figures(block, block_vars, gallery_conf):
    """Check the figures of a block of an example, and store them as sphinx-gallery does."""
    import matplotlib.pyplot as plt
    from sphinx_gallery.scrapers import matplotlib_scraper

    for number in plt.get_fignums():
        check_figure(plt.figure(number), block_vars["src_file"])
    return matplotlib_scraper(block, block_vars, gallery_conf)


def check_figure(figure, source):
    """Raise if a text of the figure is cut, or if it has no title."""
    cut = list_cut_texts(figure)
    if cut:
        raise ValueError(f"Every text must be within its figure, but {source} draws {cut} outside.")
    titles = [ax.get_title(loc) for ax in figure.axes for loc in ("left", "center", "right")]
    if not any(titles) and not figure.get_suptitle():
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


def list_tick_labels(figure):
    """Labels of ticks, which are kept for ticks that are out of range as well."""
    axes = [axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)]
    ticks = [tick for axis in axes for tick in (*axis.majorTicks, *axis.minorTicks)]
    return [label for tick in ticks for label in (tick.label1, tick.label2)]
