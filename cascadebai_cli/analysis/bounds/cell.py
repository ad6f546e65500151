"""All bounds of one cell of a grid, as one row of a table."""

from dataclasses import dataclass

from cascadebai_cli.analysis.bounds.lower import lower_bound
from cascadebai_cli.analysis.bounds.quantities import CLICK_CONSTANT, Quantities
from cascadebai_cli.analysis.bounds.two_level import TwoLevel
from cascadebai_cli.analysis.bounds.upper import UpperBound, general_upper
from cascadebai_cli.model.instance import Instance


@dataclass(frozen=True)
class CellBounds:
    """What the theorems promise for CascadeBAI on one instance.

    Args:
        lower: steps that any algorithm needs in expectation; `nan` for `epsilon > 0`.
        general: [thm:fix_conf_up_bd], or [prop:fix_conf_up_bd_many_eps_opt] where it does not apply.
        two_level: [prop:conf_upbd_two_prob]; `None` if the instance has other weights.
    """

    lower: float
    general: UpperBound
    two_level: UpperBound | None

    @property
    def upper(self) -> UpperBound:
        """The smaller of the upper bounds that apply."""
        bounds = [self.general] if self.two_level is None else [self.general, self.two_level]
        return min(bounds, key=lambda bound: bound.steps)


def cell_bounds(instance: Instance, delta: float, constant: float = CLICK_CONSTANT) -> CellBounds:
    """Lower and upper bounds for one instance; see `Quantities` for `constant`."""
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
