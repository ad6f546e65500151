"""`simulate`: trials of one learner on one instance, as a table."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from cascadebai_cli.api.arguments import backend_of
from cascadebai_cli.api.single import single_study
from cascadebai_cli.api.watch import Onlooker
from cascadebai_cli.model.feedback import CASCADING
from cascadebai_cli.model.instance import Instance
from cascadebai_cli.workflows import simulate as work


def simulate(
    instance: Instance,
    learner: str | type = "cascadebai",
    trials: int = 20,
    seed: int = 1,
    delta: float = 0.1,
    *,
    budget: int | None = None,
    max_steps: int | None = None,
    feedback: str = CASCADING.name,
    engine: str = "auto",
    rewards: Mapping[str, Any] | None = None,
    n_jobs: int = 1,
    progress: bool | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Run trials of a learner on an instance.

    Args:
        instance: the problem.
        learner: `cascadebai`, `batrac`, `kl-lucb++`, `track-and-stop`, `uniform` or `sar`; a name that `cb.learner`
            gave, a class, or `module:Class`.
        trials: how many; more of them begin with the same ones.
        seed: root seed; the same call gives the same rows, whatever the number of jobs.
        delta: largest probability of a wrong answer, in `(0, 1)`.
        budget: steps after which the learner is asked for its items, in place of running until it stops.
        max_steps: cap on the steps of a trial.
        feedback: what a step shows, as the key `feedback` of a config says it.
        engine: which simulator; `auto` takes the fastest one that is exact.
        rewards: `{"rows": 100000, "reuse": True}` for rewards from a table; independent ones by default.
        n_jobs: processes; -1 is one a core, 1 stays in this process.
        progress: whether to show a line on stderr in runs of some seconds; on a terminal and in a notebook, if `None`.
        options: of the learner, such as `sigma`, `order` or `confidence` of `cascadebai`.

    Returns:
        one row a trial, the columns of `trials.csv`: those of a config with the same content, bit for bit.

    Raises:
        ValueError: if a value is not usable; nothing has run.
        CascadeError: if a trial raises.

    Example:
        >>> import cascadebai_cli as cb
        >>> cb.simulate(cb.Instance([0.8, 0.7, 0.1, 0.1], K=2), trials=3)["steps"].mean() > 0
        True
    """
    study = single_study(
        "simulate",
        instance,
        learner,
        options,
        seed=seed,
        trials=trials,
        delta=delta,
        budget=budget,
        max_steps=max_steps,
        feedback=feedback,
        engine=engine,
        rewards=rewards,
    )
    return work.simulate(study, backend=backend_of(n_jobs), watch=Onlooker(progress))
