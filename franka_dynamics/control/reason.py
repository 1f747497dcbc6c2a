# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Reasons why torques end or do not begin: a code with figures, worded once, with each door's advice.

A door is where a reason is read: a loop in Python, whose advice is ADVICE, or a node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple

_DRIVER_ADVICE = 'check its driver, the order of the joints and the units (radians, N m)'
_LEAP_ADVICE = (
    'check its driver, the units of velocity and time, whether two sources send joint states, and '
    'whether a simulation runs slower than its stamps; where a simulation was set back, the '
    'controller must be reset, too'
)


class Code(str, Enum):
    """What a reason says; its value has the words, with figures by name."""

    GIVEN = '{text}'  # by the caller
    OFTEN = 'stopped {count} times within a minute: {why}'
    # Joint states
    NO_STATE = 'no joint state has come yet'
    AWAITED = 'good joint states are awaited'
    FEW_STATES = '{good} of {needed} good joint states have come'
    SILENCE = 'no new joint state for {silence:.0f} ms'
    GAP = '{gap:.0f} ms of joint states are missing'
    TOO_RARE = (
        'joint states come at {rate:.0f} Hz, and at least {least:.0f} Hz are needed; {advice}'
    )
    COARSE_STAMPS = (
        'the times of joint states come in steps of {step:.3g} ms, several states at a time: give '
        'each state its own time'
    )
    TOO_OLD = 'joint states are {age:.4g} ms old ({most:.0f} are allowed); {advice}'
    AHEAD = 'joint states are {age:.4g} ms ahead of the clock ({most:.0f} are allowed); {advice}'
    OLD_AT_START = (
        'joint states are {age:.0f} ms old ({most:.0f} are allowed before the first torque); '
        '{advice}'
    )
    TIME_STANDS = 'the time of joint states does not go on ({stamp:g} s again)'
    SET_BACK = 'the clock of the joint states was set back'
    NO_NUMBER = 'the {what} of {joint} is {value:.4g}'
    IMPOSSIBLE = (
        'the {what} of {joint} is {value:.4g}, and can be {least:.4g} to {most:.4g}; '
        + _DRIVER_ADVICE
    )
    NOT_N_M = (
        'the effort of {joint} is {value:.4g}, more than {times:g} times its torque limit: '
        'efforts are not in N m (currents in A or mA are not torques), or somebody else sends '
        'torques, too'
    )
    TOO_FAR = (
        '{joint} moved by {moved:.3g} rad in {gap:.3g} s, faster than it can; ' + _LEAP_ADVICE
    )
    WRONG_VELOCITY = (
        '{joint} is {moved:.3g} rad from where its velocity ({velocity:.3g} rad/s) takes it; '
        + _LEAP_ADVICE
    )
    ZERO_VELOCITIES = (
        'all velocities are zero, and {joint} moved by {moved:.3g} rad: check its driver'
    )
    STANDS_STILL = (
        'the position of {joint} stands still bit for bit at {value:.6g} rad, for {still:.0f} ms, '
        'though the joint must move; either its torque is not applied, or a brake holds it, or '
        'its sensor fails, or the driver repeats an old state'
    )
    # Gains
    KP_TOO_LARGE = (
        'kp of {joint} is {kp:g}, its kd {kd:g}, and torques are {late:.1f} ms late: the arm '
        'would swing; use {remedy}, or take fresher states'
    )
    KD_TOO_LARGE = (
        'kd makes velocities decay at {rate:.0f} 1/s, and torques are {late:.1f} ms late: the arm '
        'would swing; use at most {share:.2g} of this kd, or take joint states at a higher rate; '
        "a simulated arm bears more if its description has the drives' inertia"
    )
    # The arm
    DISTURBED = (
        'the {kind} torque of {joint} departs by {torque} N m from {other} ({most} are '
        'allowed): {causes}'
    )
    MIXED_UP = (
        'the joints get torques that were sent to others, earlier, or reversed: check the order '
        'and the signs of joints, and delays, between this controller and the drives'
    )
    TOO_FAST = (
        '{joint} moves at {velocity:.2f} rad/s and would reach {reached}; at most {most} '
        'are allowed ({share:g} of its limit, {following:g} while a reference moves, {near:g} '
        'rad/s before its position limit){causes}'
    )
    BRAKING_DRIVES = 'braking makes {joint} faster by {faster:.2g} rad/s'
    NOT_FINITE = 'the computed torque is not finite'

    def __call__(self, **figures: Any) -> Reason:
        """Return a reason with this code."""
        return Reason(self, figures)


_FRESHER = 'take fresher states, and their ages by the clock of their stamps'
# How to correct what a reason says, in a loop in Python.
ADVICE = {
    Code.TOO_RARE: 'pass on every state of the robot, with its time in seconds; a slower loop of '
    'yours gives its period (at most 0.01 s), or calls step in substeps',
    Code.TOO_OLD: _FRESHER,
    Code.AHEAD: _FRESHER,
    Code.OLD_AT_START: _FRESHER,
}


class Reason(NamedTuple):
    """A code, and the figures of its words by name."""

    code: Code
    figures: Mapping[str, Any]

    def text(self, advice: Callable[[Code], str | None] = ADVICE.get) -> str:
        """Return the reason in words, with a door's `advice` on its code."""
        figures = {
            name: value.text(advice) if isinstance(value, Reason) else value
            for name, value in self.figures.items()
        }
        return self.code.value.format(advice=advice(self.code), **figures)

    def __str__(self) -> str:
        """Return the reason in words, with advice for a loop in Python."""
        return self.text()
