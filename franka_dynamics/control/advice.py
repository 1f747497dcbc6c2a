# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Probable causes of a torque that the model does not explain, listed in the reason of a stop.

Nothing is decided here. The causes are those of the first row of CAUSES whose conditions the
torque meets: which torques differ, whether the difference is along or against the model's g(q) at
the joints that bear weight, at how many joints it is large, whether the arm moves, and whether the
target adds gravity.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..typing import Array

# The difference has this share of g(q), or the other sign, at each joint that bears weight; from
# DOUBLE_RATIO on it is more than g(q) itself. Wide: the observer lags behind a falling arm.
ALONG_RATIO, DOUBLE_RATIO = 0.3, 1.4

_TWICE = (
    'gravity or a load is added twice: what the receiver compensates, or the load in Desk (a load '
    'that is not there counts, too)'
)
_NOBODY = (
    'nobody adds the gravity torque g(q), which target {target} expects of its receiver: its '
    'motors are dead or braked, or it is of another target'
)
_RECEIVER = (
    'the receiver adds the gravity torque g(q) itself, which target {target} takes for missing, '
    'or still applies an earlier torque, or its own feedback or brakes carry the arm'
)
_SIGN = 'gravity_vector is wrong (its sign?), or the arm is mounted otherwise'
_UNDECLARED = 'a payload or hand that nobody declared'
_ABSENT = 'a declared payload or hand that is not there'
_TARGET = (
    'target {target}, which says who adds the gravity torque g(q), payload, hand or '
    'gravity_vector are others'
)
_UNITS = 'efforts are not in N m'
_EFFORTS = 'efforts are reported without gravity, or brakes hold the arm'
_TURNED = 'efforts are reported with the other sign (the load on the drives, not their torque)'
_ORDER = 'the order or the signs of the joints are others'
_LOST = 'no torque arrives: its receiver ignores what is sent, or brakes hold the arm'
_MOTOR = 'a dead motor or a closed brake of {joint}'
_SENDER = 'somebody else sends torques, too, or they arrive late'
_CONTACT = 'something touches the arm, or a closed brake holds it'

MOTION, COMMAND, ESTIMATE = 'motion', 'command', 'estimate'


# See `Excess` for what the conditions mean; None: any. A sign begins with the one of its row; ''
# is no sign.
CAUSES: tuple[tuple[str, str, bool | None, bool | None, bool | None, tuple[str, ...]], ...] = (
    # which torques, sign, several joints, the arm moves, the target adds gravity
    (COMMAND, '+', None, None, True, (_TWICE, _SENDER)),
    (COMMAND, '-', True, None, True, (_LOST, _NOBODY, _ORDER)),
    (COMMAND, '-', False, None, True, (_MOTOR, _NOBODY)),
    (COMMAND, '+', None, None, False, (_RECEIVER, _SENDER)),
    (COMMAND, '-', True, None, False, (_LOST, _EFFORTS, _ORDER)),
    (COMMAND, '-', False, None, False, (_MOTOR, _EFFORTS)),
    (COMMAND, '', True, None, True, (_TWICE, _LOST, _SENDER, _ORDER)),
    (COMMAND, '', True, None, False, (_RECEIVER, _LOST, _SENDER, _ORDER)),
    (COMMAND, '', False, None, None, (_MOTOR, _SENDER, _ORDER)),
    (MOTION, '--', None, None, None, (_TURNED, _SIGN)),
    (MOTION, '-', None, None, None, (_EFFORTS, _ABSENT, _SIGN)),
    (MOTION, '++', None, None, None, (_UNITS, _UNDECLARED)),
    (MOTION, '+', None, None, None, (_UNDECLARED, _CONTACT, _UNITS)),
    (MOTION, '', True, False, None, (_ORDER, _TARGET, _CONTACT, _UNITS)),
    (MOTION, '', None, None, None, (_TARGET, _CONTACT, _UNITS, _ORDER)),
    (ESTIMATE, '--', None, None, True, (_SIGN, _TWICE)),
    (ESTIMATE, '--', None, None, False, (_SIGN, _RECEIVER)),
    (ESTIMATE, '-', None, None, True, (_TWICE, _ABSENT, _SIGN)),
    (ESTIMATE, '-', None, None, False, (_RECEIVER, _ABSENT, _SIGN)),
    (ESTIMATE, '+', True, None, True, (_NOBODY, _UNDECLARED)),
    (ESTIMATE, '+', False, None, True, (_UNDECLARED, _NOBODY)),
    (ESTIMATE, '+', None, None, False, (_UNDECLARED, _LOST, _ORDER)),
    (ESTIMATE, '', None, None, None, (_TARGET, _CONTACT, _MOTOR, _SENDER, _ORDER)),
)


class Excess(NamedTuple):
    """
    A difference of torques that should be equal.

    `of` says which: the measured torque less what the motion needs (MOTION) or less the commanded
    one (COMMAND), or the commanded torque less what the motion needs, where none is measured
    (ESTIMATE). `torque` is the difference and `gravity` g(q), (n,) each [N m], `bound` what is
    large, (n,), `joint` the name of the joint with the largest share of it.
    """

    of: str
    torque: Array
    gravity: Array
    bound: Array
    moves: bool
    adds_gravity: bool
    target: str
    joint: str

    @property
    def sign(self) -> str:
        """'+' along g(q) at each joint that bears weight, '-' against it, twice if much, or ''."""
        heavy = np.abs(self.gravity) > self.bound
        ratios = self.torque[heavy] / self.gravity[heavy]
        if not heavy.any() or (np.abs(self.torque)[heavy] <= self.bound[heavy]).all():
            return ''
        for sign, along in (('+', ratios), ('-', -ratios)):
            if (along > ALONG_RATIO).all():
                return sign * (2 if (along > DOUBLE_RATIO).all() else 1)
        return ''


def causes(excess: Excess) -> str:
    """Return the probable causes of an excess, the likeliest first, as part of a sentence."""
    several = bool(np.count_nonzero(np.abs(excess.torque) > excess.bound) > 1)
    found, sign = (excess.of, several, excess.moves, excess.adds_gravity), excess.sign
    words = next(
        texts
        for of, wanted, *conditions, texts in CAUSES
        if (sign.startswith(wanted) if wanted else not sign)
        if all(condition in (None, value) for condition, value in zip((of, *conditions), found))
    )
    return ', or '.join(words).format(target=excess.target, joint=excess.joint)
