"""Every artefact of the paper that rests on data, in the order of cost, and its reduced form.

Figure 3 is two panels of Figure 5 and is drawn from the rows of Tables 1 and 2; the schematic of the lower bound
needs none and is drawn beside them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CONFIGS, RESULTS = Path("configs"), Path("results")
REFERENCE, FAST = RESULTS / "reference", RESULTS / "fast"


@dataclass(frozen=True)
class Artefact:
    """What is swept and drawn together.

    Args:
        name: stem of its config and name of its directory.
        shows: which parts of the paper.
        claim: what the paper concludes from it; nothing if it is beyond the paper.
        seconds: full size, about, on two cores.
        fast_seconds: reduced size, about, on two cores.
        fast: keys of the config with other values for the reduced size.
        further: kinds of figures beside its own.
        figures: names of configs that make further figures of it.
    """

    name: str
    shows: str
    claim: str
    seconds: float
    fast_seconds: float
    fast: Mapping[str, Any] = field(default_factory=dict)
    further: Sequence[str] = ()
    figures: Sequence[str] = ()

    @property
    def config(self) -> Path:
        """Its config."""
        return CONFIGS / f"{self.name}.yaml"


ARTEFACTS = (
    Artefact(
        "table1",
        "Tables 1 and 2, Figures 3 and 5, the bounds and the schematic of the lower bound",
        "the number of steps grows with K as the upper bound says",
        seconds=70,
        fast_seconds=12,
        fast={"trials": 5, "K": {"from": 20, "to": 60, "step": 10}},
        further=("bounds", "schematic"),
        figures=("figure3",),
    ),
    Artefact(
        "figure2",
        "Figure 2",
        "CascadeBAI is similar to BatRac(K) where weights are small and to BatRac(1) where they are large",
        seconds=200,
        fast_seconds=12,
        fast={"trials": 5, "K": [20, 40, 60]},
    ),
    Artefact(
        "figure1",
        "Figure 1",
        "showing the least observed items first does as well as the best of the other orders",
        seconds=450,
        fast_seconds=20,
        fast={"trials": 3, "max_steps": 100_000},
    ),
    Artefact(
        "figure4",
        "Figure 4",
        "the same in 16 panels",
        seconds=5400,
        fast_seconds=30,
        fast={"trials": 2, "max_steps": 100_000, "L": [64], "delta": [0.1]},
    ),
)

BEYOND = (
    Artefact(
        "budget",
        "beyond the paper: how often learners are wrong after a budget of steps",
        "",
        seconds=500,
        fast_seconds=15,
        fast={"trials": 20},
    ),
)
"""What `make reproduce` makes beside them."""
