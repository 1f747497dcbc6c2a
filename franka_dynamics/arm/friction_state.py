# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The state of Maxwell-slip friction elements, updated with each joint state."""

from __future__ import annotations

import numpy as np

from .friction import FrictionModel, MaxwellSlipFriction
from ..typing import Array

# [s] A gap longer than MAX_GAP_S between two joint states resets the friction state.
MAX_GAP_S = 0.05


class FrictionState:
    """
    The state z of one arm's Maxwell-slip elements, updated with each joint state.

    At the start, and after a gap in the joint states, z is unknown, or 0 if `relaxed` (for
    simulations). `slip_state_bounds`, shape (2, k, n), are the lowest and highest possible z of k
    elements at n joints; the bounds become equal after a displacement of twice an element's reach
    in one direction. Models without Maxwell-slip elements have no state.
    """

    def __init__(self, model: FrictionModel | None, *, relaxed: bool = False) -> None:
        self.model = model
        self._relaxed = relaxed
        self._maxwell = model if isinstance(model, MaxwellSlipFriction) else None
        if self._maxwell is not None:
            self._reach = self._maxwell.reach[:, None]
        self.reset()

    def reset(self) -> None:
        """Reset the bounds of z to -1 and 1 (unknown), or to 0 if created with `relaxed`."""
        self._last: tuple[float, Array] | None = None
        self.slip_state_bounds = np.zeros((2, 0, 0))
        if self._maxwell is not None:
            self.slip_state_bounds = np.zeros((2, *self._maxwell.slip.shape))
            if not self._relaxed:
                self.slip_state_bounds[0], self.slip_state_bounds[1] = -1.0, 1.0

    @property
    def slip_state(self) -> Array:
        """States z of k Maxwell-slip elements, -1 to 1, each the mean of its bounds, (k, n)."""
        return np.asarray(0.5 * (self.slip_state_bounds[0] + self.slip_state_bounds[1]))

    def update(self, stamp: float, q: Array) -> None:
        """
        Update the bounds of z with joint positions q, (n,) [rad], at the time `stamp` [s].

        A step back in time, or a gap longer than MAX_GAP_S, resets the state.
        """
        if self._maxwell is None:
            return
        last, self._last = self._last, (stamp, q)
        if last is None:
            return
        if not 0.0 <= stamp - last[0] <= MAX_GAP_S:
            self.reset()
            self._last = (stamp, q)
            return
        moved = self.slip_state_bounds + (q - last[1]) / self._reach
        self.slip_state_bounds = np.minimum(np.maximum(moved, -1.0), 1.0)

    def torque(self, dq: Array) -> Array:
        """Return the friction torque (n,) [N m] at dq [rad/s] and state z; 0 without a model."""
        if self.model is None:
            return np.zeros_like(dq)
        if self._maxwell is None:
            return self.model.torque(dq)
        return self._maxwell.torque(dq, self.slip_state)
