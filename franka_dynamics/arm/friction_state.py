# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The state of an arm's Maxwell-slip elements, followed from one joint state to the next."""

import numpy as np

from .friction import friction_torque, FrictionModel, grows_with_load, MaxwellSlipFriction
from ..arrays import Array

# A longer gap between two joint states resets the friction state.
MAX_STATE_GAP_S = 0.05


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
        self._starts_relaxed = relaxed
        self._maxwell_model = model if isinstance(model, MaxwellSlipFriction) else None
        self.grows_with_load = grows_with_load(model)
        if self._maxwell_model is not None:
            self._reach = self._maxwell_model.reach[:, None]
        self.reset()

    def reset(self) -> None:
        """Reset the bounds of slip states to -1 and 1 (unknown), or to 0 if created `relaxed`."""
        self._last_sample: tuple[float, Array] | None = None
        shape = (0, 0) if self._maxwell_model is None else self._maxwell_model.slip.shape
        self.slip_state_bounds = np.zeros((2, *shape))
        if not self._starts_relaxed:
            self.slip_state_bounds[0] = -1.0
            self.slip_state_bounds[1] = 1.0

    @property
    def slip_state(self) -> Array:
        """Slip states (-1 to 1) of k Maxwell-slip elements, the means of their bounds, (k, n)."""
        return np.asarray(0.5 * (self.slip_state_bounds[0] + self.slip_state_bounds[1]))

    def update(self, stamp: float, q: Array) -> None:
        """
        Update bounds of slip states by positions q, (n,) [rad], at `stamp` [s]; reset at a gap.

        A step back in time, a gap longer than MAX_STATE_GAP_S, or a position that is not finite
        resets the state.
        """
        if self._maxwell_model is None:
            return
        if not np.isfinite(q).all():
            self.reset()
            return
        last = self._last_sample
        self._last_sample = (stamp, np.array(q, dtype=float))  # callers may reuse their array
        if last is None:
            return
        last_stamp, last_q = last
        if not 0.0 <= stamp - last_stamp <= MAX_STATE_GAP_S:
            sample = self._last_sample
            self.reset()
            self._last_sample = sample
            return
        moved = self.slip_state_bounds + (q - last_q) / self._reach
        self.slip_state_bounds = np.minimum(np.maximum(moved, -1.0), 1.0)

    def torque(self, dq: Array, *, rigid_torque: Array | None = None) -> Array:
        """
        Return friction torques (n,) [N m] at dq [rad/s] and slip states; 0 without a model.

        `rigid_torque` (n,) [N m] is needed by friction that grows with the load.
        """
        if self.model is None:
            return np.zeros_like(dq)
        if self._maxwell_model is None:
            return friction_torque(self.model, dq, rigid_torque)
        return self._maxwell_model.torque(dq, self.slip_state, rigid_torque)
