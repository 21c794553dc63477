"""What a learned model does in every state, read without importing the library that trained it."""

from __future__ import annotations

from typing import Any

import numpy as np

from dp_cmdp._src.base import validation as check
from dp_cmdp._src.base.errors import InvalidArgumentError
from dp_cmdp._src.base.validation import FloatArray


def learned_probabilities(model: Any, num_states: int | None) -> FloatArray:
    """Action probabilities of a Stable-Baselines3 model, one row per state."""
    states, actions = (_size(model, name) for name in ("observation_space", "action_space"))
    rows = states if num_states is None else check.size("num_states", num_states, low=states)
    probs = np.full(check.shape("num_states", (rows, actions)), 1.0 / actions)
    network = getattr(model, "policy", None)
    if hasattr(network, "get_distribution") and hasattr(network, "obs_to_tensor"):
        found = _distribution(network, np.arange(states))
    else:
        found = np.eye(actions)[_greedy(model, states, actions)]
    probs[:states] = _single(found, (states, actions))
    return probs


def _size(model: Any, name: str) -> int:
    space = getattr(model, name, None)
    size = getattr(space, "n", None)
    if not check.is_integer(size) or getattr(space, "start", 0) != 0:
        raise InvalidArgumentError(
            f"model must be trained on Discrete spaces that count from 0, as Stable-Baselines3 "
            f"models know them; its {name} is {type(space).__name__}"
        )
    return check.size(f"the size of the model's {name}", size, low=1)


def _distribution(network: Any, states: Any) -> Any:
    """Probabilities as an array, or None: whatever a network raises says little to its user."""
    try:
        tensor, _ = network.obs_to_tensor(states)
        return network.get_distribution(tensor).distribution.probs.detach().cpu().numpy()
    except Exception:
        return None


def _greedy(model: Any, states: int, actions: int) -> Any:
    if not hasattr(model, "predict"):
        raise InvalidArgumentError(
            f"model must be a Stable-Baselines3 model, got {type(model).__name__}"
        )
    try:
        chosen, _ = model.predict(np.arange(states), deterministic=True)
    except Exception:
        chosen = None
    return check.integers("the actions that model predicts", chosen, high=actions)


def _single(found: Any, shape: tuple[int, int]) -> FloatArray:
    """The probabilities in double precision; negative rounding and others are left to Policy."""
    if found is None or np.shape(found) != shape:
        raise InvalidArgumentError(
            f"model must give probabilities of shape {shape}, one row per state; ask for those of "
            "a policy with Discrete observations and actions"
        )
    return np.asarray(found, dtype=np.float64)
