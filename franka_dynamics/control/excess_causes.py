# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The table of what may cause a torque that the model does not explain."""

from enum import Enum

import numpy as np

from ..arrays import Array, NDArray

# An excess is along or against g(q) if it is so by this share at all joints that bear weight.
MIN_EXCESS_TO_GRAVITY = 0.3

_CAUSES_UNLIKE_GRAVITY = (
    'target {target} (who adds g(q)?), payload, gravity_vector or the order of joints are wrong, '
    'or something touches the arm'
)


class Compared(Enum):
    """The two torques that differ."""

    MEASURED_AND_COMMANDED = 'the measured torque, and what is sent and the target adds'
    MEASURED_AND_NEEDED = 'the measured torque, and what the motion needs'
    SENT_AND_NEEDED = 'the sent torque, where none is measured, and what the motion needs'


class Along(Enum):
    """Whether an excess has the direction of g(q) at all joints that bear weight."""

    GRAVITY = 'along g(q)'
    AGAINST_GRAVITY = 'against g(q)'
    NEITHER = 'neither'


# Probable causes of an excess, by what differs and its direction.
CAUSES_OF_EXCESS = {
    (Compared.MEASURED_AND_COMMANDED, Along.GRAVITY): (
        'g(q) or a load is added twice (the receiver, Desk?), the receiver still applies an '
        'earlier torque, or somebody else sends'
    ),
    (Compared.MEASURED_AND_COMMANDED, Along.AGAINST_GRAVITY): (
        'no torque arrives, or nobody adds the g(q) that target {target} expects'
    ),
    (Compared.MEASURED_AND_COMMANDED, Along.NEITHER): (
        'somebody else sends torques, too, or the joints have another order'
    ),
    (Compared.MEASURED_AND_NEEDED, Along.GRAVITY): (
        'a payload or hand that nobody declared, something touches the arm, or other units'
    ),
    (Compared.MEASURED_AND_NEEDED, Along.AGAINST_GRAVITY): (
        'a load that is not there, a wrong gravity_vector, or efforts that lack gravity or are '
        "currents, as a UR's (let it publish joint states without efforts)"
    ),
    (Compared.MEASURED_AND_NEEDED, Along.NEITHER): _CAUSES_UNLIKE_GRAVITY,
    (Compared.SENT_AND_NEEDED, Along.GRAVITY): (
        'a payload or hand that nobody declared, or nobody adds the g(q) that target {target} '
        'expects'
    ),
    (Compared.SENT_AND_NEEDED, Along.AGAINST_GRAVITY): (
        'the receiver adds g(q), which target {target} takes for missing, a load is not there, or '
        'gravity_vector is wrong'
    ),
    (Compared.SENT_AND_NEEDED, Along.NEITHER): _CAUSES_UNLIKE_GRAVITY,
}
# The first cause where the caller's own law gives the torque.
CAUSE_OF_OWN_TORQUE = 'the torque of your own law presses a joint against its stop or an obstacle'


def direction_of_excess(excess: Array, gravity: Array, *, is_heavy: NDArray[np.bool_]) -> Along:
    """
    Return whether an excess torque is along or against g(q), (n,) each [N m].

    `is_heavy`, (n,), says which joints bear weight; only these count.
    """
    if not is_heavy.any():
        return Along.NEITHER
    excess_to_gravity = excess[is_heavy] / gravity[is_heavy]
    if (excess_to_gravity > MIN_EXCESS_TO_GRAVITY).all():
        return Along.GRAVITY
    if (excess_to_gravity < -MIN_EXCESS_TO_GRAVITY).all():
        return Along.AGAINST_GRAVITY
    return Along.NEITHER
