"""Words of answers: what was divided, which periods, names with a full stop, and no overlap."""

import copy
import pickle
import re

import numpy as np
import pandas as pd
import pytest

from skfair.__main__ import main
from skfair.audit import Audit
from skfair.audit._formats import PlanePoint, draw_plane, find_plane_axes

RNG = np.random.default_rng(0)
N = 2000
ATTRIBUTES = pd.DataFrame({"sex": RNG.choice(["f", "m"], N), "age": RNG.integers(18, 80, N)})
DECISIONS = (RNG.random(N) < 0.4).astype(int)


def test_a_search_lists_the_bins_of_numbers_with_their_samples():
    report = Audit.from_predictions(None, DECISIONS, sensitive_features=ATTRIBUTES).subgroups()
    (age,) = (one for one in report.reading.columns if one.name == "age")
    assert sum(age.labels.values()) == N and len(age.labels) == 4
    for text, n in age.labels.items():
        condition = re.sub(r"(\d+) < age <= (\d+)", r"\1 < age and age <= \2", text)
        assert n == len(ATTRIBUTES.query(condition))
    assert "age <= " in str(report.reading)


def test_changes_of_two_audits_are_about_periods_and_those_of_two_models_about_models():
    cities = np.resize(["a", "b", "c"], N)
    first = Audit.from_predictions(None, DECISIONS, sensitive_features=cities)
    rest = cities != "c"
    second = Audit.from_predictions(None, DECISIONS[rest], sensitive_features=cities[rest])
    ids = np.arange(N), np.flatnonzero(rest)
    text = " ".join(first.compare(second, ids=ids).findings)
    assert "among the groups of both periods" in text and "models" not in text


def test_the_constructor_names_the_ways_to_make_an_audit():
    for arguments in ((DECISIONS, DECISIONS), ()):
        with pytest.raises(TypeError, match=r"Audit.from_predictions\(y_true, y_pred, sens"):
            Audit(*arguments)
    with pytest.raises(TypeError, match=r"^Audit.from_file\(\) got an unexpected .*'prediction'"):
        Audit.from_file("p.csv", prediction="d")
    audit = Audit.from_predictions(None, DECISIONS, sensitive_features=ATTRIBUTES["sex"])
    for one in (copy.copy(audit), pickle.loads(pickle.dumps(audit))):
        assert one.report().findings == audit.report().findings


def test_a_name_with_a_full_stop_ends_a_sentence():
    clusters = pd.Series(np.arange(N) // 2, name="Nr.")
    report = Audit.from_predictions(
        None, DECISIONS, sensitive_features=ATTRIBUTES["sex"], groups=clusters
    ).report()
    assert "samples: 1,000 by Nr." in report.findings[1] and ".." not in report.findings[1]


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("certify", ["--ratio", "80"], "--ratio=80.0 is more than a ratio of a smaller rate"),
        ("certify", ["--tolerance", "80"], "--tolerance=80.0 is more than any gap"),
        ("plan", ["--shares", "0.1", "0.95"], "--shares must be positive and add up to 1"),
        ("plan", ["--shares", "0.5", "0.5", "-1"], "--shares must be positive and add up to 1"),
    ],
)
def test_messages_are_about_the_option_that_was_passed(command, options, message, tmp_path, capsys):
    if command == "plan":
        arguments = ["plan", "--tolerance", "0.1", *options]
    else:
        ATTRIBUTES.assign(d=DECISIONS).to_csv(tmp_path / "p.csv", index=False)
        arguments = ["certify", str(tmp_path / "p.csv"), "--prediction", "d", "--sensitive", "sex"]
        arguments += options
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    said = capsys.readouterr().err
    assert message in said and "--groups" not in said


def read_boxes(picture):
    """Left and right end, and height, of the names in a plane, in percent of its side."""
    pattern = r'<span class="(\w+)" style="left:([\d.]+)%;top:(-?[\d.]+)%">(.*?)<'
    spans = re.findall(pattern, picture)
    for side, left, top, name in spans:
        width = 1.9 * len(name)
        start = float(left) - width * (side == "left")
        yield start, start + width, float(top)


@pytest.mark.parametrize("seed", range(5))
def test_names_in_a_plane_do_not_overlap(seed):
    rng = np.random.default_rng(seed)
    points = [
        PlanePoint(f"model {i}", x, y, (x, x), (y, y), "near", True)
        for i, (x, y) in enumerate(0.5 + 0.02 * rng.random((8, 2)))
    ]
    axes = find_plane_axes(points, (0.4, 0.6), 0.0)
    boxes = [*read_boxes(draw_plane(axes, points, (0.4, 0.6), 0.0, "gaps"))]
    assert len(boxes) == 8
    for i, (left, right, top) in enumerate(boxes):
        for start, end, other in boxes[:i]:
            assert left >= end or right <= start or abs(top - other) >= 4.4
