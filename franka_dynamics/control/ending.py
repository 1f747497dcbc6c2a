# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Reasons why torques end or do not begin, the reactions to them, and the user's remedies.

The tables of core_table.py say what follows from what; `CAUSE_OF_STATE_PROBLEM` has the cause of
what can be wrong with a joint state. An `Ending` is a cause with its
reason, and the core has at most one: two are joined. A `Reason` is a code with figures, which is
worded once, with the advice of whoever shows it: a loop in Python, whose advice is
PYTHON_LOOP_ADVICE, or a node.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from .core_table import Cause, Reaction, Remedy, State

_DRIVER_ADVICE = 'check its driver, the order of the joints and the units (radians, N m)'
_LEAP_ADVICE = (
    'check its driver, the units of velocity and time, whether two sources send joint states, and '
    'whether a simulation runs slower than its stamps; where a simulation was set back, the '
    'controller must be reset, too'
)


class ReasonCode(str, Enum):
    """Codes of reasons why torques end or do not begin, each with a text template as value."""

    CALLER_TEXT = '{text}'  # by the caller
    # Joint states
    NO_STATE = 'no joint state has come yet'
    STATES_AWAITED = 'good joint states are awaited'
    FEW_STATES = '{good} of {needed} good joint states have come'
    SILENCE = 'no new joint state for {silence:.0f} ms'
    STATES_MISSING = '{gap:.0f} ms of joint states are missing'
    RARE_STATES = 'joint states come at {rate:.0f} Hz, but {least:.0f} Hz are needed; {advice}'
    COARSE_STAMPS = (
        'the times of joint states come in steps of {step:.3g} ms, several states at a time: give '
        'each state its own time'
    )
    STALE = 'joint states are {age:.4g} ms old ({most:.0f} are allowed); {advice}'
    STAMP_AHEAD = 'joint states are {age:.4g} ms ahead of the clock ({most:.0f} allowed); {advice}'
    STALE_AT_START = (
        'joint states are {age:.0f} ms old ({most:.0f} are allowed at the first torque); {advice}'
    )
    STAMP_REPEATED = 'the time of joint states does not go on ({stamp:g} s again)'
    CLOCK_SET_BACK = 'the clock of the joint states was set back'
    VALUE_NOT_FINITE = 'the {what} of {joint} is {value:.4g}'
    IMPOSSIBLE_VALUE = (
        'the {what} of {joint} is {value:.4g}, and can be {least:.4g} to {most:.4g}; '
        + _DRIVER_ADVICE
    )
    EFFORT_NOT_N_M = (
        'the effort of {joint} is {value:.4g}, more than {times:g} times its torque limit: {stop}'
        'efforts are not in {effort_unit} (currents in A or mA are not torques), or somebody else '
        'sends torques, too'
    )
    POSITION_LEAP = (
        '{joint} moved by {moved:.3g} {unit} in {gap:.3g} s, faster than it can; ' + _LEAP_ADVICE
    )
    WRONG_VELOCITY = (
        '{joint} is {moved:.3g} {unit} from where its velocity ({velocity:.3g} {unit}/s) takes '
        'it; ' + _LEAP_ADVICE
    )
    ZERO_VELOCITIES = 'all velocities are zero; {joint} moved {moved:.3g} {unit}: check its driver'
    FROZEN_POSITIONS = (
        'all positions stand still bit for bit for {silence:.0f} ms, though the arm must move: '
        'its driver repeats an old state, or brakes hold it'
    )
    # Gains
    KP_TOO_LARGE = (
        'kp of {joint} is {kp:g}, its kd {kd:g}, and torques are {delay:.1f} ms late: the arm '
        'would swing; use {remedy}, or take fresher states'
    )
    KD_TOO_LARGE = (
        'kd makes velocities decay at {rate:.0f} 1/s, and torques are {delay:.1f} ms late: the '
        'arm would swing; use at most {share:.2g} of this kd, or take joint states at a higher '
        "rate; a simulated arm bears more if its description has the drives' inertia"
    )
    KP_PULLS = (
        'kp of {joint} cannot grow while this joint is more than {most:g} {unit} from the motion '
        'that is followed: it would be pulled there; end the motion first'
    )
    # The arm
    LARGE_DISTURBANCE = (
        'the {kind} torque of {joint} departs by {torque} {unit} from {other} ({most} are '
        'allowed): {causes}'
    )
    JOINT_TOO_FAST = (
        '{joint} moves at {velocity:.2f} {unit}/s; at most {most:.2f} are allowed ({share:g} of '
        'its limit, {following:g} while a reference moves){causes}'
    )
    BRAKING_FAILED = (
        '{joint} moves at {velocity:.2f} {unit}/s in spite of braking: torques do not act as they '
        'are sent'
    )
    TORQUE_NOT_FINITE = 'the computed torque is not finite'
    OWN_LAW_CEASED = 'the torques of your own law have ceased while the arm moves'
    NOT_CARRIED = (
        'g(q) does not carry the arm, which is held: {excess}; a further stop lets go of it'
    )

    def __call__(self, **text_values: Any) -> 'Reason':
        """Return a reason with this code and the values for its text."""
        return Reason(self, text_values)


_FRESH_STATES_ADVICE = 'take fresher states, and their ages by the clock of their stamps'
# How to correct what a reason says, in a loop in Python.
PYTHON_LOOP_ADVICE = {
    ReasonCode.RARE_STATES: 'pass on every state of the robot, with its time in seconds; a slower '
    'loop of yours gives its period (at most 0.01 s), or calls step in substeps',
    ReasonCode.STALE: _FRESH_STATES_ADVICE,
    ReasonCode.STAMP_AHEAD: _FRESH_STATES_ADVICE,
    ReasonCode.STALE_AT_START: _FRESH_STATES_ADVICE,
}


class Reason(NamedTuple):
    """A reason why torques end or do not begin, as a code and the values in its text by name."""

    code: ReasonCode
    text_values: Mapping[str, Any]

    def text(self, advice: Callable[[ReasonCode], str | None] = PYTHON_LOOP_ADVICE.get) -> str:
        """Return the reason as text, with the advice that `advice` returns for its code."""
        figures = {
            name: value.text(advice) if isinstance(value, Reason) else value
            for name, value in self.text_values.items()
        }
        return self.code.value.format(advice=advice(self.code), **figures)

    def __str__(self) -> str:
        """Return the reason in words, with advice for a loop in Python."""
        return self.text()


# What can be wrong with a joint state, or with the time at which none comes. Time may mend what
# loses states; `start` alone clears what is impossible.
CAUSE_OF_STATE_PROBLEM = {
    ReasonCode.SILENCE: Cause.STATES_LOST,
    ReasonCode.STATES_MISSING: Cause.STATES_LOST,
    ReasonCode.RARE_STATES: Cause.STATES_LOST,
    ReasonCode.COARSE_STAMPS: Cause.STATES_LOST,
    ReasonCode.STALE: Cause.STATES_LOST,
    ReasonCode.STAMP_AHEAD: Cause.STATES_LOST,
    ReasonCode.CLOCK_SET_BACK: Cause.STATES_LOST,
    ReasonCode.VALUE_NOT_FINITE: Cause.STATES_LOST,
    ReasonCode.IMPOSSIBLE_VALUE: Cause.STATE_IMPOSSIBLE,
    ReasonCode.EFFORT_NOT_N_M: Cause.STATE_IMPOSSIBLE,
    ReasonCode.POSITION_LEAP: Cause.STATE_IMPOSSIBLE,
    ReasonCode.WRONG_VELOCITY: Cause.STATE_IMPOSSIBLE,
    ReasonCode.ZERO_VELOCITIES: Cause.STATE_IMPOSSIBLE,
    ReasonCode.FROZEN_POSITIONS: Cause.STATE_IMPOSSIBLE,
}


def ending_of_state(problem: Reason) -> 'Ending':
    """Return the ending by a problem with joint states, one of CAUSE_OF_STATE_PROBLEM."""
    return ending_by(CAUSE_OF_STATE_PROBLEM[problem.code], problem)


def ending_by(cause: Cause, why: Reason | str) -> 'Ending':
    """Return an ending by a cause with a reason, which may be a text of the caller."""
    reason = ReasonCode.CALLER_TEXT(text=why) if isinstance(why, str) else why
    return Ending(reason, cause.reaction, cause.remedy, reason, cause)


class Ending(NamedTuple):
    """
    An end of the control law's torques or a wait for them: reasons, reaction and remedy.

    `last_reason` is the latest reason, `first_reason` the one that ended torques, or for which
    none have begun.
    """

    last_reason: Reason | None
    reaction: Reaction
    remedy: Remedy
    first_reason: Reason | None
    cause: Cause | None = None  # the latest

    def text(self, advice: Callable[[ReasonCode], str | None] = PYTHON_LOOP_ADVICE.get) -> str:
        """Return the first and the latest reason as one text, '' if there are none."""
        said = (one.text(advice) for one in (self.first_reason, self.last_reason) if one)
        return '; '.join(dict.fromkeys(said))

    @property
    def why(self) -> str:
        """The first and the latest reason, advice for a loop in Python included; '' if none."""
        return self.text()

    def joined_with(self, later: 'Ending') -> 'Ending':
        """Return one ending: the first reason, the harder remedy, and the reaction that lasts."""
        reaction = later.reaction
        if self.reaction is Reaction.ZERO or not later.reaction.replaces_former:
            reaction = self.reaction
        remedy = max(self.remedy, later.remedy, key=list(Remedy).index)
        return Ending(later.last_reason, reaction, remedy, self.first_reason, later.cause)


# While torques go out.
NO_ENDING = Ending(None, Reaction.REST, Remedy.NONE, None)


class Status(NamedTuple):
    """The controller's state, its reason, the user's remedy, and whether a fault is latched."""

    state: State
    why: str
    remedy: Remedy | str
    faulty: bool

    def __str__(self) -> str:
        """Return state, reason and, if there is one, the remedy as one text."""
        said = self.remedy.value if isinstance(self.remedy, Remedy) else self.remedy
        advice = f'; to command again: {said}' if said else ''
        return f'{self.state.value}: {self.why}{advice}'
