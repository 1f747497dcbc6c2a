# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the Python controller's constants, targets and status texts as C++ declarations."""

from __future__ import annotations

from collections.abc import Iterator
import json

from ..arm import payload
from ..arm.friction_state import MAX_GAP_S
from ..control import braking, control_law, limits, settings, state_check, terms
from ..control.receiver import COMMAND_TIMEOUT_S, ReceiverState, Refusal, STATE_TEXTS
from ..control.reference import MAX_START_DISTANCE_RAD
from ..control.start_up import MIN_GOOD_STATE_COUNT
from ..dynamics.model import GRAVITY

# Name in C++, value, and a comment with the unit. `control` explains each of them.
_CONSTANTS = (
    ('kMostRate', limits.MAX_TORQUE_RATE_NM_S, '[N m/s] largest torque rate of any arm'),
    ('kLongestStep', limits.MAX_STEP_S, '[s] longest time that counts for a change of torque'),
    ('kRampTime', control_law.RAMP_S, '[s] ramp of a start and of a change'),
    ('kPositionSlack', state_check.POSITION_TOLERANCE_RAD, '[rad] beyond a position limit'),
    ('kSpeedSlack', state_check.MAX_POSSIBLE_SPEED_RATIO, 'largest speed in the velocity limit'),
    ('kGoodStates', MIN_GOOD_STATE_COUNT, 'possible states in a row after missing ones'),
    ('kCommandTimeout', COMMAND_TIMEOUT_S, '[s] default time-out of commands'),
    ('kBrakeTime', braking.BRAKING_TIME_CONSTANT_S, '[s] in which a brake makes velocities decay'),
    (
        'kBrakeAges',
        braking.MIN_TIME_CONSTANT_TO_AGE_RATIO,
        'least ratio of that time to how late a slow loop is',
    ),
    (
        'kBrakeAcceleration',
        braking.MAX_BRAKING_DECELERATION_RAD_S2,
        '[rad/s^2] largest of a brake',
    ),
    ('kMostStartDistance', MAX_START_DISTANCE_RAD, '[rad] from a reference, at which kp may grow'),
    ('kRestSpeed', braking.MAX_REST_SPEED_RAD_S, '[rad/s] at rest'),
    ('kRestStates', braking.MIN_REST_STATE_COUNT, 'states at rest in a row'),
    (
        'kFaster',
        braking.MAX_SPEED_INCREASE_RATIO,
        'share of the velocity limit by which a driven joint gets faster',
    ),
    ('kGaining', braking.MIN_SPEED_INCREASE_TIME_S, '[s] for which it must be faster'),
    (
        'kLate',
        braking.MIN_BRAKING_TIME_S,
        '[s] from the beginning, in which earlier torques may still act',
    ),
    ('kHeldEnergy', braking.MAX_HELD_ARM_ENERGY_J, '[J] more drives a held arm'),
    ('kLongestBraking', braking.MAX_BRAKING_TIME_S, '[s]'),
    (
        'kNoFrictionBelow',
        terms.MIN_FRICTION_SPEED_RAD_S,
        '[rad/s] reference speed without friction torque',
    ),
    ('kFullFrictionFrom', terms.FULL_FRICTION_SPEED_RAD_S, '[rad/s] reference with all friction'),
    ('kFrictionGap', MAX_GAP_S, '[s] between states, beyond which the arm may have moved'),
    ('kMostStiffness', settings.MAX_KP_RATIO, '[1/rad] largest kp in the torque limit'),
    ('kMostDamping', settings.MAX_KD_RATIO, '[s/rad] largest kd in the torque limit'),
    ('kMostGravity', settings.MAX_GRAVITY_M_S2, '[m/s^2] largest component of gravity'),
    (
        'kLeastEarth',
        settings.MIN_EARTH_GRAVITY_M_S2,
        '[m/s^2] gravity where the robot compensates it itself',
    ),
    ('kMostEarth', settings.MAX_EARTH_GRAVITY_M_S2, '[m/s^2]'),
    ('kMostCarried', payload.MAX_PAYLOAD_KG, '[kg] more than any arm carries'),
    (
        'kMostLever',
        payload.MAX_PAYLOAD_DISTANCE_M,
        "[m] from the flange to a payload's centre of mass",
    ),
)


def constants() -> str:
    """Return C++ declarations: constants, targets, states and refusals with their words."""
    return '\n'.join((*_numbers(), '', *_targets(), '', *_states(), '', *_answers()))


def message_bounds() -> dict[str, str]:
    """Return the bounds that C++ messages name, as a dict from placeholder to text."""
    found = {
        'STIFFNESS': settings.MAX_KP_RATIO,
        'DAMPING': settings.MAX_KD_RATIO,
        'MOST_GRAVITY': settings.MAX_GRAVITY_M_S2,
        'LEAST_EARTH': settings.MIN_EARTH_GRAVITY_M_S2,
        'MOST_EARTH': settings.MAX_EARTH_GRAVITY_M_S2,
        'ASSUMED': -GRAVITY[2],
        'CARRIED': payload.MAX_PAYLOAD_KG,
        'LEVER': payload.MAX_PAYLOAD_DISTANCE_M,
    }
    return {name: f'{value:g}' for name, value in found.items()}


def _numbers() -> Iterator[str]:
    for name, value, comment in _CONSTANTS:
        kind = 'int' if isinstance(value, int) else 'double'
        yield f'constexpr {kind} {name} = {value!r};  // {comment}'
    listed = ', '.join(map(repr, GRAVITY))
    yield f'constexpr std::array<double, 3> kGravity{{{listed}}};  // [m/s^2] base frame'


def _targets() -> Iterator[str]:
    names = []
    for profile in settings.RECEIVER_PROFILES.values():
        names.append('k' + ''.join(word.capitalize() for word in profile.name.split('_')))
        adds = (profile.receiver_adds_gravity, profile.receiver_adds_friction)
        values = ', '.join(map(json.dumps, (profile.name, *adds)))
        yield f'constexpr Target {names[-1]}{{{values}}};'
    yield f'constexpr Target kTargets[] = {{{", ".join(names)}}};'


def _states() -> Iterator[str]:
    yield '/// What the arm is doing.'
    yield f'enum class State {{{", ".join(state.value for state in ReceiverState)}}};'
    yield _texts('kStateWords', [state.value for state in ReceiverState])
    yield _texts('kStateSentences', [STATE_TEXTS[state] for state in ReceiverState])


def _answers() -> Iterator[str]:
    yield '/// Whether a command was accepted (heard), or why it was refused.'
    names = ', '.join(refusal.name.lower() for refusal in Refusal)
    yield f'enum class Answer {{heard, {names}}};'
    yield _texts('kAnswerWords', ['heard', *(refusal.value for refusal in Refusal)])


def _texts(name: str, texts: list[str]) -> str:
    listed = ''.join(f'\n  {json.dumps(text)},' for text in texts)
    return f'constexpr const char * {name}[] = {{{listed}\n}};'
