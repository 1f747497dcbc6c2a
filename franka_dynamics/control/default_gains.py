# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Weak gains for an arm without another feedback controller.

Feedforward alone does not correct disturbances. Stiff gains, though, become unstable when states
are some milliseconds old. The gravity torque of an old state is destabilising as well: under the
constant torque that balances gravity at a Franka's home pose, the arm accelerates away from this
pose with 31 to 34 rad/s^2 per radian. Therefore no proportional-derivative feedback is stable with
states older than sqrt(2 / 31) = 0.25 s. With `default_gains` all Franka arms, with and without a
hand, are stable at home with states 0.1 s old, or with states every 0.21 s, between which the
torque is held. With the rated load gravity makes the arms diverge faster, and the arms are stable
with torques held for 0.17 s.
"""

from __future__ import annotations

import numpy as np

from ..arm import ArmDescription
from ..dynamics.newton_euler import NewtonEulerModel
from ..typing import Array

# kd = RATE m and kp = RATIO kd, with m = 1 / (M^-1)_ii the effective inertia of each joint at home
# while the other joints are free. With a RATE of 4 1/s the arms are stable with torques held for
# up to 0.21 s, longer than with any other RATE: 0.18 s with 5 1/s, 0.15 s with 6 1/s.
RATE, RATIO = 4.0, 1.5  # [1/s]
# Upper bounds of kp and kd from `weak_gains` as fractions of the torque limit [1/rad, s/rad]:
# 60 N m/rad and 6 N m s/rad for a limit of 87 N m.
_STIFFNESS, _DAMPING = 0.7, 0.07


def default_gains(arm: ArmDescription) -> tuple[Array, Array]:
    """
    Return weak gains kp [N m/rad or N/m] and kd [N m s/rad or N s/m], shape (n,) each.

    The gains are in proportion to the inertia that each joint has at the arm's home pose while the
    other joints are free. With the default gains a single joint has a damping ratio of 0.82, and
    its tracking error decays at RATE / 2 [1/s]. They hold an arm; on simulated arms with friction
    and inertias 10 % off they follow motions at 90 % of the limits with errors of 0.2 to 0.8 rad.
    With 4 times the RATE the errors are 0.2 rad, but states 0.05 s old are unstable.
    """
    kd = RATE * _inertia_at_home(arm)
    return RATIO * kd, kd


def weak_gains(
    arm: ArmDescription, most_rate: float, least_inertia: float = 0.0
) -> tuple[Array, Array]:
    """
    Return kp [N m/rad] and kd [N m s/rad] for states at most some milliseconds old, (n,) each.

    kd is a fraction of the torque limit, less where the joint's velocity would decay faster than
    `most_rate` [1/s], which is unstable with late torques. kp gives a damping ratio of 0.7, and is
    at most a fraction of the torque limit. A joint with less than `least_inertia` [kg m^2] gets
    the gains of a joint with that much.
    """
    inertia = np.maximum(_inertia_at_home(arm), least_inertia)
    effort = arm.limit('effort')
    kd = np.minimum(_DAMPING * effort, most_rate * inertia)
    return np.minimum(_STIFFNESS * effort, 0.5 * kd * kd / inertia), kd


def _inertia_at_home(arm: ArmDescription) -> Array:
    """Return each joint's inertia at home, other joints free: 1 / (M^-1)_ii, (n,) [kg m^2]."""
    inertia = NewtonEulerModel(arm).mass_matrix(arm.home_pose)
    return np.asarray(1.0 / np.diag(np.linalg.inv(inertia)))
