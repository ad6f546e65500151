"""The study of one instance and one learner."""

from collections.abc import Mapping, Sequence
from typing import Any

from cascadebai_cli.api.learners import algorithm_of, name_of
from cascadebai_cli.errors import ConfigError, suggest
from cascadebai_cli.learners.registry import find_algorithm
from cascadebai_cli.model.instance import Instance
from cascadebai_cli.study.config import Study, study_of
from cascadebai_cli.study.learners import options_of

UNSAID = ("budget", "max_steps", "rewards")
_OF_THE_INSTANCE = ("K", "L", "epsilon")
_ARGUMENTS = ("learner", "n_jobs", "progress")
"""Arguments of `simulate` that are no keys of a config."""


def single_study(name: str, instance: Instance, learner: object, options: Mapping[str, Any], **keys: Any) -> Study:
    """The study, with one cell unless a key has several values.

    Args:
        name: of the study.
        instance: the problem.
        learner: as `simulate` takes it.
        options: of the learner.
        keys: further keys of a config; of those in `UNSAID`, `None` says nothing.

    Raises:
        ConfigError: if a value is not usable.
    """
    algorithm = algorithm_of(learner)
    _refuse_other(instance, learner)
    _refuse_unknown(algorithm, options, [*_ARGUMENTS, *keys])
    called = {"algorithm": "learner", "name": "learner", **{name: name for name in options}}
    given = {
        "seed": 0,
        "K": instance.K,
        "epsilon": instance.epsilon,
        "instances": [{"name": "instance", "family": "explicit", "weights": instance.weights}],
        "learners": [{"name": name_of(learner), "algorithm": algorithm, **options}],
        **{key: value for key, value in keys.items() if value is not None or key not in UNSAID},
    }
    return study_of(given, name=name, called={("learners", 0, key): f"{name}:" for key, name in called.items()})


def _refuse_other(instance: object, learner: object) -> None:
    """Refuse weights without the number of items to find, and several learners."""
    if not isinstance(instance, Instance):
        raise ConfigError(f"a {type(instance).__name__} is no instance; write for example Instance(weights, K=2)")
    if isinstance(learner, list | tuple | set):
        raise ConfigError("learner: give one; tables of several can be joined with pandas.concat, and sweep takes many")


def _refuse_unknown(algorithm: object, options: Mapping[str, Any], arguments: Sequence[str]) -> None:
    """Refuse an option that the learner does not have, if it is known."""
    for name in options:
        if name in _OF_THE_INSTANCE:
            raise ConfigError(f"{name}: belongs to the instance; write for example Instance(weights, K=2, epsilon=0.1)")
    if options and isinstance(algorithm, str) and find_algorithm(algorithm) is not None:
        known = [*options_of(algorithm), *arguments]
        for name in options:
            if name not in known:
                raise ConfigError(f"{name}: unknown option; {suggest(name, known)}")
