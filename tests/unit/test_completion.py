"""What a shell offers behind a tab, and the help that every verb gives."""

import shlex
from pathlib import Path

import click
import pytest
import typer
from sweeps import call

from cascadebai_cli.cli.app import EXAMPLES, app, main

CONFIG = """\
seed: 1
instances: [{name: one, family: two_level}, {name: other, family: two_level}]
learners: [{name: "sigma {sigma}", algorithm: cascadebai, sigma: [0.25, 1]}]
"""

VERBS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.yaml").write_text(CONFIG)
    (tmp_path / "some.csv").write_text("")
    (tmp_path / "results" / "swept").mkdir(parents=True)
    (tmp_path / "results" / "swept" / "manifest.json").write_text("{}")
    (tmp_path / "results" / ".hidden").mkdir()
    return tmp_path


def offered(verb: str, parameter: str, incomplete: str, **given: str) -> list[str]:
    command = VERBS[verb].made()
    context = click.Context(command)
    context.params.update(given)
    (found,) = [one for one in command.params if one.name == parameter]
    return [item.value for item in found.shell_complete(context, incomplete)]


def test_configs_and_result_directories_are_offered(folder: Path) -> None:
    assert offered("sweep", "config", "") == ["results/", "study.yaml"]
    assert offered("fit", "directory", "res") == ["results/"]
    assert offered("fit", "directory", "results/") == ["results/swept"]
    assert offered("report", "directories", "results/s") == ["results/swept"]
    assert offered("plot", "directories", "nowhere/") == []


def test_names_of_the_config_are_offered(folder: Path) -> None:
    assert offered("run", "learner", "", config="study.yaml") == ["sigma 0.25", "sigma 1"]
    assert offered("run", "instance", "ot", config="study.yaml") == ["other"]
    assert offered("run", "learner", "", config="nothing.yaml") == []
    assert offered("run", "learner", "") == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("run study.yaml --learner ", ["sigma 0.25", "sigma 1"]),
        ("run --K 2 study.yaml --instance o", ["one", "other"]),
        ("run --instance ", []),
        ("plot results/swept --kind s", ["scaling", "schematic"]),
        ("plot results/swept --config ", ["results/", "study.yaml"]),
        ("sweep st", ["study.yaml"]),
    ],
)
def test_a_shell_gets_them(
    words: str, expected: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("_CASCADEBAI_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"cascadebai {words}")
    monkeypatch.setenv("COMP_CWORD", str(len(shlex.split(words)) + words.endswith(" ")))
    with pytest.raises(SystemExit):
        main([])
    assert [line for line in capsys.readouterr().out.splitlines() if line] == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("summary results/swept --sort st", ["steps", "stopped", "steps_per_lower_bound", "steps_per_sharp_bound"]),
        ("summary results/swept --where ins", ["instance="]),
        ("report results/swept --where K=2,", ["K=2,2", "K=2,4"]),
        ("summary results/swept --columns steps,q", ["steps,q90"]),
        ("summary results/swept --pivot ga", ["gap"]),
        ("plot results/swept --x del", ["delta"]),
        ("summary results --sort st", []),
    ],
)
def test_columns_and_values_of_a_directory_are_offered(
    words: str, expected: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = "cell_id,instance,learner,K,delta,mean_steps\n1,one,a,2,0.1,5\n2,one,b,4,0.1,6\n"
    (folder / "results" / "swept" / "summary.csv").write_text(rows)
    test_a_shell_gets_them(words, expected, folder, monkeypatch, capsys)


def test_kinds_are_offered() -> None:
    assert offered("plot", "kind", "b") == ["bars", "bounds"]


@pytest.mark.parametrize("verb", EXAMPLES, ids=lambda verb: verb.__name__)
def test_every_help_ends_with_an_example_that_is_understood(verb: object) -> None:
    example = EXAMPLES[verb]  # type: ignore[index]
    name, *words = shlex.split(example)
    shown = call(name, "-h")
    assert shown.code == 0
    assert f"Example: cascadebai {example}" in " ".join(shown.out.split())
    VERBS[name].make_context(name, words)


def test_every_verb_has_an_example() -> None:
    assert sorted({*VERBS} - {"live"}) == sorted(shlex.split(example)[0] for example in EXAMPLES.values())
    for name, verb in VERBS["live"].commands.items():
        assert verb.epilog.startswith(f"Example: cascadebai live {name} ")
