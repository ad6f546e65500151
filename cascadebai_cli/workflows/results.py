"""What the workflows that read a result directory say about it."""

from cascadebai_cli.store.directory import Results, capped_trials, missing_trials
from cascadebai_cli.workflows.watch import Watch


def warn_of_gaps(results: Results, watch: Watch) -> None:
    """Point out missing and capped trials."""
    for sentence in (*missing_trials(results), *capped_trials(results)):
        watch.warn(f"warning: {results.directory}: {sentence}")


def is_whole(results: Results) -> bool:
    """Whether no trial is missing; else what is made of the directory rests on less than its config asks for."""
    return not missing_trials(results)
