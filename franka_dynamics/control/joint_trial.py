# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Pushes one joint after the other a little, and sees whether this joint moves, and which way.

Where joints are swapped or turned round between arm, driver and torques, feedback drives the arm
and braking does too. A push tells them apart before the first motion, at low speed.
"""

from __future__ import annotations

import numpy as np

from .braking import Brake
from .terms import StateTerms, TorqueTermModel
from ..arm import ArmDescription
from ..typing import Array

# A joint is pushed until it has moved by MOVED [rad or m]: far more than noise of encoders, and
# more than elastic gears yield. If another joint has moved by OTHERS times MOVED before, joints
# are swapped: of a sound Franka arm, whose joints have rotor inertia, another joint moves at most
# 2.5 times as far, without friction.
MOVED, OTHERS = 2e-3, 3.0
# The push grows by RISE of the joint's torque limit in a second, until it is MAX_TRIAL_SHARE times
# the bound on unexplained torque; a joint that stands still then is clamped, or another one is
# pushed.
RISE, MAX_TRIAL_SHARE = 0.15, 0.9
# The arm is held where it is with this stiffness per inertia, as the gains may be zero [1/s^2].
STIFFNESS = 400.0
# Joints that are as they should be stay slower than FASTEST [rad/s]; holding a reversed one with
# feedback drives it.
FASTEST = 0.4
BEGIN_S = 0.3  # time after the first torque in which brakes open and the torque settles [s]
_CHECK = '; check the order and the signs of joints in states and torques'


class JointTrial:
    """
    The trial of one arm's joints, from the first torque on.

    `bound`, shape (n,), is the largest push [N m] divided by MAX_TRIAL_SHARE; `joints` names the
    joints.

    Attributes
    ----------
    joint : int
        Number of the joint that is tried, from zero; n once all have moved as they should.
    wrong : str
        Which joint moved wrongly; '' while none has.

    """

    def __init__(self, arm: ArmDescription, bound: Array) -> None:
        self._names, self._zero = arm.joint_names, np.zeros(arm.n)
        self._most, self._rise = MAX_TRIAL_SHARE * bound, RISE * arm.limit('effort')
        self._middle = 0.5 * (arm.limit('lower') + arm.limit('upper'))
        self._brake, self._begin, self._push = Brake(arm), self._zero, 0.0
        self._held: Array | None = None  # the first position, (n,)
        self._waited, self._pushes = -BEGIN_S, False
        self.joint, self.wrong = 0, ''

    def torque(
        self, state: StateTerms, terms: TorqueTermModel, elapsed: float, age: float
    ) -> Array:
        """
        Return the push and the torque that holds the arm, (n,) [N m], both beside the model's.

        `elapsed` is the time since the state before, `age` the age of `state` [s].
        """
        self._held = state.q if self._held is None else self._held
        holding = self._brake.torque(state, terms, self._zero, elapsed, age)
        holding = holding + terms.inertia_torque(state.q, STIFFNESS * (self._held - state.q))
        self._waited += elapsed
        fastest = int(np.abs(state.dq).argmax())
        if np.abs(state.dq[fastest]) > FASTEST:
            self.wrong = f'{self._names[fastest]} does not stay where it is held{_CHECK}'
        elif self._pushes:
            self._judge(state.q - self._begin)
        elif self._waited > 0.0 and self._brake.at_rest and self.joint < len(self._names):
            self._begin, self._push, self._pushes = state.q, 0.0, True
        if not self._pushes:
            return holding
        joint = self.joint
        self._push = min(self._push + elapsed * self._rise[joint], self._most[joint])
        way = 1.0 if self._begin[joint] < self._middle[joint] else -1.0  # away from the limit
        return holding + way * self._push * np.eye(len(holding))[joint]

    def _judge(self, moved: Array) -> None:
        joint, name = self.joint, self._names[self.joint]
        way = 1.0 if self._begin[joint] < self._middle[joint] else -1.0
        other = int(np.abs(moved).argmax())
        if way * moved[joint] >= MOVED:
            self._pushes, self.joint = False, joint + 1
            self._brake.begin(self._zero)  # to rest, before the next joint
        elif way * moved[joint] <= -MOVED:
            self.wrong = f'{name} moves against the torque that pushes it{_CHECK}'
        elif np.abs(moved[other]) >= OTHERS * MOVED:
            self.wrong = f'{self._names[other]} moves when {name} is pushed{_CHECK}'
        elif self._push >= self._most[joint]:
            self.wrong = (
                f'{name} does not move when it is pushed with {self._push:.1f} N m; check the '
                'brakes and the order of joints'
            )
