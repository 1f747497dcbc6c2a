# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torques along a motion of which further regressor columns are made, beside the model's own."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from .torque_model import OFFSET_SYMBOL, TorqueModel
from ..arrays import Array, NDArray
from ..dynamics.newton_euler import NewtonEulerModel
from ..recordings.preprocessing import Motion


@dataclass(frozen=True, eq=False)
class TorqueSamples:
    """
    Torques of the arm before identification, of which further regressor columns are made.

    `rigid_torque` (N, n) are the rigid-body torques by `dynamics`, `total_torque` those and the
    friction that remains, `torque_rate` the change of the latter per second, `jerk` that of the
    accelerations. `max_torque` (n,) is the largest size of `total_torque` in the recording, also
    in `select`.
    """

    model: TorqueModel
    dynamics: NewtonEulerModel
    motion: Motion
    rigid_torque: Array
    total_torque: Array
    torque_rate: Array
    jerk: Array
    max_torque: Array

    @classmethod
    def from_motion(cls, model: TorqueModel, motion: Motion, friction_columns: Array) -> Self:
        """
        Return the torques of the model's starting arm along a motion, friction included.

        `friction_columns` (N, n, terms) are fitted to the efforts.
        """
        dynamics = NewtonEulerModel(model.arm, model.gravity)
        rigid_torque = dynamics.inverse_dynamics(motion.q, motion.dq, motion.ddq)  # (N, n), N m
        friction = _fitted_friction(motion.effort, rigid_torque, friction_columns, model)
        total_torque = rigid_torque + friction
        return cls(
            model,
            dynamics,
            motion,
            rigid_torque,
            total_torque,
            torque_rate=_rates(total_torque, motion),
            jerk=_rates(motion.ddq, motion),
            max_torque=np.abs(total_torque).max(axis=0),
        )

    def select(self, slice_or_mask: slice | NDArray[np.bool_]) -> 'TorqueSamples':
        """Return the samples that a slice or a mask (N,) selects."""
        names = 'rigid_torque', 'total_torque', 'torque_rate', 'jerk'
        arrays = {name: getattr(self, name)[slice_or_mask] for name in names}
        return replace(self, motion=self.motion.select(slice_or_mask), **arrays)

    @cached_property
    def regressor(self) -> Array:
        """The regressor of the base parameters, (N, n, b)."""
        motion = self.motion
        return self.model.base.regressor(motion.q, motion.dq, motion.ddq)

    def only_at_joints(self, torque: Array, joints: tuple[int, ...]) -> Array:
        """Return torques (N, n), zero except at `joints`; unchanged if `joints` is empty."""
        if not joints:
            return torque
        return torque * np.isin(np.arange(self.model.n), joints)


def _fitted_friction(
    effort: Array, rigid_torque: Array, friction_columns: Array, model: TorqueModel
) -> Array:
    """Return friction without offsets, (N, n), fitted to `effort` beside scaled `rigid_torque`."""
    is_no_offset = [not symbol.startswith(OFFSET_SYMBOL) for symbol in model.friction.symbols]
    friction = np.zeros_like(effort)
    for joint in range(model.n):
        joint_columns = friction_columns[:, joint]  # (N, terms)
        regressor = np.column_stack([joint_columns, rigid_torque[:, joint]])
        coefficients, *_ = np.linalg.lstsq(regressor, effort[:, joint], rcond=None)
        friction[:, joint] = joint_columns @ (coefficients[:-1] * is_no_offset)
    return friction


def _rates(signal: Array, motion: Motion) -> Array:
    """Return a signal's (N, n) change per second, zero in pieces of a motion of one sample."""
    rates = np.zeros_like(signal)
    for piece_id in np.unique(motion.piece_ids):
        in_piece = motion.piece_ids == piece_id
        if np.count_nonzero(in_piece) > 1:
            rates[in_piece] = np.gradient(signal[in_piece], 1.0 / motion.options.rate, axis=0)
    return rates
