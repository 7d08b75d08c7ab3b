"""Values that are averaged, as numbers between 0 and 1."""


def _is_floor(settings):
    """Whether values are counted from the largest one, since a bound is from below."""
    return settings.constraint.gap.form == "floor"


def scale_values(settings, values):
    """Values that are averaged, as numbers between 0 and 1; those of a floor from the top."""
    low, high = settings.range
    if not ((values >= low) & (values <= high)).all():
        wrong = values[~((values >= low) & (values <= high))][0]
        raise ValueError(
            f"Values that are averaged must be in value_range={low, high}, since a mean of "
            f"unbounded values cannot be monitored, but one is {wrong:g}. Pass a wider range, "
            "a bounded loss, or clip the predictions."
        )
    scaled = (values - low) / (high - low)
    return 1.0 - scaled if _is_floor(settings) else scaled


def unscale_mean(settings, mean):
    """A mean of scaled values in units of the values."""
    low, high = settings.range
    return float(low + (1.0 - mean if _is_floor(settings) else mean) * (high - low))
