# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The results of a replay, and the verdict on recordings, as sentences, tables, plots and data."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import elements
from .elements import Cell, headers, Table
from ..arm.bodies import hand_name
from ..dynamics.external_torque import estimate_wrenches, WrenchEstimator
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import plural
from ..files import atomic_write
from ..identification.faults import Diagnosis, FAULT_CLASSES
from ..identification.law_tracking import LawPrediction, MAX_LINEAR_ERROR_RAD
from ..identification.torque_model import expected_residual
from ..identification.tracking import TrackingPrediction
from ..identification.verdict import RecordingVerdict, ReplayEvaluation
from ..recordings.preprocessing import Motion, seconds_at_rest
from ..recordings.recording import Recording
from ..recordings.replay import TorquePrediction

_MAX_NAMED_SETS = 3
# Definition of the torque error E, printed below tables of E.
TORQUE_ERROR_DEFINITION = (
    'E: root mean square over time of |measured - predicted torque|, all joints together'
)
TRACKING_CAVEAT = (
    'A prediction, no arm was moved: the measured motion is the reference, and torques are made '
    'without error or delay. Margin: two standard deviations of the friction are not commanded'
)
LAW_CAVEAT = (
    'A prediction, no arm was moved: the measured motion is the target; loads, inertias and gains '
    'are those along it; whether a law is stable is not told. Error: root mean square of target '
    'minus motion; lag: the delay after which both are most alike'
)


def verdict_lines(
    verdict: RecordingVerdict, joint_names: Sequence[str], effort_scale: Any
) -> list[str]:
    """
    Return sentences on sure and possible faults: what to do, what E becomes, how sure it is.

    `effort_scale` (n,) are the scales with which the recordings were read [N m per unit].
    """
    lines = [_diagnosis_sentence(one, joint_names, effort_scale) for one in verdict.causes]
    for one in verdict.causes:
        if np.isfinite(one.error_after):
            lines.append(
                f'With this in the fit, E on left-out parts falls from {one.error_before:.3f} to '
                f'{one.error_after:.3f}, with the next best fault to {one.rival_error:.3f}.'
            )
        if np.isfinite(one.effect):
            times = f'about {one.effect:.1f} times what it would be'
            lines.append(f'By it E of the identified arm is {times} without it.')
    if verdict.suspected_joints:
        names = [joint_names[joint] for joint in verdict.suspected_joints]
        lines.append(
            f'Cause unknown, {plural(len(names), "joint")} {", ".join(names)}: faults that would '
            'change the identified torques explain the recordings better, but none is clear. Look '
            'at these joints in the plots: sign, unit, gear, zero, order of the columns.'
        )
    lines += [_diagnosis_sentence(one, joint_names, effort_scale) for one in verdict.questions]
    return [*lines, *_effort_scale_question(verdict)]


def _effort_scale_question(verdict: RecordingVerdict) -> Iterator[str]:
    """
    Yield a sentence if the efforts' scale is open, or if they do not match published masses.

    For a mismatch of which the verdict names causes there is none.
    """
    found = verdict.mass_ambiguity
    if found is None:
        return
    low, high = found.scale_range
    least, most = found.load_range
    scale, mass = found.likeliest_scale_and_load
    factor = f'{low:.2f} to {high:.2f} times the torques'
    where = found.published_set
    if found.is_scale_undetermined:
        yield (
            f'These torques and the masses of {where} hardly tell the size of the efforts: '
            f'they could be {factor}. Trust masses only if a known one on the flange is found.'
        )
    elif found.rules_out_faultless and not verdict.causes:
        load = f'{max(least, 0.0):.2f} to {most:.2f} kg are on the flange'
        if most <= 0.0:
            load = f'a hand or load was declared that is {-most:.2f} to {-least:.2f} kg too heavy'
        likely = 0.5 < scale < 2.0 and 0.0 < mass < 2.0 * most
        both = f', or both: likeliest {scale:.2f} times and {mass:.2f} kg' if likely else ''
        yield (
            'Are efforts scaled, or does the flange carry something else than declared? If the '
            f'masses of {where} are about right, all efforts are {factor}, or {load}{both}. '
            'Correct the unit (--effort-scale, --torque-constant) or the load (--hand, --payload).'
        )


def mass_ambiguity_sentences(verdict: RecordingVerdict, joints: Sequence[str]) -> Iterator[str]:
    """Yield sentences on what torques leave open, here or always; none without a published set."""
    found = verdict.mass_ambiguity
    if found is None:
        return
    low, high = found.scale_range
    least, most = found.load_range
    yield (
        f'Not known from torques alone: a factor of all efforts ({low:.2f} to {high:.2f} by the '
        f'masses of {found.published_set}), to which all masses are in proportion; a load on the '
        f'flange ({max(least, 0.0):.2f} to {max(most, 0.0):.2f} kg); a turn of the base about '
        'gravity. `identify payload --known-mass` tells the factor.'
    )
    hidden = [_range_text(kind, joints[joint], *span) for kind, joint, *span in found.joint_ranges]
    if hidden:
        yield f'By this motion, {", ".join(hidden)}. `identify plan` plans one for more.'


def _range_text(fault_kind: str, joint_name: str, least: float, most: float) -> str:
    """Return text on the range of a joint's effort gain or encoder zero that a motion allows."""
    if fault_kind == 'gain':
        if least <= 0.0:
            return f'the effort of {joint_name} is not known'
        return f'the effort of {joint_name} may be {least:.2f} to {most:.2f} times its torque'
    if most - least > np.pi:
        return f'the zero of {joint_name} is not known'
    return f'the zero of {joint_name} may be off by {least:.2f} to {most:.2f} rad'


def verdict_headline(verdict: RecordingVerdict) -> str:
    """Return a sentence on whether the recordings are sound; '' without fault or question."""
    if verdict.causes or verdict.value_faults:
        return 'The recordings are NOT sound.'
    if not verdict.sound:
        return 'The recordings are NOT sound, cause unknown.'
    return 'The recordings are sound, with a question.' if verdict.has_questions else ''


def _diagnosis_sentence(fault: Diagnosis, joints: Sequence[str], effort_scale: Any) -> str:
    """Return a sentence on one diagnosed fault of recordings or question to the user."""
    return FAULT_CLASSES[fault.kind].sentence(fault, joints, np.asarray(effort_scale, dtype=float))


def replay_as_data(result: ReplayEvaluation) -> dict[str, Any]:
    """Return all results of a replay as data for JSON."""
    recording = result.recording
    motion = result.motion
    fits = result.predictions
    verdict = None
    if result.verdict is not None:
        verdict = {
            **elements.to_json_types(result.verdict),
            'sound': result.verdict.sound,
        }
    return {
        'bag': recording.source,
        'topic': recording.topic,
        'joint_names': recording.joint_names,
        'messages': len(recording),
        'duration': recording.duration,
        'samples': len(motion),
        'metric': {
            'name': 'E = sqrt(mean |tau_measured - tau_model|^2)',
            **elements.to_json_types(motion.options),
        },
        'arm': fits[0].arm.name,
        'arm_file': fits[0].arm.file,
        'fits': [_prediction_as_data(one) for one in fits],
        'best': {'inertial_set': fits[0].arm.inertial_set, 'hand': fits[0].arm.hand},
        'alike': [one.set_and_hand for one in result.rival_predictions],
        'verdict': verdict,
        'warnings': result.warnings,
        'remarks': motion.remarks,
    }


def _prediction_as_data(prediction: TorquePrediction) -> dict[str, Any]:
    """Return one arm's set, hand, torque errors and two flags as data for JSON."""
    return {
        'inertial_set': prediction.arm.inertial_set,
        'hand': prediction.arm.hand,
        'physical': not prediction.arm.inconsistencies(),
        'friction': prediction.arm.friction is not None,
        'filtered': prediction.error,
        'unfiltered': prediction.unfiltered_error,
        'without_friction': prediction.frictionless_error,
        'moving': prediction.moving_error,
    }


def samples_sentence(recording: Recording, motion: Motion) -> str:
    """Return a sentence on how many messages a recording has and how many samples are used."""
    options = motion.options
    return (
        f'{recording.source}, {recording.topic}: {len(recording)} messages in '
        f'{recording.duration:.1f} s; compared are {len(motion)} samples at {options.rate:g} '
        f'Hz, cut-off {options.cutoff:g} Hz, {options.trim:g} s trimmed at each end'
    )


def best_set_sentence(best: TorquePrediction, others: Sequence[TorquePrediction]) -> str:
    """Return a sentence on the inertial set with the least error E, and sets that fit as well."""
    friction = "with the arm file's friction"
    if best.arm.friction is None:
        friction = 'without friction, because the arm file has none'
    unfiltered = f'{best.unfiltered_error.E:.3f} on unfiltered effort'
    figures = f'E = {best.error.E:.3f} {best.error_unit.name} {friction} ({unfiltered})'
    if not others:
        return f'{best.set_and_hand} fits best, {figures}.'
    named = others[:_MAX_NAMED_SETS]
    names = ', '.join(f'{one.set_and_hand} ({one.error.E:.3f})' for one in named)
    names += f' and {len(others) - _MAX_NAMED_SETS} more' if len(others) > _MAX_NAMED_SETS else ''
    verb = 'fits' if len(others) == 1 else 'fit'
    return (
        f'{best.set_and_hand} has {figures}, and {names} {verb} as well: '
        'this motion does not tell them apart.'
    )


def rest_sentence(best: TorquePrediction, motion: Motion) -> str:
    """Return a sentence on the torque error while a joint moves and at rest; '' without rest."""
    rest_s = seconds_at_rest(motion)
    if best.moving_error is None or not rest_s:
        return ''
    return (
        f'While a joint moves, E = {best.moving_error.E:.3f} {best.error_unit.name}, as '
        f'`identify arm` compares; the arm rests for {rest_s:.1f} s, in which static friction '
        'leaves the torque open.'
    )


def fit_quality_sentence(best: TorquePrediction) -> str:
    """Return a sentence on the E expected of a good fit, with advice if `best` exceeds it."""
    limit = best.arm.limit('effort')
    unit = best.error_unit
    if not (np.isfinite(limit) & (limit > 0.0)).all():
        return 'The arm has no effort limits, by which E of a set that fits is estimated.'
    normal = np.linalg.norm(expected_residual(limit) * unit.factors)
    expected = f'A set that fits has E of about {normal:.1f} {unit.name} or less'
    error = best.error if best.moving_error is None else best.moving_error
    if error.E <= normal:
        return f'{expected}.'
    return (
        f'{expected}, so none fits well: name what hangs on the flange (--hand, --payload), look '
        'at the joints with the largest errors, or identify the arm.'
    )


def set_error_table(predictions: Sequence[TorquePrediction]) -> Table:
    """Return a table of the torque error E of every inertial set and hand, in the order given."""
    friction = any(one.arm.friction is not None for one in predictions)
    end = None if friction else -1  # of the columns, the last of which is without friction
    title = f'E over all joints [{predictions[0].error_unit.name}]'
    title += ", the arm file's friction included" if friction else ''
    numbers = headers(('E', 'unfiltered', 'no friction'), '.3f')[:end]
    rows = []
    for one in predictions:
        errors = (
            Cell(one.error.E, 'strong'),
            one.unfiltered_error.E,
            one.frictionless_error.E,
        )
        rows.append((one.arm.inertial_set, hand_name(one.arm.hand), *errors[:end]))
    return Table(title, ['inertial set', 'hand', *numbers], rows)


def joint_table(predictions: Sequence[TorquePrediction], joint_names: Sequence[str]) -> Table:
    """Return a table of each set's rms torque error per joint, filtered and unfiltered."""
    joints = f'{joint_names[0]} to {joint_names[-1]}'
    unit = elements.effort_unit_text(predictions[0].arm)
    title = f'root mean square per joint [{unit}], {joints}: filtered, below it unfiltered effort'
    rows: list[tuple[Any, ...]] = []
    for one in predictions:
        rows.append((one.set_and_hand, *one.error.per_joint))
        rows.append(('', *(Cell(value, 'faint') for value in one.unfiltered_error.per_joint)))
    return Table(title, ['set, hand', *headers(_number_texts(len(joint_names)), '.2f')], rows)


def plot_torques(result: ReplayEvaluation, title: str, path: Path) -> None:
    """
    Plot each joint's measured torque, the best set's torque and their difference to a file.

    The suffix of `path` selects the picture's format. If drawing fails, no file is written.
    """
    best = result.predictions[0]
    motion = result.motion
    names = result.recording.joint_names
    friction = '' if best.arm.friction is None else ", with the arm file's friction"
    label = f'predicted, {best.set_and_hand}{friction}'
    title += f': E = {best.error.E:.3f} {best.error_unit.name} at {motion.options.cutoff:g} Hz'
    units = elements.effort_units(best.arm)
    figure = elements.torque_figure(motion, best.predicted_torque, label, names, title, units)
    elements.save_figure(figure, path)


def tracking_error_table(prediction: TrackingPrediction) -> Table:
    """Return a table of joints' predicted rms tracking errors [mrad], a row per feedforward."""
    kp = ', '.join(f'{one:g}' for one in prediction.kp)
    title = f'predicted rms tracking error [mrad] of a PD with kp {kp}'
    numbers = headers(('all', *_number_texts(len(prediction.joint_names))), '.2f')
    found = zip(prediction.feedforward_names, prediction.total_errors, prediction.errors)
    rows = [(name, Cell(1e3 * total, 'strong'), *(1e3 * joints)) for name, total, joints in found]
    return Table(title, ['fed forward', *numbers], rows)


def law_table(prediction: LawPrediction) -> Table:
    """Return a table of laws' predicted lags [ms] and rms errors [mrad], two rows for each."""
    names = ('flange', 'all', *_number_texts(len(prediction.joint_names)))
    numbers = headers(names, '.3g')
    rows = []
    for k, name in enumerate(prediction.law_names):
        lags = 1e3 * prediction.lags[k]
        total_lag = Cell(1e3 * prediction.total_lags[k], 'strong')
        total_error = Cell(1e3 * prediction.total_errors[k], 'strong')
        rows.append((name, 'lag [ms]', '', total_lag, *lags))
        flange = 1e3 * prediction.flange_errors[k]
        rows.append(('', 'error [mrad]', flange, total_error, *(1e3 * prediction.errors[k])))
    title = 'predicted lag and error of laws: flange [mm], all joints, each joint'
    return Table(title, ['law', '', *numbers], rows)


def law_warnings(prediction: LawPrediction) -> list[str]:
    """Return a sentence for each law whose error is beyond what a linear prediction knows."""
    return [
        f'{name}: an error of {1e3 * error:.0f} mrad is beyond a linear prediction; read it as '
        'does not follow'
        for name, error in zip(prediction.law_names, prediction.total_errors)
        if error > MAX_LINEAR_ERROR_RAD
    ]


def law_change_sentence(prediction: LawPrediction) -> str:
    """Return one sentence on what changes for a policy from the first law to the last."""
    first, *_, last = prediction.law_names
    later = 1e3 * (prediction.total_lags[-1] - prediction.total_lags[0])
    errors = 1e3 * prediction.total_errors
    return (
        f'Trained at {first}, you run at {last}: the arm follows {abs(later):.0f} ms '
        f'{"later" if later > 0.0 else "earlier"}, its error is {errors[-1]:.3g} in place of '
        f'{errors[0]:.3g} mrad, and the same targets move it by '
        f'{1e3 * prediction.differences[-1]:.3g} mrad (rms) elsewhere.'
    )


def plot_tracking(prediction: TrackingPrediction, title: str, path: str | Path) -> None:
    """Plot predicted rms tracking errors by joint to a file, whose suffix selects the format."""
    figure = elements.figure_of_size((10.0, 4.5))
    rows = prediction.feedforward_names
    count = len(prediction.joint_names)
    axis = figure.subplots()
    width = 0.85 / len(rows)
    for k, (name, errors) in enumerate(zip(rows, prediction.errors)):
        places = np.arange(count) + (k - 0.5 * (len(rows) - 1)) * width
        axis.bar(places, 1e3 * errors, width, label=name)
    axis.set_yscale('log')
    axis.set_xticks(range(count), _number_texts(count))
    axis.set_xlabel('joint')
    axis.set_ylabel('predicted rms tracking error [mrad]')
    axis.grid(axis='y', alpha=0.25)
    figure.legend(loc='outside lower center', ncols=3, fontsize=8)
    axis.set_title(title, fontsize=11)
    elements.save_figure(figure, path)


def _number_texts(count: int) -> list[str]:
    """Return the texts '1' to `count`, as names of joints in tables."""
    return [str(i) for i in range(1, count + 1)]


def save_external_torque(path: Path, result: ReplayEvaluation, gravity: list[float]) -> str:
    """
    Write external torques and wrenches to a CSV file, and return a sentence on the torques' rms.

    The columns are those of `time` [s], `q`, `dq`, `external_torque` [N m] by joint, of
    `external_wrench` (force [N] and moment [N m] of the arm on its surroundings, at the flange,
    axes of the base), and the standard deviations of both. The torque is measured minus model
    torque, less the friction of the arm file. Lines that begin with # say what was compared. The
    returned sentence states the root mean square of the external torque.
    """
    recording = result.recording
    motion = result.motion
    best = result.predictions[0]
    arm = best.arm
    torque = motion.effort - best.predicted_torque
    options = motion.options
    own = arm.torque_deviation
    below = own is not None and options.cutoff <= own.cutoff
    deviation = own.filtered if own is not None and below else None
    estimator = WrenchEstimator(PinocchioModel(arm, gravity), torque_std=deviation)
    wrench, wrench_deviation = estimate_wrenches(estimator, motion.q, torque)
    columns = {
        'q': motion.q,
        'dq': motion.dq,
        'external_torque': torque,
        'external_torque_deviation': np.tile(estimator.torque_std, (len(motion), 1)),
        'external_wrench': wrench,
        'external_wrench_deviation': wrench_deviation,
    }
    about = {
        'source': recording.source,
        'first_stamp_ns': recording.stamp_ns[0],
        'arm': f'{arm.name}, {arm.contents_text}, gravity {gravity} m/s^2',
        'friction': 'of the arm file, subtracted' if arm.friction else 'none subtracted',
        'joints': ' '.join(recording.joint_names),
        'signal': f'{options.rate:g} Hz, zero-phase low-pass at {options.cutoff:g} Hz',
    }
    names = [f'{name}{k}' for name, rows in columns.items() for k in range(1, 1 + rows.shape[1])]
    lines = [
        *(f'# {key}: {text}' for key, text in about.items()),
        ','.join(['time', *names]),
    ]
    with atomic_write(path) as scratch:
        table = np.column_stack([motion.time, *columns.values()])
        np.savetxt(scratch, table, '%.12g', ',', header='\n'.join(lines), comments='')
    size = ', '.join(f'{one:.2f}' for one in np.sqrt(np.mean(torque**2, axis=0)))
    normal = ', '.join(f'{one:.2f}' for one in estimator.torque_std)
    source = 'this arm, by its file,' if own is not None else 'an arm'
    unit = elements.effort_unit_text(arm)
    return (
        f'{path}: external torque, set {arm.inertial_set}, hand {hand_name(arm.hand)}; root mean '
        f'square {size} {unit}; {source} that nobody touches shows about {normal} {unit}'
    )
