"""How the trials of a grid are run: seeds, tasks, workers, interrupts."""
