# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Writes the Python controller's constants, targets and texts as two C++ headers.

`make generated` does, a test compares.
"""

from collections.abc import Iterator
from enum import Enum
import json
from pathlib import Path

from franka_dynamics.arm import frames, friction_state, payload
from franka_dynamics.constants import GRAVITY
from franka_dynamics.control import (
    acting_law,
    control_law,
    core_table,
    disturbance,
    ending,
    limits,
    repeated_positions,
    settings,
    speed_watcher,
    state_check,
    stopping,
    terms,
)
from franka_dynamics.dynamics import external_torque
from franka_dynamics.files import write_text
from franka_dynamics.motion import planning
from franka_dynamics.parameter_schema import specs_in_files
from franka_dynamics.simulation import receiver
from franka_dynamics.simulation.receiver import ReceiverState, TorqueRefusal

_FOLDER = Path(__file__).parents[1] / 'cpp/include/franka_dynamics_controllers'
# Names of constants by module, which explains them; in C++ MAX_STEP_S is kMaxStepS.
_CONSTANTS = {
    limits: 'MAX_TORQUE_RATE_NM_S MAX_STEP_S MAX_BRAKING_DECELERATION_RAD_S2 '
    'BRAKING_TIME_CONSTANT_S MAX_GENTLE_SPEED_RAD_S MIN_STATE_PERIOD_S MAX_STATE_PERIOD_S '
    'PERIOD_MARGIN_FACTOR MIN_GOOD_STATE_COUNT MAX_POSSIBLE_VELOCITY_RAD_S',
    acting_law: 'RAMP_DURATION_S',
    control_law: 'ASSUMED_FRICTION_DAMPING_NMS_RAD',
    state_check: 'POSITION_TOLERANCE_RAD MAX_POSSIBLE_SPEED_RATIO '
    'MAX_POSITION_DRIFT_RAD MAX_VELOCITY_DELAY_S MAX_STILL_POSITION_DRIFT_RAD '
    'DRIFT_TIME_CONSTANT_S MAX_POSSIBLE_EFFORT_TO_LIMIT MAX_STATE_AGE_AT_START_S '
    'MAX_REORDERING_TIME_S',
    disturbance: 'MAX_DISTURBANCE_RATIO MAX_START_DISTURBANCE_RATIO MAX_WRIST_DISTURBANCE_RATIO '
    'MAX_WRIST_TORQUE_LIMIT_NM MAX_PICK_UP_TIME_S MAX_DISTURBANCE_TIME_S MAX_COUNTED_PERIOD_S '
    'MAX_BRAKE_RELEASE_TIME_S MAX_EFFORT_ECHO_DELAY_STEPS MIN_EXCESS_TO_GRAVITY '
    'MAX_UNEXPLAINED_BY_LOAD MIN_ABSENT_WEIGHTS MAX_ABSENT_WEIGHTS MIN_NAMED_LOAD_KG',
    speed_watcher: 'MAX_SPEED_TO_LIMIT MAX_FOLLOW_SPEED_TO_LIMIT MAX_OVERSPEED_TIME_S',
    repeated_positions: 'DRIVING_TORQUE_TO_STICTION',
    external_torque: 'OBSERVER_BANDWIDTH_RAD_S OBSERVER_DAMPING_RATIO',
    receiver: 'COMMAND_TIMEOUT_S',
    stopping: 'MIN_TIME_CONSTANT_TO_AGE_RATIO MIN_BRAKING_TIME_S MAX_BRAKED_SPEED_TO_LIMIT '
    'MAX_BRAKING_TIME_S MAX_STOPPED_SPEED_RAD_S UNSEEN_STOP_TIME_CONSTANT_S UNSEEN_STOP_TIME_S',
    planning: 'MAX_START_DISTANCE_RAD STREAM_TIMEOUT_S',
    terms: 'MAX_REST_SPEED_RAD_S MIN_MOTION_SPEED_RAD_S MIN_FRICTION_SPEED_RAD_S '
    'FRICTION_MARGIN_STD_COUNT MAX_FRICTION_LEAD_RAD_S MIN_STICTION_TO_LIMIT '
    'STICTION_MARGIN_FACTOR',
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

/// A receiver of the torques. Where it adds gravity torque to them, only what its model lacks is
/// commanded. `min_rotor_inertia` is that of its joints beyond the model [kg m^2].
struct Target
{
  const char * name;
  bool adds_gravity;
  bool efforts_contain_friction;
  double min_rotor_inertia;
};

"""
_REASONS_HEADER = """// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Reasons why torques end or do not begin, with their words: the tables of
// franka_dynamics/control/ending.py, written by `make generated`.
#pragma once

#include "franka_dynamics_controllers/core_table.hpp"

namespace franka_dynamics_controllers
{

"""
_END = """
}  // namespace franka_dynamics_controllers
"""


def headers() -> dict[Path, str]:
    """Return the texts of the headers by their paths."""
    constants = (*_numbers(), '', *_targets(), '', *_states(), '', *_answers())
    reasons = (*_reasons(), '', *_causes_of_states(), '', *_excess())
    return {
        _FOLDER / name: start + '\n'.join(lines) + '\n' + _END
        for name, start, lines in (
            ('constants.hpp', _HEADER, constants),
            ('reason_tables.hpp', _REASONS_HEADER, reasons),
        )
    }


def _numbers() -> Iterator[str]:
    for module, names in _CONSTANTS.items():
        for name in names.split():
            value = getattr(module, name)
            kind = 'int' if isinstance(value, int) else 'double'
            yield f'constexpr {kind} k{_camel(name.lower())} = {value!r};'
    limits_of_states = settings.StateLimits()
    for name in ('min_input_rate', 'state_timeout', 'max_state_age'):
        yield f'constexpr double kDefault{_camel(name)} = {getattr(limits_of_states, name)!r};'
    (bounds,) = (spec.bounds for spec in specs_in_files('torque') if spec.name == 'scale')
    for word, bound in zip(('Min', 'Max'), bounds or ()):
        yield f'constexpr double k{word}Scale = {bound!r};'
    yield f'constexpr Three kGravity{{{", ".join(map(repr, GRAVITY))}}};  // [m/s^2] base frame'


def _targets() -> Iterator[str]:
    names = []
    for profile in settings.RECEIVER_PROFILES.values():
        names.append(f'k{_camel(profile.name)}')
        given = (
            profile.name,
            profile.receiver_adds_gravity,
            profile.efforts_contain_friction,
            profile.min_rotor_inertia,
        )
        values = ', '.join(map(json.dumps, given))
        yield f'constexpr Target {names[-1]}{{{values}}};'
    yield f'constexpr Target kTargets[] = {{{", ".join(names)}}};'


def _states() -> Iterator[str]:
    yield '/// The words of each CoreState.'
    yield _texts('kStateWords', [state.value for state in core_table.State])
    yield ''
    yield '/// What a receiver of torques does.'
    yield _enumeration('ReceiverState', ReceiverState)
    yield _texts('kReceiverWords', [state.status_word for state in ReceiverState])
    yield _texts('kReceiverSentences', [state.value for state in ReceiverState])


def _answers() -> Iterator[str]:
    yield '/// Whether a command was accepted (heard), or why it was refused.'
    names = ', '.join(refusal.name.lower() for refusal in TorqueRefusal)
    yield f'enum class Answer {{heard, {names}}};'
    yield _texts('kAnswerWords', ['heard', *(refusal.value for refusal in TorqueRefusal)])


def _reasons() -> Iterator[str]:
    yield '/// Why torques end or do not begin; `none` is no reason.'
    names = ', '.join(('none', *(code.name.lower() for code in ending.ReasonCode)))
    yield f'enum class ReasonCode {{{names}}};'
    yield "/// Their texts, with places for a name or a number in Python's format."
    yield _texts('kReasonTexts', ['', *(code.value for code in ending.ReasonCode)])


def _causes_of_states() -> Iterator[str]:
    yield '/// The cause of what can be wrong with a joint state.'
    yield 'constexpr Cause cause_of(ReasonCode code) noexcept\n{\n  switch (code) {'
    for cause in dict.fromkeys(ending.CAUSE_OF_STATE_PROBLEM.values()):
        for code, of_code in ending.CAUSE_OF_STATE_PROBLEM.items():
            if of_code is cause:
                yield f'    case ReasonCode::{code.name.lower()}:'
        yield f'      return Cause::{cause.name.lower()};'
    yield '    default:\n      return Cause::states_lost;\n  }\n}'


def _excess() -> Iterator[str]:
    yield '/// The two torques that differ, and the direction in which they do.'
    yield _enumeration('Compared', disturbance.Compared)
    yield _enumeration('Along', disturbance.Along)
    yield '/// Probable causes of an excess torque, for each of Compared those of each of Along.'
    texts = [
        disturbance.CAUSES_OF_EXCESS[compared, along]
        for compared in disturbance.Compared
        for along in disturbance.Along
    ]
    yield _texts('kCausesOfExcess', texts)
    own = json.dumps(disturbance.CAUSE_OF_OWN_TORQUE)
    yield f'constexpr const char * kCauseOfOwnTorque =\n  {own};'
    yield '/// A joint that is pressed towards a limit at which it is.'
    yield f'constexpr const char * kJointAtStop = {json.dumps(disturbance.JOINT_AT_STOP)};'
    yield '/// A load [kg] that alone explains an external torque.'
    for name in ('ABSENT_LOAD', 'UNDECLARED_LOAD'):
        text = json.dumps(getattr(disturbance, name))
        yield f'constexpr const char * k{_camel(name.lower())} = {text};'


def _camel(name: str) -> str:
    """Return a name with underscores as words that begin with capitals."""
    return ''.join(word.capitalize() for word in name.split('_'))


def _enumeration(name: str, members: type[Enum]) -> str:
    return f'enum class {name} {{{", ".join(member.name.lower() for member in members)}}};'


def _texts(name: str, texts: list[str]) -> str:
    listed = ''.join(f'\n  {json.dumps(text)},' for text in texts)
    return f'constexpr const char * {name}[] = {{{listed}\n}};'


if __name__ == '__main__':
    for path, text in headers().items():
        write_text(path, text)
