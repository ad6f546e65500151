"""Cells: the points of the grid of a study, each with a hash of its content."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cascadebai_cli.engines.outcomes import TableShape
from cascadebai_cli.engines.simulate import ENGINES, Engine, EngineName, resolve_engine
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.own import MakeGenerator, is_own, plugin_code, same_generator
from cascadebai_cli.learners.protocol import Learner, can_answer
from cascadebai_cli.learners.registry import LearnerSpec, knows_budget
from cascadebai_cli.model.problem import Feedback, FloatArray, Instance
from cascadebai_cli.study.fields import PermutationName
from cascadebai_cli.study.kinds import ALL_AXES, AXES
from cascadebai_cli.study.learners import default_options, non_default_options

_COUNTABLE = 10**17
"""Largest number of observations of a trial; a stretch may be drawn far beyond it, and has to fit into 64 bits."""
OF_THE_LEARNER = " of the learner"
"""Appended to the name of an option that another key of a cell also has, such as `order`."""
_OF_THE_LEARNER_ALONE = ("algorithm", "options", "code", "feedback", "budget", "shuffle")
"""Keys of the content of a cell that paired rewards do not depend on."""
_WEIGHTS_DIGITS = 16
"""Number of digits of the hash of weights that manifests hold."""
RULE = "rule_version"
"""Key of the version of a learner's rule, which changes with its decisions; if the key is missing, it is 1."""


@dataclass(frozen=True, eq=False)
class Cell:
    """One point of the grid: instance x learner x L x K x delta x epsilon x budget.

    Attributes:
        L, K, delta, epsilon: as in the paper.
        weights: click probabilities in the order of the config or file, shape `(L,)`.
        items: names of the items, in the same order.
        spec: algorithm and options.
        feedback: what a step reveals.
        order: whether each trial draws a permutation of the items.
        max_steps: cap on the steps, none by default.
        engine: engine that the config asks for.
        rewards: the table from which rewards are read, `None` if they are independent.
        paired: whether all learners at a point of the grid meet the same rewards in the trial of the same number.
        budget: steps after which the learner has to answer, `None` if it runs until it stops.
        weights_code: hash of the code that made the weights, if that is a user's.
        cell_id: hash of the content in 16 hexadecimal digits; names, number of trials, engine and paths do not count.
    """

    study: str
    instance: str
    learner: str
    L: int
    K: int
    delta: float
    epsilon: float
    weights: FloatArray
    items: tuple[str, ...]
    spec: LearnerSpec
    feedback: Feedback
    order: PermutationName
    max_steps: int | None
    engine: EngineName
    rewards: TableShape | None = None
    paired: bool = False
    budget: int | None = None
    weights_code: str | None = None
    cell_id: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "cell_id", _hash(self._hashed))

    @cached_property
    def path_id(self) -> str:
        """What a run depends on: the same for all budgets, unless the learner knows the budget."""
        shared = self.answers and not knows_budget(self.spec.algorithm)
        return _hash({key: value for key, value in self._hashed.items() if key != "budget"}) if shared else self.cell_id

    @cached_property
    def rewards_id(self) -> str:
        """What the order of the items and their rewards depend on: the run or, if paired, the problem alone."""
        shared = {key: value for key, value in self._hashed.items() if key not in _OF_THE_LEARNER_ALONE}
        return _hash(shared) if self.paired else self.path_id

    @property
    def _hashed(self) -> dict[str, Any]:
        """What the id is made from; an option counts only if it differs from its default."""
        if_any = {
            "budget": self.budget,
            "rewards": self.rewards and asdict(self.rewards),
            "weights_code": self.weights_code,
            "code": plugin_code(self.spec.algorithm) if self.is_own else None,
            "users": self.feedback.users and self.feedback.users.content,
            "shuffle": self.feedback.shuffled or None,
            "paired": self.paired or None,
        }
        return {
            **{name: getattr(self, name) for name in AXES if name != "L"},
            "epsilon": self.epsilon + 0.0,
            "algorithm": self.spec.algorithm,
            "options": non_default_options(self.spec.algorithm, self.spec.options),
            "weights": _weights_hash(self.weights),
            "feedback": self.feedback.name,
            "order": self.order,
            "max_steps": self.max_steps,
            **{key: value for key, value in if_any.items() if value is not None},
        }

    @property
    def content(self) -> dict[str, Any]:
        """Everything that the rows depend on: what the id is made from, names, all options, numbers and engine.

        It is stored in the manifest; the columns that say which cell a row belongs to are among its keys.

        Raises:
            ConfigError: if the engine cannot run the learner.
        """
        hashed = self._hashed
        content = {
            "instance": self.instance,
            "learner": self.learner,
            "L": self.L,
            "w_star": self.w_star,
            "w_prime": self.w_prime,
            "gap": self.gap,
            **{key: value for key, value in hashed.items() if key != "options"},
            "weights": hashed["weights"][:_WEIGHTS_DIGITS],
            "engine": self.runs_with,
            **({RULE: self.spec.rule_version} if self.spec.rule_version > 1 else {}),
        }
        options = {**default_options(self.spec.algorithm), **self.spec.options}
        return content | {key + OF_THE_LEARNER * (key in content): value for key, value in options.items()}

    @property
    def answers(self) -> bool:
        """Whether the learner has to answer when a budget is spent."""
        return self.budget is not None

    @property
    def problem(self) -> Instance:
        """The instance, with the items in the order of the config."""
        return Instance(self.weights, self.K, self.epsilon)

    def build(self, make_rng: MakeGenerator = same_generator, items: Sequence[int] | None = None) -> Learner:
        """Return a new learner.

        Args:
            make_rng: makes the generator for one that draws random numbers.
            items: which item has each place of the trial, if they are not in their own places.
        """
        spec = self.spec if items is None else self.spec.meeting(items)
        return spec.build(self.L, self.K, self.delta, self.epsilon, make_rng, self.budget)

    @property
    def is_own(self) -> bool:
        """Whether the learner is a user's class."""
        return is_own(self.spec.algorithm)

    @cached_property
    def runs_with(self) -> EngineName:
        """The engine that runs the cell.

        Raises:
            ConfigError: if the engine of the config cannot run it, or the learner refuses the problem.
        """
        learner = self.build()
        self._refuse_budget(learner)
        return resolve_engine(self.engine, learner, self.feedback, self.rewards)

    @property
    def ran_by(self) -> Engine:
        """The record of that engine."""
        return ENGINES[self.runs_with]

    @property
    def side_by_side(self) -> bool:
        """Whether trials run faster together, or with those at other budgets, than one by one."""
        return self.ran_by.block(self.L) > 1 or (self.answers and self.ran_by.shares_paths)

    @property
    def guessed_steps(self) -> float:
        """A guess of the steps of a trial, up to a factor: `log(1/delta)` times the sum of `1 / gap^2`, over `mu`.

        This has the order of the paper's bounds (Section 4.1); `mu` is the expected number of observations of a list of
        the best items. Only the order of work depends on the guess.
        """
        problem = self.problem
        gaps = np.maximum(problem.gaps, max(problem.epsilon, np.finfo(float).tiny ** 0.25))
        batch = self.spec.options.get("b")
        further = (batch if isinstance(batch, int) else self.K) - 1
        unseen = 0.0 if self.feedback.observes_all else problem.sorted_weights[:further]
        mu = 1 + np.cumprod(np.ones(further) - unseen).sum()
        return float(np.log(1 / self.delta) * (gaps**-2.0).sum() / mu)

    def _refuse_budget(self, learner: Learner) -> None:
        """Refuse a budget for a learner that gives no answer, and none for a learner that never stops."""
        if self.answers and not can_answer(learner):
            raise ConfigError(
                "a budget asks for the items before the learner has stopped; give the class a property answer, "
                "the K items that it would return now, or leave budget out"
            )
        if self.answers and self.rewards is not None:
            raise ConfigError("a budget needs independent rewards; leave rewards out, or budget")
        if self.answers and self.max_steps is not None:
            raise ConfigError("a budget ends a run as max_steps does; leave one of the two out")
        if not self.answers and self.max_steps is None and getattr(learner, "endless", False):
            raise ConfigError(f"{self.spec.algorithm} never stops by itself; write for example budget: 20000")

    @property
    def most_steps(self) -> int:
        """Steps after which a trial ends in any case: budget, `max_steps`, or as many as can be counted."""
        batch = self.spec.options.get("b")
        countable = _COUNTABLE // max(self.K, batch if isinstance(batch, int) else 1)
        given = self.max_steps if self.budget is None else self.budget
        return countable if given is None else min(given, countable)

    @property
    def w_star(self) -> float:
        """The largest weight."""
        return float(self.weights.max())

    @property
    def w_prime(self) -> float:
        """The smallest weight."""
        return float(self.weights.min())

    @property
    def gap(self) -> float:
        """`w(K) - w(K+1)`."""
        above, below = self.L - self.K, self.L - self.K - 1
        ascending = np.partition(self.weights, (below, above))
        return float(ascending[above] - ascending[below])

    @property
    def names(self) -> str:
        """Instance and learner in words."""
        return f"instance '{self.instance}' with learner '{self.learner}'"

    @property
    def label(self) -> str:
        """The whole cell in words."""
        return f"{self.instance}, {self.learner}: {self.point}"

    @property
    def point(self) -> str:
        """The numbers of the grid in words."""
        values = {name: getattr(self, name) for name in ALL_AXES if getattr(self, name) is not None}
        return ", ".join(f"{name} = {value:{'g' * isinstance(value, float)}}" for name, value in values.items())


def _hash(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _weights_hash(weights: FloatArray) -> str:
    """Return the SHA-256 of click probabilities in hexadecimal; -0.0 counts as 0.0, though its bytes differ."""
    return hashlib.sha256((weights + 0.0).astype("<f8").tobytes()).hexdigest()


def weights_key(weights: FloatArray) -> str:
    """Return the name that manifests give to weights: the first digits of their hash."""
    return _weights_hash(weights)[:_WEIGHTS_DIGITS]
