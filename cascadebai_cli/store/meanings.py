"""What the columns and files of a result directory mean; docs/results.md is made from it."""

from collections.abc import Mapping
from types import MappingProxyType

from cascadebai_cli.store import schema
from cascadebai_cli.store.schema import Columns

MEANINGS: Mapping[str, str] = MappingProxyType(
    {
        "cell_id": "hash of the content of the cell: weights, numbers, options, code of your own",
        "study": "name of the study",
        "instance": "name of the instance",
        "learner": "name of the learner",
        "L": "number of items",
        "K": "number of items to find",
        "w_star": "the largest weight",
        "w_prime": "the smallest weight",
        "delta": "largest probability of a wrong answer that is asked for",
        "epsilon": "tolerance",
        "trial": "number of the trial, from 0",
        "status": "`stopped`, `capped` (it reached `max_steps`) or `answered` (it was asked after a budget)",
        "steps": "lists shown",
        "observations": "items looked at in all steps",
        "correct": "1 if all items found are good enough, else 0; empty if capped",
        "budget": "steps after which the learner was asked",
        "right": "how many of the items named are good enough",
        "seconds": "time",
        "n": "number of trials",
        "mean_steps": "mean of the steps, capped trials with the steps at which they were cut",
        "sd_steps": "standard deviation of the steps",
        "se_steps": "standard error of the mean",
        "ci_low": "lower end of the 95 % interval of the mean (Student's t)",
        "ci_high": "upper end of it",
        "mean_observations": "mean of the observations",
        "n_capped": "number of capped trials; if there are any, the mean is a lower limit",
        "error_rate": "share of wrong answers among the trials that stopped",
        "error_low": "lower end of its 95 % interval (exact binomial)",
        "error_high": "upper end of it",
        "mean_right": "mean of `right`",
        "right_low": "lower end of its 95 % interval",
        "right_high": "upper end of it",
        "trials": "number of trials",
        "mean_seconds": "mean time of a trial",
        "model": "regressor f of the fit c1 f + c2",
        "c1": "slope",
        "c1_se": "standard error of it",
        "c2": "intercept",
        "c2_se": "standard error of it",
        "r2": "share of the variance of the means that is explained",
        "p_value": "of the slope",
        "n_points": "number of means in the fit",
        "published_c1": "slope in the paper",
        "published_c2": "intercept in the paper",
        "published_r2": "R² in the paper",
        "published_p_value": "p-value in the paper",
        "best_model": "the model with the smallest AIC",
        "loglog_slope": "slope of log steps against the log of the axis",
        "loglog_low": "lower end of its 95 % interval",
        "loglog_high": "upper end of it",
        "rows_sha256": "hash of the `trials.csv` that this was made from",
        "aic": "Akaike's criterion",
        "best": "1 for the model with the smallest AIC",
        "bound_c1": "slope of the upper bound on the same model",
        "bound_c2": "intercept of it",
        "bound_r2": "R² of it",
        "bound_over_measured": "the bound over what was measured",
        "other": "the learner in the denominator",
        "ratio": "mean steps of `learner` over those of `other`",
        "ratio_low": "lower end of its 95 % interval",
        "ratio_high": "upper end of it",
        "other_error_rate": "error rate of `other`",
        "compared_with": "the learner that it is compared with",
        "settings": "number of instances and points of the grid",
        "better": "how many of them with at least 5 % fewer steps",
        "within": "within 5 %",
        "worse": "with at least 5 % more",
        "much_worse": "with at least twice as many",
        "capped": "how many with trials that reached the cap",
        "lower": "lower bound on the mean steps of any learner",
        "upper": "smallest upper bound on the steps of Algorithm 1, with probability 1 - delta",
        "source": "theorem that it comes from",
        "dominating": "its largest term",
        "upper_general": "the upper bound for any weights",
        "dominating_general": "its largest term",
        "upper_two_level": "the upper bound for two levels of weights",
        "measured_over_lower": "mean steps over the lower bound",
        "upper_over_measured": "upper bound over the mean steps",
        "smallest": "smallest budget of the study",
        "largest": "largest budget of the study",
        **{f"budget_{level}": f"budget from which on the error rate is below {level} %" for level in (10, 5, 1)},
        **{f"low_{level}": f"lower end of the 95 % interval of `budget_{level}`" for level in (10, 5, 1)},
        **{f"high_{level}": f"upper end of the 95 % interval of `budget_{level}`" for level in (10, 5, 1)},
        "H": "hardness, the sum of 1 / gap² over all items",
        "H2": "hardness, the largest i / gap² with gaps in ascending order",
        "bound": "bound on the chance of an error",
        "enough": "budget from which on that bound is below delta",
        "T_star": "steps that are needed for each unit of kl(delta, 1 - delta), at least",
        "gap": "how far its solution may be from the best one, relatively",
        "sharp": "the sharp lower bound on the mean steps",
        "measured_over_sharp": "mean steps over it",
    }
)
"""Column -> what it holds, in any table."""

FILES: Mapping[str, tuple[str, Columns]] = MappingProxyType(
    {
        schema.TRIALS_CSV: ("a trial", schema.TRIAL_COLUMNS),
        schema.SUMMARY_CSV: ("a cell", schema.SUMMARY_COLUMNS),
        schema.TIMINGS_CSV: ("a trial; on this machine, and so apart from the other tables", schema.TIMING_COLUMNS),
        schema.FITS_CSV: ("an instance and learner with a model, by `cascadebai fit`", schema.FIT_COLUMNS),
        schema.MODELS_CSV: ("an instance, learner and model, by `cascadebai fit`", schema.MODEL_COLUMNS),
        schema.BOUND_FITS_CSV: (
            "an instance, fit and bound side by side, by `cascadebai fit`",
            schema.BOUND_FIT_COLUMNS,
        ),
        schema.RATIOS_CSV: ("two learners at a point of the grid, by `cascadebai fit`", schema.RATIO_COLUMNS),
        schema.ORDERS_CSV: ("two learners over all settings, by `cascadebai fit`, for bars", schema.ORDER_COLUMNS),
        schema.BUDGETS_CSV: (
            "an instance and learner of a study with budgets, by `cascadebai fit`",
            schema.BUDGET_COLUMNS,
        ),
        schema.BOUNDS_CSV: ("a cell, by `cascadebai bounds --csv`", schema.BOUND_COLUMNS),
    }
)
"""Table -> what one row of it is, and its columns."""

WITH_BUDGET: Mapping[str, Columns] = MappingProxyType(
    {
        schema.TRIALS_CSV: schema.BUDGET,
        schema.SUMMARY_CSV: schema.BUDGET_STATISTICS,
        schema.BOUNDS_CSV: schema.BUDGET_BOUND_COLUMNS,
    }
)
"""Table -> the columns that a study with budgets has besides, or in their place."""
