"""The learners and the rewards of a config, and cells: the points of its grid, each with a hash of its content."""

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import (
    AfterValidator,
    ConfigDict,
    Field,
    PydanticUserError,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from cascadebai_cli.engines.simulate import ENGINES, Engine, EngineName, resolve_engine
from cascadebai_cli.engines.walk import TableShape
from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.learners.protocol import Learner, can_answer
from cascadebai_cli.learners.registry import ALGORITHMS, BATCH, LearnerSpec, find_algorithm, options_of
from cascadebai_cli.model.problem import FEEDBACKS, SEMI_BANDIT, Feedback, FloatArray, Instance
from cascadebai_cli.study.fields import (
    Entry,
    Epsilons,
    FeedbackName,
    Risks,
    SizeList,
    Text,
    context_of,
    mistake,
    says,
    sentence,
    show,
)
from cascadebai_cli.study.kinds import ALL_AXES, AXES
from cascadebai_cli.text import count

# --- Meanings of the options of learners; types and defaults stand in the signatures of the learners ----------------


class _LearnerOption(NamedTuple):
    """An option of one or more learners.

    Attributes:
        limits: limits of its values, for `Annotated`.
    """

    meaning: str
    example: str
    limits: Any = None


_LARGEST_SIGMA = 1000
"""Beyond this value a run would take more steps than can be counted."""

LEARNER_OPTIONS: Mapping[str, _LearnerOption] = MappingProxyType(
    {
        "sigma": _LearnerOption(
            "Sub-Gaussian scale of a click in the radius of Algorithm 1; 1 gives the formula as printed in the paper.",
            "0.25",
            Field(gt=0, le=_LARGEST_SIGMA),
        ),
        "order": _LearnerOption(
            "Order in which the least observed survivors are shown: by observations T, mean, upper bound U or lower "
            "bound L; a minus sign makes it descending.",
            "-U",
        ),
        "confidence": _LearnerOption(
            "Confidence bounds: the radius of the paper, or bounds from the Bernoulli divergence (kl).", "kl"
        ),
        "list_length": _LearnerOption("Number of items shown at once; K if left out.", "10", Field(ge=1)),
        "stopping": _LearnerOption(
            "Stopping rule: when the confidence bounds separate, by likelihood ratios of pairs (glr), or of all wrong "
            "answers at once (mixture).",
            "glr",
        ),
        "prior": _LearnerOption(
            "What is believed of each click probability at first: Beta(1, 1) or Beta(1/2, 1/2), which is jeffreys.",
            "jeffreys",
        ),
        "known": _LearnerOption(
            "Looks and clicks of each item before the first step, such as those of a log; none if left out.",
            "[[120, 9], [80, 2], [95, 7]]",
        ),
        "b": _LearnerOption("Number of pulls in each step.", "1"),
        "r": _LearnerOption("Largest number of pulls of one item in a step.", "2"),
    }
)
"""Name of an option -> its meaning, with an example and limits."""


# --- Learner entries of a config, whose options are read from the algorithm's signature -----------------------------


def _algorithm(name: str, info: ValidationInfo) -> str:
    try:
        known = _left_alone(name, info) or find_algorithm(name) is not None
    except ConfigError as error:
        raise mistake(str(error)) from None
    if not known:
        raise mistake(f"{show(name)} is not known; {suggest(name, ALGORITHMS)}")
    return name


def _left_alone(name: str, info: ValidationInfo) -> bool:
    """Return whether an algorithm stays unchecked: a user's, in a study that is only read, is never imported."""
    return name not in ALGORITHMS and not context_of(info).runs


def _known_algorithm(data: Any, info: ValidationInfo) -> str | None:
    name = data.get("algorithm") if isinstance(data, dict) else None
    try:
        return name if isinstance(name, str) and not _left_alone(name, info) and find_algorithm(name) else None
    except ConfigError:
        return None


class LearnerEntry(Entry):
    """An algorithm under a name; further keys are the options of the algorithm.

    `K`, `delta` and `epsilon` replace those of the study and its instances.
    """

    model_config = ConfigDict(extra="allow")

    name: Annotated[Text, says("Name in tables and figures.", "sharper")]
    algorithm: Annotated[
        str,
        AfterValidator(_algorithm),
        says("Name of an algorithm, or a class of your own, `module:Class`.", "kl-lucb++"),
    ]
    feedback: Annotated[FeedbackName | None, says("In place of the feedback of the study.", SEMI_BANDIT.name)] = None
    shuffle: Annotated[bool | None, says("In place of the shuffle of the study.", "true")] = None
    batch: Annotated[
        Annotated[int, Field(ge=1, le=10**15)] | None,
        says("Number of steps for which a list stays; the learner is told only then what was seen on it.", "1000"),
    ] = None
    K: Annotated[SizeList | None, says("In place of the K of study and instance.", "4")] = None
    delta: Annotated[Risks | None, says("In place of the delta of study and instance.", "0.05")] = None
    epsilon: Annotated[Epsilons | None, says("In place of the epsilon of study and instance.", "0")] = None

    @classmethod
    def known_keys(cls, data: dict[str, Any], info: ValidationInfo) -> list[str]:
        """Return the fields and the options of the algorithm; all keys, if the algorithm is not known."""
        algorithm = _known_algorithm(data, info)
        return [*cls.model_fields, *options_of(algorithm)] if algorithm else list(data)

    @model_validator(mode="before")
    @classmethod
    def _check_options(cls, data: Any, info: ValidationInfo) -> Any:
        algorithm = _known_algorithm(data, info)
        if algorithm is None:
            return data
        known = options_of(algorithm)
        return {**data, **_checked_options(algorithm, {k: v for k, v in data.items() if k in known})}

    @property
    def spec(self) -> LearnerSpec:
        """The learner with its options."""
        batch = {BATCH: self.batch} if (self.batch or 1) > 1 else {}
        return LearnerSpec(self.algorithm, {**(self.model_extra or {}), **batch})

    @property
    def options(self) -> dict[str, Any]:
        """The options, with defaults if the learner is one of this program; a user's class is not imported."""
        return {**(_default_options(self.algorithm) if self.algorithm in ALGORITHMS else {}), **self.spec.options}

    @property
    def is_algorithm_1(self) -> bool:
        """Whether it is Algorithm 1 of the paper with cascading feedback, as far as the entry itself says."""
        return self.spec.is_algorithm_1() and (self.feedback is None or FEEDBACKS[self.feedback].ends_at_click)


def _non_default_options(algorithm: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that differ from their default, which are those that change the id of a cell."""
    known = options_of(algorithm)
    return {name: value for name, value in given.items() if name not in known or not _equal(value, known[name].default)}


def _default_options(algorithm: str) -> dict[str, Any]:
    """Return the defaults of options as JSON; if JSON has no such value, the name of its type."""
    defaults = {name: option.default for name, option in options_of(algorithm).items()}
    return {name: _plain(value) for name, value in defaults.items() if value is not inspect.Parameter.empty}


def _plain(value: Any) -> Any:
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError):
        return type(value).__name__


def _equal(one: Any, other: Any) -> bool:
    """Return whether two options are equal; arrays, whose comparison is no single truth value, never are."""
    try:
        return bool(one == other)
    except Exception:
        return False


def _checked_options(algorithm: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options as the annotations of the algorithm want them (`1` becomes `1.0` for a float)."""
    known = options_of(algorithm)
    for name, parameter in known.items():
        if parameter.default is parameter.empty and name not in given:
            raise mistake(f"missing; {algorithm} needs this option", name)
    return {name: _checked(known[name], value) for name, value in given.items()}


def _checked(parameter: inspect.Parameter, value: Any) -> Any:
    try:
        checked = _adapter_of(parameter).validate_python(value)
    except ValidationError as error:
        way_out = f"; or write {{{parameter.name}}} into the name for one learner a value"
        raise mistake(sentence(error.errors()[0]) + way_out * isinstance(value, list), parameter.name) from None
    return checked


def _adapter_of(parameter: inspect.Parameter) -> TypeAdapter[Any]:
    """Return what checks values against an annotation; without one that pydantic understands, anything passes."""
    annotation = parameter.annotation
    understood = annotation is not inspect.Parameter.empty and not isinstance(annotation, str)
    limits = LEARNER_OPTIONS[parameter.name].limits if parameter.name in LEARNER_OPTIONS else None
    made: Any = annotation if understood else Any
    made = made if limits is None else Annotated[made, limits]
    try:
        return TypeAdapter(made, config=ConfigDict(strict=True, allow_inf_nan=False, arbitrary_types_allowed=True))
    except PydanticUserError:
        return TypeAdapter(annotation)  # a type with a config of its own


def learner_options(algorithm: str) -> Mapping[str, dict[str, Any]]:
    """Return the options of an algorithm of this program: name -> JSON schema."""
    defaults = _default_options(algorithm)
    return {
        name: {
            **_adapter_of(parameter).json_schema(),
            **({"default": defaults[name]} if name in defaults else {}),
            "description": LEARNER_OPTIONS[name].meaning,
            "examples": [LEARNER_OPTIONS[name].example],
        }
        for name, parameter in options_of(algorithm).items()
    }


# --- `rewards` of a config: a table from which they are read --------------------------------------------------------


class Rewards(Entry):
    """A table of rewards with one row for each step, which starts again after its last row."""

    rows: Annotated[
        int, Field(ge=1, le=10_000_000), says("Rows of the table; step t reads row (t - 1) mod rows.", "100000")
    ]
    reuse: Annotated[
        bool, says("Whether the same table is used again after its last row, or a new one is drawn.", "false")
    ] = True

    def __str__(self) -> str:
        again = "is used again" if self.reuse else "is drawn anew each time round"
        return f"from a table of {count(self.rows)} rows that {again}"

    @property
    def shape(self) -> TableShape:
        """The table as engines take it."""
        return TableShape(self.rows, self.reuse)


# --- Cells: the points of the grid ----------------------------------------------------------------------------------

_COUNTABLE = 10**17
"""Largest number of observations of a trial; a stretch may be drawn far beyond it, and has to fit into 64 bits."""
_BESIDE_REWARDS = ("algorithm", "options", "code", "feedback", "budget", "shuffle")
"""Keys of the content of a cell that paired rewards do not depend on."""
_WEIGHTS_DIGITS = 16
"""Number of digits of the hash of weights that manifests hold."""


@dataclass(frozen=True, eq=False)
class Cell:
    """One point of the grid: instance x learner x L x K x delta x epsilon x budget.

    Attributes:
        study, instance, learner: names.
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
        OF_THE_LEARNER: what the name of an option ends with in `content` if another key has the name, such as `order`.
        RULE: key of the version of a learner's rule, which changes with its decisions; if it is missing, it is 1.
    """

    OF_THE_LEARNER: ClassVar = " of the learner"
    RULE: ClassVar = "rule_version"

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
    order: str
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
        shared = self.answers and not self.spec.knows_budget
        return _hash({key: value for key, value in self._hashed.items() if key != "budget"}) if shared else self.cell_id

    @cached_property
    def rewards_id(self) -> str:
        """What the order of the items and their rewards depend on: the run or, if paired, the problem alone."""
        shared = {key: value for key, value in self._hashed.items() if key not in _BESIDE_REWARDS}
        return _hash(shared) if self.paired else self.path_id

    @property
    def _hashed(self) -> dict[str, Any]:
        """What the id is made from; an option counts only if it differs from its default."""
        if_any = {
            "budget": self.budget,
            "rewards": self.rewards and asdict(self.rewards),
            "weights_code": self.weights_code,
            "code": self.spec.code,
            "users": self.feedback.users and self.feedback.users.content,
            "shuffle": self.feedback.shuffled or None,
            "paired": self.paired or None,
        }
        return {
            **{name: getattr(self, name) for name in AXES if name != "L"},
            "epsilon": self.epsilon + 0.0,
            "algorithm": self.spec.algorithm,
            "options": _non_default_options(self.spec.algorithm, self.spec.options),
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
            **({self.RULE: self.spec.rule_version} if self.spec.rule_version > 1 else {}),
        }
        return content | {key + self.OF_THE_LEARNER * (key in content): value for key, value in self.options.items()}

    @property
    def options(self) -> dict[str, Any]:
        """All options of the learner, with their defaults."""
        return {**_default_options(self.spec.algorithm), **self.spec.options}

    @property
    def answers(self) -> bool:
        """Whether the learner has to answer when a budget is spent."""
        return self.budget is not None

    @property
    def can_answer(self) -> bool:
        """Whether the learner can be asked for its items at any time."""
        return can_answer(self.build())

    @property
    def problem(self) -> Instance:
        """The instance, with the items in the order of the config."""
        return Instance(self.weights, self.K, self.epsilon)

    def build(
        self, make_rng: Callable[[], np.random.Generator] | None = None, items: Sequence[int] | None = None
    ) -> Learner:
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
        return self.spec.is_own

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
