# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Probable causes of a torque that the model does not explain, listed in the reason of a stop.

Nothing is decided here. The causes are those of the first row of CAUSE_TABLE whose conditions the
torque meets: which torques differ, whether the difference is along or against the model's g(q) at
the joints that bear weight, at how many joints it is large, whether the arm moves, and whether the
target adds gravity.
"""

from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array

# An excess along or against g(q) is at least these shares of it at each joint that bears weight,
# the second one if it exceeds g(q) itself. Wide: the observer lags behind a falling arm.
MIN_EXCESS_TO_GRAVITY, MIN_DOUBLE_EXCESS_TO_GRAVITY = 0.3, 1.4

G_ADDED_TWICE = (
    'gravity or a load is added twice: what the receiver compensates, or the load in Desk (a load '
    'that is not there counts, too)'
)
NOBODY_ADDS_G = (
    'nobody adds the gravity torque g(q), which target {target} expects of its receiver: its '
    'motors are dead or braked, or it is of another target'
)
RECEIVER_ADDS_G = (
    'the receiver adds the gravity torque g(q) itself, which target {target} takes for missing, '
    'or still applies an earlier torque, or its own feedback or brakes carry the arm'
)
WRONG_GRAVITY = 'gravity_vector is wrong (its sign?), or the arm is mounted otherwise'
UNDECLARED_LOAD = 'a payload or hand that nobody declared'
ABSENT_LOAD = 'a declared payload or hand that is not there'
WRONG_TARGET = 'target {target} (who adds g(q)?), payload, hand or gravity_vector are wrong'
WRONG_UNITS = 'efforts are not in N m'
NO_GRAVITY_IN_EFFORT = 'efforts are reported without gravity, or brakes hold the arm'
REVERSED_EFFORT = 'efforts have the other sign (the load on the drives, not their torque)'
JOINT_ORDER = 'the joints have another order or other signs here than in the arm'
TORQUE_LOST = 'no torque arrives: its receiver ignores what is sent, or brakes hold the arm'
DEAD_MOTOR = 'a dead motor or a closed brake of {joint}'
OTHER_SENDER = 'somebody else sends torques, too, or they arrive late'
MECHANICAL_STOP = '{joint} is at its position limit, where its mechanical stop holds it'
CONTACT = 'something touches the arm, or a closed brake holds it'


class ExcessKind(Enum):
    """Which two of the measured, the commanded and the needed torque differ."""

    COMMAND = 'the measured torque less the commanded one'
    MOTION = 'the measured torque less what the motion needs'
    NO_SENSOR = 'the commanded torque less what the motion needs, where none is measured'


ANY = None
COMMAND, MOTION, NO_SENSOR = ExcessKind
# The conditions that an excess must meet, and its probable causes: kind, how `gravity_sign` begins
# ('' that it has none), `is_multi_joint`, `arm_moves`, `target_adds_gravity`; ANY: any.
CAUSE_TABLE: tuple[tuple[Any, ...], ...] = (
    (COMMAND, '+', ANY, ANY, True, (G_ADDED_TWICE, OTHER_SENDER)),
    (COMMAND, '-', True, ANY, True, (TORQUE_LOST, NOBODY_ADDS_G, JOINT_ORDER)),
    (COMMAND, '-', False, ANY, True, (DEAD_MOTOR, NOBODY_ADDS_G)),
    (COMMAND, '+', ANY, ANY, False, (RECEIVER_ADDS_G, OTHER_SENDER)),
    (COMMAND, '-', True, ANY, False, (TORQUE_LOST, NO_GRAVITY_IN_EFFORT, JOINT_ORDER)),
    (COMMAND, '-', False, ANY, False, (DEAD_MOTOR, NO_GRAVITY_IN_EFFORT)),
    (COMMAND, '', True, ANY, True, (G_ADDED_TWICE, TORQUE_LOST, OTHER_SENDER, JOINT_ORDER)),
    (COMMAND, '', True, ANY, False, (RECEIVER_ADDS_G, TORQUE_LOST, OTHER_SENDER, JOINT_ORDER)),
    (COMMAND, '', False, ANY, ANY, (DEAD_MOTOR, OTHER_SENDER, JOINT_ORDER)),
    (MOTION, '--', ANY, ANY, ANY, (REVERSED_EFFORT, WRONG_GRAVITY)),
    (MOTION, '-', ANY, ANY, ANY, (NO_GRAVITY_IN_EFFORT, ABSENT_LOAD, WRONG_GRAVITY)),
    (MOTION, '++', ANY, ANY, ANY, (WRONG_UNITS, UNDECLARED_LOAD)),
    (MOTION, '+', ANY, ANY, ANY, (UNDECLARED_LOAD, CONTACT, WRONG_UNITS)),
    (MOTION, '', True, False, ANY, (JOINT_ORDER, WRONG_TARGET, CONTACT, WRONG_UNITS)),
    (MOTION, '', ANY, ANY, ANY, (WRONG_TARGET, CONTACT, WRONG_UNITS, JOINT_ORDER)),
    (NO_SENSOR, '--', ANY, ANY, True, (WRONG_GRAVITY, G_ADDED_TWICE)),
    (NO_SENSOR, '--', ANY, ANY, False, (WRONG_GRAVITY, RECEIVER_ADDS_G)),
    (NO_SENSOR, '-', ANY, ANY, True, (G_ADDED_TWICE, ABSENT_LOAD, WRONG_GRAVITY)),
    (NO_SENSOR, '-', ANY, ANY, False, (RECEIVER_ADDS_G, ABSENT_LOAD, WRONG_GRAVITY)),
    (NO_SENSOR, '+', True, ANY, True, (NOBODY_ADDS_G, UNDECLARED_LOAD)),
    (NO_SENSOR, '+', False, ANY, True, (UNDECLARED_LOAD, NOBODY_ADDS_G)),
    (NO_SENSOR, '+', ANY, ANY, False, (UNDECLARED_LOAD, TORQUE_LOST, JOINT_ORDER)),
    (NO_SENSOR, '', ANY, ANY, ANY, (WRONG_TARGET, CONTACT, DEAD_MOTOR, OTHER_SENDER, JOINT_ORDER)),
)


class TorqueExcess(NamedTuple):
    """
    The difference of two joint torques that should be equal, its bound, g(q) and the receiver.

    `torque` is the difference, `gravity_torque` g(q) (n,) [N m], `torque_bound` the size from
    which a difference is large, (n,) [N m], `joint_name` that of the joint with the largest share
    of it, `target` the name of the receiver, which adds gravity or not.
    """

    kind: ExcessKind
    torque: Array
    gravity_torque: Array
    torque_bound: Array
    arm_moves: bool
    target_adds_gravity: bool
    target: str
    joint_name: str

    @property
    def is_multi_joint(self) -> bool:
        """Whether the difference exceeds its bound at more than one joint."""
        return bool(np.count_nonzero(np.abs(self.torque) > self.torque_bound) > 1)

    @property
    def gravity_sign(self) -> str:
        """The excess's sign along g(q), '+' or '-', doubled if it exceeds g(q); '' if unclear."""
        heavy = np.abs(self.gravity_torque) > self.torque_bound
        ratios = self.torque[heavy] / self.gravity_torque[heavy]
        if not heavy.any() or (np.abs(self.torque)[heavy] <= self.torque_bound[heavy]).all():
            return ''
        for sign, along in (('+', ratios), ('-', -ratios)):
            if (along > MIN_EXCESS_TO_GRAVITY).all():
                return sign * (2 if (along > MIN_DOUBLE_EXCESS_TO_GRAVITY).all() else 1)
        return ''


def probable_causes(excess: TorqueExcess) -> str:
    """Return the probable causes of a torque excess as text, the likeliest first."""
    sign, adds_gravity = excess.gravity_sign, excess.target_adds_gravity
    found = excess.kind, excess.is_multi_joint, excess.arm_moves, adds_gravity
    causes = next(
        causes
        for kind, begin, *others, causes in CAUSE_TABLE
        if (sign.startswith(begin) if begin else not sign)
        and all(one in (ANY, value) for one, value in zip((kind, *others), found))
    )
    return ', or '.join(causes).format(target=excess.target, joint=excess.joint_name)
