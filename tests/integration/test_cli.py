"""The command line as a user meets it: exit codes, messages, what is imported."""

import errno
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sweeps import call, command, environment, finished, refusal

from cascadebai_cli import __version__

HEAVY = ("numpy", "pandas", "scipy", "matplotlib", "statsmodels", "joblib")
VERBS = ("run", "sweep", "fit", "plot", "plan", "bounds", "report", "verify")


def test_help_names_the_verbs():
    result = call("--help")
    assert result.code == 0
    out = result.out
    for verb in VERBS:
        assert re.search(rf"^  {verb} ", out, re.MULTILINE)


OPTIONS = {"plot": "study.kinds", "plan": "planning.options", "summary": "study.kinds"}
"""Verb -> module with the record of its options."""


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], *([verb, "--help"] for verb in VERBS)])
def test_help_imports_nothing_heavy(arguments):
    program = (
        "import sys\nfrom cascadebai_cli.cli.app import main\n"
        "try:\n    main(sys.argv[1:])\nfinally:\n    print(*sys.modules, file=sys.stderr)"
    )
    words = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(words, env=environment(), capture_output=True, text=True, check=True)
    modules = set(done.stderr.split())
    assert "cascadebai_cli.cli.app" in modules
    assert modules.isdisjoint(HEAVY)
    others = {*OPTIONS.values()} - {name for verb, name in OPTIONS.items() if verb in arguments}
    assert modules.isdisjoint(f"cascadebai_cli.{name}" for name in others)  # only a verb makes the options that it has


def test_version():
    result = call("--version")
    assert result.code == 0
    assert result.out == f"cascadebai {__version__}\n"


def test_the_package_runs_as_a_module():
    assert finished("--version").stdout == f"cascadebai {__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["swep"], "swep"),
        (["sweep"], "CONFIG"),
        (["run", "none.yaml"], "none.yaml"),
        (["sweep", "{config}", "--trials", "0"], "--trials"),
        (["sweep", "{config}", "--trials", "many"], "valid integer"),
        (["sweep", "{config}", "--trials", "10000001"], "--trials 10000001 is too large; write 10000000 or less"),
        (["run", "{config}", "--n-jobs", "1001"], "--n-jobs 1001: more than 1000 processes; give a smaller number"),
        (["sweep", "{config}", "--n-jobs", "0"], "--n-jobs must not be 0"),
        (
            ["sweep", "{config}", "--n-jobs", "-10000"],
            "--n-jobs -10000: -1 is one process per core, -2 one less; give a number nearer 0",
        ),
        (["sweep", "{config}", "--backend", "threads"], "threads"),
        (["sweep", "{config}", "--backend", "dask"], "--backend dask and --scheduler ADDRESS go together"),
        (["sweep", "{config}", "--scheduler", "tcp://x:1"], "--backend dask and --scheduler ADDRESS go together"),
        (["sweep", "{config}", "--fresh", "--collect"], "exclude each other"),
        (["sweep", "{config}", "--out", ""], "--out is empty; name a file or a directory, or do not give --out"),
        (["bounds", "{config}", "--results", ""], "--results is empty; name a file or a directory, or do not give"),
        (["bounds", "{config}", "--csv", ""], "--csv is empty; name"),
        (["fit", ""], "DIR is empty; name a file or a directory\n"),
        (["plot", ""], "DIR is empty; name"),
        (["report", "a", ""], "DIR is empty; name"),
        (["verify", "--reference", ""], "--reference is empty; name"),
        (["verify", "--configs", ""], "--configs is empty; name"),
        (["verify", "--trials", "10000001"], "--trials 10000001 is too large; give 10000000 or less"),
        (["verify", "--backend", "dask"], "No such option: --backend"),
        (["sweep", "{config}", "--trials", "10000000"], "10,000,000 trials of 4 cells are more than 20,000,000 rows"),
        (["sweep", "{config}", "--dry-run", "--collect"], "exclude each other"),
        (["run", "{config}", "--instance", "wid"], "no cell has instance wid; choose from 'wide', 'low, high'"),
        (["run", "{config}", "--K", "7"], "no cell has K 7; choose from 1, 2"),
        (["run", "{config}", "--cell", "12"], "no cell has id 12; choose from "),
        (["run", "{config}", "--trial", "-1"], "--trial"),
    ],
)
def test_bad_usage_is_one_message_and_exit_code_2(config, tmp_path, monkeypatch, arguments, text):
    monkeypatch.chdir(tmp_path)
    result = call(*(argument.format(config=config) for argument in arguments))
    assert result.code == 2
    assert result.out == ""
    assert text in result.err
    assert "Traceback" not in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["study.yaml"]


def test_an_error_of_ours_is_one_line(config):
    result = call("run", config, "--K", "7")
    assert result.code == 2
    assert result.err == "error: no cell has K 7; choose from 1, 2\n"


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs a device that is always full")
def test_a_full_stdout_is_one_line(config):
    with Path("/dev/full").open("w") as full:
        words = command("run", config, "--K", 1, "--n-jobs", 1)
        done = subprocess.run(words, env=environment(), stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("error: No space left on device; the output could not be written")
    assert done.stderr.count("\n") == 1


def test_too_little_memory_is_one_line(monkeypatch, config):
    def exhausted(*_):
        raise MemoryError

    monkeypatch.setattr("cascadebai_cli.model.problem.two_level", exhausted)
    result = call("run", config)
    assert result.code == 1
    assert result.err.startswith("error: there is not enough memory for this; ")


def test_a_bad_config_is_refused_before_anything_is_written(config, tmp_path, monkeypatch):
    config.write_text(config.read_text().replace("delta: 0.2", "delta: 2"))
    monkeypatch.chdir(tmp_path)
    for verb in ("run", "sweep"):
        result = call(verb, config)
        assert result.code == 2
        assert "study.yaml:5: delta: 2 " in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["study.yaml"]


def test_sweep_says_where_the_tables_are_and_what_comes_next(config, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = call("sweep", config, "--n-jobs", 1)
    assert result.code == 0
    assert result.out.splitlines() == [
        "tables: results/study/trials.csv, summary.csv, timings.csv",
        "next:   cascadebai fit results/study; cascadebai plot results/study",
    ]
    assert result.err == ""
    result = call("sweep", config, "--n-jobs", 1, "--trials", 8)
    assert result.code == 0
    assert result.err == "24 of 32 trials are there already, 8 to run\n"


def test_quiet_says_nothing(config, tmp_path):
    assert call("sweep", config, "--n-jobs", 1, "--out", tmp_path / "out", "--quiet") == (0, "", "")


def test_run_prints_each_cell(config):
    result = call("run", config, "--instance", "wide", "--n-jobs", 1)
    assert result.code == 0
    assert result.err == ""
    first, second = result.out.split("wide, CascadeBAI: ")[1:]
    assert first.startswith("L = 6, K = 1, delta = 0.2, epsilon = 0 (cell ")
    assert second.startswith("L = 6, K = 2, ")
    assert re.search(r"^  steps \(page views\) +mean [\d,]+\.\d, sd [\d,]+\.\d, 6 trials$", first, re.MULTILINE)
    assert re.search(r"^  observations per step +[\d.]+$", first, re.MULTILINE)
    assert re.search(
        r"^  errors +0 of 6 trials that stopped: 0.0% \(95 % interval 0.0% to 45.9%\)$", first, re.MULTILINE
    )
    assert re.search(r"^  time +\S+ s for 6 trials, \S+ s a trial$", first, re.MULTILINE)
    assert re.search(r"^  items found in 6 of 6 trials +1$", first, re.MULTILINE)
    assert re.search(r"^  items found in 6 of 6 trials +1, 2$", second, re.MULTILINE)


def test_run_names_the_best_item_first(tmp_path):
    path = tmp_path / "study.yaml"
    path.write_text(
        "seed: 1\ntrials: 3\nK: 2\ninstances: [{name: mine, family: csv, path: rates.csv, item: title, rate: rate}]\n"
    )
    (tmp_path / "rates.csv").write_text('title,rate\ndull,0.1\n"good, old",0.7\nbest,0.95\nworse,0.05\n')
    result = call("run", path, "--n-jobs", 1)
    assert result.code == 0
    assert result.out.splitlines()[-1].endswith("  best, good, old")


def test_run_shows_what_was_capped(config):
    config.write_text("max_steps: 3\n" + config.read_text())
    result = call("run", config, "--K", 1, "--instance", "wide", "--n-jobs", 1)
    assert result.code == 0
    out = result.out
    assert "mean 3.0, sd 0.0, 6 trials, 6 of them capped" in out
    assert "unknown, no trial stopped before the cap" in out


def test_run_does_not_print_a_whole_grid(config):
    config.write_text(config.read_text().replace("K: [1, 2]", "K: [1, 2, 3, 4, 5]"))
    result = call("run", config)
    assert result.code == 2
    assert result.err == (
        "error: 10 cells are too many to print, 8 is the most; choose some with --instance ('wide', 'low, high'), "
        "--K (1, 2, 3, 4, 5), or run all of them with: cascadebai sweep\n"
    )


def test_a_line_now_and_then_where_there_is_no_terminal(capsys, monkeypatch):
    import time

    from cascadebai_cli.cli import console
    from cascadebai_cli.running.watch import Follower
    from cascadebai_cli.running.worker import BlockResult, Failed
    from cascadebai_cli.store.columns import TrialRow

    monkeypatch.setattr(console, "LINE_SECONDS", 0.05)
    follower = Follower(console.Terminal(), [None] * 3, [2, 1, 0], fail=lambda *_: None)
    with follower.shown():
        follower.update(BlockResult(0, [TrialRow("0" * 16, 0, "stopped", 500, 9, True, 0.1)], []))
        time.sleep(0.2)
        follower.update(BlockResult(0, [], [Failed(1, "E: x", "")]))
        time.sleep(0.2)
    lines = capsys.readouterr().err.splitlines()
    pattern = r"{} of 3 trials, {} of 2 cells, \S+ steps/s, time left \S+ s"
    assert re.fullmatch(pattern.format(1, 0), lines[0])
    assert re.fullmatch(pattern.format(2, 1), lines[-1])


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.25, "0.25 s"),
        (12.3, "12 s"),
        (59.7, "1 min 0 s"),
        (150, "2 min 30 s"),
        (3599.9, "1 h 0 min"),
        (7300, "2 h 1 min"),
    ],
)
def test_durations(seconds, text):
    from cascadebai_cli.text import duration

    assert duration(seconds) == text


@pytest.mark.parametrize("text", ["a" * 5000, "é" * 2048])
@pytest.mark.parametrize("verb", ["fit", "plot", "report"])
def test_what_can_be_no_path(verb, text):
    assert refusal(verb, text).startswith(f"DIR {text[:20]}... is no path")


def test_a_limit_of_the_machine_is_not_taken_for_a_full_disk(monkeypatch):
    def too_many(*_, **__):
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr("cascadebai_cli.workflows.run.run", too_many)
    code, out, err = call("run", "configs/smoke.yaml")
    assert (code, out) == (1, "")
    assert err.startswith("error: Too many open files: this machine allows no more; raise its limit")
