"""Studies of one's own on the command line: values given there, families of one's own, tables of what varies."""

import json
import sys
from pathlib import Path

import pandas as pd
import pytest
from sweeps import call, finished, refusal, sweep, tables

from cascadebai_cli.learners.own import own_hash, own_object
from cascadebai_cli.running.runner import repeat_command
from cascadebai_cli.study.config import Given, load_study, setting


def test_set_changes_cells_and_stands_in_the_command_that_repeats_a_trial(config: Path, tmp_path: Path) -> None:
    directory = tmp_path / "d"
    given = ("--set", "delta=0.3", "--set", "instances.0.w_star=1 - 1/L")
    assert call("sweep", config, "--out", directory, "--n-jobs", 1, "--quiet", *given).code == 0
    assert ",0.3,0.0," in (directory / "trials.csv").read_text()
    cell = load_study(config, [setting("delta=0.3")]).cells[-1]
    printed = call("run", config, "--cell", cell.cell_id, "--n-jobs", 1, "--set", "delta=0.3").out
    assert cell.cell_id in printed
    command = repeat_command(config, 5, Given(settings=["delta=0.3"], max_steps=9).words, cell, 2)
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
    for cached in (own_object, own_hash):
        cached.cache_clear()
    monkeypatch.delitem(sys.modules, module.stem)
    return made


def trace(folder: Path) -> Path:
    return folder / f"family_{folder.name}.imported"


@pytest.mark.parametrize("verb", ["fit", "plot", "report"])
def test_reading_results_imports_no_family(
    verb: str, stranger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where `report` writes its page
    called = call(verb, stranger)
    assert called.code == 0 or "nothing to fit" in called.err
    assert not trace(tmp_path).exists()


def test_the_gaps_of_families_of_ones_own_are_known(stranger: Path) -> None:
    cells = json.loads(call("summary", stranger, "--format", "json").out)["summary"]
    assert [cell["gap"] for cell in cells] == pytest.approx([0.45, 0.15, 0.8, 0.8])
    assert call("plot", stranger, "--x", "gap", "--instances", "steep", "--format", "svg").code == 0


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


GRID = """\
seed: 1
trials: 4
L: 6
K: 2
delta: [0.3, 0.1, 0.02]
instances:
  - {name: two, family: two_level, w_star: 0.9, w_prime: 0.1}
learners:
  - {name: "CascadeBAI {sigma}", algorithm: cascadebai, sigma: [0.25, 0.5]}
  - {name: other, algorithm: cascadebai, confidence: kl, delta: 0.1}
"""


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory whose cells differ in delta and in options of the learners."""
    folder = tmp_path_factory.mktemp("grid")
    (folder / "grid.yaml").write_text(GRID)
    assert sweep(folder / "grid.yaml", folder / "grid").code == 0
    return folder / "grid"


def test_summary_prints_what_varies_and_says_the_rest_above(grid: Path) -> None:
    lines = call("summary", grid).out.splitlines()
    assert lines[0] == "instance = two, L = 6, K = 2, epsilon = 0, trials = 4"
    head = [
        "learner",
        "delta",
        "sigma",
        "confidence",
        "mean",
        "steps",
        "95",
        "%",
        "interval",
        "wrong",
        "95",
        "%",
        "interval",
    ]
    assert lines[1].split() == head
    assert [line.split()[:4] for line in lines[3:]] == [
        ["CascadeBAI", "0.25", "0.3", "0.25"],
        ["CascadeBAI", "0.25", "0.1", "0.25"],
        ["CascadeBAI", "0.25", "0.02", "0.25"],
        ["CascadeBAI", "0.5", "0.3", "0.5"],
        ["CascadeBAI", "0.5", "0.1", "0.5"],
        ["CascadeBAI", "0.5", "0.02", "0.5"],
        ["other", "0.1", "0.5", "kl"],
    ]


def test_summary_chooses_and_sorts(grid: Path) -> None:
    out = call(
        "summary", grid, "--where", "sigma=0.5", "--where", "delta=1e-1,0.3", "--sort", "-delta", "--format", "json"
    ).out
    cells = json.loads(out)["summary"]
    assert [(cell["learner"], cell["delta"]) for cell in cells] == [
        ("CascadeBAI 0.5", 0.3),
        ("CascadeBAI 0.5", 0.1),
        ("other", 0.1),
    ]
    assert cells[0]["mean_steps"] == pd.read_csv(grid / "summary.csv")["mean_steps"][3]
    assert {"sigma", "confidence", "error_high"} < set(cells[0])
    assert call("summary", grid, "--where", "K=2", "--format", "csv").out.count("\n") == 8


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--where", "dleta=0.1"), "--where dleta: there is no such column; did you mean delta?"),
        (("--where", "delta=0.2"), "delta: 0.2 is in no cell; did you mean 0.02?"),
        (("--where", "delta"), "--where delta: names no column and value; write COLUMN=VALUE, such as delta=0.1"),
        (("--sort", "-mean_step"), "--sort mean_step: there is no such column; did you mean mean_steps?"),
    ],
)
def test_a_choice_of_no_cells_is_refused(arguments: tuple[str, ...], sentence: str, grid: Path) -> None:
    assert refusal("summary", grid, *arguments) == f"{sentence}\n"


def test_fit_prints_every_format(grid: Path) -> None:
    text = call("fit", grid).out
    assert "instance = two" not in text
    assert text.splitlines()[1].split()[:3] == ["instance", "learner", "delta"]
    assert call("fit", grid, "--format", "markdown").out.count("| two |") == 2
    assert call("fit", grid, "--format", "latex").out.count(r"\begin{tabular}") == 1
    models = json.loads(call("fit", grid, "--format", "json").out)["models"]
    assert [row["x"] for row in models] == ["delta"] * 8
    assert call("fit", grid, "--format", "csv").out == (grid / "models.csv").read_text()


def test_bounds_print_every_format(grid: Path) -> None:
    config = grid.parent / "grid.yaml"
    rows = json.loads(call("bounds", config, "--results", grid, "--format", "json").out)["bounds"]
    assert [row["delta"] for row in rows] == [0.3, 0.1, 0.02, 0.3, 0.1, 0.02, 0.1]
    assert call("bounds", config, "--results", grid, "--format", "latex").out.count(r" \\") == 8


def test_run_ends_with_a_table_of_what_varies(grid: Path) -> None:
    out = call("run", grid.parent / "grid.yaml", "--learner", "CascadeBAI 0.5", "--n-jobs", 1, "--quiet").out
    lines = out.splitlines()[-6:]
    assert lines[0] == "instance = two, learner = CascadeBAI 0.5, L = 6, K = 2, epsilon = 0, trials = 4"
    assert [line.split()[0] for line in lines[1:]] == ["delta", "-----", "0.3", "0.1", "0.02"]


def test_the_report_tells_rows_apart_that_differ_in_delta_only(grid: Path, tmp_path: Path) -> None:
    config = tmp_path / "fitted.yaml"
    config.write_text(
        GRID.replace("w_prime: 0.1}", "w_prime: 0.1, fit: {x: delta, model: log(x)}}").replace(", delta: 0.1}", "}")
    )
    assert sweep(config, tmp_path / "d").code == 0
    assert call("report", tmp_path / "d", "-o", tmp_path / "r.html").code == 0
    page = (tmp_path / "r.html").read_text()
    assert "Fit of the model that the config names to the mean steps (L = 6, K = 2, epsilon = 0)" in page
    assert "published" not in page


def test_the_report_of_a_study_of_ones_own_has_means_errors_and_weights(grid: Path, tmp_path: Path) -> None:
    assert call("report", grid, "-o", tmp_path / "r.html").code == 0
    page = (tmp_path / "r.html").read_text()
    assert "Mean steps and error rates, each with its 95 % interval (instance = two, L = 6, K = 2" in page
    assert "Weights, the largest first" in page
    assert "0.9 (2 items), 0.1 (4 items)" in page
    assert "grid_summary.csv" in page
    assert "Claims" not in page


ENOUGH = "trials: {relative_error: 0.05, at_most: 60, at_least: 5}"


@pytest.fixture(scope="module")
def enough(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of a study whose cells get as many trials as they need."""
    folder = tmp_path_factory.mktemp("enough")
    (folder / "study.yaml").write_text(GRID.replace("trials: 4", ENOUGH))
    assert sweep(folder / "study.yaml", folder / "d").code == 0
    return folder / "d"


def test_every_cell_gets_the_trials_that_it_needs(enough: Path) -> None:
    cells = pd.read_csv(enough / "summary.csv")
    half = (cells["ci_high"] - cells["ci_low"]) / 2 / cells["mean_steps"]
    assert ((half <= 0.05) | (cells["n"] == 60)).all()
    assert cells["n"].between(5, 60).all()
    assert cells["n"].nunique() > 1
    assert json.loads((enough / "manifest.json").read_text())["complete"]
    missed = half > 0.05
    assert list(cells["aim_missed"] == 1) == list(missed)
    assert call("summary", enough).err.count("\n") == missed.any()


def test_the_rows_are_the_same_for_any_number_of_jobs_and_after_interruptions(enough: Path, tmp_path: Path) -> None:
    config = enough.parent / "study.yaml"
    assert call("sweep", config, "--out", tmp_path / "two", "--n-jobs", 2, "--quiet").code == 0
    assert tables(tmp_path / "two") == tables(enough)
    assert sweep(config, tmp_path / "steps", "--trials", 9).code == 0
    assert sweep(config, tmp_path / "steps").code == 0
    assert tables(tmp_path / "steps") == tables(enough)
    assert sweep(config, tmp_path / "more", "--trials", 80).code == 0
    again = sweep(config, tmp_path / "more")
    assert again.code == 0
    assert tables(tmp_path / "more") == tables(enough)


def test_a_trial_that_fails_does_not_keep_a_sweep_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    name = f"failing_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(
        "from cascadebai_cli.learners.cascadebai import BatRac\n\n\nclass Failing(BatRac):\n"
        "    def observe(self, shown, outcomes):\n        raise ValueError('no')\n"
    )
    (tmp_path / "s.yaml").write_text(
        GRID.replace("trials: 4", ENOUGH).replace(
            "- {name: other, algorithm: cascadebai, confidence: kl, delta: 0.1}",
            f"- {{name: bad, algorithm: '{name}:Failing', delta: 0.1}}",
        )
    )
    done = sweep(tmp_path / "s.yaml", tmp_path / "d")
    assert done.code == 1
    assert "5 trials failed" in done.err
    assert "5 trials are missing" in done.err


def test_shards_cannot_tell_when_it_is_enough(enough: Path, tmp_path: Path) -> None:
    sentence = refusal("sweep", enough.parent / "study.yaml", "--shard", "1/2", "--out", tmp_path / "d")
    assert sentence.startswith("--shard 1/2 needs a fixed number of trials; give --trials N")


def test_status_lists_every_cell(enough: Path, tmp_path: Path) -> None:
    config = enough.parent / "study.yaml"
    assert sweep(config, tmp_path / "d", "--trials", 6).code == 0
    before = tables(tmp_path / "d")
    lines = call("sweep", config, "--out", tmp_path / "d", "--status").out.splitlines()
    assert lines[0] == "instance = two, L = 6, K = 2, epsilon = 0"
    assert lines[1].split()[:6] == ["learner", "delta", "done", "of", "capped", "wrong"]
    cells = pd.read_csv(tmp_path / "d" / "summary.csv")
    half = (cells["ci_high"] - cells["ci_low"]) / 2 / cells["mean_steps"]
    assert [line[23:].split()[0] for line in lines[3:10]] == ["6"] * 7
    assert f"{100 * half[0]:.1f}%" in lines[3]
    assert lines[-1].startswith("7 cells, ")
    assert tables(tmp_path / "d") == before


def test_an_option_that_only_some_learners_have_does_not_vary_for_that(grid: Path, tmp_path: Path) -> None:
    config = tmp_path / "few.yaml"
    batrac = "  - {name: single, algorithm: batrac, b: 1, feedback: semi-bandit}\n"
    config.write_text(
        GRID.partition("learners:")[0] + "learners:\n  - {name: CascadeBAI, algorithm: cascadebai}\n" + batrac
    )
    assert sweep(config, tmp_path / "d").code == 0
    assert call("summary", tmp_path / "d").out.splitlines()[1].split()[:3] == ["learner", "delta", "mean"]


def test_a_fit_over_values_that_go_in_pairs_is_drawn(grid: Path, tmp_path: Path) -> None:
    config = tmp_path / "zipped.yaml"
    fitted = GRID.partition("learners:")[0].replace("w_prime: 0.1}", "w_prime: 0.1, fit: {model: K}}")
    pairs = "zip: {K: [1, 2, 3], delta: [0.3, 0.2, 0.1]}\n"
    config.write_text(fitted.replace("K: 2\ndelta: [0.3, 0.1, 0.02]\n", pairs))
    assert sweep(config, tmp_path / "d").code == 0
    assert call("plot", tmp_path / "d", "--format", "svg").code == 0
    assert "points = 3" in call("fit", tmp_path / "d").out.splitlines()[0]


def test_blame_falls_on_what_was_typed(tmp_path: Path) -> None:
    """A label on the option and not on the manifest, a default on nobody; a value with a comma can be named."""
    path = tmp_path / "study.yaml"
    path.write_text(
        "seed: 1\nL: 6\nK: 2\ntrials: {relative_error: 0.1, at_most: 40}\n"
        "instances: [{name: a, family: two_level, w_star: 0.9, w_prime: 0.1}]\n"
        "learners: [{name: 'l, long', algorithm: kl-lucb++}, {name: m, algorithm: cascadebai}]\n"
    )
    assert "20, which is the default; add at_least: 10" in refusal("check", path, "--set", "trials.at_most=10")
    out = tmp_path / "r"
    sweep(path, out, "--trials", "3")
    assert "--labels 'nope' is not known" in refusal("plot", out, "--kind", "bars", "--labels", "nope=5")
    assert '"l, long", m' in refusal("summary", out, "--where", "learner=l, long")
    assert "l, long" in call("summary", out, "--where", 'learner="l, long"').out
