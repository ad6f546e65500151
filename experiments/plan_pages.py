"""Run the commands of `docs/plan.md` anew and write what they print: `python -m experiments.plan_pages`."""

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from experiments.made_logs import ads, events

PAGE, DATA = Path("docs/plan.md"), Path("configs/data")
BLOCK = re.compile(r"```console\n\$ cascadebai (?P<command>plan .*)\n[\s\S]*?```")
SMALL = {
    "million.csv": "ad,clicks,views\na,20000,1000000\nb,10000,1000000\nc,0,10\nd,0,10\ne,0,10\n",
    "rare.csv": "ad,clicks,views\nA,1000,12040\nB,750,9000\nC,700,8500\nD,30,3000\n",
}


def lay_out(folder: Path) -> None:
    """The logs that the page asks about."""
    for name, text in SMALL.items():
        (folder / name).write_text(text, encoding="utf-8")
    ads().to_csv(folder / "ads.csv", index=False)
    events().to_csv(folder / "events.csv", index=False)
    for path in DATA.glob("*.csv"):
        shutil.copy(path, folder)


def answered(folder: Path, block: re.Match[str]) -> str:
    """The block with the answer of today."""
    command = [sys.executable, "-m", "cascadebai_cli", *shlex.split(block["command"]), "--quiet"]
    said = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True).stdout
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
