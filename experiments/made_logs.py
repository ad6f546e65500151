"""Logs for `docs/plan.md`, made from known laws.

    python -m experiments.made_logs ads > ads.csv
    python -m experiments.made_logs events > events.csv

`ads`: 1,143 ads, as a public log of campaigns has them: impressions of a log-normal law, rates of a beta law whose
strength gives a chi-square near the 3,540 of that log. `events`: one view a row, 12 items at 4 positions that are
looked at with the chances `EXAMINATION`; better items are shown higher more often.
"""

import sys

import numpy as np
import pandas as pd

ADS, MEDIAN_IMPRESSIONS, SPREAD = 1143, 50_000, 1.6
MEAN_RATE, STRENGTH = 1.8e-4, 69_000
EVENTS, ITEMS, EXAMINATION = 60_000, 12, (1.0, 0.7, 0.45, 0.3)


def ads() -> pd.DataFrame:
    """Columns `ad, impressions, clicks`."""
    rng = np.random.default_rng(1143)
    impressions = np.ceil(rng.lognormal(np.log(MEDIAN_IMPRESSIONS), SPREAD, ADS)).astype(int)
    rates = rng.beta(MEAN_RATE * STRENGTH, (1 - MEAN_RATE) * STRENGTH, ADS)
    clicks = rng.binomial(impressions, rates)
    return pd.DataFrame({"ad": np.arange(1, ADS + 1), "impressions": impressions, "clicks": clicks})


def events() -> pd.DataFrame:
    """Columns `item, slot, click`."""
    rng = np.random.default_rng(12)
    rates = np.linspace(0.3, 0.08, ITEMS)
    item = rng.integers(ITEMS, size=EVENTS)
    wanted = item * len(EXAMINATION) // ITEMS
    slot = np.where(rng.random(EVENTS) < 0.6, wanted, rng.integers(len(EXAMINATION), size=EVENTS))
    click = rng.random(EVENTS) < np.array(EXAMINATION)[slot] * rates[item]
    return pd.DataFrame({"item": [f"item {i + 1}" for i in item], "slot": slot + 1, "click": click.astype(int)})


if __name__ == "__main__":
    {"ads": ads, "events": events}[sys.argv[1]]().to_csv(sys.stdout, index=False)
