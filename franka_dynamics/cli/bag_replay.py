# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The work of `franka-dynamics bag replay`, which compares measured and modelled torques."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import click

from .choices import (
    ArmChoice,
    BagReader,
    forbid_options,
    forbid_without,
    require_installed,
)
from .console import echo, echo_each, print_rich, ProgressBar, write_json
from .data_set import replay_data_set
from .option_types import csv_path
from .requests import ReplayRequest
from ..arm import ArmDescription
from ..constants import GAINS_LAW_NAME
from ..fit.options import IdentificationOptions
from ..judge.replay_evaluation import evaluate_replay, ReplayEvaluation
from ..recordings.data_set import is_data_set
from ..recordings.options import SignalOptions
from ..report import replay as report
from ..report.verdict import verdict_headline, verdict_lines
from ..tracking.law_tracking import LawPrediction, predict_laws
from ..tracking.laws import tracking_law, TrackingLaw
from ..tracking.tracking import pd_gains, predict_tracking, TrackingPrediction

_MAX_SHOWN_PREDICTIONS = 3


class _Tracking(NamedTuple):
    """Predictions of how the arm would track the motion, by --gains and by --law, or None."""

    gains: TrackingPrediction | None
    laws: LawPrediction | None


def replay_bag(
    choice: ArmChoice,
    reader: BagReader,
    signal: SignalOptions,
    fit: IdentificationOptions,
    request: ReplayRequest,
) -> int:
    """Print tables and verdict, write files; return the status of `_exit_status`."""
    is_set = is_data_set(request.bag)
    if not is_set:
        _check_options(request)
    choice = reader.arm_in(request.bag, choice)
    if is_set:
        return replay_data_set(choice, reader, signal, fit, request)
    arms = choice.load_sets_and_hands(request.sets, request.hands)
    # The law is made before the bag is read, which takes long, so wrong gains are told at once.
    laws = _chosen_laws(request, arms[0])
    if request.gains:
        pd_gains(request.gains, request.damping or None, arms[0])
    with ProgressBar() as bar:
        recording = reader.read_recording(request.bag, arms[0], bar)
        result = evaluate_replay(recording, arms, signal, fit)
    tracking = _predict_tracking(result, laws, fit, request)
    if request.json:
        predictions = {'tracking': tracking.gains, 'laws': tracking.laws}
        write_json(request.json, {**report.replay_as_data(result), **predictions})
    if request.external:
        echo(report.save_external_torque(request.external, result, list(fit.gravity)))
    plots = [] if request.no_plots else _save_plots(request.output, result, tracking.gains)
    echo_each(result.warnings, 'warning')  # before the verdict, which these may make meaningless
    _print_result(result, fit, request.everything)
    _print_tracking(tracking, choice, result.predictions[0].arm)
    echo_each(f'plot: {path}' for path in plots)
    return _exit_status(result, request)


def _check_options(request: ReplayRequest) -> None:
    """Raise click.UsageError for options that mean nothing together; require what plots need."""
    forbid_options('a bag, which is no data set', 'layout', 'workers', 'resume', 'write')
    if request.external:
        csv_path(f'{request.external}')
    if request.no_plots:
        forbid_options('--no-plots: the folder holds plots alone', 'output')
    else:
        require_installed('Plots need matplotlib', 'replay', 'matplotlib')
    if not request.laws:
        forbid_without('--law', 'policy_rate', 'latency', 'target_filter')
    if not request.gains:
        forbid_without('--gains', 'damping')
        if GAINS_LAW_NAME in request.laws:
            raise click.UsageError('--law gains needs --gains; add it, or name another law.')


def _chosen_laws(request: ReplayRequest, arm: ArmDescription) -> list[TrackingLaw]:
    """Return the laws of --law; the last has the rate, latency and filter that were given."""
    laws = []
    for name in request.laws:
        if name == GAINS_LAW_NAME:
            kp, kd = pd_gains(request.gains, request.damping or None, arm)
            law = TrackingLaw(name, kp=tuple(kp), kd=tuple(kd), has_target_velocity=True)
        else:
            law = tracking_law(name)
        laws.append(law)
    if laws:
        last = laws[-1]
        rate, latency, cutoff = request.policy_rate, request.latency, request.target_filter
        laws[-1] = replace(
            last,
            target_rate=last.target_rate if rate is None else rate,
            latency=last.latency if latency is None else latency,
            filter_cutoff=last.filter_cutoff if cutoff is None else cutoff,
        )
    return laws


def _predict_tracking(
    result: ReplayEvaluation,
    laws: Sequence[TrackingLaw],
    fit: IdentificationOptions,
    request: ReplayRequest,
) -> _Tracking:
    """Return the predictions that --gains and --law ask for, by the arm that fits best."""
    best_arm = result.predictions[0].arm
    by_gains = None
    if request.gains:
        kd = request.damping or None
        by_gains = predict_tracking(
            result.recording, best_arm, request.gains, kd, gravity=fit.gravity
        )
    by_laws = None
    if laws:
        with ProgressBar() as bar:
            by_laws = predict_laws(
                result.recording,
                best_arm,
                laws,
                gravity=fit.gravity,
                progress=bar.new_task('laws'),
            )
    return _Tracking(by_gains, by_laws)


def _exit_status(result: ReplayEvaluation, request: ReplayRequest) -> int:
    """
    Return the exit status.

    With --require it is 1 if the torque error E of the best model is larger, else 0. With
    --external alone it is 0, because an arm that is touched is what one looks for. Otherwise it is
    1 if the recording is not sound.
    """
    if request.require is not None:
        best = result.predictions[0]
        if best.error.E <= request.require:
            return 0
        echo(f'E is above the required {request.require:g} {best.error_unit.name}', style='red')
        return 1
    if request.external or result.verdict is None:
        return 0
    return 0 if result.verdict.sound else 1


def _print_tracking(tracking: _Tracking, choice: ArmChoice, arm: ArmDescription) -> None:
    """Print the predictions of tracking, if there are any, with the arm by which they are made."""
    if tracking.gains is not None or tracking.laws is not None:
        echo(f'Tracking is predicted with {choice.title(arm)}.')
    if tracking.gains is not None:
        print_rich(report.tracking_error_table(tracking.gains, arm))
        echo(report.TRACKING_CAVEAT)
    if tracking.laws is not None:
        _print_laws(tracking.laws, arm)


def _print_laws(laws: LawPrediction, arm: ArmDescription) -> None:
    """Print the laws' table, what a change of law does, and what the prediction assumes."""
    print_rich(report.law_table(laws, arm))
    echo_each(report.law_warnings(laws, arm), 'warning')
    if len(laws.law_names) > 1:
        echo(report.law_change_sentence(laws, arm), style='bold')
    echo(report.LAW_CAVEAT)


def _save_plots(
    folder: Path, result: ReplayEvaluation, tracking: TrackingPrediction | None
) -> list[Path]:
    """Save a plot of torques and, if given, of `tracking` errors; return the paths."""
    paths = [folder / 'torques.png']
    title = f'{Path(result.recording.source).name} on {result.predictions[0].arm.name}'
    report.plot_torques(result, title, paths[0])
    if tracking is not None:
        paths.append(folder / 'tracking.png')
        report.plot_tracking(tracking, result.predictions[0].arm, title, paths[1])
    return paths


def _print_result(result: ReplayEvaluation, fit: IdentificationOptions, show_all: bool) -> None:
    """Print the verdict and the torque errors of the best models, or of all if `show_all`."""
    predictions = result.predictions
    best = predictions[0]
    recording = result.recording
    verdict = result.verdict
    judgement = 'Too little motion to be judged.'
    if verdict is not None:
        judgement = verdict_headline(verdict)
    best_sentence = report.best_set_sentence(best, result.rival_predictions)
    echo(f'{judgement} {best_sentence}'.strip(), style='bold')
    if verdict is not None:
        names = best.arm.joint_names
        echo_each(verdict_lines(verdict, names, fit.effort_scales(len(names))))
    shown = predictions
    if not show_all:
        # The best and those that fit as well come first, as the sentence names them.
        named = (best, *result.rival_predictions)
        others = (prediction for prediction in predictions if prediction not in named)
        shown = (*named, *others)[:_MAX_SHOWN_PREDICTIONS]
    doubts = (
        f'{prediction.arm.inertial_set}: {doubt}'
        for prediction in shown
        for doubt in prediction.arm.inconsistencies()
    )
    echo_each(dict.fromkeys(doubts), 'warning')
    echo(report.samples_sentence(recording, result.motion))
    if rests := report.rest_sentence(best, result.motion):
        echo(rests, 'note')
    echo_each(result.motion.remarks, 'note')
    print_rich(report.set_error_table(shown), report.joint_table(shown, recording.joint_names))
    echo(f'{report.TORQUE_ERROR_DEFINITION}. {report.fit_quality_sentence(best)}')
    if len(shown) < len(predictions):
        more = f'{len(predictions) - len(shown)} more were tried and fit worse'
        echo(f'{more}; --all prints them, --json FILE writes them')
