"""Two processes ask and tell at once, and are killed again and again: `python two_processes.py DIR KILLS`.

Each writes down what was acknowledged, in `DIR.log`: a line `ask ID` or `tell ID PLACE` (0 for no click).
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

from cascadebai_cli.live.live import Live


def work(directory: Path, seed: int) -> None:
    """Ask for pages and tell them, for ever."""
    chance, live = random.Random(seed), Live.open(directory)
    log = os.open(f"{directory}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    while True:
        pages = live.ask(chance.randint(1, 4))
        os.write(log, "".join(f"ask {page.id}\n" for page in pages).encode())
        told = [(page.id, chance.choice([None, 1, 2])) for page in pages if chance.random() < 0.8]
        live.tell_many(told)
        os.write(log, "".join(f"tell {number} {place or 0}\n" for number, place in told).encode())


def begin(directory: Path, seed: int) -> int:
    """Start a process that works, and return its number."""
    process = os.fork()
    if process == 0:
        try:
            work(directory, seed)
        finally:
            os._exit(1)
    return process


def main(directory: Path, kills: int) -> None:
    """Kill one of two processes, at a random moment, and start another in its place."""
    chance = random.Random(7)
    running = [begin(directory, seed) for seed in (1, 2)]
    for seed in range(kills):
        time.sleep(chance.uniform(0.05, 0.25))
        one = running.pop(0)
        os.kill(one, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(one, 0)[1]) == -signal.SIGKILL, "it had ended by itself"
        running.append(begin(directory, 10 + seed))
    for one in running:
        os.kill(one, signal.SIGKILL)
        os.waitpid(one, 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
