"""Simulating and sweeping from Python: the same rows, files, sentences and pictures as from the command line."""

import asyncio
import copy
import gc
import multiprocessing
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import yaml
from sweeps import ROOT, call, environment, refusal, sweep, tables, write_config

import cascadebai_cli as cb
from cascadebai_cli.api import arguments

WEIGHTS = [0.9, 0.2, 0.8, 0.1]
STUDY = {
    "study": "simulate",
    "seed": 3,
    "trials": 4,
    "K": 2,
    "instances": [{"name": "instance", "family": "explicit", "weights": WEIGHTS}],
}
GRID = """\
seed: 5
trials: 4
L: 8
instances:
  - {name: three, family: two_level, w_star: 0.8, w_prime: 0.1, K: [1, 2, 3], fit: {model: K}}
"""


@pytest.fixture(autouse=True)
def silent(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Nothing is printed, and no setting is changed."""
    before, signals = dict(mpl.rcParams.copy()), signal.getsignal(signal.SIGINT)
    yield
    assert capfd.readouterr() == ("", "")
    assert dict(mpl.rcParams.copy()) == before
    assert signal.getsignal(signal.SIGINT) is signals


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    path = tmp_path / "grid.yaml"
    path.write_text(GRID)
    return path


def test_a_line_is_written_over_and_gone_at_the_end(
    grid: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(arguments, "_PATIENCE", 0.0)
    monkeypatch.setattr(arguments, "_PAUSE", 0.0)
    cb.sweep(grid, tmp_path / "shown", n_jobs=1, progress=True)
    out, err = capfd.readouterr()
    before, *lines, blank, end = err.split("\r")
    assert (out, before, blank.strip(), len(blank), end) == ("", "", "", len(lines[-1].rstrip()), "")
    assert [re.sub(r" \S+ steps/s, time left .*", "", line.rstrip()) for line in lines] == [
        f"{4 * cells} of 12 trials, {cells} of 3 cells," for cells in (1, 2, 3)
    ]
    cb.sweep(grid, tmp_path / "hidden", n_jobs=1, progress=False)
    cb.sweep(grid, tmp_path / "nobody looks on", n_jobs=1)


def by_command(config: object, folder: Path) -> Path:
    (folder / "study.yaml").write_text(yaml.safe_dump(config))
    assert sweep(folder / "study.yaml", folder / "swept").code == 0
    return folder / "swept"


# --- simulate -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "config"),
    [
        ({}, {}),
        ({"order": "-U", "sigma": 0.4, "max_steps": 700}, {"max_steps": 700}),
        ({"learner": "kl-lucb++", "delta": np.float64(0.3)}, {"delta": 0.3}),
        ({"learner": "uniform", "budget": 50}, {"budget": 50}),
        ({"rewards": {"rows": 100}, "feedback": "cascading"}, {"rewards": {"rows": 100}}),
        ({"learner": "batrac", "feedback": "semi-bandit", "b": 2}, {"feedback": "semi-bandit"}),
    ],
    ids=["plain", "options", "kl-lucb", "budget", "table", "semi-bandit"],
)
def test_simulate_gives_the_file_that_a_sweep_of_the_same_content_writes(
    tmp_path: Path, options: dict[str, object], config: dict[str, object]
) -> None:
    frame = cb.simulate(cb.Instance(np.array(WEIGHTS), K=2), trials=4, seed=3, **options)  # type: ignore[arg-type]
    name = options.get("learner", "cascadebai")
    own = {key: value for key, value in options.items() if key in ("order", "sigma", "b")}
    swept = by_command({**STUDY, **config, "learners": [{"name": name, "algorithm": name, **own}]}, tmp_path)
    assert frame.to_csv(index=False, lineterminator="\n").encode() == (swept / "trials.csv").read_bytes()
    pd.testing.assert_frame_equal(frame, cb.load(swept).trials)


def test_more_trials_begin_with_the_same_ones_for_any_number_of_jobs() -> None:
    instance = cb.Instance(WEIGHTS, K=2)
    few, many = cb.simulate(instance, trials=3), cb.simulate(instance, trials=np.int64(6), n_jobs=2)
    pd.testing.assert_frame_equal(few, many[:3])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"learner": "cascadebay"}, "learner: 'cascadebay' is not known; did you mean cascadebai?"),
        ({"learner": 3}, "learner: 3 is not text; put it in quotes"),
        ({"sigmo": 1}, "sigmo: unknown option; did you mean sigma?"),
        ({"trails": 1}, "trails: unknown option; did you mean trials?"),
        ({"learner": ["sar", "batrac"]}, "learner: give one; tables of several can be joined with pandas.concat"),
        ({"learner": "nowhere:Class"}, "learner: nowhere:Class: no module 'nowhere' in "),
        ({"sigma": "x"}, "sigma: 'x' is not a number; write one such as 0.1"),
        ({"delta": 1.5}, "delta: 1.5 is too large; write a value less than 1"),
        ({"trials": 0}, "trials: 0 is too small; write 1 or more"),
        ({"trials": 2.0}, "trials: 2.0 is not a whole number; write 2"),
        ({"seed": None}, "seed: none is not a whole number; write one without quotes or decimals"),
        ({"engine": "fast"}, "engine: 'fast' is not known; use one of auto, reference, skip-ahead, lockstep"),
        ({"trials": {"relative_error": 0.1, "at_most": 100}}, "trials: only a sweep can find out how many are enough"),
        ({"K": 3}, "K: belongs to the instance; write for example Instance(weights, K=2, epsilon=0.1)"),
        ({"n_jobs": 0}, "n_jobs must not be 0; give 1 or more, or -1 for all cores"),
        ({"n_jobs": "all"}, "n_jobs: 'all' is not a whole number; write one without quotes or decimals"),
    ],
)
def test_a_wrong_value_is_a_value_error_that_names_it(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=" ") as error:
        cb.simulate(cb.Instance(WEIGHTS, K=2), **options)  # type: ignore[arg-type]
    assert str(error.value).startswith(sentence)


def test_weights_are_no_instance() -> None:
    with pytest.raises(ValueError, match=r"^a list is no instance; write for example Instance\(weights, K=2\)$"):
        cb.simulate(WEIGHTS)  # type: ignore[arg-type]


# --- sweep and load -------------------------------------------------------------------------------------------------


def test_a_sweep_writes_what_the_command_writes(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    assert sweep(config, tmp_path / "command").code == 0
    of_path = cb.sweep(config, tmp_path / "path", n_jobs=2)
    of_keys = cb.sweep({"study": "study", **yaml.safe_load(config.read_text())}, str(tmp_path / "keys"), n_jobs=1)
    assert tables(tmp_path / "path") == tables(tmp_path / "keys") == tables(tmp_path / "command")
    assert of_path.manifest["config"] == of_keys.manifest["config"] == cb.load(tmp_path / "command").manifest["config"]


def test_a_sweep_goes_on_with_what_is_there_and_takes_keys(grid: Path, tmp_path: Path) -> None:
    first, late = (cb.sweep(grid, tmp_path / "out", n_jobs=1) for _ in range(2))
    assert len(first.trials) == 12
    more = cb.sweep(str(grid), tmp_path / "out", n_jobs=1, trials=6)
    assert (len(first.trials), len(more.trials)) == (12, 18)
    with pytest.raises(ValueError, match=r"trials\.csv has been written anew since; load the directory again$"):
        _ = late.trials
    pd.testing.assert_frame_equal(first.trials, more.trials[more.trials["trial"] < 4].reset_index(drop=True))
    again = cb.sweep(more.manifest["config"], tmp_path / "again", n_jobs=1)
    assert tables(again.directory) == tables(more.directory)


def test_without_a_directory_results_are_kept_as_long_as_somebody_has_them(grid: Path) -> None:
    results = cb.sweep(grid, n_jobs=1)
    directory = results.directory
    assert (directory / "trials.csv").exists()
    assert len(results.trials) == 12
    del results
    assert not directory.exists()


def test_numbers_of_any_kind_make_a_study(tmp_path: Path) -> None:
    plain = {**STUDY, "K": [1, 2], "delta": 0.25}
    given = {
        **STUDY,
        "seed": np.uint8(3),
        "K": np.arange(1, 3),
        "delta": Fraction(1, 4),
        "instances": ({"name": "instance", "family": "explicit", "weights": pd.Series(WEIGHTS)},),
    }
    assert cb.sweep(given, n_jobs=1).trials.equals(cb.sweep(plain, n_jobs=1).trials)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"instances": []}, "instances: the list is empty; give at least one entry"),
        ({"instances": [{"name": "a"}]}, "instances.0.family: missing; write family: two_level, "),
        ({"K": 4}, "K: 4 is not less than L = 4 of 'instance'; choose a smaller K or more items"),
        ({"K": [1, 0]}, "K.1: 0 is too small; write 1 or more"),
        ({"lerners": []}, "lerners: unknown key; did you mean learners?"),
        ({"trials": 9_000_000, "K": [1, 2, 3]}, "9,000,000 trials of 3 cells are more than 20,000,000 rows; "),
        (
            {"learners": [{"name": "x {sigma}", "algorithm": "cascadebai", "sigma": []}]},
            "learners.0.sigma: the list is",
        ),
    ],
)
def test_a_wrong_study_is_a_value_error_with_its_place(change: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=" ") as error:
        cb.sweep({**STUDY, **change})
    assert str(error.value).startswith(sentence)


def test_a_wrong_file_has_the_sentence_of_the_command_line(tmp_path: Path) -> None:
    config = write_config(tmp_path, extra="lerners: []\n")
    with pytest.raises(ValueError, match="lerners") as error:
        cb.sweep(config)
    assert f"{error.value}\n" == refusal("sweep", config)
    for wrong in (tmp_path / "no", tmp_path):
        with pytest.raises(ValueError, match=" ") as error:
            cb.load(wrong)
        assert f"{error.value}\n" == refusal("fit", wrong)
    for no_study in (None, 3, [STUDY], pd.DataFrame(), "", "seed: 1\ntrials: 3\n"):
        with pytest.raises(ValueError, match=r"^study: .*; give the path of a config, or its keys and values$"):
            cb.sweep(no_study)  # type: ignore[arg-type]
    for no_directory in (3, ""):
        with pytest.raises(ValueError, match=r"^out: .*; give the path of a directory$"):
            cb.sweep(STUDY, no_directory)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"^directory: .*; give that of a sweep$"):
            cb.load(no_directory)  # type: ignore[arg-type]


def test_a_tilde_is_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cb.sweep(STUDY, "~/out", n_jobs=1).directory == tmp_path / "out"
    assert len(cb.load("~/out").trials) == 4


def test_a_path_that_the_system_refuses_is_a_value_error() -> None:
    for use in (cb.load, lambda path: cb.sweep(STUDY, path, n_jobs=1)):
        with pytest.raises(ValueError, match=r"cannot be used \(File name too long\); give "):
            use("x" * 300)
    with pytest.raises(ValueError, match=r"~nobody-of-this-name/x is not a directory; "):
        cb.load("~nobody-of-this-name/x")


# --- results --------------------------------------------------------------------------------------------------------


def test_results_show_fit_and_pickle_themselves(grid: Path, tmp_path: Path) -> None:
    results = cb.sweep(grid, tmp_path / "a <b>", n_jobs=1)
    assert repr(results) == f"<Results of grid: 3 cells, 12 trials, in {tmp_path / 'a <b>'}>"
    shown = results._repr_html_()
    assert "a &lt;b&gt;" in shown
    assert "mean_steps" in shown
    assert pickle.loads(pickle.dumps(results)).summary.equals(results.summary)
    assert results.fits["model"].tolist() == ["K"]
    assert not (results.directory / "fits.csv").exists()
    pd.testing.assert_frame_equal(results.fit(), results.fits)
    assert (results.directory / "fits.csv").exists()


def test_results_stay_what_they_are_in_another_folder_and_when_a_table_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    results = cb.sweep(STUDY, "out", n_jobs=1)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for table, column in ((results.trials, "steps"), (results.summary, "n")):
        table[column] = 0
    assert (results.trials["steps"] > 0).all()
    assert (results.summary["n"] == 4).all()
    assert pickle.loads(pickle.dumps(results)).trials.equals(results.trials)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy])
def test_files_without_a_directory_live_as_long_as_a_copy_of_the_results(
    again: Callable[[cb.Results], cb.Results],
) -> None:
    results = cb.sweep(STUDY, n_jobs=1)
    kept, directory = again(results), results.directory
    del results
    gc.collect()
    assert len(kept.trials) == 4
    with pytest.raises(
        ValueError, match=r"^the files of simulate go when its results go; to pickle these, give sweep a "
    ):
        pickle.dumps(kept)
    del kept
    gc.collect()
    assert not directory.exists()


def test_a_figure_is_the_picture_of_the_command_line(grid: Path, tmp_path: Path) -> None:
    results = cb.sweep(grid, tmp_path / "out", n_jobs=1)
    mpl.rcParams["font.size"] = 30
    try:
        figure = results.plot(kind="curves", width="column", where={"K": np.array([1, 3])})
        figure.savefig(tmp_path / "python.png", metadata={"Title": "t", "Description": "d"})
    finally:
        mpl.rcParams["font.size"] = mpl.rcParamsDefault["font.size"]
    words = ("--kind", "curves", "--width", "column", "--where", "K=1,3")
    assert call("plot", results.directory, *words, "--out", tmp_path / "command.png").code == 0
    one, other = (mpl.image.imread(tmp_path / f"{name}.png") for name in ("python", "command"))
    assert one.shape == other.shape
    assert np.array_equal(one, other)
    assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    assert pickle.loads(pickle.dumps(figure)).get_size_inches().tolist() == figure.get_size_inches().tolist()
    with pytest.raises(ValueError, match=r"^kind 'curve' is not known; did you mean curves\?$"):
        results.plot(kind="curve")


def test_what_a_command_warns_of_is_a_warning_at_the_line_of_the_caller(grid: Path) -> None:
    with pytest.warns(UserWarning, match="reached the cap and count with it") as told:
        cb.sweep(grid, n_jobs=1, max_steps=5).plot()
    assert {Path(warning.filename) for warning in told} == {Path(__file__)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cb.sweep(grid, n_jobs=1)


# --- where it is called from ----------------------------------------------------------------------------------------


def test_it_runs_in_an_event_loop_in_a_thread_and_in_a_process() -> None:
    instance, found = cb.Instance(WEIGHTS, K=2), []

    async def inside() -> pd.DataFrame:
        return cb.simulate(instance, trials=2, n_jobs=2)

    def beside() -> None:
        found.append(cb.simulate(instance, trials=2, n_jobs=2))

    found.append(asyncio.run(inside()))
    thread = threading.Thread(target=beside)
    thread.start()
    thread.join()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found.append(pool.apply(cb.simulate, (instance,), {"trials": 2}))
    assert all(frame.equals(cb.simulate(instance, trials=2)) for frame in found)


def script(text: str, folder: Path, *, check: bool = True) -> "subprocess.CompletedProcess[str]":
    (folder / "script.py").write_text(text)
    words = [sys.executable, "script.py"]
    return subprocess.run(
        words, cwd=folder, env=environment(), capture_output=True, text=True, timeout=100, check=check
    )


def test_a_script_needs_no_guard_and_prints_nothing(tmp_path: Path) -> None:
    done = script(
        "import cascadebai as cb\n"
        "rows = cb.simulate(cb.Instance([0.9, 0.2, 0.1], K=1), trials=4, n_jobs=2)\n"
        "print(len(rows))\n",
        tmp_path,
    )
    assert (done.stdout, done.stderr) == ("4\n", "")


INTERRUPTED = """\
import os, signal, threading, time
import cascadebai as cb
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job begins without
cb.simulate(cb.Instance([0.9, 0.1], K=1), trials=4, n_jobs={n_jobs})
instance = cb.Instance([0.501, 0.5, 0.5], K=1)
for _ in range(2):
    threading.Timer(1.0, os.kill, [os.getpid(), signal.SIGINT]).start()
    try:
        cb.simulate(instance, "kl-lucb++", trials=5, n_jobs={n_jobs})
    except KeyboardInterrupt:
        print("interrupted")
print(len(cb.simulate(cb.Instance([0.9, 0.1], K=1), trials=3)))
"""


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_ends_a_call_and_the_session_goes_on(tmp_path: Path, n_jobs: int) -> None:
    done = script(INTERRUPTED.format(n_jobs=n_jobs), tmp_path)
    assert done.stdout == "interrupted\ninterrupted\n3\n"


INTERRUPTED_EARLY = """\
import os, signal, sys
import cascadebai as cb
signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupts:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "pandas.core":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts)
try:
    cb.simulate
except KeyboardInterrupt:
    print("interrupted")
print(len(cb.simulate(cb.Instance([0.9, 0.1], K=1), trials=3)))
"""


def test_ctrl_c_while_the_names_are_loaded_leaves_them_usable(tmp_path: Path) -> None:
    assert script(INTERRUPTED_EARLY, tmp_path).stdout == "interrupted\n3\n"


TYPED = """\
import cascadebai as ca
import cascadebai_cli as cb
import pandas as pd

rows: pd.DataFrame = cb.simulate(cb.Instance([0.9, 0.1], K=1), trials=3)
@cb.learner("mine")
class Mine:
    def __init__(self, L: int, K: int, delta: float, epsilon: float = 0.0) -> None:
        self.finished = False
        self.recommendation: tuple[int, ...] = ()

    def select(self) -> list[int]:
        return [0]

    def observe(self, shown: list[int], outcomes: list[int]) -> None:
        self.finished, self.recommendation = True, tuple(shown)

rows = cb.simulate(cb.Instance((0.9, 0.1), K=1), Mine, order="-U")
results: cb.Results = cb.sweep({"seed": 1}, n_jobs=1)
same: ca.Results = cb.load("results")
"""


@pytest.mark.slow
def test_a_type_checker_knows_the_names(tmp_path: Path) -> None:
    (tmp_path / "right.py").write_text(TYPED)
    (tmp_path / "wrong.py").write_text(TYPED + "cb.simulat()\nca.load(3)\n")
    words = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "--cache-dir", os.devnull]
    env = {**environment(), "MYPYPATH": str(ROOT)}
    for name, errors in {"right.py": [], "wrong.py": ["simulat", "incompatible type"]}.items():
        done = subprocess.run(
            [*words, "--follow-imports=silent", name], cwd=tmp_path, env=env, capture_output=True, text=True
        )
        found = [line for line in done.stdout.splitlines() if " error: " in line]
        assert len(found) == len(errors), done.stdout
        assert all(word in line for word, line in zip(errors, found, strict=True))


# --- Values that no config can hold, and words of the command line --------------------------------------------------


@pytest.mark.parametrize("key", ["learner", "trials", "sigma", "rewards", "n_jobs"])
def test_what_holds_itself_is_refused(key: str) -> None:
    mapping: dict[str, object] = {}
    mapping["a"] = mapping
    entries: list[object] = []
    entries.append(entries)
    for value in (mapping, entries):
        with pytest.raises(ValueError, match=rf"^{key}: (holds itself|give one)"):
            cb.simulate(cb.Instance(WEIGHTS, K=2), **{key: value})  # type: ignore[arg-type]
    with pytest.raises(
        ValueError, match=r"^instances: holds itself or is nested too deeply; a config has four levels$"
    ):
        cb.sweep({**STUDY, "instances": entries})


def test_numbers_and_texts_beyond_all_files_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^trials: is a number of thousands of digits; write a smaller one$"):
        cb.simulate(cb.Instance(WEIGHTS, K=2), trials=10**5000)
    with pytest.raises(ValueError, match=r"^study: 'a.ud800' has half a character, which no file can hold"):
        cb.sweep({**STUDY, "study": "a\ud800"})
    with pytest.raises(ValueError, match=r"^directory: 'a.ud800' cannot be used \(half a character\)"):
        cb.load("a\ud800")
    with pytest.raises(ValueError, match=r"^sharp: 'yes' is not true or false"):
        cb.bounds(cb.Instance(WEIGHTS, K=2), sharp="yes")  # type: ignore[arg-type]


def test_sentences_speak_of_keywords(tmp_path: Path) -> None:
    """Commands in backticks stay as they are typed."""
    spoken = arguments._in_python
    assert spoken("--per-day 0: no; use --fresh, or -K 3; `cascadebai sweep --fresh`") == (
        "per_day=0: no; use fresh, or K 3; `cascadebai sweep --fresh`"
    )
    assert spoken("a learner '--out' and a-b -- c") == "a learner '--out' and a-b -- c"
    cb.sweep(STUDY, tmp_path / "swept", n_jobs=1)
    with pytest.raises(ValueError, match=r" use fresh to move it aside .* or another out$"):
        cb.sweep({**STUDY, "seed": 99}, tmp_path / "swept", n_jobs=1)


# --- What belongs to the process: its files, its working directory --------------------------------------------------

FORKS = """\
import os, sys
import cascadebai_cli as cb

kept, gone = cb.sweep({0!r}, n_jobs=1), cb.sweep({0!r}, n_jobs=1)
child = os.fork()
if not child:
    del gone
    sys.exit(0)
os.waitpid(child, 0)
print(len(kept.trials), len(gone.trials))
"""


def test_a_forked_child_leaves_the_results_of_its_parent() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKS.format(STUDY)], env=environment(), capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "4 4\n", "")


@pytest.mark.parametrize(
    "use",
    [
        lambda: cb.sweep(STUDY, "x", n_jobs=1),
        lambda: cb.load("x"),
        lambda: cb.simulate(cb.Instance(WEIGHTS, K=2), "nowhere:Class"),
    ],
)
def test_a_working_directory_that_is_gone_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: Callable[[], object]
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "here").rmdir()
    with pytest.raises(ValueError, match=r"^the working directory has been removed; change to one that is there$"):
        use()
