# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Conditions for sending the first torque."""

from __future__ import annotations

from .control_law import ControlLaw
from .disturbance import DisturbanceMonitor
from .state_check import MIN_GOOD_STATE_COUNT, StateCheck

MAX_AGE_AT_START_S = 0.015  # feedback from older states may oscillate


def blocker(
    law: ControlLaw, states: StateCheck, disturbances: DisturbanceMonitor, *, held: bool
) -> str:
    """
    Return why the torques of a control law may not begin yet, or ''; no reason is a fault.

    `held`: whether the brake holds the arm; then its disturbance torque is known.
    """
    if not states.has_enough:
        return f'{states.good} of {MIN_GOOD_STATE_COUNT} good joint states have come'
    age = states.median_age
    if age > MAX_AGE_AT_START_S:
        return (
            f'joint states are {1e3 * age:.0f} ms old, and the first torque needs states '
            f'of at most {1e3 * MAX_AGE_AT_START_S:.0f} ms; set max_state_age to 0 if the '
            'clocks differ'
        )
    unstable = law.instability_reason(states.period, age)
    if unstable or not (held or disturbances.tests(law.terms)):
        return unstable
    return disturbances.violation(disturbances.start_bound, law.terms)
