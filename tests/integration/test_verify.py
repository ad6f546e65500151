"""`verify` on a small reference: silent while nothing moves, and planted faults are caught by the right check."""

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from sweeps import call, refusal

import cascadebai_cli.engines.skip_rows as counting
import cascadebai_cli.learners.cascadebai as algorithm
import cascadebai_cli.running.worker as worker
from cascadebai_cli.engines.simulate import ENGINES, EngineName
from cascadebai_cli.learners.own import own_hash, own_object
from cascadebai_cli.running.worker import trial_seed
from cascadebai_cli.workflows.verify import Baseline, evenly

CONFIG = """\
study: small
seed: 11
trials: 100
L: 12
K: [2, 3, 4]
delta: 0.1
instances:
  - {name: low, family: two_level, w_star: 0.4, w_prime: 0.02, fit: {model: K}}
  - {name: high, family: two_level, w_star: 0.98, w_prime: 0.6}
"""
EXACT, STATISTICS, TABLES = "bit for bit", "by statistics", "tables"


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reference")
    (folder / "small.yaml").write_text(CONFIG)
    made = folder / "made"
    assert call("sweep", folder / "small.yaml", "--out", made, "--backend", "sequential", "--quiet").code == 0
    assert call("fit", made, "--quiet").code == 0
    kept = folder / "reference" / "small"
    kept.mkdir(parents=True)
    for name in ("trials.csv", "summary.csv", "fits.csv", "manifest.json"):
        shutil.copy(made / name, kept)
    return kept.parent


Verify = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def verify(reference: Path) -> Verify:
    """Exit code of `verify` and the lines that it prints; the seed of the fresh trials is fixed here."""

    def run(*more: object, directory: Path = reference) -> tuple[int, list[str]]:
        common = ("--reference", directory, "--n-jobs", 1, "--trials", 100, "--seed", 3)
        result = call("verify", *common, *more)
        return result.code, result.out.splitlines()

    return run


def checks(lines: list[str]) -> set[str]:
    """Which checks gave an alarm."""
    return {kind for kind in (EXACT, STATISTICS, TABLES) for line in lines if line.startswith(f"moved: small: {kind}")}


def test_nothing_has_moved(verify: Verify) -> None:
    assert verify() == (0, ["nothing has moved in small"])


def test_fresh_seeds_without_an_alarm(verify: Verify) -> None:
    for seed in range(3):
        assert verify("--seed", seed, "--trials", 20)[0] == 0


# --- planted faults -------------------------------------------------------------------------------------------------


def larger_radius(patch: pytest.MonkeyPatch) -> None:
    """The constant of the radius is 1 % too large."""
    exact = algorithm.cascade_radius
    patch.setattr(algorithm, "cascade_radius", lambda L, delta, sigma: exact(L, delta, 1.01 * sigma))


def longer_steps(patch: pytest.MonkeyPatch) -> None:
    """Quiet stretches are cut one observation too late."""
    for name in ("cuts_at_clicks", "cuts_at_skips"):
        exact = getattr(counting, name)
        patch.setattr(counting, name, lambda *given, exact=exact: exact(*given[:-1], given[-1] + 1))


def larger_batch(patch: pytest.MonkeyPatch) -> None:
    """A step without a click takes K + 1 observations."""
    patch.setattr(algorithm.CascadeRule, "batch", lambda self, survivors: min(self.K + 1, survivors))


def other_numbers(patch: pytest.MonkeyPatch) -> None:
    """The law is the same, the random numbers are not."""

    def generator(root: int, cell_id: str, trial: int) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64(trial_seed(root, cell_id, trial)))

    patch.setattr(worker, "trial_generator", generator)


@pytest.mark.parametrize(
    ("fault", "caught_by"),
    [
        (larger_radius, {EXACT, STATISTICS}),
        pytest.param(longer_steps, {EXACT, STATISTICS}, marks=pytest.mark.slow),
        pytest.param(larger_batch, {EXACT, STATISTICS}, marks=pytest.mark.slow),
        (other_numbers, {EXACT}),
    ],
)
def test_a_fault_is_caught_by_the_right_check(
    fault: Callable[[pytest.MonkeyPatch], None], caught_by: set[str], verify: Verify, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault(monkeypatch)
    code, lines = verify()
    assert code == 1
    assert checks(lines) == caught_by, lines


def test_the_message_names_artefact_cell_and_trial(verify: Verify, monkeypatch: pytest.MonkeyPatch) -> None:
    larger_radius(monkeypatch)
    _, lines = verify()
    first = lines[0]
    assert first.startswith(
        "moved: small: bit for bit: low, CascadeBAI: L = 12, K = 2, delta = 0.1, epsilon = 0 (cell "
    )
    assert ", trial 0: stopped after " in first
    assert " in the reference, stopped after " in first
    assert "moved: small: bit for bit: and 7 more trials" in lines
    together = next(line for line in lines if line.startswith("moved: small: by statistics: all watched cells: "))
    change = float(together.split("mean steps ")[1].split(" %")[0])
    assert 1 < change < 3  # steps go with the square of the radius


def test_a_trial_that_raises_has_moved(verify: Verify, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr(algorithm.CascadeRule, "identify", broken)
    code, lines = verify()
    assert code == 1
    assert "ZeroDivisionError: planted" in lines[0]


# --- what is wrong with the reference itself ------------------------------------------------------------------------


@pytest.fixture
def copy(reference: Path, tmp_path: Path) -> Path:
    shutil.copytree(reference, tmp_path / "reference")
    return tmp_path / "reference"


def without_hashes(directory: Path) -> None:
    manifest = json.loads((directory / "manifest.json").read_text())
    (directory / "manifest.json").write_text(json.dumps({**manifest, "rows_sha256": None, "tables": {}}))


@pytest.mark.parametrize(
    ("file", "old", "new", "told"),
    [
        ("trials.csv", ",0,stopped,", ",0,stopped,1", "summary.csv is not what trials.csv gives"),
        ("summary.csv", ",100,", ",101,", "summary.csv is not what trials.csv gives"),
        ("fits.csv", ",K,", ",K^2,", "fits.csv is not what summary.csv gives"),
        ("manifest.json", '"w_star": "0.4"', '"w_star": "0.41"', "is not made by the config any more"),
    ],
)
def test_a_reference_that_was_edited(file: str, old: str, new: str, told: str, copy: Path, verify: Verify) -> None:
    """One that is older than the hashes of its tables, as committed ones are; `test_strangers` has the others."""
    without_hashes(copy / "small")
    path = copy / "small" / file
    text = path.read_text().replace('"w_star": 0.4,', '"w_star": "0.4",')
    assert old in text
    path.write_text(text.replace(old, new, 1))
    code, lines = verify("--trials", 3, directory=copy)
    assert code == 1
    assert any(told in line for line in lines if line.startswith("moved: small: tables")), lines


def test_another_numpy_is_pointed_out(copy: Path) -> None:
    path = copy / "small" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["versions"]["numpy"], manifest["engine_version"] = "1.0", 0
    for cell in manifest["cells"].values():
        cell["rule_version"] = 0
    path.write_text(json.dumps(manifest))
    result = call("verify", "--reference", copy, "--n-jobs", 1, "--trials", 3, "--seed", 3)
    assert result.code == 0
    told = result.err
    assert "small: numpy 1.0 in the reference" in told
    assert "small: engine skip-ahead 0 in the reference" in told
    assert "small: rule of CascadeBAI 0 in the reference, 1 here" in told


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--reference", "nowhere"), "nowhere holds no result directory; run verify in the folder of the project, or"),
        (("--only", "tiny"), "--only: tiny is not in"),
    ],
)
def test_nothing_to_verify(arguments: tuple[str, ...], told: str, reference: Path) -> None:
    result = call("verify", "--reference", reference, *arguments)
    assert result.code == 2
    assert told in result.err


def test_a_reference_needs_its_rows(copy: Path) -> None:
    (copy / "small" / "trials.csv").unlink()
    result = call("verify", "--reference", copy)
    assert result.code == 2
    assert "small needs manifest.json and trials.csv to be a reference" in result.err


def test_a_reference_whose_config_is_not_valid_any_more(copy: Path) -> None:
    path = copy / "small" / "manifest.json"
    path.write_text(path.read_text().replace('"two_level"', '"three_level"'))
    result = call("verify", "--reference", copy)
    assert result.code == 2
    assert (
        f"error: {path}: the config is not valid any more: instances.0.family: 'three_level' is not known; "
        in result.err
    )
    assert "http" not in result.err


@pytest.mark.parametrize("key", ["config", "seed", "engine_version", "versions"])
@pytest.mark.parametrize("value", [None, "x"])
def test_a_reference_needs_its_manifest(key: str, value: object, copy: Path) -> None:
    path = copy / "small" / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest[key] = value
    path.write_text(json.dumps(manifest))
    assert refusal("verify", "--reference", copy).startswith(f"{path}: {key}: ")
    del manifest[key]
    path.write_text(json.dumps(manifest))
    assert refusal("verify", "--reference", copy).startswith(f"{path}: key {key} is missing, as in no manifest")


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        ("trials.csv", b",0,stopped,", b",0,stopped,x", ":2: steps: 'x"),
        ("trials.csv", b",0,stopped,", b",-1,stopped,", ":2: trial: '-1' is not a whole number; run the sweep again"),
        ("trials.csv", b",0,stopped,", b",0,halted,", ":2: status: 'halted' is not stopped or capped"),
        ("trials.csv", b",1\n", b",2\n", ":2: correct: '2' is not 1, 0 or empty"),
        ("trials.csv", b",0,stopped,", b"\n", ":2: trial: '' is not a whole number"),
        ("trials.csv", b"steps", b"step", ": column steps is missing"),
        ("trials.csv", b"", b"\xff", " is not UTF-8 text"),
        ("trials.csv", None, b"", ": column cell_id is missing"),
        ("fits.csv", b"", b"\xff", ": not a table"),
        ("fits.csv", None, b"", ": not a table"),
    ],
)
def test_a_damaged_table(name: str, old: bytes | None, new: bytes, told: str, copy: Path) -> None:
    without_hashes(copy / "small")
    path = copy / "small" / name
    content = path.read_bytes()
    path.write_bytes(new if old is None else content.replace(old, new, 1))
    result = call("verify", "--reference", copy, "--n-jobs", 1, "--seed", 3)
    assert result.code == 2
    assert result.out == ""
    assert result.err.splitlines()[-1].startswith(f"error: {path}{told}"), result.err


@pytest.mark.parametrize("name", ["trials.csv", "summary.csv", "fits.csv", "manifest.json"])
def test_a_directory_in_place_of_a_table(name: str, copy: Path) -> None:
    path = copy / "small" / name
    path.unlink()
    path.mkdir()
    result = call("verify", "--reference", copy, "--n-jobs", 1)
    assert result.code == 2
    assert f"error: {path} cannot be read (Is a directory)" in result.err


def test_a_reference_without_rows(copy: Path) -> None:
    without_hashes(copy / "small")
    path = copy / "small" / "trials.csv"
    path.write_text(path.read_text().splitlines()[0] + "\n")
    assert refusal("verify", "--reference", copy).startswith(f"{path}: no trial; ")


def test_all_cells_are_strangers(copy: Path, verify: Verify) -> None:
    path = copy / "small" / "manifest.json"
    path.write_text(path.read_text().replace('"epsilon": [\n      0.0', '"epsilon": [\n      0.01'))
    code, lines = verify(directory=copy)
    assert code == 1
    assert checks(lines) == {TABLES}


def test_means_need_two_trials_in_the_reference(tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(CONFIG)
    made = tmp_path / "reference" / "small"
    assert call("sweep", tmp_path / "small.yaml", "--out", made, "--trials", 1, "--n-jobs", 1, "--quiet").code == 0
    result = call("verify", "--reference", made.parent, "--n-jobs", 1, "--seed", 3)
    assert result.code == 0
    assert result.out == "nothing has moved in small\n"
    assert "small: by statistics: skipped for want of 2 trials in the reference: 6 of the cells\n" in result.err


# --- learners that a manifest names but nobody on the command line ---------------------------------------------------

OWN = """\
from pathlib import Path

from cascadebai_cli.learners.cascadebai import BatRac

Path(__file__).with_suffix(".imported").touch()


class Own(BatRac):
    pass
"""


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Result directory of a learner of somebody's own beside Algorithm 1; importing its module leaves a trace."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / f"stranger_{tmp_path.name}.py"
    module.write_text(OWN)
    (tmp_path / "small.yaml").write_text(CONFIG)
    made = tmp_path / "reference" / "small"
    more = ("--plugin", f"{module.stem}:Own", "--trials", 4, "--n-jobs", 1, "--quiet")
    result = call("sweep", tmp_path / "small.yaml", "--out", made, *more)
    assert result.code == 0
    trace(tmp_path).unlink()
    for cached in (own_object, own_hash):
        cached.cache_clear()
    monkeypatch.delitem(sys.modules, module.stem)
    return made


def trace(folder: Path) -> Path:
    return folder / f"stranger_{folder.name}.imported"


def only_stranger(made: Path) -> None:
    """The config as if Algorithm 1 were not in it."""
    path = made / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["config"]["learners"] = manifest["config"]["learners"][1:]
    path.write_text(json.dumps(manifest))


def test_a_learner_that_only_the_manifest_names_is_skipped(stranger: Path, tmp_path: Path) -> None:
    result = call("verify", "--reference", stranger.parent, "--n-jobs", 1, "--seed", 3)
    assert result.code == 0
    assert result.out == "nothing has moved in small\n"
    name = f"stranger_{tmp_path.name}:Own"
    assert f"small: learner 'Own' is skipped: {name} is not part of this program; " in result.err
    assert f"add --plugin {name}\n" in result.err
    assert "bit for bit: 12 of 24 trials run again" in result.err
    assert not trace(tmp_path).exists()


def test_a_learner_that_is_named_is_run(stranger: Path, tmp_path: Path) -> None:
    name = f"stranger_{tmp_path.name}:Own"
    result = call("verify", "--reference", stranger.parent, "--n-jobs", 1, "--seed", 3, "--plugin", name)
    assert result.code == 0
    assert "skipped" not in result.err
    assert "bit for bit: 24 of 48 trials run again" in result.err
    assert trace(tmp_path).exists()


@pytest.mark.parametrize(
    ("code", "arguments"),
    [
        (2, ("verify", "--reference", "reference")),
        (0, ("fit", "reference/small")),
        (0, ("plot", "reference/small")),
        (0, ("report", "reference/small")),
        (0, ("bounds", "small.yaml", "--results", "reference/small")),
        (2, ("sweep", "small.yaml", "--out", "reference/small", "--dry-run")),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_reading_results_imports_no_learner(
    code: int, arguments: tuple[str, ...], stranger: Path, tmp_path: Path
) -> None:
    only_stranger(stranger)
    assert call(*arguments).code == code
    assert not trace(tmp_path).exists()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ((), "nothing is left to run; name what may be imported with --plugin"),
        (("--plugin", "antigravity:X"), "--plugin antigravity:X: no learner or instance in "),
    ],
)
def test_nobody_is_left_to_run(more: tuple[str, ...], told: str, stranger: Path) -> None:
    only_stranger(stranger)
    result = call("verify", "--reference", stranger.parent, *more)
    assert result.code == 2
    assert told in result.err


# --- which trials stand for all -------------------------------------------------------------------------------------


def test_first_middle_and_last_K_of_each_curve_are_watched(reference: Path) -> None:
    found = Baseline.load(reference / "small", Path())
    assert found.watched == [0, 1, 2, 3, 4, 5]
    less = replace(found, rows={position: found.rows[position] for position in (0, 2, 3)})
    assert less.watched == [0, 2, 3]


def test_long_trials_of_slow_engines_are_not_watched(reference: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Baseline.load(reference / "small", Path())
    engines = {"skip-ahead": replace(ENGINES["skip-ahead"], verified=4_000)}
    monkeypatch.setattr("cascadebai_cli.study.cells.ENGINES", engines)
    assert found.watched == [1, 2]


def test_every_engine_that_a_config_may_name_has_a_record() -> None:
    assert ENGINES.keys() == set(get_args(EngineName)) - {"auto"}


@pytest.mark.parametrize("most", [1, 2, 3, 7, 40])
def test_evenly_takes_at_most_that_many_in_order(most: int) -> None:
    found = evenly(range(30), most)
    assert len(found) == min(most, 30)
    assert found == sorted(set(found))
