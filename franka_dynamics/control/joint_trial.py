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
INITIAL_HOLD_TIME_S = 0.3  # in which brakes open and the first torque settles
_CHECK = '; check the order and the signs of joints in states and torques'


class JointTrial(Watcher):
    """
    Pushes each joint of an arm with a growing torque, and judges its motion.

    `bound`, shape (n,), is the largest push [N m] divided by MAX_PUSH_RATIO. `wanted`: joints are
    tried when torques begin.

    Attributes
    ----------
    active : bool
        Whether joints are tried.

    """

    def __init__(self, arm: ArmDescription, bound: Array, *, wanted: bool) -> None:
        self._names, self._zero, self._wanted = arm.joint_names, np.zeros(arm.n), wanted
        self._max_push = MAX_PUSH_RATIO * bound
        self._rise = PUSH_RATE_RATIO_PER_S * arm.limit('effort')
        self._lower, self._upper = arm.limit('lower'), arm.limit('upper')
        self._brake = BrakingController(arm)
        self.reset()
        self.end()

    def reset(self) -> None:
        """Begin with the first joint; torques begin."""
        self.active, self._joint, self._wrong = self._wanted, 0, ''
        self._brake.begin(self._zero)
        self._waited = -INITIAL_HOLD_TIME_S
        self._held: Array | None = None  # the first position, (n,)
        self._begin: Array | None = None  # where the push began, (n,)
        self._push, self._way = 0.0, self._zero  # size [N m], and its signed unit vector (n,)

    def end(self) -> None:
        """End the trial: torques have ended."""
        self.active = False

    @property
    def tried(self) -> str:
        """The name of the joint that is tried; after the last one, that of the last."""
        return self._names[min(self._joint, len(self._names) - 1)]

    def check(self, cycle: Cycle) -> Ending | None:
        """Return an ending if a joint has moved wrongly."""
        return Cause.TRIAL_FAILED.ending(self._wrong) if self.active and self._wrong else None

    def torque(self, state: StateTerms, terms: TermModel, elapsed: float, age: float) -> Array:
        """
        Return the torque that pushes a joint and holds the others, (n,) [N m].

        `elapsed` is the time since the state before, `age` the age of `state` [s].
        """
        self._held = state.q if self._held is None else self._held
        holding = self._brake.torque(state, terms, self._zero, elapsed, age)
        restoring = HOLDING_STIFFNESS_PER_INERTIA_S2 * (self._held - state.q)
        holding = holding + terms.inertia_torque(state.q, restoring)
        self._waited += elapsed
        fastest = int(np.abs(state.dq).argmax())
        if np.abs(state.dq[fastest]) > MAX_TRIAL_SPEED_RAD_S:
            self._wrong = f'{self._names[fastest]} does not stay where it is held{_CHECK}'
        elif self._begin is not None:
            self._judge(state.q - self._begin)
        elif self._waited > 0.0 and self._brake.at_rest and self._joint < len(self._names):
            self._begin = state.q
            near_lower = state.q - self._lower < self._upper - state.q
            away = np.where(near_lower, 1.0, -1.0)  # from the nearer limit
            self._way = away * (np.arange(len(away)) == self._joint)
        self.active = self._joint < len(self._names)  # else all move as they should
        if self._begin is not None:
            most, rise = self._max_push[self._joint], self._rise[self._joint]
            self._push = min(self._push + elapsed * rise, most)
        return holding + self._push * self._way

    def _judge(self, moved: Array) -> None:
        name, along, other = self._names[self._joint], self._way @ moved, np.abs(moved).argmax()
        if along >= MIN_MOTION_RAD:
            self._joint += 1
            self._begin, self._push, self._way = None, 0.0, self._zero
            self._brake.begin(self._zero)  # to rest, before the next joint
        elif along <= -MIN_MOTION_RAD:
            self._wrong = f'{name} moves against the torque that pushes it{_CHECK}'
        elif np.abs(moved[other]) >= MAX_OTHER_MOTION_RATIO * MIN_MOTION_RAD:
            self._wrong = f'{self._names[other]} moves when {name} is pushed{_CHECK}'
        elif self._push >= self._max_push[self._joint]:
            self._wrong = (
                f'{name} does not move when it is pushed with {self._push:.1f} N m; check the '
                'brakes and the order of joints'
            )
