"""All bounds of one cell of a grid."""

from dataclasses import dataclass

from cascadebai_cli.model.instance import Instance
from cascadebai_cli.theory.lower import lower_bound
from cascadebai_cli.theory.quantities import CLICK_CONSTANT, Quantities
from cascadebai_cli.theory.two_level import TwoLevel
from cascadebai_cli.theory.upper import UpperBound, general_upper


@dataclass(frozen=True)
class CellBounds:
    """What the theorems promise for one instance and learner.

    Args:
        lower: steps that any algorithm needs in expectation; `nan` for `epsilon > 0`.
        general: [thm:fix_conf_up_bd], or [prop:fix_conf_up_bd_many_eps_opt] where it does not apply; `None` for
            learners other than Algorithm 1.
        two_level: [prop:conf_upbd_two_prob]; `None` for other learners or weights.
    """

    lower: float
    general: UpperBound | None = None
    two_level: UpperBound | None = None

    @property
    def upper(self) -> UpperBound | None:
        """The smaller of the upper bounds that apply, `None` if none does."""
        found = [bound for bound in (self.general, self.two_level) if bound]
        return min(found, key=lambda bound: bound.steps, default=None)


def cell_bounds(instance: Instance, delta: float, constant: float = CLICK_CONSTANT) -> CellBounds:
    """Bounds for Algorithm 1; see `Quantities` for `constant`."""
    return CellBounds(
        lower=lower_bound(instance, delta),
        general=general_upper(Quantities(instance, delta, constant)),
        two_level=_two_level(instance, delta, constant) if is_two_level(instance) else None,
    )


def is_two_level(instance: Instance) -> bool:
    """Whether [assump:two_prob_cond] holds: `K` weights `w*`, `L-K` weights `w'`, `0 < w' < w*`, and `epsilon = 0`."""
    w, K = instance.sorted_weights, instance.K
    return bool(instance.epsilon == 0 and w[0] == w[K - 1] and w[K] == w[-1] > 0)


def _two_level(instance: Instance, delta: float, constant: float) -> UpperBound:
    forms = TwoLevel(instance.L, instance.K, instance.w_star, instance.w_prime, delta, constant)
    names = ("observing", "spread", "identifying")
    return UpperBound("two-level", {n: float(t) for n, t in zip(names, forms.upper_terms(), strict=True)})
