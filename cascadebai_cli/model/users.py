"""Users: what somebody looks at and clicks on a page; the paper's users scan from the top and leave at the first click.

A kind of users is one record: its keys in a config are its fields, its law is `clicks`. What the learner then reads off
the page is another thing, a `Feedback`, which takes the users with `of`. An item that is looked at attracts its user
with its own click probability (the weight), independently of all else: these draws are the outcomes of the trial, and
the `NextChance` numbers decide the rest.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.problem import CASCADING, LAST_CLICK, SEMI_BANDIT, Draw, Feedback, FloatArray, NextChance
from cascadebai_cli.options import option, record_options
from cascadebai_cli.text import unrounded

_ByPlace = float | tuple[float, ...]
"""Probabilities of the places from the top: a list, whose last value holds for all further places, or one number."""


@dataclass(frozen=True)
class Users(ABC):
    """A kind of users.

    Raises:
        ConfigError: if a probability is outside `[0, 1]`, or a list of them is empty.
    """

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            for number in value if isinstance(value, tuple) else (value,) if isinstance(value, float) else ():
                if not 0 <= number <= 1:
                    raise ConfigError(f"{name} is {unrounded(number)}, but must be a probability, from 0 to 1")
            if value == ():
                raise ConfigError(f"{name} is an empty list; write a probability for each place, from the top")

    @abstractmethod
    def clicks(self, shown: Sequence[int], draw: Draw, chance: NextChance) -> list[int]:
        """Return for each place of a page whether its item is clicked, 1 or 0; `draw` only items that are looked at."""

    def comes_to(self, feedback: Feedback) -> Feedback | None:
        """Return the feedback of the paper that a reading of these pages has the law of; `None` if it has another."""
        return None

    def examination(self, places: int) -> list[float] | None:
        """Return the probabilities that places are looked at, if they are independent of all clicks; else `None`."""
        return None

    def ends(self, weights: FloatArray) -> FloatArray | None:
        """Return the chances that a look at items of these weights is the last one on a page that is longer.

        `None` if this depends on more than the item; then `examination` may tell who looks where.
        """
        return None

    def known_to_look(self, M: int) -> bool:
        """Return whether it is known how often users look at items of a list: by the items before, or by the place."""
        return self.ends(np.zeros(1)) is not None or any(self.examination(M) or [])

    def before_a_click(self, places: int) -> list[float] | None:
        """Return the same for the places down to the first click of a page."""
        return self.examination(places)

    @property
    def examines_all(self) -> bool:
        """Whether the chance that a place is looked at is known for every place, and above 0."""
        return False

    @property
    def content(self) -> dict[str, Any]:
        """The kind and its numbers, as in a config."""
        numbers = {key: value + 0.0 if isinstance(value, float) else value for key, value in asdict(self).items()}
        return {"kind": self.kind, **numbers}


@dataclass(frozen=True)
class Cascade(Users):
    """Scans from the top, clicks the first item that attracts and leaves; may leave after an item that does not.

    Source: Craswell, Zoeter, Taylor and Ramsey (2008); with `leave`, Chapelle and Zhang (2009), whose perseverance is
    `1 - leave`.
    """

    kind = "cascade"
    leave: float = option(0.0, "Chance to leave after each item that does not attract.", examples=("0.1",))

    def clicks(self, shown: Sequence[int], draw: Draw, chance: NextChance) -> list[int]:
        """Return the clicks on a page, at most one."""
        clicks = [0] * len(shown)
        for place, item in enumerate(shown):
            clicks[place] = draw(item)
            if clicks[place] or (self.leave and chance() < self.leave):
                break
        return clicks

    def comes_to(self, feedback: Feedback) -> Feedback | None:
        """Return the cascading feedback, if nobody leaves early: the first click is the last one."""
        return CASCADING if self.leave == 0 and feedback in (CASCADING, LAST_CLICK) else None

    def ends(self, weights: FloatArray) -> FloatArray:
        """Return the chances of a click, or of leaving without one."""
        return np.asarray(weights + (1 - weights) * self.leave)


@dataclass(frozen=True)
class PositionBased(Users):
    """Looks at each place with a probability of its own, whatever is shown and clicked elsewhere.

    Source: Craswell, Zoeter, Taylor and Ramsey (2008); with several clicks, Lagree, Vernade and Cappe (2016).
    """

    kind = "position-based"
    looks: _ByPlace = option(
        1.0,
        "Chance that each place is looked at, from the top; the last holds for all further ones. One number g means "
        "1, g, g^2, ...",
        examples=("0.8", "[1, 0.7, 0.45]"),
    )
    most: Literal["one", "several"] = option("several", "Clicks on a page at most.", examples=("one",))

    def __post_init__(self) -> None:
        super().__post_init__()
        if not any(self._looks(_different(self.looks))):
            raise ConfigError(
                "looks is 0 at every place, so that nobody looks at an item and no run ends; write a chance above 0"
            )

    def clicks(self, shown: Sequence[int], draw: Draw, chance: NextChance) -> list[int]:
        """Return the clicks on a page; with `most: one`, nothing below the first click is looked at."""
        clicks = [0] * len(shown)
        for place, (item, look) in enumerate(zip(shown, self._looks(len(shown)), strict=True)):
            clicks[place] = draw(item) if look == 1 or chance() < look else 0
            if clicks[place] and self.most == "one":
                break
        return clicks

    def comes_to(self, feedback: Feedback) -> Feedback | None:
        """Return the feedback of users who look at all places, if these do."""
        alike = NoSkips() if self.most == "several" else Cascade()
        return alike.comes_to(feedback) if set(self._looks(_different(self.looks))) == {1.0} else None

    def examination(self, places: int) -> list[float] | None:
        """Return the chances of the places, if clicks do not change them."""
        return self._looks(places) if self.most == "several" else None

    def before_a_click(self, places: int) -> list[float] | None:
        """Return the chances of the places."""
        return self._looks(places)

    @property
    def examines_all(self) -> bool:
        """Whether clicks do not change the chances, and none is 0."""
        return self.most == "several" and all(self._looks(_different(self.looks)))

    def _looks(self, places: int) -> list[float]:
        return [self.looks**i for i in range(places)] if isinstance(self.looks, float) else _filled(self.looks, places)


@dataclass(frozen=True)
class DependentClick(Users):
    """Scans from the top, clicks what attracts, and goes on after a click with a chance of its place; never tires.

    Source: Guo, Liu and Wang (2009); Katariya, Kveton, Szepesvari and Wen (2016).
    """

    kind = "dependent-click"
    go_on: _ByPlace = option(
        0.0,
        "Chance to go on after a click, for each place from the top; the last holds for all further ones.",
        examples=("0.5", "[0.9, 0.5]"),
    )

    def clicks(self, shown: Sequence[int], draw: Draw, chance: NextChance) -> list[int]:
        """Return the clicks on a page."""
        clicks = [0] * len(shown)
        for place, (item, go_on) in enumerate(zip(shown, self._chances(len(shown)), strict=True)):
            clicks[place] = draw(item)
            if clicks[place] and chance() >= go_on:
                break
        return clicks

    def comes_to(self, feedback: Feedback) -> Feedback | None:
        """Return the cascading feedback if no more than the first click is read, or made."""
        one_click = feedback in (CASCADING, LAST_CLICK) and set(self._chances(_different(self.go_on))) == {0.0}
        return CASCADING if feedback == CASCADING or one_click else None

    def ends(self, weights: FloatArray) -> FloatArray | None:
        """Return the chances of a click that is the last one, if places do not differ in them."""
        go_on = set(self._chances(_different(self.go_on)))
        return None if len(go_on) > 1 else weights * (1 - go_on.pop())

    def _chances(self, places: int) -> list[float]:
        return _filled((self.go_on,) if isinstance(self.go_on, float) else self.go_on, places)


@dataclass(frozen=True)
class NoSkips(Users):
    """Looks at the whole page and clicks everything that attracts: the semi-bandit of Chen, Wang and Yuan (2013)."""

    kind = "no-skips"

    def clicks(self, shown: Sequence[int], draw: Draw, chance: NextChance) -> list[int]:
        """Return the clicks on a page."""
        return [draw(item) for item in shown]

    def comes_to(self, feedback: Feedback) -> Feedback | None:
        """Return the feedback itself, unless it is read up to the last click."""
        return feedback if feedback in (CASCADING, SEMI_BANDIT) else None

    def examination(self, places: int) -> list[float] | None:
        """Return ones."""
        return [1.0] * places

    @property
    def examines_all(self) -> bool:
        """Return true."""
        return True


def _different(chances: _ByPlace) -> int:
    """Return a number of places that shows all chances that there are, of however long a page."""
    return len(chances) if isinstance(chances, tuple) else 2


def _filled(values: tuple[float, ...], places: int) -> list[float]:
    """Return the values of the first places; the last one holds for all further places."""
    return [*values[:places], *[values[-1]] * (places - len(values))]


USERS: Mapping[str, type[Users]] = {each.kind: each for each in (Cascade, PositionBased, DependentClick, NoSkips)}
"""Kind -> users. A kind that is added here can be named in configs, and is run by the reference engine."""
_OPTIONS = [one.name for one in record_options(*USERS.values())]
if len(set(_OPTIONS)) < len(_OPTIONS):
    raise LookupError("two kinds of users have an option of one name, which can have one meaning in a config only")
