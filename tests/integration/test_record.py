"""What is recorded inside a run: the answer, the decisions, the run at some of its steps; shared rewards."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sweeps import call, refusal

import cascadebai_cli as cb
from cascadebai_cli.analysis.cells import Cells
from cascadebai_cli.analysis.results import load_results
from cascadebai_cli.engines.outcomes import PairedOutcomes, RandomStack
from cascadebai_cli.running.worker import run_trial
from cascadebai_cli.store.columns import TABLES
from cascadebai_cli.study.config import load_study

RACES = """\
  - {name: CascadeBAI, algorithm: cascadebai}
  - {name: kl, algorithm: cascadebai, confidence: kl}
"""
OTHERS = """\
  - {name: U, algorithm: cascadebai, order: -U}
  - {name: LUCB, algorithm: kl-lucb++}
  - {name: TaS, algorithm: track-and-stop}
"""
STUDY = """\
seed: 1
trials: 3
L: 8
K: 3
delta: 0.2
record: [answer, decisions, trace]
instances: [{{name: two, family: two_level, w_star: 0.7, w_prime: 0.1}}]
{more}
learners:
{learners}"""
FILES = ("answers.csv", "decisions.csv", "traces.csv")


def written(folder: Path, more: str, learners: str) -> Path:
    path = folder / "study.yaml"
    path.write_text(STUDY.format(more=more, learners=learners))
    return path


def swept(config: Path, name: str, *words: object) -> Path:
    out = config.parent / name
    code, _, err = call("sweep", config, "--out", out, "--quiet", "--n-jobs", 1, *words)
    assert code == 0, err
    return out


@pytest.mark.parametrize(
    ("more", "learners"),
    [
        ("paired: true", RACES + OTHERS),
        ("rewards: {rows: 100000}", RACES),
        ("paired: true\nfeedback: semi-bandit", RACES),
    ],
    ids=["one stack for all", "a table", "semi-bandit"],
)
def test_every_engine_records_what_the_reference_does(tmp_path, more, learners):
    """With the same rewards, so that every byte is compared."""
    config = written(tmp_path, more, learners)
    fast, slow = swept(config, "fast"), swept(config, "slow", "--set", "engine=reference")
    for name in ("trials.csv", *FILES):
        assert (fast / name).read_bytes() == (slow / name).read_bytes(), name
    table = {name: pd.read_csv(fast / name) for name in FILES}
    assert all(list(found) == TABLES[name].names() for name, found in table.items())


def test_the_records_agree_with_each_other_and_with_the_rows(tmp_path):
    out = swept(written(tmp_path, "paired: true", RACES + OTHERS), "out")
    trials, answers, decisions, traces = (pd.read_csv(out / name) for name in ("trials.csv", *FILES))
    key = ["cell_id", "trial"]
    assert (answers.groupby(key).size() == 3).all()
    right = answers.assign(good=answers["item"] <= 3).groupby(key)["good"].all()
    rows = trials.set_index(key).sort_index()
    assert (right == rows["correct"].astype(bool)).all()
    assert set(decisions["learner"]) == {"CascadeBAI", "kl", "U"}
    last = decisions.groupby(key)["step"].max()
    assert (last == rows["steps"].loc[last.index]).all(), "a race ends with its last decision"
    assert decisions.groupby(key)["step"].apply(lambda steps: steps.is_monotonic_increasing).all()
    end = traces.groupby(key).last()
    assert (end["step"] == rows["steps"]).all()
    assert (end["observations"] == rows["observations"]).all()
    for (cell, trial), moments in traces.dropna(subset="survivors").groupby(key):
        made = decisions[(decisions["cell_id"] == cell) & (decisions["trial"] == trial)]
        assert [8 - (made["step"] <= step).sum() for step in moments["step"]] == list(moments["survivors"])


def test_recording_changes_no_row_and_may_be_asked_for_later(tmp_path):
    config = written(tmp_path, "", RACES)
    plain = swept(config, "out", "--set", "record=[]")
    rows = (plain / "trials.csv").read_bytes()
    assert not (plain / "decisions.csv").exists()
    assert (
        call("sweep", config, "--out", plain, "--dry-run").out.splitlines()[-1].startswith("6 of 6 trials are missing")
    )
    again = swept(config, "out")
    assert (again / "trials.csv").read_bytes() == rows
    whole = {name: (again / name).read_bytes() for name in FILES}
    assert "0 of 6" in call("sweep", config, "--out", again, "--dry-run").out
    assert {name: (swept(config, "at once", "--n-jobs", 2) / name).read_bytes() for name in FILES} == whole


def test_other_steps_of_a_trace_are_looked_at_anew(tmp_path):
    config = written(tmp_path, "", RACES)
    out = swept(config, "out", "--set", "trace_at=[7, 70]")
    assert set(pd.read_csv(out / "traces.csv").groupby(["cell_id", "trial"])["step"].first()) == {7}
    swept(config, "out", "--set", "trace_at=[8]")
    assert set(pd.read_csv(out / "traces.csv").groupby(["cell_id", "trial"])["step"].first()) == {8}


def test_shards_bring_their_records(tmp_path):
    config = written(tmp_path, "", RACES)
    parts = [swept(config, f"part {i}", "--shard", f"{i}/2") for i in (1, 2)]
    assert call("merge", *parts, "--out", tmp_path / "all").code == 0
    whole = swept(config, "whole")
    for name in FILES:
        assert (tmp_path / "all" / name).read_bytes() == (whole / name).read_bytes()


def test_a_damaged_record_is_a_damaged_line(tmp_path):
    config = written(tmp_path, "", RACES)
    out = swept(config, "out")
    journal = out / "trials.journal"
    journal.write_bytes(journal.read_bytes().replace(b":accepted:", b":admitted:", 1))
    assert "1 damaged line" in call("sweep", config, "--out", out).err


NO_ANSWER = """
class Silent:
    def __init__(self, L, K, delta, epsilon=0.0):
        self.finished, self.recommendation = False, tuple(range(K))
    def select(self):
        return [0]
    def observe(self, shown, outcomes):
        self.finished = True
"""


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("record=[deeds]", "record: 'deeds' is not known; use one of answer, decisions, trace"),
        ("record=[answer, answer]", "'answer' is listed twice"),
        ("trace_at=[0]", "0"),
    ],
)
def test_what_cannot_be_recorded_is_refused(tmp_path, word, said):
    assert said in refusal("check", written(tmp_path, "", RACES), "--set", word)


def test_steps_of_a_trace_that_nobody_asks_for(tmp_path):
    found = refusal("check", written(tmp_path, "trace_at: 5", RACES), "--set", "record=answer")
    assert "trace_at: nothing uses it without a trace; write record: [trace], or leave it out" in found


def test_a_learner_that_cannot_be_asked_has_no_trace(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "silent_one.py").write_text(NO_ANSWER)
    config = written(tmp_path, "", "  - {name: mine, algorithm: 'silent_one:Silent'}\n")
    assert "'mine': a trace asks for the items before the learner has stopped" in refusal("check", config)
    assert (
        call("sweep", config, "--out", tmp_path / "out", "--quiet", "--n-jobs", 1, "--set", "record=answer").code == 0
    )
    assert len(pd.read_csv(tmp_path / "out" / "answers.csv")) == 9


# --- Rewards that all learners share ---------------------------------------------------------------------------------


@pytest.mark.parametrize("w", [0.0, 0.02, 0.5, 0.97, 1.0])
def test_both_forms_of_a_stack_hold_the_same_outcomes(w):
    weights = np.array([w, 0.3, w])

    def generator():
        return np.random.Generator(np.random.PCG64DXSM(4))

    stack, single, bulk = (made(weights, generator()) for made in (RandomStack, PairedOutcomes, PairedOutcomes))
    expected = np.array([stack.peek(item, 0, 3000) for item in range(3)])
    assert (np.array([[single.next(item) for _ in range(3000)] for item in range(3)]) == expected).all()
    found = []
    for start, rounds in ((0, 1), (1, 999), (1000, 2000)):
        keys, clicks = bulk.stretch(np.arange(3), start, rounds, 2)
        part = np.full((rounds, 3), not clicks)
        part[keys >> 2, keys & 3] = clicks
        found.append(part.T)
    assert (np.concatenate(found, axis=1) == expected).all()


def test_paired_learners_meet_the_same_rewards_and_others_do_not(tmp_path):
    """Two names of the same algorithm, one with an option that changes no decision here, end alike in each trial."""
    twins = "  - {name: one, algorithm: cascadebai}\n  - {name: other, algorithm: cascadebai, list_length: 3}\n"
    apart, paired = (load_study(written(tmp_path, more, twins)) for more in ("", "paired: true"))
    for study, equal in ((apart, False), (paired, True)):
        one, other = study.cells
        assert one.cell_id != other.cell_id
        runs = [[run_trial(1, cell, trial) for trial in range(3)] for cell in (one, other)]
        assert (runs[0] == runs[1]) == equal
    assert {cell.cell_id for cell in apart.cells}.isdisjoint(cell.cell_id for cell in paired.cells)


def test_paired_rows_do_not_mix_with_others(tmp_path):
    config = written(tmp_path, "", RACES)
    out = swept(config, "out")
    assert "paired" in refusal("sweep", config, "--out", out, "--set", "paired=true")


def test_pairs_are_compared_pair_by_pair(tmp_path):
    """Against the formulas, from the rows; independent rows have no such columns."""
    config = written(tmp_path, "paired: true\nplot: {kind: curves}", RACES)
    out = swept(config, "out", "--trials", 12, "--set", "record=[]")
    assert call("fit", out).code == 0
    (row,) = pd.read_csv(out / "ratios.csv").to_dict("records")
    steps = pd.read_csv(out / "trials.csv").pivot(index="trial", columns="learner", values="steps")
    difference = steps["CascadeBAI"] - steps["kl"]
    half = stats.t.ppf(0.975, 11) * difference.sem()
    assert row["difference"] == pytest.approx(difference.mean())
    assert [row["difference_low"], row["difference_high"]] == pytest.approx(
        [difference.mean() - half, difference.mean() + half]
    )
    assert row["pairing"] == pytest.approx(steps.var().sum() / difference.var())
    log = steps["CascadeBAI"] / steps["CascadeBAI"].mean() - steps["kl"] / steps["kl"].mean()
    factor = np.exp(stats.t.ppf(0.975, 11) * log.sem())
    assert [row["ratio"] / row["ratio_low"], row["ratio_high"] / row["ratio"]] == pytest.approx([factor, factor])
    alone = swept(config, "alone", "--trials", 12, "--set", "record=[]", "--set", "paired=false")
    assert call("fit", alone).code == 0
    assert "difference" not in pd.read_csv(alone / "ratios.csv")


def test_a_ratio_lies_in_its_interval_if_one_learner_has_more_trials(tmp_path):
    """Before, the ratio was that of all trials and the interval that of the pairs, so that it could lie outside."""
    config = written(tmp_path, "paired: true\nplot: {kind: curves}", RACES)
    aim = ["--set", "trials={relative_error: 0.04, at_least: 5, at_most: 60}", "--set", "record=[]"]
    out = swept(config, "out", *aim)
    assert call("fit", out).code == 0
    (row,) = pd.read_csv(out / "ratios.csv").to_dict("records")
    steps = pd.read_csv(out / "trials.csv").pivot(index="trial", columns="learner", values="steps")
    both = steps.dropna()
    assert row["pairs"] == len(both) < len(steps)
    assert row["ratio"] == pytest.approx(both["CascadeBAI"].mean() / both["kl"].mean())
    assert row["ratio_low"] < row["ratio"] < row["ratio_high"]


def test_capped_pairs_have_no_difference(tmp_path):
    config = written(tmp_path, "paired: true\nmax_steps: 100\nplot: {kind: curves}", RACES)
    out = swept(config, "out", "--set", "record=[]")
    assert call("fit", out, "--allow-capped").code == 0
    assert pd.read_csv(out / "ratios.csv")[["difference", "pairing"]].isna().all(axis=None)


# --- In Python, and in a figure --------------------------------------------------------------------------------------


def test_python_gives_what_is_recorded(tmp_path):
    instance = cb.Instance([0.7, 0.7, 0.1, 0.1], K=2)
    found = cb.simulate(instance, trials=3, record=["answer", "decisions", "trace"], trace_at=[10, 20])
    assert (found["answer"].map(set).map(len) == 2).all()
    assert found["decisions"].iloc[0][-1].step == found["steps"].iloc[0]
    assert [moment.step for moment in found["trace"].iloc[0]] == [10, 20, found["steps"].iloc[0]]
    plain = cb.simulate(instance, trials=3)
    assert found[list(plain)].equals(plain)
    assert list(plain) == [name for name in found if name not in ("answer", "decisions", "trace")]


def test_a_figure_shows_how_often_the_present_answer_is_right(tmp_path):
    out = swept(written(tmp_path, "", RACES), "out")
    results = load_results(out)
    points = Cells.of([results]).with_moments().table
    traces = pd.read_csv(out / "traces.csv")
    for row in points.to_dict("records"):
        of_cell = traces[traces["cell_id"] == row["cell_id"]]
        last = [one[one["step"] <= row["step"]]["correct"].iloc[-1] for _, one in of_cell.groupby("trial")]
        assert row["present_rate"] == pytest.approx(sum(last) / 3)
    assert call("plot", out, "--kind", "trace", "--out", tmp_path / "trace.png").code == 0
    assert "a sweep with record: [trace] writes" in refusal(
        "plot", swept(written(tmp_path, "", RACES), "none", "--set", "record=[]"), "--kind", "trace"
    )
    assert "such as trace" in refusal("plot", out, "--y", "present")
