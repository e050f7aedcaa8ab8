"""Named phases of a run's time."""

import time

import pytest

from evolve.timing import Timer


def test_an_outer_phase_stands_still_while_an_inner_one_runs():
    timer = Timer()
    with timer.phase("outer"):
        time.sleep(0.02)
        with timer.phase("inner"):
            time.sleep(0.06)
        time.sleep(0.02)
    assert 0.04 <= timer.seconds["outer"] < timer.seconds["inner"]
    assert timer.seconds["inner"] >= 0.06


def test_entries_are_counted_and_time_outside_phases_is_not():
    timer = Timer()
    for _ in range(3):
        with timer.phase("work"):
            pass
        time.sleep(0.01)
    assert timer.entries == {"work": 3}
    assert timer.seconds["work"] < 0.005


def test_an_exception_ends_the_phase():
    timer = Timer()
    with pytest.raises(KeyError), timer.phase("outer"), timer.phase("inner"):
        raise KeyError
    with timer.phase("next"):
        time.sleep(0.01)
    assert timer.seconds["next"] >= 0.01
    assert timer.seconds["outer"] < 0.005
