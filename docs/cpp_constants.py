# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Writes the Python controller's constants, targets and status texts as a C++ header.

`make generated` does, a test compares.
"""

from collections.abc import Iterator
import json
from pathlib import Path

from franka_dynamics.arm import frames, friction_state, payload
from franka_dynamics.control import (
    control_law,
    limits,
    settings,
    state_check,
    state_timing,
    stopping,
    terms,
)
from franka_dynamics.dynamics.model import GRAVITY
from franka_dynamics.files import write_text
from franka_dynamics.motion import planning
from franka_dynamics.parameter_schema import specs_in_files
from franka_dynamics.simulation import receiver
from franka_dynamics.simulation.receiver import ReceiverState, TorqueRefusal

PATH = Path(__file__).parents[1] / 'cpp/include/franka_dynamics_controllers/constants.hpp'
# Names of constants by module, which explains them; in C++ MAX_STEP_S is kMaxStepS.
_CONSTANTS = {
    limits: 'MAX_TORQUE_RATE_NM_S MAX_STEP_S MAX_BRAKING_DECELERATION_RAD_S2 '
    'BRAKING_TIME_CONSTANT_S',
    control_law: 'RAMP_DURATION_S',
    state_check: 'POSITION_TOLERANCE_RAD MAX_POSSIBLE_VELOCITY_RAD_S',
    state_timing: 'MIN_GOOD_STATE_COUNT',
    receiver: 'COMMAND_TIMEOUT_S',
    stopping: 'MIN_TIME_CONSTANT_TO_AGE_RATIO MIN_BRAKING_TIME_S MAX_BRAKED_SPEED_TO_LIMIT '
    'MAX_BRAKING_TIME_S MAX_STOPPED_SPEED_RAD_S UNSEEN_STOP_TIME_CONSTANT_S UNSEEN_STOP_TIME_S',
    planning: 'MAX_START_DISTANCE_RAD',
    terms: 'MAX_REST_SPEED_RAD_S MIN_FRICTION_SPEED_RAD_S FRICTION_MARGIN_STD_COUNT '
    'MAX_FRICTION_LEAD_RAD_S',
    friction_state: 'MAX_STATE_GAP_S',
    settings: 'MAX_KP_RATIO MAX_KD_RATIO MAX_GRAVITY_M_S2 MIN_EARTH_GRAVITY_M_S2 '
    'MAX_EARTH_GRAVITY_M_S2 _MAX_DIRECTION_ERROR_RAD',
    frames: 'MIN_ROTATION_RAD',
    payload: 'MAX_PAYLOAD_KG MAX_PAYLOAD_DISTANCE_M',
}
_HEADER = """// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Constants, targets and status words of the Python controller: written by `make generated`.
#pragma once

#include "franka_dynamics_controllers/dynamics.hpp"

namespace franka_dynamics_controllers
{

/// A receiver of the torques, and whether it adds gravity torque to them, so that only what its
/// model lacks is commanded.
struct Target
{
  const char * name;
  bool adds_gravity;
};

"""
_END = """
}  // namespace franka_dynamics_controllers
"""


def header() -> str:
    """Return the text of the header."""
    lines = (*_numbers(), '', *_targets(), '', *_states(), '', *_answers())
    return _HEADER + '\n'.join(lines) + '\n' + _END


def _numbers() -> Iterator[str]:
    for module, names in _CONSTANTS.items():
        for name in names.split():
            value = getattr(module, name)
            kind = 'int' if isinstance(value, int) else 'double'
            yield f'constexpr {kind} k{name.title().replace("_", "")} = {value!r};'
    (bounds,) = (spec.bounds for spec in specs_in_files('torque') if spec.name == 'scale')
    for word, bound in zip(('Min', 'Max'), bounds or ()):
        yield f'constexpr double k{word}Scale = {bound!r};'
    yield f'constexpr Three kGravity{{{", ".join(map(repr, GRAVITY))}}};  // [m/s^2] base frame'


def _targets() -> Iterator[str]:
    names = []
    for profile in settings.RECEIVER_PROFILES.values():
        names.append('k' + ''.join(word.capitalize() for word in profile.name.split('_')))
        values = ', '.join(map(json.dumps, (profile.name, profile.receiver_adds_gravity)))
        yield f'constexpr Target {names[-1]}{{{values}}};'
    yield f'constexpr Target kTargets[] = {{{", ".join(names)}}};'


def _states() -> Iterator[str]:
    yield '/// What the arm is doing.'
    yield f'enum class State {{{", ".join(state.status_word for state in ReceiverState)}}};'
    yield _texts('kStateWords', [state.status_word for state in ReceiverState])
    yield _texts('kStateSentences', [state.value for state in ReceiverState])


def _answers() -> Iterator[str]:
    yield '/// Whether a command was accepted (heard), or why it was refused.'
    names = ', '.join(refusal.name.lower() for refusal in TorqueRefusal)
    yield f'enum class Answer {{heard, {names}}};'
    yield _texts('kAnswerWords', ['heard', *(refusal.value for refusal in TorqueRefusal)])


def _texts(name: str, texts: list[str]) -> str:
    listed = ''.join(f'\n  {json.dumps(text)},' for text in texts)
    return f'constexpr const char * {name}[] = {{{listed}\n}};'


if __name__ == '__main__':
    write_text(PATH, header())
