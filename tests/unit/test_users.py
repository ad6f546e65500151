"""Users by their own laws: against a judge that walks down each page, and against probabilities that are known."""

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from given import GivenTable
from scipy import stats
from sweeps import call, refusal, sweep

import cascadebai_cli as cb
from cascadebai_cli.engines.simulate import ENGINES, Trial, resolve_engine, run_reference, simulate
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.cascadebai import BatRac, CascadeBAI
from cascadebai_cli.learners.fixed_budget import SuccessiveAcceptsRejects, Uniform
from cascadebai_cli.learners.kl_lucb import KLLucb
from cascadebai_cli.learners.posterior import Posterior
from cascadebai_cli.learners.track_and_stop import TrackAndStop
from cascadebai_cli.model.problem import CASCADING, FEEDBACKS, LAST_CLICK, SEMI_BANDIT, Instance
from cascadebai_cli.model.users import USERS, Cascade, DependentClick, NoSkips, PositionBased, Users
from cascadebai_cli.running.worker import run_trial
from cascadebai_cli.study.config import load_study

EXAMPLES: list[Users] = [
    Cascade(),
    Cascade(0.3),
    PositionBased((1.0, 0.7, 0.45)),
    PositionBased(0.8),
    PositionBased((0.9, 0.5), most="one"),
    DependentClick(0.6),
    DependentClick((0.9, 0.2)),
    NoSkips(),
    PositionBased((1.0, 1.0, 0.2)),
    PositionBased((1.0, 1.0, 0.2), most="one"),
    DependentClick((0.0, 0.0, 0.9)),
]
LEARNERS: dict[str, Callable[[], object]] = {
    "cascadebai": lambda: CascadeBAI(6, 3, 0.2),
    "kl": lambda: CascadeBAI(6, 3, 0.2, confidence="kl"),
    "batrac": lambda: BatRac(6, 3, 0.2),
    "kl-lucb++": lambda: KLLucb(6, 3, 0.2),
    "track-and-stop": lambda: TrackAndStop(6, 3, 0.2),
    "uniform": lambda: Uniform(6, 3),
    "sar": lambda: SuccessiveAcceptsRejects(6, 3, budget=500),
    "posterior": lambda: Posterior(6, 3, 0.2, rng=np.random.default_rng(1)),
}
ANY_ORDER = ("kl-lucb++", "track-and-stop", "posterior")


# --- The judge: what happens on one page, told as a story ------------------------------------------------------------


class Judge:
    """Clicks and readings of pages, from the same outcomes and numbers, without the package's records."""

    def __init__(
        self, users: Users, feedback: str, outcomes: Sequence[Sequence[int]], numbers: Sequence[float]
    ) -> None:
        self.said, self.feedback = users.content, feedback
        self.outcomes, self.numbers, self.step = outcomes, iter(numbers), -1

    def look(self, place: int) -> bool:
        if self.said["kind"] != "position-based":
            return True
        return self.rate(place) == 1 or next(self.numbers) < self.rate(place)

    def rate(self, place: int) -> float:
        looks = self.said["looks"]
        return looks**place if isinstance(looks, float) else looks[min(place, len(looks) - 1)]

    def leaves(self, place: int, clicked: int) -> bool:
        kind = self.said["kind"]
        if kind == "cascade":
            return bool(clicked) or (self.said["leave"] > 0 and next(self.numbers) < self.said["leave"])
        if kind == "dependent-click" and clicked:
            go_on = self.said["go_on"]
            return next(self.numbers) >= (go_on if isinstance(go_on, float) else go_on[min(place, len(go_on) - 1)])
        return kind == "position-based" and bool(clicked) and self.said["most"] == "one"

    def page(self, shown: Sequence[int]) -> list[int]:
        self.step += 1
        clicked: list[int] = []
        for place, item in enumerate(shown):
            attracts = self.look(place) and self.outcomes[self.step][item]
            if attracts:
                clicked.append(place)
            if self.leaves(place, int(attracts)):
                break
        return self.reading(clicked, len(shown))

    def reading(self, clicked: list[int], places: int) -> list[int]:
        if self.feedback == "thinned":
            least = min(self.rate(place) if self.said["kind"] == "position-based" else 1 for place in range(places))
            kept = []
            for place in clicked:
                rate = self.rate(place) if self.said["kind"] == "position-based" else 1
                if next(self.numbers) * rate < least:
                    kept.append(place)
            clicked = kept
        end = {"cascading": min, "last-click": max}.get(self.feedback)
        read = end(clicked) + 1 if end and clicked else places
        return [int(place in clicked) for place in range(read)]


def pages(learner: object, judge: Judge, cap: int, shuffled: bool = False) -> tuple[int, int, tuple[int, ...]]:
    """Steps, observations and answer of a learner that meets the judge's pages."""
    steps = observations = 0
    while not learner.finished and steps < cap:
        shown = learner.select()
        if shuffled:
            shown = [item for _, item in sorted((next(judge.numbers), item) for item in shown)]
        seen = judge.page(shown)
        learner.observe(shown, seen)
        steps, observations = steps + 1, observations + len(seen)
    return steps, observations, tuple(learner.recommendation)


def allowed(users: Users, name: str) -> bool:
    return name != "thinned" or users.examination(3) is not None


CASES = [
    (u, f, m, shuffled)
    for u, f, m, shuffled in itertools.product(EXAMPLES, FEEDBACKS, LEARNERS, (False, True))
    if allowed(u, f) and (m in ANY_ORDER or not shuffled)
]


def words(value: object) -> str:
    return str(value.content) if isinstance(value, Users) else str(value)


@pytest.mark.parametrize(("users", "feedback", "made", "shuffled"), CASES, ids=words)
def test_a_run_is_that_of_the_judge(users: Users, feedback: str, made: str, shuffled: bool) -> None:
    rng = np.random.default_rng([len(feedback), EXAMPLES.index(users)])
    table = rng.random((600, 6)) < [0.9, 0.8, 0.8, 0.2, 0.1, 0.05]
    numbers = rng.random(9_000)
    seen = FEEDBACKS[feedback].of(users, shuffled)
    run = run_reference(LEARNERS[made](), GivenTable(table), seen, 600, iter(numbers).__next__)
    judge = Judge(users, feedback, table.astype(int), numbers)
    steps, observations, answer = pages(LEARNERS[made](), judge, 600, shuffled)
    assert (run.steps, run.recommendation) == (steps, answer)
    assert made in ("cascadebai", "kl") or run.observations == observations  # races count what survivors see


# --- Laws that are known -------------------------------------------------------------------------------------------

W = (0.7, 0.5, 0.4)


def clicks_of(users: Users, n: int = 20_000) -> Counter[tuple[int, ...]]:
    rng = np.random.default_rng(5)
    draw = lambda item: int(rng.random() < W[item])  # noqa: E731
    return Counter(tuple(users.clicks((0, 1, 2), draw, rng.random)) for _ in range(n))


def law(users: Users) -> dict[tuple[int, ...], float]:
    """Probability of each pattern of clicks, summed over all that can happen at the places."""
    found: Counter[tuple[int, ...]] = Counter()

    def go(place: int, clicks: tuple[int, ...], p: float) -> None:
        if place == 3 or p == 0:
            found[clicks + (0,) * (3 - len(clicks))] += p
            return
        w, end = W[place], clicks + (1,) + (0,) * (2 - place)
        match users:
            case Cascade(leave):
                found[end] += p * w
                found[clicks + (0,) * (3 - place)] += p * (1 - w) * leave
                go(place + 1, (*clicks, 0), p * (1 - w) * (1 - leave))
            case PositionBased(looks, most):
                e = looks**place if isinstance(looks, float) else looks[min(place, len(looks) - 1)]
                go(3 if most == "one" else place + 1, end if most == "one" else (*clicks, 1), p * w * e)
                go(place + 1, (*clicks, 0), p * (1 - w * e))
            case DependentClick(go_on):
                on = go_on if isinstance(go_on, float) else go_on[min(place, len(go_on) - 1)]
                found[end] += p * w * (1 - on)
                go(place + 1, (*clicks, 1), p * w * on)
                go(place + 1, (*clicks, 0), p * (1 - w))
            case NoSkips():
                go(place + 1, (*clicks, 1), p * w)
                go(place + 1, (*clicks, 0), p * (1 - w))

    go(0, (), 1.0)
    return {pattern: p for pattern, p in found.items() if p > 0}


def fits(seen: Counter[tuple[int, ...]], expected: dict[tuple[int, ...], float]) -> bool:
    if set(seen) - set(expected):
        return False
    n = seen.total()
    return bool(stats.chisquare([seen[p] for p in expected], [n * q for q in expected.values()]).pvalue > 1e-4)


TWINS = {
    Cascade(): Cascade(0.05),
    Cascade(0.3): Cascade(0.35),
    PositionBased((1.0, 0.7, 0.45)): PositionBased((1.0, 0.7, 0.5)),
    PositionBased(0.8): PositionBased(0.75),
    PositionBased((0.9, 0.5), most="one"): PositionBased((0.9, 0.5)),
    DependentClick(0.6): DependentClick(0.55),
    DependentClick((0.9, 0.2)): DependentClick((0.2, 0.9)),
    NoSkips(): PositionBased((1.0, 1.0, 0.9)),
    PositionBased((1.0, 1.0, 0.2)): NoSkips(),
    PositionBased((1.0, 1.0, 0.2), most="one"): Cascade(),
    DependentClick((0.0, 0.0, 0.9)): DependentClick(0.05),
}


@pytest.mark.parametrize("users", EXAMPLES, ids=words)
def test_clicks_have_their_law_and_not_that_of_a_twin(users: Users) -> None:
    seen = clicks_of(users)
    assert sum(law(users).values()) == pytest.approx(1)
    assert fits(seen, law(users))
    assert not fits(seen, law(TWINS[users]))


def test_thinned_clicks_are_as_rare_at_each_place_as_at_the_last() -> None:
    users, rng = PositionBased((1.0, 0.7, 0.45)), np.random.default_rng(3)
    read = FEEDBACKS["thinned"].of(users)
    seen = np.array([read.seen((0, 0, 0), lambda _: int(rng.random() < 0.6), rng.random) for _ in range(20_000)])
    assert all(stats.binomtest(int(clicks), 20_000, 0.6 * 0.45).pvalue > 1e-4 for clicks in seen.sum(axis=0))
    assert stats.binomtest(int(seen[:, 0].sum()), 20_000, 0.6).pvalue < 1e-9


def test_every_order_of_a_shuffled_list_comes_as_often() -> None:
    rng = np.random.default_rng(3)
    read = SEMI_BANDIT.of(None, shuffled=True)
    seen = Counter(tuple(read.shown((4, 7, 9), rng.random)) for _ in range(6_000))
    assert len(seen) == 6
    assert stats.chisquare(list(seen.values())).pvalue > 1e-4


# --- What comes to the feedback of the paper is run by the fast engines, and with its law ----------------------------

SAME = [
    (Cascade(), CASCADING, CASCADING),
    (Cascade(), LAST_CLICK, CASCADING),
    (DependentClick(0.6), CASCADING, CASCADING),
    (DependentClick(0.0), LAST_CLICK, CASCADING),
    (NoSkips(), CASCADING, CASCADING),
    (NoSkips(), SEMI_BANDIT, SEMI_BANDIT),
    (PositionBased(1.0), SEMI_BANDIT, SEMI_BANDIT),
    (PositionBased(1.0, most="one"), LAST_CLICK, CASCADING),
]


def test_every_kind_is_among_the_examples() -> None:
    assert {type(users) for users in EXAMPLES} == set(USERS.values())


@pytest.mark.parametrize(("users", "feedback", "same"), SAME)
def test_fast_engines_run_what_comes_to_the_same(users, feedback, same) -> None:
    read = feedback.of(users)
    assert read.has_theory
    assert resolve_engine("auto", CascadeBAI(4, 2, 0.1), read) == "skip-ahead"
    rng = np.random.default_rng(0)
    for outcomes in itertools.product((0, 1), repeat=3):
        assert read.seen(range(3), outcomes.__getitem__, rng.random) == same.reveal(range(3), outcomes.__getitem__)


@pytest.mark.parametrize("users", EXAMPLES, ids=words)
@pytest.mark.parametrize("feedback", FEEDBACKS)
def test_what_does_not_come_to_the_same_is_run_by_the_reference_engine(users: Users, feedback: str) -> None:
    if allowed(users, feedback):
        read = FEEDBACKS[feedback].of(users)
        same = any(users == u and FEEDBACKS[feedback] == f for u, f, _ in SAME)
        same |= (type(users), feedback) == (DependentClick, "cascading")
        assert (resolve_engine("auto", CascadeBAI(4, 2, 0.1), read) != "reference") == same


def test_a_shuffled_list_is_run_by_the_reference_engine_alone() -> None:
    read = SEMI_BANDIT.of(None, shuffled=True)
    assert resolve_engine("auto", KLLucb(4, 2, 0.1), read) == "reference"
    assert not any(made.knows(read) for made in ENGINES.values() if made.feedbacks)


# --- What stays guaranteed -----------------------------------------------------------------------------------------


def errors(made: Callable[[], object], weights: Sequence[float], read, trials: int = 60) -> int:
    w = np.array(weights)
    instance = Instance(w, 2)
    runs = (simulate(made, Trial(w, np.random.default_rng(i)), feedback=read) for i in range(trials))
    return sum(not instance.is_correct(run.recommendation) for run in runs)


@pytest.mark.parametrize("weights", [(0.1, 0.2, 0.9, 0.8), (0.9, 0.8, 0.2, 0.1)])
@pytest.mark.parametrize(("feedback", "shuffled"), [(FEEDBACKS["thinned"], False), (SEMI_BANDIT, True)])
def test_thinned_or_shuffled_pages_keep_the_guarantee(weights, feedback, shuffled) -> None:
    read = feedback.of(PositionBased((1.0, 0.5)), shuffled)
    assert stats.binomtest(errors(lambda: KLLucb(4, 2, 0.1), weights, read), 60, 0.1, "greater").pvalue > 1e-3


def test_a_fixed_order_does_not() -> None:
    """Uniform shows items in a fixed cycle, so that the places decide."""

    class Fixed(Uniform):
        def select(self):
            return sorted(super().select())

    made = lambda: Fixed(4, 2)  # noqa: E731
    w = np.array([0.4, 0.4, 0.5, 0.45])
    read = SEMI_BANDIT.of(PositionBased((1.0, 0.1)))
    run = simulate(made, Trial(w, np.random.default_rng(1)), feedback=read, max_steps=2_000, answers=True)
    assert set(run.recommendation) != {2, 3}


# --- In configs and in Python --------------------------------------------------------------------------------------

CONFIG = """\
seed: 1
trials: 3
K: 2
instances:
  - {name: one, family: explicit, weights: [0.9, 0.8, 0.2, 0.1]}
  - {name: two, family: explicit, weights: [0.9, 0.8, 0.2, 0.1], users: {kind: cascade, leave: 0.4}}
learners:
  - {name: ours, algorithm: kl-lucb++}
"""


def test_users_of_an_instance_are_part_of_its_cells(tmp_path) -> None:
    (tmp_path / "study.yaml").write_text(CONFIG)
    one, two = load_study(tmp_path / "study.yaml").cells
    assert one.cell_id != two.cell_id
    assert "users" not in one.content
    assert two.content["users"] == {"kind": "cascade", "leave": 0.4}
    assert (one.runs_with, two.runs_with) == ("lockstep", "reference")
    assert sweep(tmp_path / "study.yaml", tmp_path / "out").code == 0
    cells = json.loads((tmp_path / "out" / "manifest.json").read_text())["cells"]
    assert cells[two.cell_id]["users"] == {"kind": "cascade", "leave": 0.4}
    for verb in ("summary", "bounds"):
        assert call(verb, tmp_path / ("study.yaml" if verb == "bounds" else "out")).code == 0, verb


def test_python_takes_users() -> None:
    instance = cb.Instance([0.9, 0.8, 0.2, 0.1], K=2)
    plain, named = (cb.simulate(instance, "kl-lucb++", trials=3, users=users) for users in (None, "no-skips"))
    assert plain["steps"].mean() > 0 < named["steps"].mean()
    far = cb.simulate(instance, "kl-lucb++", trials=3, users={"kind": "position-based", "looks": 0.2}, shuffle=True)
    assert far["steps"].mean() > plain["steps"].mean()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "users: {kind: posn}",
            "kind: 'posn' is not known; use one of cascade, position-based, dependent-click, no-skips",
        ),
        ("users: {kind: position-based, look: .8}", "look: unknown key; did you mean looks?"),
        ("users: {kind: cascade, looks: .8}", "looks: unknown key; use one of kind, leave"),
        ("users: {kind: position-based, looks: 1.8}", "users: looks is 1.8, but must be a probability, from 0 to 1"),
        ("users: {kind: position-based, looks: [.5, x]}", "looks: 'x' is not a number; write one such as 0.5"),
        ("users: {kind: position-based, looks: []}", "users: looks is an empty list; write a probability for"),
        ("users: {kind: position-based, looks: [0, 0.0]}", "users: looks is 0 at every place, so that nobody looks"),
        ("users: 5", "users: 5 is not a mapping; write keys and values"),
        ("users: {leave: .5}", "kind: missing; write for example kind: cascade"),
        ("feedback: last-click", "feedback: 'ours': feedback last-click needs users; write for example users: "),
        ("feedback: thinned\nusers: cascade", "feedback thinned needs users of whom it is known how often"),
        ("feedback: thinned\nusers: {kind: position-based, looks: [1, 0]}", "feedback thinned needs users of whom"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(tmp_path, said: str, told: str) -> None:
    (tmp_path / "study.yaml").write_text(CONFIG.replace(", users: {kind: cascade, leave: 0.4}", "") + said + "\n")
    assert told in refusal("run", tmp_path / "study.yaml")


def test_a_feedback_that_does_not_fit_names_the_learner_and_the_instance_whose_users_it_does_not_fit(tmp_path) -> None:
    path = tmp_path / "two.yaml"
    keys = "users: {kind: position-based, looks: [1, 0.9]}"
    text = TWO.replace("KEYS", keys).replace("OTHER", "feedback: thinned")
    path.write_text(text.replace("K: 2}", "K: 2, users: {kind: cascade, leave: 0.2}}"))
    line = text.splitlines().index("  - {name: b, algorithm: kl-lucb++, feedback: thinned}") + 1
    told = refusal("check", path)
    assert f"two.yaml:{line}: feedback: 'b' on 'i': feedback thinned needs users of whom" in told


def test_chances_that_fall_fast_are_chances() -> None:
    """A thousand places would be needed to bring 0.4^n to 0 by rounding; a list has a few."""
    assert FEEDBACKS["thinned"].of(PositionBased(0.4)).thins
    for users in (PositionBased(0.0), PositionBased((1.0, 0.0)), PositionBased(0.4, most="one"), Cascade()):
        with pytest.raises(ConfigError, match="it is known how often each place is looked at"):
            FEEDBACKS["thinned"].of(users)


@pytest.mark.parametrize("learner", ["cascadebai", "batrac", "uniform"])
def test_lists_whose_order_matters_are_not_shuffled(learner: str) -> None:
    with pytest.raises(ConfigError, match="cannot have its lists shuffled"):
        resolve_engine("auto", LEARNERS[learner](), SEMI_BANDIT.of(None, shuffled=True))


def test_every_kind_says_its_numbers() -> None:
    assert all(made().content["kind"] == kind for kind, made in USERS.items())


# --- Users among the other parts of a study --------------------------------------------------------------------------

TWO = """
study: two
seed: 3
trials: 4
max_steps: 300
KEYS
instances:
  - {name: i, family: explicit, weights: [0.8, 0.6, 0.3, 0.1], K: 2}
learners:
  - {name: a, algorithm: kl-lucb++}
  - {name: b, algorithm: kl-lucb++, OTHER}
"""


def cells_of(tmp_path, keys: str, other: str):
    path = tmp_path / "two.yaml"
    path.write_text(TWO.replace("KEYS", keys).replace("OTHER", other))
    return load_study(path).cells


@pytest.mark.parametrize("users", ["dependent-click", "cascade"])
def test_paired_learners_meet_the_same_rewards_whichever_engines_run_their_users(tmp_path, users) -> None:
    """Before, numbers for users shifted the streams of the items on the reference engine by one."""
    fast, _ = cells_of(tmp_path, f"paired: true\nusers: {users}", "feedback: semi-bandit")
    assert fast.runs_with == "lockstep"
    slow = replace(fast, engine="reference")
    steps = [[run_trial(1, one, trial)[0].steps for trial in range(4)] for one in (fast, slow)]
    assert steps[0] == steps[1]


def test_paired_learners_meet_the_same_rewards_if_one_of_them_is_shuffled(tmp_path) -> None:
    one, other = cells_of(tmp_path, "paired: true\nfeedback: semi-bandit", "shuffle: true")
    assert one.rewards_id == other.rewards_id


@pytest.mark.parametrize(
    ("keys", "other", "words"),
    [
        ("users: {kind: cascade, leave: 1.0000001}", "delta: 0.2", "leave is 1.0000001, but must be a probability"),
        ("feedback: thinned", "delta: 0.2", "looks: [1, 0.7]"),
        ("users: {kind: position-based, looks: [.nan]}", "delta: 0.2", ": looks: [NaN] is not a number"),
        ("engine: skip-ahead\nusers: {kind: cascade, leave: 0.1}", "delta: 0.2", "of cascade users with feedback"),
    ],
)
def test_what_is_said_of_users_names_them(tmp_path, keys, other, words) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)):
        _ = [cell.runs_with for cell in cells_of(tmp_path, keys, other)]


def test_users_and_feedback_that_no_cell_uses_are_refused(tmp_path) -> None:
    path = tmp_path / "own.yaml"
    own = TWO.replace("K: 2}", "K: 2, users: no-skips}").replace("OTHER", "delta: 0.2")
    path.write_text(own.replace("KEYS", "users: {kind: cascade, leave: 0.3}"))
    with pytest.raises(ConfigError, match="users: no cell uses it, since each instance has its own users"):
        load_study(path)
    both = TWO.replace("KEYS", "feedback: semi-bandit").replace("kl-lucb++}", "kl-lucb++, feedback: cascading}")
    path.write_text(both.replace("OTHER", "feedback: cascading"))
    with pytest.raises(ConfigError, match="feedback: no cell uses it, since each learner has its own feedback"):
        load_study(path)


def test_the_claims_of_the_paper_are_not_tested_on_other_users(tmp_path) -> None:
    path = tmp_path / "two.yaml"
    path.write_text(
        TWO.replace("KEYS", "claims: paper\nusers: {kind: cascade, leave: 0.25}").replace("OTHER", "delta: 0.2")
    )
    sweep(path, tmp_path / "r")
    assert call("report", tmp_path / "r", "--out", tmp_path / "r.html").code == 0
    text = (tmp_path / "r.html").read_text()
    assert "which are about its own users, do not apply" in text
    assert "{kind: cascade, leave: 0.25}" in text


def test_a_negative_zero_makes_no_other_cell() -> None:
    assert str(Cascade(-0.0).content) == str(Cascade(0.0).content)


def test_a_place_that_nobody_looks_at_leaves_the_bound_of_the_others() -> None:
    assert PositionBased((0.0, 0.9)).known_to_look(2)
    assert not PositionBased((0.0, 0.9)).known_to_look(1)
