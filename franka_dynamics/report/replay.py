# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The results of a replay as sentences, tables, plots and data."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from . import elements
from .elements import Cell, headers, Table
from .json_types import to_json_types
from ..arm import ArmDescription
from ..arm.hands import hand_name
from ..arrays import Array
from ..dynamics.external_torque import estimate_wrenches, WrenchEstimator
from ..dynamics.pinocchio_model import PinocchioModel
from ..files import atomic_write
from ..fit.torque_model import expected_residual
from ..judge.replay_evaluation import ReplayEvaluation
from ..recordings.preprocessing import Motion, seconds_at_rest
from ..recordings.recording import Recording
from ..recordings.replay import TorquePrediction
from ..tracking.law_tracking import LawPrediction, MAX_LINEAR_ERROR_RAD
from ..tracking.tracking import TrackingPrediction

_MAX_NAMED_SETS = 3
# Definition of the torque error E, printed below tables of E.
TORQUE_ERROR_DEFINITION = (
    'E: root mean square over time of |measured - predicted torque|, all joints together'
)
TRACKING_CAVEAT = (
    'A prediction, no arm was moved: the measured motion is the reference, and torques are made '
    'without error or delay. Margin: two standard deviations of the friction are not commanded.'
)
LAW_CAVEAT = (
    'A prediction, no arm was moved: the measured motion is the target; loads, inertias and gains '
    'are those along it; whether a law is stable is not told. Error: root mean square of target '
    'minus motion; lag: the delay after which both are most alike.'
)


def replay_as_data(result: ReplayEvaluation) -> dict[str, Any]:
    """Return all results of a replay as data for JSON."""
    recording = result.recording
    motion = result.motion
    best, *_ = result.predictions
    verdict = None
    if result.verdict is not None:
        verdict = {
            **to_json_types(result.verdict),
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
            **to_json_types(motion.options),
        },
        'arm': best.arm.name,
        'arm_file': best.arm.file,
        'fits': [_prediction_as_data(prediction) for prediction in result.predictions],
        'best': {'inertial_set': best.arm.inertial_set, 'hand': best.arm.hand},
        'alike': [rival.set_and_hand for rival in result.rival_predictions],
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
    names = ', '.join(
        f'{other.set_and_hand} ({other.error.E:.3f})' for other in others[:_MAX_NAMED_SETS]
    )
    if len(others) > _MAX_NAMED_SETS:
        names += f' and {len(others) - _MAX_NAMED_SETS} more'
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
    effort_limit = best.arm.limit('effort')
    unit = best.error_unit
    if not (np.isfinite(effort_limit) & (effort_limit > 0.0)).all():
        return 'The arm has no effort limits, by which E of a set that fits is estimated.'
    expected_error = np.linalg.norm(expected_residual(effort_limit) * unit.factors)
    expectation = f'A set that fits has E of about {expected_error:.1f} {unit.name} or less'
    error = best.error if best.moving_error is None else best.moving_error
    if error.E <= expected_error:
        return f'{expectation}.'
    return (
        f'{expectation}, so none fits well: name what hangs on the flange (--hand, --payload), '
        'look at the joints with the largest errors, or identify the arm.'
    )


def set_error_table(predictions: Sequence[TorquePrediction]) -> Table:
    """Return a table of the torque error E of every inertial set and hand, in the order given."""
    has_friction = any(prediction.arm.friction is not None for prediction in predictions)
    title = f'E over all joints [{predictions[0].error_unit.name}]'
    column_names = ['E', 'unfiltered']
    if has_friction:
        title += ", the arm file's friction included"
        column_names.append('no friction')
    rows = []
    for prediction in predictions:
        errors: list[Any] = [Cell(prediction.error.E, 'strong'), prediction.unfiltered_error.E]
        if has_friction:
            errors.append(prediction.frictionless_error.E)
        rows.append((prediction.arm.inertial_set, hand_name(prediction.arm.hand), *errors))
    return Table(title, ['inertial set', 'hand', *headers(column_names, '.3f')], rows)


def joint_table(predictions: Sequence[TorquePrediction], joint_names: Sequence[str]) -> Table:
    """Return a table of each set's rms torque error per joint, filtered and unfiltered."""
    unit = elements.effort_unit_text(predictions[0].arm)
    title = (
        f'root mean square per joint [{unit}], {joint_names[0]} to {joint_names[-1]}: filtered, '
        'below it unfiltered effort'
    )
    rows: list[tuple[Any, ...]] = []
    for prediction in predictions:
        unfiltered = prediction.unfiltered_error.per_joint
        rows.append((prediction.set_and_hand, *prediction.error.per_joint))
        rows.append(('', *(Cell(error, 'faint') for error in unfiltered)))
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


def _small_position_unit(arm: ArmDescription) -> str:
    """Return the unit of a thousandth of a position: mrad, mm if all joints slide, or both."""
    units = dict.fromkeys(f'm{joint.kind.position_unit}' for joint in arm.joints)
    return ' or '.join(units)


def _total_cell(total: float, arm: ArmDescription) -> Cell:
    """Return the cell of a root mean square over all joints, empty if these have two units."""
    kinds = {joint.kind for joint in arm.joints}
    return Cell(total if len(kinds) == 1 else None, 'strong')


def tracking_error_table(prediction: TrackingPrediction, arm: ArmDescription) -> Table:
    """Return a table of joints' predicted rms tracking errors [mrad], a row per feedforward."""
    gains = ', '.join(f'{gain:g}' for gain in prediction.kp)
    unit = _small_position_unit(arm)
    title = f'predicted rms tracking error [{unit}] of a PD with kp {gains}'
    numbers = headers(('all', *_number_texts(len(prediction.joint_names))), '.2f')
    rows = []
    for k, name in enumerate(prediction.feedforward_names):
        total = _total_cell(1e3 * prediction.total_errors[k], arm)
        rows.append((name, total, *(1e3 * prediction.errors[k])))
    return Table(title, ['fed forward', *numbers], rows)


def law_table(prediction: LawPrediction, arm: ArmDescription) -> Table:
    """Return a table of laws' predicted lags [ms] and rms errors [mrad], two rows for each."""
    names = ('flange', 'all', *_number_texts(len(prediction.joint_names)))
    numbers = headers(names, '.3g')
    error_label = f'error [{_small_position_unit(arm)}]'
    rows = []
    for k, name in enumerate(prediction.law_names):
        lags = 1e3 * prediction.lags[k]
        total_lag = Cell(1e3 * prediction.total_lags[k], 'strong')
        rows.append((name, 'lag [ms]', '', total_lag, *lags))
        flange = 1e3 * prediction.flange_errors[k]
        total_error = _total_cell(1e3 * prediction.total_errors[k], arm)
        rows.append(('', error_label, flange, total_error, *(1e3 * prediction.errors[k])))
    title = 'predicted lag and error of laws: flange [mm], all joints, each joint'
    return Table(title, ['law', '', *numbers], rows)


def law_warnings(prediction: LawPrediction, arm: ArmDescription) -> list[str]:
    """Return a sentence for each law whose error is beyond what a linear prediction knows."""
    unit = _small_position_unit(arm)
    return [
        f'{name}: an error of {1e3 * error:.0f} {unit} is beyond a linear prediction; read it as '
        'does not follow'
        for name, error in zip(prediction.law_names, prediction.total_errors)
        if error > MAX_LINEAR_ERROR_RAD
    ]


def law_change_sentence(prediction: LawPrediction, arm: ArmDescription) -> str:
    """Return one sentence on what changes for a policy from the first law to the last."""
    first, *_, last = prediction.law_names
    later = 1e3 * (prediction.total_lags[-1] - prediction.total_lags[0])
    errors = 1e3 * prediction.total_errors
    unit = _small_position_unit(arm)
    return (
        f'Trained at {first}, you run at {last}: the arm follows {abs(later):.0f} ms '
        f'{"later" if later > 0.0 else "earlier"}, its error is {errors[-1]:.3g} in place of '
        f'{errors[0]:.3g} {unit}, and the same targets move it by '
        f'{1e3 * prediction.differences[-1]:.3g} {unit} (rms) elsewhere.'
    )


def plot_tracking(
    prediction: TrackingPrediction, arm: ArmDescription, title: str, path: str | Path
) -> None:
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
    axis.set_ylabel(f'predicted rms tracking error [{_small_position_unit(arm)}]')
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
    best = result.predictions[0]
    columns = external_torque_columns(result, gravity)
    motion = result.motion
    table = {'q': motion.q, 'dq': motion.dq, **columns}
    _write_table(path, _facts(result, gravity), motion.time, table)
    torque_std = columns['external_torque_deviation'][0]
    return _external_torque_sentence(path, best.arm, columns['external_torque'], torque_std)


def external_torque_columns(result: ReplayEvaluation, gravity: list[float]) -> dict[str, Array]:
    """
    Return external torques and wrenches of a replay's motion by their names, (N, k) each.

    They are `external_torque` [N m] (measured minus model torque, less the friction of the arm
    file), `external_wrench` (force [N] and moment [N m] of the arm on its surroundings, at the
    flange, axes of the base), and the deviation of each.
    """
    motion = result.motion
    best = result.predictions[0]
    external_torque = motion.effort - best.predicted_torque  # (N, n), N m
    estimator = WrenchEstimator(
        PinocchioModel(best.arm, gravity), torque_std=_known_torque_std(result)
    )
    wrench, wrench_std = estimate_wrenches(estimator, motion.q, external_torque)
    return {
        'external_torque': external_torque,
        'external_torque_deviation': np.tile(estimator.torque_std, (len(motion), 1)),
        'external_wrench': wrench,
        'external_wrench_deviation': wrench_std,
    }


def save_columns(path: Path, columns: Mapping[str, Array]) -> None:
    """Write `time` (N,) and other columns (N, k) to a CSV file."""
    others = {name: values for name, values in columns.items() if name != 'time'}
    _write_table(path, {}, columns['time'], others)


def _known_torque_std(result: ReplayEvaluation) -> Array | None:
    """
    Return the deviations of external torques that the arm file states, (n,) [N m], or None.

    They hold for signals with the low-pass of which the file tells, or a lower one.
    """
    deviation = result.predictions[0].arm.torque_deviation
    if deviation is None or result.motion.options.cutoff > deviation.cutoff:
        return None
    return deviation.filtered


def _facts(result: ReplayEvaluation, gravity: list[float]) -> dict[str, Any]:
    """Return what was compared, as texts and numbers by their names in the CSV file."""
    recording = result.recording
    options = result.motion.options
    arm = result.predictions[0].arm
    return {
        'source': recording.source,
        'first_stamp_ns': recording.stamp_ns[0],
        'arm': f'{arm.name}, {arm.contents_text}, gravity {gravity} m/s^2',
        'friction': 'of the arm file, subtracted' if arm.friction else 'none subtracted',
        'joints': ' '.join(recording.joint_names),
        'signal': f'{options.rate:g} Hz, zero-phase low-pass at {options.cutoff:g} Hz',
    }


def _write_table(
    path: Path, facts: Mapping[str, Any], time: Array, columns: Mapping[str, Array]
) -> None:
    """Write times (N,), and columns (N, k) of several quantities, to a CSV file with facts."""
    column_names = [
        f'{name}{k}' for name, values in columns.items() for k in range(1, 1 + values.shape[1])
    ]
    header_lines = [
        *(f'# {key}: {text}' for key, text in facts.items()),
        ','.join(['time', *column_names]),
    ]
    with atomic_write(path) as scratch:
        table = np.column_stack([time, *columns.values()])
        header = '\n'.join(header_lines)
        np.savetxt(scratch, table, '%.12g', ',', header=header, comments='')


def _external_torque_sentence(
    path: Path, arm: ArmDescription, external_torque: Array, torque_std: Array
) -> str:
    """Return a sentence on external torques (N, n), beside the deviations without contact (n,)."""
    rms_torque = np.sqrt(np.mean(external_torque**2, axis=0))  # (n,)
    rms_texts = ', '.join(f'{torque:.2f}' for torque in rms_torque)
    std_texts = ', '.join(f'{std:.2f}' for std in torque_std)
    whose = 'an arm' if arm.torque_deviation is None else 'this arm, by its file,'
    unit = elements.effort_unit_text(arm)
    return (
        f'{path}: external torque, set {arm.inertial_set}, hand {hand_name(arm.hand)}; root mean '
        f'square {rms_texts} {unit}; {whose} that nobody touches shows about {std_texts} {unit}'
    )
