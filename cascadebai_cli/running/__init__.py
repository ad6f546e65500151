"""How the trials of a grid are run: generators, blocks, workers, interrupts."""
