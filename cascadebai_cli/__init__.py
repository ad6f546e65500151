"""Best arm identification for cascading bandits: exact simulation, fits and figures.

    import cascadebai_cli as cb

    cb.simulate(cb.Instance([0.8, 0.7, 0.2, 0.1], K=2), trials=100)

The names below are loaded when they are first used.
"""

from cascadebai_cli.version import __version__ as __version__

TYPE_CHECKING = False  # type checkers take it as true; `typing` may be a file beside a config when this is read

__all__ = [
    "CascadeBAI",
    "CascadeRule",
    "Instance",
    "Learner",
    "Live",
    "Plan",
    "Results",
    "bounds",
    "learner",
    "load",
    "plan",
    "simulate",
    "sweep",
]

if TYPE_CHECKING:
    from cascadebai_cli.api.arguments import learner
    from cascadebai_cli.api.functions import Plan, Results, bounds, load, plan, simulate, sweep
    from cascadebai_cli.learners.cascadebai import CascadeBAI, CascadeRule
    from cascadebai_cli.learners.protocol import Learner
    from cascadebai_cli.live.live import Live
    from cascadebai_cli.model.problem import Instance
else:
    _HOMES = {
        "CascadeBAI": "learners.cascadebai",
        "CascadeRule": "learners.cascadebai",
        "Instance": "model.problem",
        "Learner": "learners.protocol",
        "Live": "live.live",
        "Plan": "api.functions",
        "Results": "api.functions",
        "bounds": "api.functions",
        "learner": "api.arguments",
        "load": "api.functions",
        "plan": "api.functions",
        "simulate": "api.functions",
        "sweep": "api.functions",
    }

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
        from importlib import import_module

        from cascadebai_cli.running.interrupts import interrupts_held

        with interrupts_held():  # after Ctrl-C in the middle, pandas could not be imported again
            value = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
