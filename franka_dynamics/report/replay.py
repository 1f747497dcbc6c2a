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
from ..identification.published_masses import MassAmbiguity
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
    lines = [_diagnosis_sentence(cause, joint_names, effort_scale) for cause in verdict.causes]
    for cause in verdict.causes:
        if np.isfinite(cause.error_after):
            lines.append(
                'With this in the fit, E on left-out parts falls from '
                f'{cause.error_before:.3f} to {cause.error_after:.3f}, with the next best fault '
                f'to {cause.rival_error:.3f}.'
            )
        if np.isfinite(cause.effect):
            lines.append(
                f'By it E of the identified arm is about {cause.effect:.1f} times what it would '
                'be without it.'
            )
    if verdict.suspected_joints:
        names = [joint_names[joint] for joint in verdict.suspected_joints]
        lines.append(
            f'Cause unknown, {plural(len(names), "joint")} {", ".join(names)}: faults that would '
            'change the identified torques explain the recordings better, but none is clear. Look '
            'at these joints in the plots: sign, unit, gear, zero, order of the columns.'
        )
    lines += [
        _diagnosis_sentence(question, joint_names, effort_scale) for question in verdict.questions
    ]
    return [*lines, *_effort_scale_question(verdict)]


def _effort_scale_question(verdict: RecordingVerdict) -> Iterator[str]:
    """
    Yield a sentence if the efforts' scale is open, or if they do not match published masses.

    For a mismatch of which the verdict names causes there is none.
    """
    ambiguity = verdict.mass_ambiguity
    if ambiguity is None:
        return
    min_scale, max_scale = ambiguity.scale_range
    factor = f'{min_scale:.2f} to {max_scale:.2f} times the torques'
    where = ambiguity.published_set
    if ambiguity.is_scale_undetermined:
        yield (
            f'These torques and the masses of {where} hardly tell the size of the efforts: '
            f'they could be {factor}. Trust masses only if a known one on the flange is found.'
        )
    elif ambiguity.rules_out_faultless and not verdict.causes:
        yield (
            'Are efforts scaled, or does the flange carry something else than declared? If the '
            f'masses of {where} are about right, all efforts are {factor}, or '
            f'{_load_text(ambiguity)}. '
            'Correct the unit (--effort-scale, --torque-constant) or the load (--hand, --payload).'
        )


def _load_text(ambiguity: MassAmbiguity) -> str:
    """Return text on the load that published masses allow, or on load and effort scale alike."""
    min_mass, max_mass = ambiguity.load_range
    load = f'{max(min_mass, 0.0):.2f} to {max_mass:.2f} kg are on the flange'
    if max_mass <= 0.0:
        load = (
            f'a hand or load was declared that is {-max_mass:.2f} to {-min_mass:.2f} kg too heavy'
        )
    # Both together are told only where they are of a size that efforts and loads may have.
    scale, mass = ambiguity.likeliest_scale_and_load
    if 0.5 < scale < 2.0 and 0.0 < mass < 2.0 * max_mass:
        return f'{load}, or both: likeliest {scale:.2f} times and {mass:.2f} kg'
    return load


def mass_ambiguity_sentences(verdict: RecordingVerdict, joints: Sequence[str]) -> Iterator[str]:
    """Yield sentences on what torques leave open, here or always; none without a published set."""
    ambiguity = verdict.mass_ambiguity
    if ambiguity is None:
        return
    min_scale, max_scale = ambiguity.scale_range
    min_mass, max_mass = ambiguity.load_range
    yield (
        f'Not known from torques alone: a factor of all efforts ({min_scale:.2f} to '
        f'{max_scale:.2f} by the masses of {ambiguity.published_set}), to which all masses are in '
        f'proportion; a load on the flange ({max(min_mass, 0.0):.2f} to {max(max_mass, 0.0):.2f} '
        'kg); a turn of the base about gravity. `identify payload --known-mass` tells the factor.'
    )
    range_texts = [
        _range_text(fault.kind, joints[fault.joint], fault.low, fault.high)
        for fault in ambiguity.joint_ranges
    ]
    if range_texts:
        yield f'By this motion, {", ".join(range_texts)}. `identify plan` plans one for more.'


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
    best, *_ = result.predictions
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


def tracking_error_table(prediction: TrackingPrediction) -> Table:
    """Return a table of joints' predicted rms tracking errors [mrad], a row per feedforward."""
    gains = ', '.join(f'{gain:g}' for gain in prediction.kp)
    title = f'predicted rms tracking error [mrad] of a PD with kp {gains}'
    numbers = headers(('all', *_number_texts(len(prediction.joint_names))), '.2f')
    total_errors_mrad = 1e3 * prediction.total_errors
    rows = [
        (name, Cell(total, 'strong'), *joint_errors)
        for name, total, joint_errors in zip(
            prediction.feedforward_names, total_errors_mrad, 1e3 * prediction.errors
        )
    ]
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
    options = motion.options
    best = result.predictions[0]
    arm = best.arm
    external_torque = motion.effort - best.predicted_torque  # (N, n), N m
    arm_deviation = arm.torque_deviation
    torque_std = None  # that of an arm with such limits
    if arm_deviation is not None and options.cutoff <= arm_deviation.cutoff:
        torque_std = arm_deviation.filtered
    estimator = WrenchEstimator(PinocchioModel(arm, gravity), torque_std=torque_std)
    wrench, wrench_std = estimate_wrenches(estimator, motion.q, external_torque)
    columns = {
        'q': motion.q,
        'dq': motion.dq,
        'external_torque': external_torque,
        'external_torque_deviation': np.tile(estimator.torque_std, (len(motion), 1)),
        'external_wrench': wrench,
        'external_wrench_deviation': wrench_std,
    }
    facts = {
        'source': recording.source,
        'first_stamp_ns': recording.stamp_ns[0],
        'arm': f'{arm.name}, {arm.contents_text}, gravity {gravity} m/s^2',
        'friction': 'of the arm file, subtracted' if arm.friction else 'none subtracted',
        'joints': ' '.join(recording.joint_names),
        'signal': f'{options.rate:g} Hz, zero-phase low-pass at {options.cutoff:g} Hz',
    }
    column_names = [
        f'{name}{k}' for name, values in columns.items() for k in range(1, 1 + values.shape[1])
    ]
    header_lines = [
        *(f'# {key}: {text}' for key, text in facts.items()),
        ','.join(['time', *column_names]),
    ]
    with atomic_write(path) as scratch:
        table = np.column_stack([motion.time, *columns.values()])
        header = '\n'.join(header_lines)
        np.savetxt(scratch, table, '%.12g', ',', header=header, comments='')
    rms_torque = np.sqrt(np.mean(external_torque**2, axis=0))  # (n,)
    rms_texts = ', '.join(f'{torque:.2f}' for torque in rms_torque)
    std_texts = ', '.join(f'{std:.2f}' for std in estimator.torque_std)
    whose = 'an arm' if arm_deviation is None else 'this arm, by its file,'
    unit = elements.effort_unit_text(arm)
    return (
        f'{path}: external torque, set {arm.inertial_set}, hand {hand_name(arm.hand)}; root mean '
        f'square {rms_texts} {unit}; {whose} that nobody touches shows about {std_texts} {unit}'
    )
