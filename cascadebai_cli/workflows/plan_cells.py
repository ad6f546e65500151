"""The cells behind a plan: one instance, the learners that a person could use."""

from collections.abc import Mapping
from types import MappingProxyType

from cascadebai_cli.learners.registry import LearnerSpec
from cascadebai_cli.model.families import Items
from cascadebai_cli.study.cells import Cell

LEARNERS: Mapping[str, LearnerSpec] = MappingProxyType(
    {
        "KL-LUCB++": LearnerSpec("kl-lucb++"),
        "CascadeBAI, KL bounds": LearnerSpec("cascadebai", {"confidence": "kl"}),
        "CascadeBAI": LearnerSpec("cascadebai"),
    }
)
"""Name -> learner, the sharpest first."""
SKIPPED_STEPS = 10**9
"""Page views after which a run is given up that is simulated by skipping ahead."""
SINGLE_STEPS = 300_000
"""The same for one that is simulated step by step, with up to 1000 items."""


def plan_cells(name: str, items: Items, K: int, delta: float, epsilon: float) -> list[Cell]:
    """One cell a learner.

    Args:
        name: what the instance is called.
        items: names and click probabilities.
        K, delta, epsilon: as in the paper.
    """
    L = len(items.weights)
    return [
        Cell(
            study="plan",
            instance=name,
            learner=learner,
            L=L,
            K=K,
            delta=delta,
            epsilon=epsilon,
            weights=items.weights,
            items=items.names,
            spec=spec,
            feedback="cascading",
            order="random",
            max_steps=SINGLE_STEPS // (1 + L // 1000) if spec.algorithm == "kl-lucb++" else SKIPPED_STEPS,
            engine="auto",
        )
        for learner, spec in LEARNERS.items()
    ]
