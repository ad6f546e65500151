"""Results with a table of rewards that is used again say so, and are not held to what is proved without one."""

from pathlib import Path

import pytest
from sweeps import call

CONFIG = """seed: 1
trials: 3
L: 8
K: 2
delta: 0.1
epsilon: 0
max_steps: 20000
claims: paper
instances: [{name: a, family: two_level, w_star: 0.6, w_prime: 0.2}]
"""


@pytest.mark.parametrize("reuse", [True, False])
def test_report_and_bounds_say_so(tmp_path: Path, reuse: bool) -> None:
    config, out = tmp_path / "table.yaml", tmp_path / "out"
    config.write_text(f"{CONFIG}rewards: {{rows: 500, reuse: {str(reuse).lower()}}}\n", encoding="utf-8")
    assert call("sweep", config, "--out", out, "--backend", "sequential", "-q").code == 0
    assert call("report", out, "-o", tmp_path / "page.html").code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "from a table of 500 rows" in page
    assert ("do not apply" in page) == reuse
    assert ("1 - delta" in page) != reuse
    told = call("bounds", config, "--results", out).err
    assert ("rewards are from a table of 500 rows that is used again" in told) == reuse
