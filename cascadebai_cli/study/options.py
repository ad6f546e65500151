"""What the options of learners mean; types and defaults stand in the signatures of the learners."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from pydantic import Field


class Option(NamedTuple):
    """An option of one or more learners.

    Attributes:
        meaning: in a sentence.
        example: a value as it stands in a config.
        limits: beyond its type, for `Annotated`.
    """

    meaning: str
    example: str
    limits: Any = None


LARGEST_SIGMA = 1000
"""Beyond it a run would take more steps than a number can count."""

OPTIONS: Mapping[str, Option] = MappingProxyType(
    {
        "sigma": Option(
            "Sub-Gaussian scale of a click in the radius of Algorithm 1; 1 is the formula as printed.",
            "0.25",
            Field(gt=0, le=LARGEST_SIGMA),
        ),
        "order": Option(
            "How the least observed survivors are placed in the list: by observations T, mean, upper bound U or lower "
            "bound L, descending with a minus sign.",
            "-U",
        ),
        "confidence": Option("The radius of the paper, or bounds from the Bernoulli divergence.", "kl"),
        "list_length": Option("Number of items shown at once; K if it is left out.", "10", Field(ge=1)),
        "stopping": Option("Stop when the bounds part, or by likelihood ratios.", "glr"),
        "b": Option("Pulls of a step.", "1"),
        "r": Option("Largest number of pulls of one item at a step.", "2"),
    }
)
"""Name of an option -> what it is."""
