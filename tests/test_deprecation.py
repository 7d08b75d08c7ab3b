import re
from pathlib import Path

import pytest
from sklearn.utils import deprecated

import skfair


def test_scikit_learn_deprecates_functions_and_classes():
    """What the release page tells developers to write."""
    with pytest.warns(FutureWarning, match="deprecated; removed in skfair 0.4; use `solve`"):
        assert deprecated("removed in skfair 0.4; use `solve`.")(lambda: 3)() == 3


def overdue(source, version):
    """Versions in which a source announces a removal, up to the present version."""
    written = re.findall(r"removed in skfair (\d+\.\d+)", source)
    return [one for one in written if release(one) <= release(version)]


def release(version):
    return tuple(map(int, version.split(".")[:2]))


def test_overdue_names_what_should_be_gone():
    source = '@deprecated("removed in skfair 0.4")\n@deprecated("removed in skfair 0.10")'
    assert overdue(source, "0.3.1") == []
    assert overdue(source, "0.4.0.dev0") == ["0.4"]
    assert overdue(source, "1.0.0") == ["0.4", "0.10"]


def test_nothing_deprecated_outlives_its_version():
    sources = {path: path.read_text("utf-8") for path in Path(skfair.__file__).parent.rglob("*.py")}
    late = {str(path): overdue(text, skfair.__version__) for path, text in sources.items()}
    assert not {path: versions for path, versions in late.items() if versions}
