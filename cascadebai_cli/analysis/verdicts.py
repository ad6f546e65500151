"""A claim of the paper and how it came out."""

from typing import NamedTuple

HOLDS, NEARLY, FAILS = "holds", "nearly", "fails"
AGREES, LOWER, HIGHER, OPEN = "agrees", "lower", "higher", "open"
UNDECIDED = "not decided at this size"


class Claim(NamedTuple):
    """One line of the table of claims, as text.

    Attributes:
        where: instance or part of the figure.
        claim: the sentence.
        published: the value in the paper, empty if it only has words.
        ours: the value here.
        verdict: `holds`, `nearly` or `fails` for a sentence, `agrees`, `lower` or `higher` for a number, `open`
            without data; `UNDECIDED` where more trials, or more steps a trial, could turn it round.
    """

    where: str
    claim: str
    published: str
    ours: str
    verdict: str
