"""A grid becomes rows: seeds, tasks, workers, interrupts."""
