"""Run the commands of `docs/plan.md` anew and write what they print: `python -m experiments.plan_pages`."""

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "plan.md"
BLOCK = re.compile(r"```console\n\$ cascadebai (?P<command>plan .*)\n[\s\S]*?```")
LOG = re.compile(r"```csv\n(?P<text># (?P<name>\S+)\n[\s\S]*?)```")


def lay_out(folder: Path) -> None:
    """The logs that the page asks about, as it shows them."""
    for found in LOG.finditer(PAGE.read_text(encoding="utf-8")):
        (folder / found["name"]).write_text(found["text"], encoding="utf-8")


def answered(folder: Path, block: re.Match[str]) -> str:
    """The block with the answer of today."""
    command = f"{shlex.quote(sys.executable)} -m cascadebai {block['command'].replace(' | ', ' --quiet | ')}"
    command += "" if "|" in command else " --quiet"
    said = subprocess.run(command, shell=True, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
    lines = "\n".join(line.rstrip() for line in said.rstrip().splitlines())
    return f"```console\n$ cascadebai {block['command']}\n{lines}\n```"


def main() -> None:
    """Write the page."""
    with tempfile.TemporaryDirectory() as name:
        lay_out(Path(name))
        text = BLOCK.sub(lambda block: answered(Path(name), block), PAGE.read_text(encoding="utf-8"))
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
