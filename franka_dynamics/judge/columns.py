# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The torques that one unit of each fault adds to the measured efforts, by the starting set.

COLUMNS has a function of them for each row of the table: from `TorqueSamples`, the fault's joints
and, where there are several, its form, to arrays (N, n) [N m], one for each column.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from .table import Fault, ROWS, TABLE, WITH_EFFORT
from ..arrays import Array
from ..dynamics.newton_euler import NewtonEulerModel
from ..fit.torque_model import MASS_AND_MOMENT_INDICES, TorqueModel
from ..recordings.preprocessing import Motion

_STEP = 1e-4  # of differences [rad, m, s]


@dataclass(frozen=True, eq=False)
class TorqueSamples:
    """
    Torques of the starting set along a motion, of which columns are made.

    `jerk` (N, n) is the change of the accelerations per second, `effort_rate` that of the efforts.
    `known_torques` are those at corrected states, as `corrected` found them.
    """

    model: TorqueModel
    dynamics: NewtonEulerModel
    motion: Motion
    jerk: Array
    effort_rate: Array
    known_torques: dict[bytes, Array] = field(default_factory=dict)

    @classmethod
    def from_motion(cls, model: TorqueModel, motion: Motion) -> 'TorqueSamples':
        """Return the samples of a motion, by the arm with which identification starts."""
        dynamics = NewtonEulerModel(model.arm, model.gravity)
        return cls(
            model, dynamics, motion, _rates(motion.ddq, motion), _rates(motion.effort, motion)
        )

    def select(self, samples: slice) -> 'TorqueSamples':
        """Return some of the samples."""
        return replace(
            self,
            motion=self.motion.select(samples),
            jerk=self.jerk[samples],
            effort_rate=self.effort_rate[samples],
            known_torques={},
        )

    @property
    def state(self) -> tuple[Array, Array, Array]:
        """Recorded positions, velocities and accelerations, (N, n) each."""
        return self.motion.q, self.motion.dq, self.motion.ddq

    @cached_property
    def torque(self) -> Array:
        """The torque at the recorded states, (N, n) [N m]."""
        return self.dynamics.inverse_dynamics(*self.state)

    @cached_property
    def gravity(self) -> Array:
        """The gravity torque at the recorded positions, (N, n) [N m]."""
        return self.dynamics.gravity(self.motion.q)

    @cached_property
    def regressor(self) -> Array:
        """The regressor of the base parameters, (N, n, b)."""
        return self.model.base.regressor(*self.state)

    @cached_property
    def late(self) -> Array:
        """The change of torques by a second by which velocities are late, (N, n)."""
        q, dq, ddq = self.state
        real = self.dynamics.inverse_dynamics(q, dq + _STEP * ddq, ddq + _STEP * self.jerk)
        return (real - self.torque) / _STEP

    def at(self, joint: int) -> Array:
        """Return zeros (n,) but for a one at a joint."""
        return np.asarray(np.eye(self.model.n)[joint])

    def zero(self, joint: int) -> Array:
        """Return minus the derivative of torques by a joint's position, (N, n)."""
        q, dq, ddq = self.state
        step = _STEP * self.at(joint)
        below, above = (self.dynamics.inverse_dynamics(q + s, dq, ddq) for s in (-step, step))
        return (below - above) / (2.0 * _STEP)

    def corrected(
        self, joints_map: Array, form: str = '', zero: Array | float = 0.0
    ) -> list[Array]:
        """
        Return the column of states that are (q - zero) times a map (n, n) in truth.

        With the form WITH_EFFORT efforts are mapped alike.
        """
        key = joints_map.tobytes() + np.asarray(zero).tobytes()
        if key not in self.known_torques:  # each is needed in two forms
            q, dq, ddq = (
                (one - offset) @ joints_map for one, offset in zip(self.state, (zero, 0, 0))
            )
            self.known_torques[key] = self.dynamics.inverse_dynamics(q, dq, ddq)
        real = self.known_torques[key]
        recorded = real @ joints_map if form == WITH_EFFORT else real
        return [recorded - self.torque]

    def exchange(self, pair: tuple[int, int]) -> Array:
        """Return the matrix (n, n) that exchanges two joints."""
        matrix = np.eye(self.model.n)
        matrix[list(pair)] = matrix[list(pair[::-1])]
        return matrix


def _rates(signal: Array, motion: Motion) -> Array:
    """Return a signal's (N, n) change per second, zero in pieces of a motion of one sample."""
    rates = np.zeros_like(signal)
    for piece_id in np.unique(motion.piece_ids):
        in_piece = motion.piece_ids == piece_id
        if np.count_nonzero(in_piece) > 1:
            rates[in_piece] = np.gradient(signal[in_piece], 1.0 / motion.options.rate, axis=0)
    return rates


def gravity_axes(gravity: Array) -> Array:
    """Return two vectors normal to gravity and as large, and gravity itself, (3, 3) [m/s^2]."""
    _, _, orthonormal_rows = np.linalg.svd(gravity[None, :])  # the first along gravity
    level_axes = orthonormal_rows[1:] * np.linalg.norm(gravity)
    return np.concatenate([level_axes, gravity[None, :]])


def base_accelerations(samples: TorqueSamples) -> list[Array]:
    """Return the torques of the three gravities of `gravity_axes`, (N, n) each."""
    arm = samples.model.arm
    return [
        NewtonEulerModel(arm, vector).gravity(samples.motion.q)
        for vector in gravity_axes(samples.model.gravity)
    ]


def _loads(s: TorqueSamples) -> list[Array]:
    load_to_base = s.model.payload_to_base_matrix[:, MASS_AND_MOMENT_INDICES]  # (b, 4)
    return [*np.moveaxis(s.regressor @ load_to_base, -1, 0)]


def _forces(s: TorqueSamples) -> list[Array]:
    jacobian = s.dynamics.jacobian(s.motion.q)[:, :3]  # of translations, (N, 3, n)
    return [*-jacobian.swapaxes(0, 1)]


def _one_way(s: TorqueSamples, j: int) -> list[Array]:
    torque = s.torque * s.at(j)
    return [torque, torque * np.sign(s.motion.dq)]


def _by_position(s: TorqueSamples, j: int) -> list[Array]:
    return [np.sin(s.motion.q) * s.at(j), np.cos(s.motion.q) * s.at(j)]


def _quarter_turns(s: TorqueSamples, j: int, turns: int) -> list[Array]:
    return s.corrected(np.eye(s.model.n), zero=0.5 * np.pi * turns * s.at(j))


def _reversed_axis(s: TorqueSamples, j: int, form: str) -> list[Array]:
    return s.corrected(np.eye(s.model.n) - 2.0 * np.outer(s.at(j), s.at(j)), form)


def _exchanged_efforts(s: TorqueSamples, i: int, j: int) -> list[Array]:
    difference = s.torque[:, [j]] - s.torque[:, [i]]
    return [difference * (s.at(i) - s.at(j))]


COLUMNS: dict[tuple[str, int], Callable[..., list[Array]]] = {
    ('gain', 0): lambda s: [s.torque],
    ('gain', 1): lambda s, j: [s.torque * s.at(j)],
    ('load', 0): _loads,
    ('force', 0): _forces,
    ('offset', 1): lambda s, j: [s.at(j) + np.zeros_like(s.torque)],
    ('one_way', 1): _one_way,
    ('position', 1): _by_position,
    ('gravity', 0): base_accelerations,
    ('gravity', 1): lambda s, j: [-s.gravity * s.at(j)],
    ('time', 0): lambda s: [s.torque - s.gravity],
    ('rotors', 0): lambda s: [s.motion.ddq * s.at(j) for j in range(s.model.n)],
    ('delay', 0): lambda s: [-s.effort_rate],
    ('lag', 0): lambda s: [s.late],
    ('zero', 1): lambda s, j: [s.zero(j)],
    ('quarter_turn', 1): _quarter_turns,
    ('axis', 1): _reversed_axis,
    ('exchanged', 2): _exchanged_efforts,
    ('columns', 2): lambda s, i, j, form: s.corrected(s.exchange((i, j)), form),
}


def possible_faults(model: TorqueModel) -> Iterator[Fault]:
    """Yield each fault that an arm's recording may have all along, in the table's order."""
    for row in TABLE:
        if row.kind == 'rotors' and model.base.rotor_inertia:
            continue
        # A zero of the first joint is a turn of the base, one of the last a turn of the last link.
        joints = range(1, model.n - 1) if row.inner else range(model.n)
        for pair in combinations(joints, row.of):
            for form in row.forms:
                yield Fault(row.kind, pair, form)


def columns_of(
    samples: TorqueSamples, faults: Sequence[Fault]
) -> Iterator[tuple[Fault, list[Array]]]:
    """Yield each of some faults with its columns, (N, n) each."""
    for fault in faults:
        forms: tuple[Any, ...] = (
            (fault.form,) if ROWS[fault[0], len(fault[1])].forms != ('',) else ()
        )
        yield fault, COLUMNS[fault.kind, len(fault.joints)](samples, *fault.joints, *forms)
