"""Learners by name, as a config names them."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from cascadebai_cli.learners.cascadebai import BatRac, CascadeBAI
from cascadebai_cli.learners.fixed_budget import SuccessiveAcceptsRejects, Uniform
from cascadebai_cli.learners.kl_lucb import KLLucb
from cascadebai_cli.learners.own import MakeGenerator, build_learner, is_own, load_plugin, parameters, plugin_code
from cascadebai_cli.learners.posterior import Posterior
from cascadebai_cli.learners.protocol import Learner, in_batches
from cascadebai_cli.learners.track_and_stop import TrackAndStop

ALGORITHMS: Mapping[str, Callable[..., Learner]] = MappingProxyType(
    {
        "cascadebai": CascadeBAI,
        "batrac": BatRac,
        "kl-lucb++": KLLucb,
        "posterior": Posterior,
        "track-and-stop": TrackAndStop,
        "uniform": Uniform,
        "sar": SuccessiveAcceptsRejects,
    }
)
"""Algorithm name -> class taking `(L, K, delta, epsilon, **options)`."""

_BUDGET = "budget"
"""Name of the parameter of a learner that must know when it will be asked."""
_OF_THE_GRID = ("L", "K", "delta", "epsilon", _BUDGET, "rng")
"""Parameters of a constructor that the program sets; `rng` is the generator of the trial."""
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
BATCH = "batch"
"""Name of the option of any learner, unless it has its own of that name: the number of steps for which a list stays."""


def find_algorithm(name: str) -> Callable[..., Learner] | None:
    """Return the class of an algorithm, imported if it is `module:Class`; `None` if the name is not known.

    Raises:
        ConfigError: if the import fails.
    """
    return load_plugin(name) if is_own(name) else ALGORITHMS.get(name)


@lru_cache(maxsize=64)
def options_of(algorithm: str) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of an algorithm beyond those that the program sets; none for an unknown algorithm."""
    made = find_algorithm(algorithm)
    if made is None:
        return MappingProxyType({})
    return MappingProxyType({k: p for k, p in parameters(made).items() if k not in _OF_THE_GRID and p.kind in _NAMED})


@dataclass(frozen=True)
class LearnerSpec:
    """Which algorithm runs with which options.

    Args:
        algorithm: a key of `ALGORITHMS`, or `module:Class`.
        options: keyword arguments of the algorithm beyond `L, K, delta, epsilon`, such as `sigma`.
    """

    algorithm: str = "cascadebai"
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_own(self) -> bool:
        """Whether it is a user's class."""
        return is_own(self.algorithm)

    @property
    def code(self) -> str | None:
        """Hash of all code that a user's class runs; `None` for a learner of this program."""
        return plugin_code(self.algorithm) if self.is_own else None

    @property
    def knows_budget(self) -> bool:
        """Whether what it does depends on the budget."""
        made = find_algorithm(self.algorithm)
        return made is not None and _BUDGET in parameters(made)

    def is_algorithm_1(self, K: int | None = None) -> bool:
        """Return whether it is Algorithm 1 of the paper, with any `sigma`; with lists of `K` items, if `K` is given."""
        of_the_paper = {"order": ("T",), "confidence": ("lil",), "list_length": (None, K), BATCH: (1,)}
        given = {name: value for name, value in self.options.items() if name in of_the_paper}
        return self.algorithm == "cascadebai" and all(value in of_the_paper[name] for name, value in given.items())

    @property
    def rule_version(self) -> int:
        """Version of the decisions, raised when they change for the same outcomes; rows of two versions do not mix.

        With KL bounds, version 1 compared with the upper bound of the item of the (k+1)-th largest mean; version 1 of
        `posterior` took its draws from the posterior itself; with lists that stay, version 1 of KL-LUCB++ could stop
        within a batch.
        """
        bounds_of_means = self.algorithm == "cascadebai" and self.options.get("confidence") == "kl"
        in_batches = self.algorithm == "kl-lucb++" and BATCH in self.options
        return 2 if bounds_of_means or in_batches or self.algorithm == "posterior" else 1

    def most_shown(self, K: int) -> int:
        """Return the largest number of items of a list: `b` of BatRac, else `list_length`, else `K`."""
        shown = self.options.get("b" if self.algorithm == "batrac" else "list_length")
        return shown if isinstance(shown, int) else K

    def meeting(self, items: Sequence[int]) -> "LearnerSpec":
        """Return the learner for a trial in which these items of the instance have the places 0, 1, and so on."""
        known = self.options.get("known") if self.algorithm == "posterior" else None
        return replace(self, options={**self.options, "known": [known[item] for item in items]}) if known else self

    def build(
        self,
        L: int,
        K: int,
        delta: float,
        epsilon: float,
        make_rng: MakeGenerator | None = None,
        budget: int | None = None,
    ) -> Learner:
        """Return a fresh learner; `make_rng` makes the generator of one that draws, different for each trial."""
        arguments = {"L": L, "K": K, "delta": delta, "epsilon": epsilon, **self.options}
        made = load_plugin(self.algorithm) if self.is_own else ALGORITHMS[self.algorithm]
        batch = arguments.pop(BATCH) if BATCH in arguments and BATCH not in parameters(made) else 1
        if budget is not None and self.knows_budget:
            arguments[_BUDGET] = budget
        learner = build_learner(self.algorithm, made, make_rng, **arguments)
        return learner if batch == 1 else in_batches(learner, f"{self.algorithm} with batch", batch)
