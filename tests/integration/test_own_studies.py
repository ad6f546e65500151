"""Studies of one's own on the command line: values given there, families of one's own, tables of what varies."""

import sys
from pathlib import Path

import pytest
from sweeps import call, finished

from cascadebai_cli.study.config import load_study, setting
from cascadebai_cli.study.own_family import family_code, load_family
from cascadebai_cli.workflows.failures import Repeat
from cascadebai_cli.workflows.studies import Given


def test_set_changes_cells_and_stands_in_the_command_that_repeats_a_trial(config: Path, tmp_path: Path) -> None:
    directory = tmp_path / "d"
    given = ("--set", "delta=0.3", "--set", "instances.0.w_star=1 - 1/L")
    assert call("sweep", config, "--out", directory, "--n-jobs", 1, "--quiet", *given).code == 0
    assert ",0.3,0.0," in (directory / "trials.csv").read_text()
    cell = load_study(config, [setting("delta=0.3")]).cells[-1]
    printed = call("run", config, "--cell", cell.cell_id, "--n-jobs", 1, "--set", "delta=0.3").out
    assert cell.cell_id in printed
    command = Repeat(config, 5, Given(settings=["delta=0.3"], max_steps=9).words).command(cell, 2)
    assert "--set delta=0.3 --max-steps 9 --trial 2" in command


FAMILY = """\
from pathlib import Path

Path(__file__).with_suffix(".imported").touch()


def steep(L, K, base):
    return [base / (i + 1) for i in range(L)]
"""
STUDY = """\
seed: 1
trials: 3
L: 6
K: [1, 2]
instances:
  - {{name: steep, family: "{module}:steep", base: 0.9}}
  - {{name: two, family: two_level, w_star: 0.9, w_prime: 0.1}}
"""


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A result directory with a family that is imported from the working directory; the import leaves a trace."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / f"family_{tmp_path.name}.py"
    module.write_text(FAMILY)
    config = tmp_path / "small.yaml"
    config.write_text(STUDY.format(module=module.stem))
    made = tmp_path / "reference" / "small"
    assert call("sweep", config, "--out", made, "--n-jobs", 1, "--quiet").code == 0
    trace(tmp_path).unlink()
    for cached in (load_family, family_code):
        cached.cache_clear()
    monkeypatch.delitem(sys.modules, module.stem)
    return made


def trace(folder: Path) -> Path:
    return folder / f"family_{folder.name}.imported"


@pytest.mark.parametrize("verb", ["fit", "plot", "report"])
def test_reading_results_imports_no_family(verb: str, stranger: Path, tmp_path: Path) -> None:
    called = call(verb, stranger)
    assert called.code == 0 or "nothing to fit" in called.err
    assert not trace(tmp_path).exists()


def test_verify_skips_a_family_that_nobody_has_named(stranger: Path, tmp_path: Path) -> None:
    arguments = ("verify", "--reference", stranger.parent, "--n-jobs", 1, "--seed", 3, "--trials", 5)
    name = f"family_{tmp_path.name}:steep"
    left = call(*arguments)
    assert (left.code, left.out) == (0, "nothing has moved in small\n")
    assert f"small: instance 'steep' is skipped: {name} is not part of this program" in left.err
    assert "bit for bit: 4 of 6 trials run again" in left.err
    assert not trace(tmp_path).exists()
    whole = call(*arguments, "--plugin", name)
    assert (whole.code, whole.out) == (0, "nothing has moved in small\n")
    assert "bit for bit: 8 of 12 trials run again" in whole.err


def test_other_code_of_a_family_does_not_mix_with_rows_of_the_old_one(stranger: Path, tmp_path: Path) -> None:
    module = tmp_path / f"family_{tmp_path.name}.py"
    module.write_text(FAMILY + "\n# changed\n")
    called = finished("sweep", "small.yaml", "--out", stranger, folder=tmp_path)
    assert called.returncode == 2
    assert "weights_code is " in called.stderr
