# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Puts the code's constants into tables of the pages: `make generated` writes them, a test compares.

`TABLES` has the heads of these tables by page, and what gives their rows. Numbers of the code
stand in such a table and not in a sentence.
"""

import json
import math
from pathlib import Path
import re

from franka_dynamics.arm import load
from franka_dynamics.arm.arm_fields import URDF_WORDS
from franka_dynamics.arm.friction_state import MAX_STATE_GAP_S
from franka_dynamics.arm.judgements import JUDGEMENTS, Severity
from franka_dynamics.cli.requests import MOUNT_OFFSETS
from franka_dynamics.control import (
    acting_law,
    limits,
    settings,
    speed_watcher,
    stopping,
    terms,
)
from franka_dynamics.control import disturbance as torques
from franka_dynamics.control.core_table import Cause, ROWS
from franka_dynamics.control.ending import CAUSE_OF_STATE_PROBLEM
from franka_dynamics.dynamics import external_torque
from franka_dynamics.files import write_text
from franka_dynamics.fit import choice, least_squares, result_parts, torque_model
from franka_dynamics.fit.prior_widths import DEFAULT_PRIOR_PRECISION
from franka_dynamics.judge import decision, fits, published_masses, table
from franka_dynamics.motion import planning, trajectory
from franka_dynamics.parameter_schema import ParameterSpec, specs_in_files
from franka_dynamics.recordings import preprocessing
from franka_dynamics.recordings.options import SignalOptions
from franka_dynamics.ros.parameter_tables import parameter_specs
from franka_dynamics.simulation import receiver

ROOT = Path(__file__).parents[1]
CLEAR = 'remove the cause, then clear the fault by start()'  # as the page says below
# What stands for the fields of a reason's text, with units of a revolute joint.
_SHOWN_FIELDS = {
    '{joint}': 'JOINT',
    '{what}': 'QUANTITY',
    '{unit}': 'rad',
    '{effort_unit}': 'N m',
    '{stop}': '(JOINT is at its lower or upper limit, and may have hit its stop, or) ',
}


# They keep the first torque waiting, or are a stop like another, and end none.
_NOT_LISTED = (Cause.TORQUE_AWAITED, Cause.HOLD_WITHOUT_TORQUE)


def table_of_causes() -> str:
    """Return the rows of what ends torques: causes of one consequence and one remedy in one."""
    rows: dict[str, list[str]] = {}
    for cause in Cause:
        if cause in _NOT_LISTED:
            continue
        rows.setdefault(f'{cause.reaction.value} | {_linked(cause)}', []).append(cause.words)
    return '\n'.join(f'| {"; ".join(words)} | {what} |' for what, words in rows.items())


def table_of_rows() -> str:
    """Return the rows of what an event changes in a state."""
    return _rows(
        *(
            (
                row.state.value if row.state else 'any',
                f'`{row.event.name}`: {row.event.value}',
                row.after.value if row.after else '',
                row.to.value if row.to else 'the call is refused',
                row.torque.value,
                row.since.value,
                row.settings.value,
            )
            for row in ROWS
        )
    )


def table_of_lost_states() -> str:
    """Return the rows of reasons after which torques begin again by themselves."""
    return _reasons_of_states(Cause.STATES_LOST)


def table_of_impossible_states() -> str:
    """Return the rows of reasons that are a fault."""
    return _reasons_of_states(Cause.STATE_IMPOSSIBLE)


def _reasons_of_states(wanted: Cause) -> str:
    """Return the rows of what is wrong with joint states of one cause, without advice."""
    rows = []
    for code, cause in CAUSE_OF_STATE_PROBLEM.items():
        if cause is not wanted:
            continue
        said = re.sub(r'[;,]? *\{advice\}|[;:] check its driver.*', '', code.value)
        for field, shown in _SHOWN_FIELDS.items():
            said = said.replace(field, shown)
        rows.append(f'| {re.sub(r"{.*?}", "...", said)} |')
    return '\n'.join(rows)


def _linked(cause: Cause) -> str:
    """Return the remedy of a cause as the page says it, with a link where it is explained."""
    said = cause.remedy.value.replace(CLEAR, '[clear the fault](#clearing-a-fault)')
    return said.replace('what it names', 'what the reason names')


def table_of_limits() -> str:
    """Return the rows of what no torque, load or gain exceeds."""
    arm = load('fr3')
    firm, wrist = arm.limit('effort')[[0, -1]]
    return _rows(
        ('torque', f'{firm:g} N m at joints 1 to 4, {wrist:g} N m at joints 5 to 7'),
        (
            'change of a torque',
            f'{limits.MAX_TORQUE_RATE_NM_S:g} N m/s, which is '
            f'{1e-3 * limits.MAX_TORQUE_RATE_NM_S:g} N m from one message to the next at 1 kHz',
        ),
        ('time in which the torque ramps up', f'{acting_law.RAMP_DURATION_S:g} s'),
        ('payload and hand together', f'{arm.rated_load:g} kg, the rated load'),
        ('`kp`', f'{settings.MAX_KP_RATIO:g} 1/rad times the torque limit of the joint'),
        ('`kd`', f'{settings.MAX_KD_RATIO:g} s/rad times the torque limit of the joint'),
    )


def table_of_guard() -> str:
    """Return the rows of what the guard allows, and what follows beyond."""
    firm, wrist = load('fr3').limit('effort')[[0, -1]]
    ratio = torques.MAX_DISTURBANCE_RATIO
    wrist_ratio = torques.MAX_WRIST_DISTURBANCE_RATIO
    lasting = f'{1e3 * torques.MAX_DISTURBANCE_TIME_S:g} ms'
    return _rows(
        (
            'before the first torque, if a torque is measured',
            f"a difference of {100 * torques.MAX_START_DISTURBANCE_RATIO:g} % of the joint's "
            'torque limit',
            'no torque, and the reason',
        ),
        (
            'while the node commands',
            f'a difference of {100 * ratio:g} % of the torque limit for {lasting}; of a Franka '
            f'arm {ratio * firm:g} N m at joints 1 to 4',
            'braked and held',
        ),
        (
            'the same, with a joint whose torque limit is below '
            f'{torques.MAX_WRIST_TORQUE_LIMIT_NM:g} N m',
            f'a difference of {100 * wrist_ratio:g} % of the torque limit for {lasting}; of a '
            f'Franka arm {wrist_ratio * wrist:g} N m at joints 5 to 7',
            'braked and held',
        ),
        (
            'while the node commands',
            f'{speed_watcher.MAX_SPEED_TO_LIMIT:g} of the velocity limit, or '
            f'{speed_watcher.MAX_FOLLOW_SPEED_TO_LIMIT:g} times the limit while a reference '
            'moves, '
            f'for {1e3 * speed_watcher.MAX_OVERSPEED_TIME_S:g} ms',
            'braked and held',
        ),
        (
            'while the arm is braked or held',
            f'{stopping.MAX_BRAKED_SPEED_TO_LIMIT:g} times the velocity limit',
            'the resting torque',
        ),
    )


def table_of_times() -> str:
    """Return the rows of how long what lasts that this page speaks of."""
    return _rows(
        ('braking', f'at most {stopping.MAX_BRAKING_TIME_S:g} s'),
        ('rate of the torque on its way to the resting torque', _RATE),
        (
            'bringing a moving arm to rest by its model, without joint states',
            f'{stopping.UNSEEN_STOP_TIME_S:g} s',
        ),
        (
            'good joint states before torques begin',
            f'{limits.MIN_GOOD_STATE_COUNT} in a row',
        ),
        (
            'no joint state comes, or all positions repeat though the arm must move',
            f'{1e3 * settings.StateLimits().state_timeout:g} ms, or 3 periods of the states if '
            'these are longer',
        ),
        (
            'an arm at rest is not judged, because brakes may open late',
            f'{torques.MAX_BRAKE_RELEASE_TIME_S:g} s from the first torque',
        ),
        (
            'any load between the old and the new payload is allowed',
            f'{torques.MAX_PICK_UP_TIME_S:g} s from the change, while no joint is faster than '
            f'{limits.MAX_GENTLE_SPEED_RAD_S:g} rad/s',
        ),
        ('a reference still counts as moving', f'{planning.STREAM_TIMEOUT_S:g} s after it moved'),
        (
            'distance from the arm at which a motion may begin',
            f'{planning.MAX_START_DISTANCE_RAD:g} rad at each joint',
        ),
        (
            'torque that may stay unexplained when a held arm starts',
            f'{100 * torques.MAX_START_DISTURBANCE_RATIO:g} % of the torque limit',
        ),
    )


def table_of_parameters() -> str:
    """Return the rows of the feedforward node's parameters."""
    rows = []
    for spec in parameter_specs('feedforward'):
        when = 'may change while running'
        if spec.read_only:
            when = 'set at the start'
        elif spec.only_while_inactive:
            when = 'may change while inactive'
        rows.append((f'`{spec.name}`', _default(spec), _meaning(spec, when)))
    return _rows(*rows)


def table_of_simulator_parameters() -> str:
    """Return the rows of the parameters that only the simulator node has."""
    specs = specs_in_files('simulator')
    return _rows(*((f'`{spec.name}`', _default(spec), _meaning(spec)) for spec in specs))


def _default(spec: ParameterSpec) -> str:
    """Return a parameter's default as a parameter file has it, a long row of zeros in words."""
    value = spec.default
    if isinstance(value, list) and len(value) > 3 and not any(value):
        return f'{len(value)} zeros'
    if isinstance(value, str):
        return f'`{value}`' if value else 'empty'
    return f'`{json.dumps(value)}`'


def _meaning(spec: ParameterSpec, when: str = '') -> str:
    """Return a parameter's description with its type, its range, and when it may change."""
    facts = [spec.type_name, spec.constraint_text, when]
    return f'{spec.description} ({"; ".join(fact for fact in facts if fact)})'


def table_of_references() -> str:
    """Return the rows of what bounds a message on ~/reference."""
    return _rows(
        ('points', f'at most {planning.MAX_POINT_COUNT}'),
        (
            'how far a set-point may be ahead, and how long one with a velocity is followed',
            f'{planning.MAX_LATENESS_S:g} s',
        ),
        (
            'distance of a first point from where the arm is measured or desired',
            f'at most {planning.MAX_START_DISTANCE_RAD:g} rad',
        ),
        ('a stream has ceased', f'after {planning.STREAM_TIMEOUT_S:g} s without a set-point'),
        (
            'start of a trajectory with stamp zero',
            f'{1e3 * planning.PLANNING_TIME_CANDIDATES_S[0]:g} ms after its arrival',
        ),
        (
            "time in which the previous motion's distance from it fades",
            f'{trajectory.BLEND_DURATIONS_S[0]:g} s or more',
        ),
        (
            'shift of a noisy point by the average',
            f'at most {1e3 * trajectory.MAX_SMOOTHING_SHIFT_RAD:g} mrad',
        ),
    )


def table_of_external_torque() -> str:
    """Return the rows of the observer, of deviations without contact and of what is damped."""
    firm, wrist = external_torque.external_torque_std(load('fr3'))[[0, -1]]
    force = external_torque.MAX_FORCE_STD_N
    return _rows(
        (
            'bandwidth and damping of the observer',
            f'{external_torque.OBSERVER_BANDWIDTH_RAD_S:.3g} rad/s, '
            f'{external_torque.OBSERVER_DAMPING_RATIO:.2g}',
        ),
        (
            'standard deviation without contact: of an '
            '[identified](../howto/identification.md) arm',
            'what its file states as `torque_deviation`',
        ),
        (
            'of another Franka arm',
            f'{firm:.2g} N m at joints 1 to 4, {wrist:.2g} N m at joints 5 to 7',
        ),
        (
            'a direction is damped whose standard deviation is above',
            f'{force:g} N, or {force * external_torque.CHARACTERISTIC_LENGTH_M:g} N m',
        ),
    )


def table_of_judgements() -> str:
    """Return the rows of the numbers of an arm that are judged, worst first."""
    words = URDF_WORDS._asdict()
    rows = []
    for rule in sorted(JUDGEMENTS, key=lambda one: [*Severity].index(one.severity)):
        entry = words.get(rule.entry)
        rows.append((f'`{entry}`' if entry else rule.entry, rule.when, rule.severity.value))
    return _rows(*rows)


def table_of_mounts() -> str:
    """Return the rows of where a mesh may be mounted."""
    turned = math.degrees(MOUNT_OFFSETS['hand'][1])
    ahead = 1e3 * MOUNT_OFFSETS['hand_tcp'][0]
    return _rows(
        ('`flange`', 'the frame of the flange'),
        ('`hand`', f"the frame of Franka's hand, which is turned by {turned:g}°"),
        ('`hand_tcp`', f'{ahead:.4g} mm in front of `hand`'),
    )


def table_of_friction() -> str:
    """Return the rows of when and how much friction is commanded."""
    rest = terms.MAX_REST_SPEED_RAD_S
    return _rows(
        (
            'reduced by',
            f'{terms.FRICTION_MARGIN_STD_COUNT:g} standard deviations',
        ),
        (
            'a part of it at reference velocities',
            f'from {terms.MIN_FRICTION_SPEED_RAD_S:g} to {rest:g} rad/s, and none below',
        ),
        (
            'a part of it at a joint that is faster than its reference',
            f'by {rest:g} to {terms.MAX_FRICTION_LEAD_RAD_S:g} rad/s, and beyond that the offset '
            'alone',
        ),
        ('z counts as unknown after a gap of', f'{1e3 * MAX_STATE_GAP_S:g} ms'),
    )


def table_of_preparation() -> str:
    """Return the rows of how a recording's signals are prepared."""
    options = SignalOptions()
    return _rows(
        ('resampled to', f'{options.rate:g} Hz', '`--rate`'),
        ('low-pass at', f'{options.cutoff:g} Hz', '`--cutoff`'),
        ('dropped at each end of a piece', f'{options.trim:g} s', '`--trim`'),
        (
            'a braked arm is left out, if all efforts are zero for',
            f'{preprocessing.MIN_IDLE_DURATION_S:g} s',
            '',
        ),
    )


def table_of_thresholds() -> str:
    """Return the rows of the numbers by which an identification and its verdict are decided."""
    known = 100.0 * DEFAULT_PRIOR_PRECISION**-0.5
    slip, slide = torque_model.SLIP_REACHES_RAD
    return _rows(
        ('reach of the Maxwell-slip elements', f'{1e3 * slip:g} mrad and {slide:g} rad', ''),
        (
            'filtered samples that count as one',
            f'{least_squares.SAMPLES_PER_INDEPENDENT_SAMPLE:g}',
            '',
        ),
        (
            'precision with which motions are planned and recordings judged',
            f'{DEFAULT_PRIOR_PRECISION:g}',
            f'masses are known to {known:.0f} %',
        ),
        (
            'log evidence by which a term of friction stays',
            f'{choice.MIN_TERM_EVIDENCE:g}',
            '',
        ),
        (
            'assumed torque noise of `identify plan`',
            f'{100.0 * torque_model.STRONG_JOINT_RESIDUAL_TO_LIMIT:g} % of the torque limit',
            f'{100.0 * torque_model.WEAK_JOINT_RESIDUAL_TO_LIMIT:g} % at joints below '
            f'{torque_model.MIN_STRONG_JOINT_LIMIT_NM:g} N m',
        ),
        (
            "ranges of single joints' gains and zeros that are printed",
            f'wider than {published_masses.MIN_MENTIONED_RANGE:g}',
            '',
        ),
        (
            'an identified arm is better',
            f'{100.0 * result_parts.MIN_IMPROVEMENT_RATIO:g} % of E',
            'and two standard errors',
        ),
    )


def table_of_faults() -> str:
    """Return the rows of what may be wrong with a recording."""
    count_words = {0: 'all', 1: 'a joint', 2: 'two joints'}
    rows = []
    for row in table.TABLE:
        marks = (
            f'{" *" if row.changes else ""}{" +" if row.passes else ""}{" !" if row.whole else ""}'
        )
        of = 'an inner joint' if row.inner else count_words[row.of]
        rows.append((f'{row.kind}{marks}', of, row.adds, row.must_be))
    return _rows(*rows)


def table_of_answers() -> str:
    """Return the rows of questions that an option answers, and of all others."""
    asked = {0: '', 1: ', of a joint'}
    rows = [
        (f'{row.kind}{asked[row.of]}', ', '.join(f'`--{_flag(name)}`' for name in row.answered_by))
        for row in table.TABLE
        if row.answered_by
    ]
    return _rows(*rows, ('any other', 'no option'))


def _flag(name: str) -> str:
    """Return the option of a parameter's name."""
    return name.replace('_', '-')


def table_of_fault_numbers() -> str:
    """Return the rows of the numbers by which a fault is judged."""
    return _rows(
        (
            't',
            'how much better left-out fifths are predicted, in standard errors over the fifths; '
            'the measure is the sum over joints of ln(residual without / with)',
            f'above {fits.CRITICAL_T_VALUE:g}',
        ),
        (
            'fall',
            'E on all left-out parts without the fault over that with it',
            f'above {decision.MIN_ASKED_FALL:g}, of a change {fits.HARM:g}',
        ),
        (
            'effect',
            'E of the arm identified as recorded over E of the arm identified with the fault '
            'undone, both on the undone recording',
            f'above {fits.HARM:g}',
        ),
        (
            'likeness',
            'its size with masses held over its size with masses fitted; where gravity points '
            'elsewhere, that of the change of its direction',
            f'{1.0 / fits.MAX_SIZE_RATIO:g} to {fits.MAX_SIZE_RATIO:g}, to be named',
        ),
    )


def table_of_decision() -> str:
    """Return the rows of the decision on recordings, the questions last."""
    return _rows(
        *((step.condition, step.verdict) for step in decision.DECISION),
        (
            'a fault was a question; or an offset is larger than '
            f'{fits.HARM:g} E, {fits.CRITICAL_T_VALUE:g} of its deviations over fits, and '
            f'{torque_model.MAX_OFFSET_STD_COUNT:g} of its prior',
            '**sound, with a question**',
        ),
        ('else', '**sound**'),
    )


def table_of_receivers() -> str:
    """Return the rows of the bounds of this package's receivers."""
    timeout = receiver.COMMAND_TIMEOUT_S
    return _rows(
        ('time-out', f'{timeout:g} s without a torque'),
        ('change of the torque', f'at most {_RATE}'),
        ("sequence numbers of another sender's messages", f'higher by more than {_LEAP:g}'),
    )


_LEAP = receiver.COMMAND_TIMEOUT_S / limits.MAX_STEP_S
_RATE = f'{limits.MAX_TORQUE_RATE_NM_S:g} N m/s'


def _rows(*rows: tuple[str, ...]) -> str:
    """Return rows of a table in Markdown."""
    return '\n'.join(f'| {" | ".join(cells)} |' for cells in rows)


# Of each page the heads of its tables, and what gives their rows.
TABLES = {
    'docs/howto/check-a-model.md': {'| number | when | what follows |': table_of_judgements},
    'docs/howto/safety.md': {'| what | at most, for an FR3 |': table_of_limits},
    'docs/reference/what-stops-the-arm.md': {
        '| what ends torques | what the arm gets then | what lets torques begin again |': (
            table_of_causes
        ),
        '| state | event | after | new state | torque | from | settings |': table_of_rows,
        '| what the node says of joint states that are lost |': table_of_lost_states,
        '| what the node says of impossible joint states |': table_of_impossible_states,
        '| when | what the guard allows | beyond that |': table_of_guard,
        '| what | how long, or how much |': table_of_times,
    },
    'docs/howto/payloads.md': {'| `--mount` | where |': table_of_mounts},
    'docs/howto/recordings.md': {'| step | value | option |': table_of_preparation},
    'docs/theory/friction.md': {'| commanded friction | value |': table_of_friction},
    'docs/theory/identification.md': {
        '| threshold | value | beside it |': table_of_thresholds,
    },
    'docs/theory/judge.md': {
        '| fault | of | columns | must be |': table_of_faults,
        '| number of a fault | what it is | must be |': table_of_fault_numbers,
        '| if | verdict |': table_of_decision,
        '| question about | answered by |': table_of_answers,
    },
    'docs/reference/receivers.md': {'| receivers of this package | value |': table_of_receivers},
    'docs/reference/node.md': {
        '| parameter of the node | default | meaning |': table_of_parameters,
        '| parameter of the simulator | default | meaning |': table_of_simulator_parameters,
        '| bound of references | value |': table_of_references,
        '| of the external torque | value |': table_of_external_torque,
    },
}


def generated_pages() -> dict[str, str]:
    """
    Return the text of each page with its tables, by path in the source tree.

    Raises ValueError for a table that does not stand in its page once.
    """
    texts = {}
    for page, tables in TABLES.items():
        text = (ROOT / page).read_text('utf-8')
        for heads, rows in tables.items():
            ruler = re.sub(r'[^|]+', '---', heads)
            if text.count(f'{heads}\n{ruler}\n') != 1:
                raise ValueError(f'{page} has not once the table {heads}')
            before, after = text.split(f'{heads}\n{ruler}\n')
            rest = re.sub(r'\A(\|.*\n)*', '', after)
            text = f'{before}{heads}\n{ruler}\n{rows()}\n{rest}'
        texts[page] = text
    return texts


if __name__ == '__main__':
    for name, text in generated_pages().items():
        write_text(ROOT / name, text)
