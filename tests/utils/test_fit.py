"""A fit that raises leaves no trace."""

import pytest

from skfair.utils._fit import restore_on_failure


class Model:
    @restore_on_failure
    def fit(self, value, error=None):
        """Set two attributes, and raise between them if asked to."""
        self.first_ = value
        if error is not None:
            raise error
        self.second_ = value
        return self


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_raises_leaves_the_earlier_fit_whole(error):
    model = Model()
    with pytest.raises(error):
        model.fit(1, error)
    assert vars(model) == {}
    assert model.fit(2) is model
    with pytest.raises(error):
        model.fit(3, error)
    assert vars(model) == {"first_": 2, "second_": 2}


def test_it_is_the_same_method_to_those_who_look():
    assert Model.fit.__doc__.startswith("Set two")
    assert Model.fit.__name__ == "fit"
