"""`bounds`: what is proved about an instance."""

from typing import Any

import pandas as pd

from cascadebai_cli.api.single import single_study
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.feedback import CASCADING
from cascadebai_cli.model.instance import Instance
from cascadebai_cli.workflows.bounds import promised


def bounds(
    instance: Instance,
    delta: float = 0.1,
    *,
    learner: str | type = "cascadebai",
    feedback: str = CASCADING.name,
    budget: int | None = None,
    printed: bool = False,
    sharp: bool = False,
    **options: Any,
) -> "pd.Series[Any]":
    """Bounds on the mean number of steps, or with a budget on the chance of an error.

    Args:
        instance: the problem.
        delta: largest probability of a wrong answer, in `(0, 1)`.
        learner: as for `simulate`; only Algorithm 1 on cascading feedback has an upper bound on the steps.
        feedback: what a step shows, as the key `feedback` of a config says it.
        budget: steps after which the learner is asked for its items; `uniform` and `sar` have a bound then.
        printed: take the constant 216 of `T-bar` as the paper prints it, instead of `256 sigma^2`.
        sharp: add the sharp lower bound, which takes seconds for hundreds of different weights.
        options: of the learner, such as `sigma`.

    Returns:
        `lower` and `upper`, which theorem the upper one is from (`source`) and which term is the largest, the bounds of
        each theorem, and if asked for `T_star` and `sharp`; with a budget the hardness `H` and `H2`, the `bound`, and
        the budget that is `enough` for `delta`. What is not known is missing.

    Raises:
        ValueError: if a value is not usable.
    """
    study = single_study("bounds", instance, learner, options, delta=delta, feedback=feedback, budget=budget)
    if len(study.cells) > 1:
        raise ConfigError("bounds are those of one learner at one delta and budget; give one value of each argument")
    row = promised(study.cells, printed=printed, sharp=sharp).iloc[0]
    return row.rename("bounds")
