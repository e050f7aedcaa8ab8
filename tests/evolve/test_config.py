"""Configuration: who wins, durations, and what a wrong key or value says."""

import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve import config
from evolve.config import RunConfig
from operators.errors import InputError


def write(folder: Path, text: str) -> Path:
    file = folder / "mine.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_each_source_beats_the_one_below_it(tmp_path):
    file = write(tmp_path, "workers: 3\nsearch:\n  population: 222\n  max_length: 22\n")
    loaded = config.load("quick", file, ["search.population=333"], {"seed": 7, "workers": None})
    assert loaded.search.population == 333  # --set over the file
    assert loaded.search.max_length == 22  # the file over the preset
    assert loaded.workers == 3  # a flag that was not given does not count
    assert loaded.seed == 7
    assert loaded.search.tournament == RunConfig().search.tournament  # the default where nobody speaks
    assert loaded.preset == "quick"


def test_the_command_line_beats_set_and_file(tmp_path):
    file = write(tmp_path, "seed: 1\n")
    assert config.load(None, file, ["seed=2"], {"seed": 3}).seed == 3
    assert config.load(None, file, ["seed=2"], {}).seed == 2


@pytest.mark.parametrize("name", ["quick", "default", "thorough"])
def test_every_preset_loads_and_has_a_time(name):
    loaded = config.load(name)
    assert loaded.preset == name
    assert loaded.time is not None


def test_a_file_may_choose_the_preset(tmp_path):
    file = write(tmp_path, "preset: quick\n")
    assert config.load(None, file).search == config.load("quick").search
    assert config.load("thorough", file).search == config.load("thorough").search


def test_an_evaluation_budget_is_not_cut_short_by_the_presets_clock():
    assert config.load("quick").time == 20.0
    assert config.load("quick", flags={"evaluations": 1000}).time is None
    assert config.load("quick", flags={"evaluations": 1000, "time": "5s"}).time == 5.0


@pytest.mark.parametrize("key", list(config.known_keys()))
def test_the_resolved_configuration_reads_back_equal(key, tmp_path):
    loaded = config.load("thorough", flags={"seed": 5})
    again = config.load(file=write(tmp_path, config.dump(loaded)))
    parts = key.split(".")
    ours, theirs = loaded, again
    for part in parts:
        ours, theirs = getattr(ours, part), getattr(theirs, part)
    assert ours == theirs


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("60s", 60.0), ("2m", 120.0), ("1h", 3600.0), ("1h30m", 5400.0), ("1.5 min", 90.0), ("90", 90.0), ("500ms", 0.5)],
)
def test_durations(text, seconds):
    assert config.load(flags={"time": text}).time == pytest.approx(seconds)


@given(st.text(max_size=12))
def test_any_text_is_a_duration_or_a_clear_error(text):
    try:
        value = config.seconds(text)
    except ValueError as error:
        assert str(error)
    else:
        assert value >= 0


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["search.populaton=3"], ["--set", "search.populaton", "search.population"]),
        (["population=3"], ["'search.population'"]),
        (["nonsense=3"], ["nonsense", "known keys"]),
        (["search.population=many"], ["search.population", "many"]),
        (["search.population=1"], ["search.population", "1", "4"]),
        (["time=soon"], ["time", "soon", "60s"]),
        (["time=-3"], ["time", "-3"]),
        (["time=.inf"], ["time"]),
        (["workers=0"], ["workers", "0"]),
        (["workers"], ["key=value"]),
        (["seed=-1"], ["seed", "-1"]),
    ],
)
def test_a_wrong_setting_names_key_value_and_remedy(settings, words):
    with pytest.raises(InputError) as error:
        config.load(settings=settings)
    assert [word for word in words if word not in str(error.value)] == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("serch:\n  population: 3\n", ["mine.yaml", "serch", "search"]),
        ("search:\n  popsize: 3\n", ["mine.yaml", "search.popsize"]),
        ("search: 3\n", ["mine.yaml", "search", "section"]),
        ("- a\n- b\n", ["mine.yaml", "list"]),
        ("a: [1\n", ["mine.yaml", "YAML", "line"]),
        ("preset: fast\n", ["fast", "quick"]),
        ("time: 1:30\n5: 6\n", ["mine.yaml", "5"]),
    ],
)
def test_a_wrong_file_is_named(text, words, tmp_path):
    with pytest.raises(InputError) as error:
        config.load(file=write(tmp_path, text))
    assert [word for word in words if word not in str(error.value)] == []


def test_a_missing_or_binary_file(tmp_path):
    with pytest.raises(InputError, match="absent"):
        config.load(file=tmp_path / "absent.yaml")
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(InputError, match="binary"):
        config.load(file=binary)


def test_an_empty_file_changes_nothing(tmp_path):
    assert config.load(file=write(tmp_path, "")) == config.load()


def test_without_a_seed_one_is_drawn():
    drawn = {config.with_seed(config.load()).seed for _ in range(5)}
    assert None not in drawn
    assert len(drawn) > 1
    assert config.with_seed(config.load(flags={"seed": 0})).seed == 0


def test_the_configuration_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.load().seed = 3
