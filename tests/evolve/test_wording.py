"""Readable expressions have the values of the exact ones."""

import numpy as np
import pytest

from evolve.wording import brief, readable


@pytest.mark.parametrize(
    ("text", "better"),
    [
        ("x + -1.25", "x - 1.25"),
        ("x - -1.25*z", "x + 1.25*z"),
        ("(x + -z)**2 + -(x*z)", "(x - z)**2 - (x*z)"),
        ("x**-2 + 3*-z", "x**-2 + 3*-z"),
        ("1e-05*x + -1e-07", "1e-05*x - 1e-07"),
    ],
)
def test_readable_keeps_the_values(text, better):
    assert readable(text) == better
    x, z = np.random.default_rng(0).uniform(0.5, 2, (2, 20))
    space = {"x": x, "z": z}
    np.testing.assert_allclose(eval(better, space), eval(text, space), rtol=1e-15)


def test_brief_shortens_numbers_and_nothing_else():
    text = "x1*2.3456789012 + -1.234567890123e-07*log(x12345678) - 12345678 + 0.5"
    assert brief(text) == "x1*2.34568 - 1.23457e-07*log(x12345678) - 1.23457e+07 + 0.5"
