"""What a fit may regress on: formulas in the axis of a curve, such as `K^2` or `log(L)`."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from cascadebai_cli.model.formula import evaluate
from cascadebai_cli.study.fit import formula_of

FloatArray = NDArray[np.float64]
Regressor = Callable[[FloatArray], FloatArray]

_USUAL: Mapping[str, Regressor] = MappingProxyType(
    {"%s": np.positive, "%s^2": np.square, "sqrt(%s)": np.sqrt, "log(%s)": np.log}
)


def models_of(x: str) -> Mapping[str, Regressor]:
    """Name of a model -> its regressor, for the models that are compared with each other on an axis."""
    return {name % x: regressor for name, regressor in _USUAL.items()}


MODELS = MappingProxyType(models_of("K"))
"""Those of the paper; the model is `c1 * regressor(K) + c2`."""


def regressor(model: str, x: str = "K") -> Regressor:
    """The regressor of a model.

    Args:
        model: a usual one, or another formula in the axis.
        x: name of the axis.

    Raises:
        ConfigError: if it is no formula; from the regressor, if it has no value somewhere.
    """
    usual = models_of(x)
    if model in usual:
        return usual[model]
    formula = formula_of(model, x)
    return lambda values: np.array([evaluate(formula, {x: value}) for value in values.tolist()]).reshape(values.shape)
