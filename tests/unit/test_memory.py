"""Memory grows with the number of items, not with its square, and what is too large is refused before it runs."""

import tracemalloc

import numpy as np
import pytest
from sweeps import call, refusal

from cascadebai_cli.engines import lockstep, lucb
from cascadebai_cli.engines.jobs import Job, Paused, run_in_blocks
from cascadebai_cli.engines.simulate import ENGINES
from cascadebai_cli.learners.bounds import pairs_apart, told_apart
from cascadebai_cli.learners.cascadebai import CascadeBAI
from cascadebai_cli.running import runner
from cascadebai_cli.running.worker import run_trial
from cascadebai_cli.study.config import load_study

CONFIG = """\
seed: 1
trials: 4
L: {L}
K: {K}
max_steps: 3
instances:
  - {{name: a, family: two_level, w_star: 0.9, w_prime: 0.1}}
learners:
  - {learner}
"""
LARGE = 1_000_000
LEARNERS = {
    "skip-ahead": ("{name: x, algorithm: cascadebai}", "3.0"),
    "lockstep": ("{name: x, algorithm: cascadebai, order: -U}", "5.0"),
    "track-and-stop": ("{name: x, algorithm: track-and-stop}", "20.0"),
    "very many items of KL-LUCB++": ("{name: x, algorithm: kl-lucb++}", "0.2"),
}


@pytest.fixture
def write(tmp_path):
    def write_study(L, K, learner, extra=""):
        path = tmp_path / "study.yaml"
        path.write_text(CONFIG.format(L=L, K=K, learner=learner) + extra)
        return path

    return write_study


@pytest.fixture
def one_gigabyte(monkeypatch):
    monkeypatch.setattr(runner, "_machine_memory", lambda: 10**9)


def peak_of(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["skip-ahead", "very many items of KL-LUCB++"])
def test_nearly_all_of_a_million_items(write, name):
    run, _ = run_trial(1, load_study(write(LARGE, LARGE - 1, LEARNERS[name][0])).cells[0], 0)
    assert (run.status, run.steps, len(run.counts)) == ("capped", 3, LARGE)


def test_pairs_are_told_apart_a_part_at_a_time():
    L, K = 3000, 1500
    T, S = np.full(L, 10**6), np.repeat([9 * 10**5, 10**5], [K, L - K])
    apart = []
    assert peak_of(lambda: apart.append(told_apart(T, S, K, 0.1))) < 8 * K * (L - K)
    assert apart == [True]


@pytest.mark.parametrize("seed", range(20))
def test_in_parts_or_not_the_same_pairs_are_told_apart(monkeypatch, seed):
    monkeypatch.setattr("cascadebai_cli.learners.bounds._AT_ONCE", 10)
    rng = np.random.default_rng(seed)
    L, K = 12, int(rng.integers(1, 12))
    T = rng.integers(20, 400, L)
    S = np.rint(T * np.where(np.arange(L) < K, 0.9, 0.1)).astype(int)
    S[rng.integers(L)] = T[0] // 2 if T[0] // 2 < T.min() else T.min() // 2
    best = np.argsort(-(S / T), kind="stable")
    a, b = best[:K, None], best[None, K:]
    every = pairs_apart(T[a], (S / T)[a], T[b], (S / T)[b], K * (L - K), 0.1)
    assert told_apart(T, S, K, 0.1) == every.all()


def test_the_last_part_counts_as_the_others_do(monkeypatch):
    """Only the item with the largest mean, which comes last, has too few observations."""
    monkeypatch.setattr("cascadebai_cli.learners.bounds._AT_ONCE", 10)
    T, S = np.repeat([400, 400], [4, 6]), np.repeat([360, 40], [4, 6])
    assert told_apart(T, S, 4, 0.1)
    T[0], S[0] = 2, 2
    assert not told_apart(T, S, 4, 0.1)


@pytest.mark.parametrize("L", [1000, 100_000])
def test_trials_of_many_items_are_not_side_by_side(L):
    for engine in ENGINES.values():
        assert engine.block(L) == 1 or engine.block(L) * L <= 400_000
    jobs = [Job(CascadeBAI(L, 2, 0.1, order="-U"), None)] * 300
    blocks: list[int] = []

    def run(part):
        blocks.append(len(part))
        return enumerate(Paused(0) for _ in part)

    for entries in (lockstep.ENTRIES, lucb.ENTRIES):
        blocks.clear()
        assert len(list(run_in_blocks(jobs, lambda job: (L,), 256, entries, run))) == len(jobs)
        assert max(blocks) == min(256, entries // L)


@pytest.mark.parametrize("verb", ["sweep", "run"])
@pytest.mark.parametrize("name", LEARNERS)
def test_what_is_too_large_is_refused_with_the_number(write, tmp_path, monkeypatch, verb, name):
    learner, gigabytes = LEARNERS[name]
    monkeypatch.setattr(runner, "_machine_memory", lambda: 2 * 10**8)
    options = ["--out", tmp_path / "out"] if verb == "sweep" else []
    message = refusal(verb, write(LARGE, LARGE - 1, learner), "--n-jobs", 2, *options)
    assert f"a trial takes about {gigabytes} GB of memory, 2 at once" in message
    assert message.endswith("this machine has 0.2 GB; choose fewer items, or a smaller --n-jobs\n")
    assert message.startswith("a, x: L = 1000000, K = 999999, ")
    assert [file.name for file in tmp_path.glob("out/*")] in ([], [".lock"])


def test_a_table_of_rewards_counts(write, one_gigabyte):
    extra = "rewards: {rows: 10000000}\n"
    study = write(1000, 2, LEARNERS["skip-ahead"][0], extra)
    assert call("run", study, "--quiet", "--trials", 1).code == 0
    message = refusal("run", study, "--max-steps", 10**9, "--n-jobs", 1)
    assert "a trial takes about 1.3 GB of memory, but this machine has 1.0 GB; choose fewer items\n" in message


def test_only_trials_that_are_missing_count(write, tmp_path, monkeypatch):
    study = write(1000, 2, LEARNERS["skip-ahead"][0])
    assert call("sweep", study, "--out", tmp_path / "out", "--quiet").code == 0
    monkeypatch.setattr(runner, "_machine_memory", lambda: 1)
    assert call("sweep", study, "--out", tmp_path / "out", "--quiet").code == 0
    assert "of memory" in refusal("sweep", study, "--out", tmp_path / "out", "--quiet", "--trials", 5)


@pytest.mark.parametrize(("limits", "there"), [(["max"], 10**6), (["5000"], 5000), (["5000", "x"], 5000), ([], 10**6)])
def test_a_container_has_what_it_may_have(tmp_path, monkeypatch, limits, there):
    files = [tmp_path / f"{i}" for i in range(3)]
    for file, text in zip(files, limits, strict=False):
        file.write_text(text + "\n")
    monkeypatch.setattr(runner, "_LIMITS", files)
    monkeypatch.setattr(runner.os, "sysconf", {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 1000}.get)
    assert runner._machine_memory() == there


def test_a_system_that_does_not_say_refuses_nothing(monkeypatch):
    monkeypatch.delattr(runner.os, "sysconf")
    assert runner._machine_memory() is None


def test_cells_that_share_their_weights_count_one_by_one(write):
    study = write(LARGE, 2, LEARNERS["skip-ahead"][0], f"delta: {[i / 1000 for i in range(1, 102)]}\n")
    assert "'a' makes 101000000 items in all its cells together; make 100000000 or fewer" in refusal("run", study)


def test_numbers_of_items_are_shared(write):
    names = [cell.items for cell in load_study(write("[9, 12]", "[1, 2]", LEARNERS["skip-ahead"][0])).cells]
    assert names[-1] == tuple(map(str, range(1, 13)))
    assert all(name[8] is names[0][8] for name in names)


def test_a_long_list_of_items_is_cut(write):
    text = call("run", write(300, 299, LEARNERS["skip-ahead"][0]), "--max-steps", 10**7, "--trials", 1, "--quiet").out
    assert text.endswith(" and 99 more\n")
