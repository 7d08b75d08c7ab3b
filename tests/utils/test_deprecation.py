import inspect
import re
import warnings
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import deprecated

import skfair
from skfair.utils._api import rename_parameter

SENTENCE = "'tolerance' is deprecated and will be removed in skfair 0.4; use 'tol' instead"


@rename_parameter("tolerance", "tol", removed_in="0.4")
def solve(start, tol=0.5):
    """Return what came in."""
    return start, tol


@rename_parameter("tolerance", "tol", removed_in="0.4")
class Classifier(ClassifierMixin, BaseEstimator):
    def __init__(self, tol=0.5, alpha=1.0):
        self.tol = tol
        self.alpha = alpha

    def fit(self, X, y):
        self.classes_ = [0, 1]
        return self

    def predict(self, X):
        return [int(self.tol > 0.2)] * len(X)


def test_the_old_name_is_passed_on_with_a_warning_at_the_users_line():
    with pytest.warns(FutureWarning, match=SENTENCE) as caught:
        assert solve(1, tolerance=0.1) == (1, 0.1)
    assert caught[0].filename == __file__


def test_the_new_name_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert solve(1, tol=0.1) == solve(1, 0.1) == (1, 0.1)
        assert Classifier(tol=0.1).set_params(tol=0.3).tol == 0.3


def test_both_names_at_once_are_refused():
    with pytest.raises(TypeError, match="Pass 'tol' only"):
        solve(1, tol=0.1, tolerance=0.1)
    with pytest.raises(TypeError, match="Pass 'tol' only"):
        Classifier(tol=0.1, tolerance=0.1)


def test_signatures_and_copies_know_the_new_name_only():
    assert list(inspect.signature(solve).parameters) == ["start", "tol"]
    assert solve.__doc__ == "Return what came in."
    with pytest.warns(FutureWarning, match=SENTENCE):
        estimator = Classifier(tolerance=0.1)
    assert clone(estimator).get_params() == {"tol": 0.1, "alpha": 1.0}


def test_subclasses_accept_the_old_name():
    class Child(Classifier):
        pass

    with pytest.warns(FutureWarning, match=SENTENCE):
        assert Child(tolerance=0.1).tol == 0.1


def test_pipelines_and_searches_set_the_old_name():
    pipeline = make_pipeline(Classifier())
    with pytest.warns(FutureWarning, match=SENTENCE):
        pipeline.set_params(classifier__tolerance=0.1)
    assert pipeline[-1].tol == 0.1
    search = GridSearchCV(Classifier(), {"tolerance": [0.1, 0.3]}, cv=2)
    with pytest.warns(FutureWarning, match=SENTENCE):
        search.fit([[0.0]] * 8, [0, 1] * 2 + [1] * 4)
    assert search.best_estimator_.tol == 0.3


def test_scikit_learn_deprecates_functions_and_classes():
    """What the release page tells developers to write."""
    with pytest.warns(FutureWarning, match="deprecated; removed in skfair 0.4; use `solve`"):
        assert deprecated("removed in skfair 0.4; use `solve`.")(lambda: 3)() == 3


def overdue(source, version):
    """Versions in which a source announces a removal, up to the present version."""
    written = re.findall(r"removed(?:_in=\"| in skfair )(\d+\.\d+)", source)
    return [one for one in written if release(one) <= release(version)]


def release(version):
    return tuple(map(int, version.split(".")[:2]))


def test_overdue_names_what_should_be_gone():
    source = '@rename_parameter("a", "b", removed_in="0.4")\n@deprecated("removed in skfair 0.10")'
    assert overdue(source, "0.3.1") == []
    assert overdue(source, "0.4.0.dev0") == ["0.4"]
    assert overdue(source, "1.0.0") == ["0.4", "0.10"]


def test_nothing_deprecated_outlives_its_version():
    files = Path(skfair.__file__).parent.rglob("*.py")
    sources = {
        path: path.read_text(encoding="utf-8") for path in files if path.stem != "_deprecation"
    }
    late = {str(path): overdue(text, skfair.__version__) for path, text in sources.items()}
    assert not {path: versions for path, versions in late.items() if versions}
