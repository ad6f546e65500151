"""What the workflows that read a result directory say about it."""

from cascadebai_cli.store.directory import Results, capped_trials, missing_trials
from cascadebai_cli.text.clean import for_shell
from cascadebai_cli.text.numbers import count
from cascadebai_cli.workflows.watch import Watch


def warn_of_gaps(results: Results, watch: Watch) -> None:
    """Point out missing and capped trials, in one line each."""
    capped = capped_trials(results)
    if len(capped) > 1:
        capped = [_together(results, len(capped))]
    for sentence in (*missing_trials(results), *capped):
        watch.warn(f"warning: {results.directory}: {sentence}")


def _together(results: Results, curves: int) -> str:
    cells = results.summary
    trials, of = int(cells["n_capped"].sum()), int(cells["n"].sum())
    return (
        f"{count(trials)} of {count(of)} trials, on {count(curves)} curves, reached the cap and count with it; "
        f"`cascadebai summary {for_shell(results.directory)} --sort -n_capped` shows where"
    )


def is_whole(results: Results) -> bool:
    """Whether no trial is missing; else what is made of the directory rests on less than its config asks for."""
    return not missing_trials(results)
