# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Pushes one joint after the other a little, and checks whether and which way this joint moves.

Where joints are swapped or turned round between arm, driver and torques, feedback drives the arm
and braking does too. A push tells them apart before the first motion, at low speed.
"""

from __future__ import annotations

import numpy as np

from .braking import BrakingController
from .disturbance import MAX_BRAKE_RELEASE_TIME_S
from .ending import Cause, Ending
from .terms import StateTerms, TermModel
from .watcher import Cycle, Watcher
from ..arm import ArmDescription
from ..typing import Array

# A joint is pushed until it has moved so far [rad or m]: far more than noise of encoders, and more
# than elastic gears yield. If another joint has moved MAX_OTHER_MOTION_RATIO times as far before,
# joints are swapped: of a sound Franka arm, whose joints have rotor inertia, another joint moves
# at most 2.5 times as far, without friction.
MIN_MOTION_RAD = 2e-3
MAX_OTHER_MOTION_RATIO = 3.0
# The push grows by PUSH_RATE_RATIO_PER_S of the joint's torque limit in a second, until it is
# MAX_PUSH_RATIO times the bound on unexplained torque; a joint that stands still then is clamped,
# or another one is pushed.
PUSH_RATE_RATIO_PER_S = 0.15
MAX_PUSH_RATIO = 0.9
# The arm is held where it is with this stiffness per inertia, as the gains may be zero.
HOLDING_STIFFNESS_PER_INERTIA_S2 = 400.0
# Joints that are as they should be stay slower; holding a reversed one with feedback drives it.
MAX_TRIAL_SPEED_RAD_S = 0.4


class JointTrial(Watcher):
    """
    Pushes each joint of an arm with a growing torque, and judges its motion.

    The first push waits until brakes have opened. `bound`, shape (n,), is the largest push [N m]
    divided by MAX_PUSH_RATIO. `wanted`: joints are tried when torques begin.

    Attributes
    ----------
    active : bool
        Whether joints are tried.

    """

    def __init__(self, arm: ArmDescription, bound: Array, *, wanted: bool) -> None:
        self._arm, self._zero, self._wanted = arm, np.zeros(arm.n), wanted
        self._max_push = MAX_PUSH_RATIO * bound
        self._brake = BrakingController(arm)
        self.reset()
        self.end()

    def reset(self) -> None:
        """Begin with the first joint; torques begin."""
        self.active, self._wrong, self._joint, self._time = self._wanted, '', 0, 0.0
        self._held: Array | None = None  # the first position, (n,)
        self._hold()

    def _hold(self) -> None:
        """Push no joint, and wait until the arm is at rest."""
        self._brake.begin(self._zero)
        self._begin: Array | None = None  # where the push began, (n,)
        self._push, self._way = 0.0, 1.0  # size [N m] and sign

    def end(self) -> None:
        """End the trial: torques have ended."""
        self.active, self._wrong = False, ''

    @property
    def tried(self) -> str:
        """The name of the joint that is tried."""
        return self._arm.joint_names[self._joint]

    def check(self, cycle: Cycle) -> Ending | None:
        """Return an ending if a joint has moved wrongly."""
        cure = 'check brakes, and the order and the signs of joints in states and torques'
        return Cause.TRIAL_FAILED.ending(f'{self._wrong}; {cure}') if self._wrong else None

    def torque(self, state: StateTerms, terms: TermModel, elapsed: float, age: float) -> Array:
        """
        Return the torque that pushes a joint and holds the others, (n,) [N m].

        `elapsed` is the time since the state before, `age` the age of `state` [s].
        """
        self._held = state.q if self._held is None else self._held
        holding = self._brake.torque(state, terms, self._zero, elapsed, age)
        restoring = HOLDING_STIFFNESS_PER_INERTIA_S2 * (self._held - state.q)
        holding = holding + terms.inertia_torque(state.q, restoring)
        self._time += elapsed
        fastest = int(np.abs(state.dq).argmax())
        if np.abs(state.dq[fastest]) > MAX_TRIAL_SPEED_RAD_S:
            self._wrong = f'{self._arm.joint_names[fastest]} does not stay where it is held'
        elif self._begin is not None:
            self._judge(state.q - self._begin)
        elif self._time > MAX_BRAKE_RELEASE_TIME_S and self._brake.at_rest:
            self._begin = state.q
            near_lower = state.q - self._arm.limit('lower') < self._arm.limit('upper') - state.q
            self._way = 1.0 if near_lower[self._joint] else -1.0  # from the nearer limit
        if self._begin is not None:
            rise = PUSH_RATE_RATIO_PER_S * self._arm.limit('effort')[self._joint]
            self._push = min(self._push + elapsed * rise, self._max_push[self._joint])
            holding[self._joint] += self._way * self._push
        return holding

    def _judge(self, moved: Array) -> None:
        name, other = self.tried, int(np.abs(moved).argmax())
        along = self._way * moved[self._joint]
        if along >= MIN_MOTION_RAD:
            self._joint += 1
            self.active = self._joint < self._arm.n  # else all move as they should
            self._hold()
        elif along <= -MIN_MOTION_RAD:
            self._wrong = f'{name} moves against the torque that pushes it'
        elif np.abs(moved[other]) >= MAX_OTHER_MOTION_RATIO * MIN_MOTION_RAD:
            self._wrong = f'{self._arm.joint_names[other]} moves when {name} is pushed'
        elif self._push >= self._max_push[self._joint]:
            self._wrong = f'{name} does not move when it is pushed with {self._push:.1f} N m'
