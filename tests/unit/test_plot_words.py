"""`plot` of a config: which words it has, and which it refuses."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from sweeps import call

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.study.config import load_study
from cascadebai_cli.study.fields import mistakes
from cascadebai_cli.study.plot import Plot
from cascadebai_cli.workflows.plot import Written

CONFIG = """\
seed: 1
L: 8
K: [2, 3]
instances:
  - {name: low, family: two_level, w_star: 0.4, w_prime: 0.1}
learners:
  - {name: half, algorithm: cascadebai, sigma: 0.5}
  - {name: one, algorithm: cascadebai, sigma: 1}
"""


def load(folder: Path, plot: str) -> Plot:
    path = folder / "study.yaml"
    path.write_text(f"{CONFIG}plot: {{{plot}}}\n")
    return load_study(path).plot


def test_every_word_of_a_config(tmp_path: Path) -> None:
    words = (
        "kind: curves, x: sigma, y: observations, panels: none, lines: [algorithm, K], instances: low, "
        "learners: [one, half], where: {K: 2, sigma: [0.5, 1]}, log: [x, y], share: y, width: column, columns: 2, "
        "height: 3, per_page: 4, labels: {one: ours}, order: one, style: my.mplstyle, format: svg"
    )
    plot = load(tmp_path, words)
    assert plot == Plot(
        kind="curves",
        x="sigma",
        y="observations",
        panels=(),
        lines=("algorithm", "K"),
        instances=("low",),
        learners=("one", "half"),
        where={"K": (2,), "sigma": (0.5, 1)},
        log=("x", "y"),
        share=("y",),
        width="column",
        columns=2,
        height=3,
        per_page=4,
        labels={"one": "ours"},
        order=("one",),
        style=("my.mplstyle",),
        format=("svg",),
    )


OPTIONS = (
    "--kind curves --x sigma --y observations --panels none --lines algorithm,K --instances low --learners one "
    "--learners half --where K=2 --where sigma=0.5,1 --average replicate --log x,y --share x,y --width 3.25 "
    "--columns 2 --height 2.5 --per-page 4 --labels one=1 --order one --order half --style my.mplstyle --format svg"
)


def test_every_key_is_an_option_of_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[dict[str, Any]] = []

    def drawn(*_: object, words: dict[str, Any], **__: object) -> Written:
        taken.append(words)
        return Written((), True)

    monkeypatch.setattr("cascadebai_cli.workflows.plot.plot", drawn)
    call("plot", "results", *OPTIONS.split())
    (words,) = taken
    assert list(words) == list(Plot.model_fields)
    assert words == {
        "kind": "curves",
        "x": "sigma",
        "y": "observations",
        "panels": [],
        "lines": ["algorithm", "K"],
        "instances": ["low"],
        "learners": ["one", "half"],
        "where": {"K": [2], "sigma": [0.5, 1]},
        "average": "replicate",
        "log": ["x", "y"],
        "share": ["x", "y"],
        "width": 3.25,
        "columns": 2,
        "height": 2.5,
        "per_page": 4,
        "labels": {"one": "1"},
        "order": ["one", "half"],
        "style": ["my.mplstyle"],
        "format": ["svg"],
    }


def test_a_plot_that_says_little_is_stored_as_little(tmp_path: Path) -> None:
    assert load(tmp_path, "log: none").model_dump(mode="json") == {"kind": "scaling", "log": []}
    assert Plot.model_validate({"kind": "bars", "log": []}).log == ()
    assert Plot().log is None


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("kinds: bars", "kinds: unknown key; did you mean kind?"),
        ("x: sigmas", "x: 'sigmas' is not known; did you mean sigma?"),
        ("y: step", "y: 'step' is not known; did you mean steps?"),
        ("panels: instances", "panels: 'instances' is not known; did you mean instance?"),
        ("lines: [K, learners]", "lines: 'learners' is not known; did you mean learner?"),
        ("learners: [halve]", "learners: 'halve' is not known; did you mean half?"),
        ("instances: lows", "instances: 'lows' is not known; did you mean low?"),
        ("where: {delt: 0.1}", "where: 'delt' is not known; did you mean delta?"),
        ("where: {delta: {a: 1}}", 'delta: {"a": 1} is neither a value nor a list of values; write for example 0.1'),
        ("order: [onne]", "order: 'onne' is not known; did you mean one?"),
        ("labels: {on: ours}", "labels: 'on' is not known; did you mean one?"),
        ("log: z", "log: 'z' is not known; use one of x, y"),
        ("width: colum", "width: 'colum' is no width; write column, text, or inches from 1 to 40"),
        ("width: 0.2", "width: 0.2 is no width; write column, text, or inches from 1 to 40"),
        ("columns: 0", "columns: 0 is too small; write 1 or more"),
        ("format: [jpg]", "format: 'jpg' is not known; did you mean png?"),
        ("format: []", "format: the list is empty; give at least one entry"),
    ],
)
def test_a_word_that_is_not_known_gets_the_nearest_one(words: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as error:
        load(tmp_path, words)
    assert str(error.value) == f"{tmp_path / 'study.yaml'}:9: {sentence}"


def test_a_plot_is_read_on_its_own_too() -> None:
    with pytest.raises(ValidationError) as error:
        Plot.model_validate({"where": 3})
    assert mistakes(error.value, {}) == [(("where",), "3 is not a mapping; write for example {delta: 0.1}")]
