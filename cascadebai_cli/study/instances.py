"""The instances of a config: families, files, formulas, lists, and users' own families."""

import inspect
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    GetJsonSchemaHandler,
    Tag,
    ValidationInfo,
    create_model,
    model_validator,
)

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.learners.own import in_words, is_own, own_hash, own_object
from cascadebai_cli.model import problem
from cascadebai_cli.model.formula import evaluate, parse
from cascadebai_cli.model.problem import FloatArray, Items
from cascadebai_cli.model.users import USERS, Users
from cascadebai_cli.options import record_options
from cascadebai_cli.study.fields import (
    MOST_ITEMS,
    Budgets,
    Entry,
    Epsilons,
    Formula,
    List,
    Risks,
    SizeList,
    Text,
    Zip,
    as_list,
    context_of,
    mistake,
    one_of,
    says,
    show,
)
from cascadebai_cli.text import unrounded

# --- Users who look at the lists: the keys of a kind are the fields of its record -----------------------------------


def _as_tuple(value: object) -> object:
    """Return a list of numbers as the tuple that records hold, and any other value as it is."""
    if not isinstance(value, list | tuple):
        return value
    for i, number in enumerate(value):
        if type(number) not in (int, float):
            raise mistake(f"{show(number)} is not a number; write one such as 0.5", i)
    return tuple(map(float, value))


class _Users(Entry):
    """A kind of users with its numbers; `users: no-skips` is short for `users: {kind: no-skips}`."""

    kind: Annotated[str, one_of(USERS), says("What users do.", *USERS)]

    @classmethod
    def known_keys(cls, data: dict[str, Any], info: ValidationInfo) -> list[str]:
        """Return the keys of the kind; all keys, if the kind is not known."""
        kind = data.get("kind")
        if not isinstance(kind, str) or kind not in USERS:
            return list(cls.model_fields)
        return ["kind", *(one.name for one in record_options(USERS[kind]))]

    @model_validator(mode="before")
    @classmethod
    def _named(cls, data: Any) -> Any:
        """Return the long form; a manifest holds the keys of all kinds, without values."""
        if isinstance(data, dict):
            return {key: value for key, value in data.items() if value is not None}
        return {"kind": data} if isinstance(data, str) else data

    @model_validator(mode="after")
    def _are_possible(self) -> "_Users":
        try:
            _ = self.made
        except ConfigError as error:
            raise mistake(str(error)) from None
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the schema of the long form, or a kind alone."""
        return {"anyOf": [handler(core_schema), {"enum": list(USERS)}]}

    @property
    def made(self) -> Users:
        """The users."""
        return USERS[self.kind](**{name: value for name, value in self if name != "kind" and value is not None})


def _users_keys() -> dict[str, Any]:
    """Return the keys of all kinds as fields of one model; which of them a kind has, `known_keys` says."""
    return {
        one.name: (Annotated[one.type | None, BeforeValidator(_as_tuple), says(one.meaning, *one.examples)], None)
        for one in record_options(*USERS.values())
    }


UsersEntry = create_model("UsersEntry", __base__=_Users, __doc__=_Users.__doc__, **_users_keys())


# --- `fit` of an instance: the models that are fitted to its mean steps ---------------------------------------------

_ANY = "x"
"""A name that a model may use for its axis, whichever that is."""


class Coefficients(Entry):
    """Known coefficients of a fit `c1 f(K) + c2`, which are printed beside ours."""

    c1: Annotated[float | None, says("Slope.", "23802.95")] = None
    c2: Annotated[float | None, says("Intercept.", "67400.19")] = None
    r2: Annotated[float | None, says("Share of the variance of the means that the fit explains.", "0.9988")] = None
    p_value: Annotated[float | None, says("p-value of the slope.", "1.39e-58")] = None


class Fit(Entry):
    """The axis of a curve, and the models that are fitted to its mean steps."""

    x: Annotated[
        Text, says("Axis: a number of the grid, or an option in which otherwise equal learners differ.", "delta")
    ] = "K"
    model: Annotated[
        tuple[Text, ...],
        List,
        BeforeValidator(as_list, json_schema_input_type=Text | Annotated[list[Text], Field(min_length=1)]),
        says(
            "One or more models: the f in c1 f + c2, a formula in the axis, which may be called x.",
            "K^2",
            "[log(x), sqrt(x)]",
        ),
    ]
    published: Annotated[
        Coefficients | None, says("Values of the paper, printed beside ours.", "{c1: 23802.95, c2: 67400.19}")
    ] = None
    prior: Annotated[Coefficients | None, says("Values of an earlier program, for reference.", "{c1: 21881.8}")] = None

    @model_validator(mode="after")
    def _check_models(self) -> "Fit":
        for model in self.model:
            try:
                parse(formula_of(model, self.x), [self.x])
            except ConfigError as error:
                raise mistake(str(error), "model") from None
        if len(self.model) != 1 and (self.published or self.prior or not self.model):
            raise mistake("known values belong to one model; name exactly one", "model")
        return self

    def refuse_valueless(self, values: Iterable[float]) -> None:
        """Refuse a model that has no value somewhere on the axis.

        Raises:
            PydanticCustomError: if there is one; the message names the model and the first such value.
        """
        for value in values:
            for model in self.model:
                try:
                    evaluate(formula_of(model, self.x), {self.x: value})
                except ConfigError as error:
                    raise mistake(str(error), "model") from None

    @property
    def models(self) -> tuple[str, ...]:
        """The models with the name of the axis in place of `x`."""
        return tuple(_named(model, self.x) for model in self.model)


def formula_of(model: str, x: str) -> str:
    """Return a model as a formula in its axis."""
    return _named(model, x).replace("^", "**")


def _named(model: str, x: str) -> str:
    return re.sub(rf"\b{_ANY}\b", x, model)


# --- What all instance entries of a config have in common -----------------------------------------------------------

ItemsAt = Callable[[int, int], Items]
"""`items_at(L, K)` returns the items at a point of the grid; `L` is 0 for families that bring their own number."""

_FAMILY = says("How the weights are made.")


class _InstanceEntry(Entry):
    """Keys of all families; `K`, `L`, `delta`, `epsilon`, `budget` and `zip` replace those of the study."""

    needs_L: ClassVar[bool] = False

    name: Annotated[Text, says("Name in tables and figures.", "setting 1")]
    K: Annotated[SizeList | None, says("In place of the K of the study.", "4")] = None
    delta: Annotated[Risks | None, says("In place of the delta of the study.", "0.05")] = None
    epsilon: Annotated[Epsilons | None, says("In place of the epsilon of the study.", "0.05")] = None
    budget: Annotated[Budgets | None, says("In place of the budget of the study.", "20000")] = None
    zip: Annotated[Zip | None, says("In place of the zip of the study.", "{K: [2, 4], delta: [0.1, 0.05]}")] = None
    users: Annotated[UsersEntry | None, says("In place of the users of the study.", "no-skips")] = None
    fit: Annotated[Fit | None, says("Models that `cascadebai fit` fits to the mean steps.", "{model: K^2}")] = None

    @property
    def code(self) -> str | None:
        """Hash of the user's code that makes the weights; `None` if there is none."""
        return None

    @abstractmethod
    def family_in(self, folder: Path, seed: int) -> ItemsAt:
        """Return the function that gives the items at each point of the grid.

        Args:
            folder: folder to which a path is relative; a file is read once, by this method.
            seed: root seed of the study, for a family that draws its weights.

        This method, or the function that it returns, raises:
            PydanticCustomError: if a weight has no value or lies outside `[0, 1]`, or the file is not usable.
        """

    def _weight(self, key: str, L: int, K: int) -> float:
        return _weight_of(getattr(self, key), {"K": K, "L": L}, key)


class _Plain(ABC):
    """A family that needs neither folder nor seed."""

    def family_in(self, folder: Path, seed: int) -> ItemsAt:
        """Return the function that gives the items at each point of the grid."""
        return self._items

    @abstractmethod
    def _items(self, L: int, K: int) -> Items:
        """Return the items at a point of the grid."""


class SizedEntry(_InstanceEntry):
    """Keys of the families whose number of items can be chosen."""

    needs_L: ClassVar[bool] = True

    L: Annotated[SizeList | None, says("In place of the L of the study.", "128")] = None


def _weight_of(
    formula: str | float, names: Mapping[str, int], *at: str | int, rng: np.random.Generator | None = None
) -> float:
    """Return the weight that a formula gives for values of its names, `K` and `L` first.

    Raises:
        PydanticCustomError: if it has no value or lies outside `[0, 1]`; the mistake is located at `at`.
    """
    try:
        value = evaluate(formula, names, rng)
    except ConfigError as error:
        raise mistake(str(error), *at) from None
    if not 0 <= value <= 1:
        place = ", ".join(f"{name} = {number}" for name, number in names.items())
        worth = f"{formula} = {unrounded(value)} at {place}" if isinstance(formula, str) else unrounded(value)
        raise mistake(f"{worth} is outside [0, 1]; a weight is the probability of a click", *at)
    return value


# --- Users' families: a function `module:function` of `L`, `K` and its options that returns the weights -------------

_OWN = "module:function"
"""The form of such a name, and the tag of the class below."""


def _importable(name: str, info: ValidationInfo) -> str:
    if context_of(info).runs:
        try:
            own_object(name, "function")
        except ConfigError as error:
            raise mistake(str(error)) from None
    return name


class Own(_Plain, SizedEntry):
    """Weights from a function of your own; further keys are passed to it by name."""

    model_config = ConfigDict(extra="allow")

    family: Annotated[
        str,
        Field(json_schema_extra={"pattern": ":"}),
        AfterValidator(_importable),
        says("A function of your own, `module:function`.", "my_weights:zipf"),
    ]

    @classmethod
    def known_keys(cls, data: dict[str, Any], info: ValidationInfo) -> list[str]:
        """Return the fields and the options of the function; all keys, if it is not known or not to be run."""
        try:
            options = _options(own_object(str(data.get("family")), "function")) if context_of(info).runs else None
        except ConfigError:
            options = None
        return list(data) if options is None else [*cls.model_fields, *options]

    @property
    def code(self) -> str:
        """Hash of all code that the function runs."""
        return own_hash(self.family, "function")

    def _items(self, L: int, K: int) -> Items:
        first, second = self._weights(L, K), self._weights(L, K)
        if not np.array_equal(first, second, equal_nan=True):
            raise mistake(
                f"{self.family} gives other weights when it is called again; let it draw from a generator with a seed "
                "that is written out, or use family: random",
                "family",
            )
        return problem.explicit(first.tolist())

    def _weights(self, L: int, K: int) -> FloatArray:
        function = own_object(self.family, "function")
        try:
            weights = np.array(function(L=L, K=K, **(self.model_extra or {})), dtype=np.float64)
        except (Exception, SystemExit) as error:
            problem = f"{self.family} fails with {in_words(error)} at K = {K}, L = {L}"
            raise mistake(f"{problem}; it is called with L, K and its options", "family") from None
        if weights.shape != (L,):
            raise mistake(f"{self.family} gives weights of shape {weights.shape}; return a list of L = {L}", "family")
        return weights


def _options(function: Callable[..., Any]) -> list[str] | None:
    """Return the names of a function's parameters beyond `L` and `K`; `None` if it takes any."""
    parameters = inspect.signature(function).parameters
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values()):
        return None
    return [name for name in parameters if name not in ("L", "K")]


# --- Families with a formula in the item's index `i`, from 1 to L, and families that draw their weights -------------


class ByFormula(_Plain, SizedEntry):
    """The weight of item `i` is given by a formula in `i`, `K` and `L`."""

    family: Annotated[Literal["formula"], _FAMILY]
    weight: Annotated[Formula, says("Weight of item i, from 1 to L: a formula in i, K and L.", "0.9 - 0.8*i/L")]

    def _items(self, L: int, K: int) -> Items:
        return problem.explicit([_weight_of(self.weight, {"K": K, "L": L, "i": i}, "weight") for i in range(1, L + 1)])


class Random(SizedEntry):
    """Weights that are drawn independently: `K` items by the formula `w_star`, then `L - K` by `w_prime`.

    The draws depend only on the study's seed and `replicate`: the n-th item of either kind gets the same random
    numbers at every `K`, `L` and formula, so that points of a grid do not differ by chance.
    """

    family: Annotated[Literal["random"], _FAMILY]
    w_star: Annotated[
        Formula,
        says(
            "Weights of K items: a formula in i, K and L with uniform(low, high) or beta(a, b).", '"uniform(0.4, 0.6)"'
        ),
    ]
    w_prime: Annotated[Formula, says("Weights of the other items: such a formula too.", "0.3 * beta(2, 5)")]
    replicate: Annotated[int, Field(ge=1), says("Number of the draw; each gives other weights.", "2")] = 1

    def family_in(self, folder: Path, seed: int) -> ItemsAt:
        """Return the function that gives the items at each point of the grid."""

        def items_at(L: int, K: int) -> Items:
            good = self._drawn("w_star", seed, L, K, range(1, K + 1))
            return problem.explicit([*good, *self._drawn("w_prime", seed, L, K, range(K + 1, L + 1))])

        return items_at

    def _drawn(self, key: Literal["w_star", "w_prime"], seed: int, L: int, K: int, items: range) -> Iterator[float]:
        rng = _generator(seed, self.replicate, key)
        for i in items:
            yield _weight_of(getattr(self, key), {"K": K, "L": L, "i": i}, key, rng=rng)


def _generator(seed: int, replicate: int, key: str) -> np.random.Generator:
    """Return the generator of a kind of weights; its spawn key is two words, and that of a trial is three."""
    sequence = np.random.SeedSequence(seed, spawn_key=(replicate, ("w_star", "w_prime").index(key)))
    return np.random.Generator(np.random.PCG64DXSM(sequence))


# --- Instance entries of a config: one class for each family, with its keys and the making of its weights -----------


class TwoLevel(_Plain, SizedEntry):
    """`K` items have the weight `w_star`, the other `L - K` have `w_prime`."""

    family: Annotated[Literal["two_level"], _FAMILY]
    w_star: Annotated[Formula, says("Weight of the best K items: a number, or a formula in K and L.", "1/sqrt(K)")]
    w_prime: Annotated[Formula, says("Weight of the other items.", "1/K**2")]

    def _items(self, L: int, K: int) -> Items:
        return problem.two_level(L, K, self._weight("w_star", L, K), self._weight("w_prime", L, K))


class Linear(_Plain, SizedEntry):
    """`L` weights evenly spaced from `w_max` to `w_min`."""

    family: Annotated[Literal["linear"], _FAMILY]
    w_max: Annotated[Formula, says("The largest weight: a number, or a formula in K and L.", "0.5")]
    w_min: Annotated[Formula, says("The smallest weight.", "0.1")]

    def _items(self, L: int, K: int) -> Items:
        return problem.linear(L, self._weight("w_max", L, K), self._weight("w_min", L, K))


def _enough(weights: tuple[str | float, ...]) -> tuple[str | float, ...]:
    if not 2 <= len(weights) <= MOST_ITEMS:
        raise mistake(f"{len(weights)} weights are listed; write 2 to {MOST_ITEMS}")
    return weights


class Explicit(_Plain, _InstanceEntry):
    """A list of weights."""

    family: Annotated[Literal["explicit"], _FAMILY]
    weights: Annotated[
        tuple[Formula, ...],
        Field(strict=False, json_schema_extra={"minItems": 2}),
        AfterValidator(_enough),
        says("The weights, numbers or formulas in K and L.", "[0.9, 0.5, 0.4, 0.1]"),
    ]

    def _items(self, L: int, K: int) -> Items:
        names = {"K": K, "L": len(self.weights)}
        return problem.explicit([_weight_of(w, names, "weights", i) for i, w in enumerate(self.weights)])


class Csv(_InstanceEntry):
    """Click rates from a file with one row for each item and columns `clicks` and `views`, or `rate`."""

    family: Annotated[Literal["csv"], _FAMILY]
    path: Annotated[Text, says("The file; its path is relative to the folder of the config.", "clicks.csv")]
    item: Annotated[Text | None, says("Column with the items' names; without it they are numbered.", "id")] = None
    clicks: Annotated[Text | None, says("Column with the numbers of clicks.", "clicks")] = None
    views: Annotated[Text | None, says("Column with the numbers of views.", "views")] = None
    rate: Annotated[Text | None, says("Column with click rates, instead of clicks and views.", "rate")] = None
    top: Annotated[Annotated[int, Field(ge=2)] | None, says("Use only this many rows, from the top.", "50")] = None

    @model_validator(mode="after")
    def _counts_or_rates(self) -> "Csv":
        given = [self.clicks is not None, self.views is not None, self.rate is not None]
        if given not in ([True, True, False], [False, False, True]):
            keys = [key for key in ("clicks", "views", "rate") if getattr(self, key) is not None]
            found = "none of clicks, views, rate" if not keys else f"only {keys[0]}" if len(keys) == 1 else None
            raise mistake(
                f"{show(self.name)} has {found or ' and '.join(keys)}; name the columns of clicks and views, "
                "or the one of rate"
            )
        return self

    def family_in(self, folder: Path, seed: int) -> ItemsAt:
        """Return the function that gives the items of the file, the same at every point of the grid."""
        from cascadebai_cli.logs.read import read_rates

        columns = self.model_dump(include={"item", "clicks", "views", "rate"}, exclude_none=True)
        try:
            items = Items(*read_rates(folder / self.path, columns, self.top, self.path))
        except ConfigError as error:
            raise mistake(str(error), "path") from None
        return lambda *_: items


def _family(entry: Any) -> str | None:
    """Return the tag of the class of an entry, which may not be validated yet."""
    family = entry.get("family") if isinstance(entry, dict) else getattr(entry, "family", None)
    if isinstance(family, str) and is_own(family):
        return _OWN
    return None if family is None else str(family)


AnyInstance = Annotated[
    Annotated[TwoLevel, Tag("two_level")]
    | Annotated[Linear, Tag("linear")]
    | Annotated[Explicit, Tag("explicit")]
    | Annotated[Csv, Tag("csv")]
    | Annotated[ByFormula, Tag("formula")]
    | Annotated[Random, Tag("random")]
    | Annotated[Own, Tag(_OWN)],
    Discriminator(_family),
]
"""An instance of any family; `family` chooses the class."""


def is_named_only(instance: Mapping[str, Any]) -> bool:
    """Return whether an instance of a config only names the source of its weights: a file, or code of one's own."""
    return bool(instance.get("path")) or is_own(str(instance.get("family")))
