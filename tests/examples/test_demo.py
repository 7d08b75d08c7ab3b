"""``make demo`` without a network: what its tables say."""

import runpy
from pathlib import Path

import pytest

DEMO = Path(__file__).parents[2] / "examples" / "demo.py"


@pytest.mark.slow
def test_the_demo_shows_a_guaranteed_fit_and_compiles_before_its_tables(
    monkeypatch, tmp_path, capsys
):
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("SKFAIR_DATA", str(tmp_path))  # Adult is not found, nor downloaded
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(DEMO), run_name="__main__")
    text = capsys.readouterr().out
    compiling, tables = text.split("much less in later runs.")
    assert "Compiling" in compiling
    rows = {line.split("  ")[0]: line.split() for line in tables.splitlines()}
    plain = rows["HistGradientBoostingClassifier"]
    fair = rows["ConstrainedClassifierCV, confidence_level=0.95"]
    # Columns: accuracy, gap, "low to high", seconds.
    assert float(plain[2]) > 0.15 and float(fair[-5]) <= 0.05
    assert float(fair[-4]) <= 0.05 <= float(plain[-4])
    probability = tables.split("with a probability of")[1].split("%")[0]
    assert int(probability) >= 95
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == [
        "compositions.png",
        "front.png",
        "rates.png",
    ]
