"""What privacy cost, against the truth: for the curator, when asked for by ``--compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dp_cmdp.cmdp.policy import Policy
    from dp_cmdp.cmdp.synthesis import SafePolicy
    from dp_cmdp.envs.hazard_grid import HazardGridEnv

REPORT, PICTURE = "comparison.json", "comparison.png"


def compared(
    env: HazardGridEnv, policy: Policy, *, robust: SafePolicy, title: str, folder: Path
) -> dict[str, Any]:
    """Facts about the policy and the best one without privacy, and their picture in `folder`.

    The picture also has the `robust` policy, which needs no data.

    Notes
    -----
    Private facts that have no value, such as a loss relative to 0, are None. **Privacy.** *Curator
    only*.
    """
    from dp_cmdp.cmdp.evaluation import evaluate
    from dp_cmdp.cmdp.occupancy import occupancy_of
    from dp_cmdp.cmdp.synthesis import safe_policy
    from dp_cmdp.figures import comparison_figure, save_figure
    from dp_cmdp.metrics import cost_of_privacy

    truth = env.cmdp()
    judged = evaluate(truth, policy)
    best = safe_policy(truth)
    severity = truth.f.max(axis=2)
    figure = comparison_figure(
        (policy, robust.policy, best.policy),
        occupancies=(
            judged.occupancy,
            occupancy_of(truth, robust.policy),
            occupancy_of(truth, best.policy),
        ),
        layout=env.layout,
        severity=severity,
        title=title,
        values=(judged.value, robust.value, best.value),
    )
    save_figure(figure, folder / PICTURE, private=True)
    loss = float(cost_of_privacy(best.value, judged.value)) if best.value != 0.0 else None
    return {
        "value": judged.value,
        "nonprivate_value": best.value,
        "cost_of_privacy_percent": None if loss is None else 100.0 * loss,
        "true_cost": judged.costs.tolist(),
        "true_tolerance": truth.f0.tolist(),
        "within_tolerance": bool((judged.costs <= truth.f0).all()),
    }
