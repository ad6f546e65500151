"""The learners of a config, and their options."""

import inspect
import json
from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple

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

from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.learners.own import parameters
from cascadebai_cli.learners.registry import ALGORITHMS, BATCH, BUDGET, LearnerSpec, find_algorithm
from cascadebai_cli.model.problem import FEEDBACKS, SEMI_BANDIT
from cascadebai_cli.study.document import mistake, sentence, show
from cascadebai_cli.study.fields import Entry, Epsilons, FeedbackName, Risks, SizeList, Text, context_of, says

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

_OF_THE_GRID = ("L", "K", "delta", "epsilon", BUDGET, "rng")
"""Parameters of a constructor that the program sets; `rng` is the generator of the trial."""
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


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
    def is_algorithm_1(self) -> bool:
        """Whether it is Algorithm 1 of the paper with cascading feedback, as far as the entry itself says."""
        return self.spec.is_algorithm_1() and (self.feedback is None or FEEDBACKS[self.feedback].ends_at_click)


@lru_cache(maxsize=64)
def options_of(algorithm: str) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of an algorithm beyond those that the program sets; none for an unknown algorithm."""
    made = find_algorithm(algorithm)
    if made is None:
        return MappingProxyType({})
    return MappingProxyType({k: p for k, p in parameters(made).items() if k not in _OF_THE_GRID and p.kind in _NAMED})


def non_default_options(algorithm: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that differ from their default, which are those that change the id of a cell."""
    known = options_of(algorithm)
    return {name: value for name, value in given.items() if name not in known or not _equal(value, known[name].default)}


def default_options(algorithm: str) -> dict[str, Any]:
    """Return the defaults of options as JSON; if JSON has no such value, the name of its type."""
    defaults = {name: option.default for name, option in options_of(algorithm).items()}
    return {name: _plain(value) for name, value in defaults.items() if value is not inspect.Parameter.empty}


def option_values(entry: LearnerEntry) -> dict[str, Any]:
    """Return the options of a learner, with defaults if it is one of this program; a user's class is not imported."""
    defaults = default_options(entry.algorithm) if entry.algorithm in ALGORITHMS else {}
    return {**defaults, **entry.spec.options}


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
    defaults = default_options(algorithm)
    return {
        name: {
            **_adapter_of(parameter).json_schema(),
            **({"default": defaults[name]} if name in defaults else {}),
            "description": LEARNER_OPTIONS[name].meaning,
            "examples": [LEARNER_OPTIONS[name].example],
        }
        for name, parameter in options_of(algorithm).items()
    }
