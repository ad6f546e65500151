"""The study of one instance and one learner."""

from collections.abc import Mapping
from typing import Any

from cascadebai_cli.api.learners import algorithm_of, name_of
from cascadebai_cli.errors import ConfigError
from cascadebai_cli.model.instance import Instance
from cascadebai_cli.study.config import Study, study_of

UNSAID = ("budget", "max_steps", "rewards")
_OF_THE_INSTANCE = ("K", "L", "epsilon")
_NAMES = ("name", "algorithm")


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
    _refuse(instance, options)
    called = {"algorithm": "learner", "name": "learner", **{name: name for name in options}}
    given = {
        "seed": 0,
        "K": instance.K,
        "epsilon": instance.epsilon,
        "instances": [{"name": "instance", "family": "explicit", "weights": instance.weights}],
        "learners": [{"name": name_of(learner), "algorithm": algorithm_of(learner), **options}],
        **{key: value for key, value in keys.items() if value is not None or key not in UNSAID},
    }
    return study_of(given, name=name, called={("learners", 0, key): f"{name}:" for key, name in called.items()})


def _refuse(instance: object, options: Mapping[str, Any]) -> None:
    if not isinstance(instance, Instance):
        raise ConfigError(f"a {type(instance).__name__} is no instance; write for example Instance(weights, K=2)")
    for name in options:
        if name in _OF_THE_INSTANCE:
            raise ConfigError(f"{name}: belongs to the instance; write for example Instance(weights, K=2, epsilon=0.1)")
        if name in _NAMES:
            raise ConfigError(f"{name}: is no option of a learner; name it with learner=...")
