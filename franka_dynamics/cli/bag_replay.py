# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The work of `franka-dynamics bag replay`, which compares measured and modelled torques."""

from dataclasses import replace
from pathlib import Path

import click

from .choices import (
    ArmChoice,
    BagReader,
    forbid_options,
    forbid_without,
    Options,
    require_installed,
)
from .console import echo, echo_each, print_rich, ProgressBar, write_json
from ..arm import ArmDescription
from ..constants import GAINS_LAW_NAME
from ..identification.law_tracking import LawPrediction, predict_laws
from ..identification.laws import tracking_law, TrackingLaw
from ..identification.options import IdentificationOptions
from ..identification.tracking import pd_gains, predict_tracking, TrackingPrediction
from ..identification.verdict import evaluate_replay, ReplayEvaluation
from ..recordings.options import SignalOptions
from ..report import replay as report

_MAX_SHOWN_PREDICTIONS = 3


def run(
    arm: ArmChoice,
    reader: BagReader,
    signal: SignalOptions,
    fit: IdentificationOptions,
    options: Options,
) -> int:
    """
    Print tables and verdict; return 1 if the recording is not sound.

    With --require the best model's torque error E decides alone. With --external the verdict does
    not count, because an arm that is touched is what one looks for.
    """
    if options.no_plots:
        forbid_options('--no-plots: the folder holds plots alone', 'output')
    else:
        require_installed('Plots need matplotlib', 'replay', 'matplotlib')
    if not options.laws:
        forbid_without('--law', 'policy_rate', 'latency', 'target_filter')
    if not options.gains:
        forbid_without('--gains', 'damping')
        if GAINS_LAW_NAME in options.laws:
            raise click.UsageError('--law gains needs --gains; add it, or name another law.')
    arm = reader.arm_in_bag(options.bag, arm)
    arms = arm.load_sets_and_hands(options.sets, options.hands)
    with ProgressBar() as bar:
        recording = reader.read_recording(options.bag, arms[0], bar)
        result = evaluate_replay(recording, arms, signal, fit)
    best = result.predictions[0]  # tracking is predicted with it, too
    tracking = None
    if options.gains:
        kd = options.damping or None
        tracking = predict_tracking(
            result.recording, best.arm, options.gains, kd, gravity=fit.gravity
        )
    laws = None
    if options.laws:
        with ProgressBar() as bar:
            laws = predict_laws(
                result.recording,
                best.arm,
                _chosen_laws(options, best.arm),
                gravity=fit.gravity,
                progress=bar.new_task('laws'),
            )
    if options.json:
        data = {**report.replay_as_data(result), 'tracking': tracking, 'laws': laws}
        write_json(options.json, data)
    if options.external:
        echo(report.save_external_torque(options.external, result, list(fit.gravity)))
    plots = [] if options.no_plots else _save_plots(options.output, result, tracking)
    echo_each(result.warnings, 'warning')  # before the verdict, which these may make meaningless
    _print_result(result, fit, options.everything)
    if tracking is not None or laws is not None:
        echo(f'Tracking is predicted with {arm.title(best.arm)}.')
    if tracking is not None:
        print_rich(report.tracking_error_table(tracking))
        echo(f'{report.TRACKING_CAVEAT}.')
    if laws is not None:
        _print_laws(laws)
    echo_each(f'plot: {path}' for path in plots)
    if options.require is not None:
        if best.error.E <= options.require:
            return 0
        echo(f'E is above the required {options.require:g} {best.error_unit.name}', style='red')
        return 1
    unsound = result.verdict is not None and not result.verdict.sound
    return 1 if unsound and not options.external else 0


def _chosen_laws(options: Options, arm: ArmDescription) -> list[TrackingLaw]:
    """Return the laws of --law; the last has the rate, latency and filter that were given."""
    laws = []
    for name in options.laws:
        if name == GAINS_LAW_NAME:
            kp, kd = pd_gains(options.gains, options.damping or None, arm)
            law = TrackingLaw(name, kp=tuple(kp), kd=tuple(kd), has_target_velocity=True)
        else:
            law = tracking_law(name)
        laws.append(law)
    given = {
        'target_rate': options.policy_rate,
        'latency': options.latency,
        'filter_cutoff': options.target_filter,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    laws[-1] = replace(laws[-1], **changes)
    return laws


def _print_laws(laws: LawPrediction) -> None:
    """Print the laws' table, what a change of law does, and what the prediction assumes."""
    print_rich(report.law_table(laws))
    echo_each(report.law_warnings(laws), 'warning')
    if len(laws.law_names) > 1:
        echo(report.law_change_sentence(laws), style='bold')
    echo(f'{report.LAW_CAVEAT}.')


def _save_plots(
    folder: Path, result: ReplayEvaluation, tracking: TrackingPrediction | None
) -> list[Path]:
    """Save a plot of torques and, if given, of `tracking` errors; return the paths."""
    paths = [folder / 'torques.png']
    title = f'{Path(result.recording.source).name} on {result.predictions[0].arm.name}'
    report.plot_torques(result, title, paths[0])
    if tracking is not None:
        paths.append(folder / 'tracking.png')
        report.plot_tracking(tracking, title, paths[1])
    return paths


def _print_result(result: ReplayEvaluation, fit: IdentificationOptions, show_all: bool) -> None:
    """Print the verdict and the torque errors of the best models, or of all if `show_all`."""
    fits = result.predictions
    recording = result.recording
    verdict = result.verdict
    judgement = 'Too little motion to be judged.'
    if verdict is not None:
        judgement = report.verdict_headline(verdict)
    best = report.best_set_sentence(fits[0], result.rival_predictions)
    echo(f'{judgement} {best}'.strip(), style='bold')
    if verdict is not None:
        names = fits[0].arm.joint_names
        echo_each(report.verdict_lines(verdict, names, fit.effort_scales(len(names))))
    named = (fits[0], *result.rival_predictions)
    ordered = (*named, *(one for one in fits if one not in named))
    shown = fits if show_all else ordered[:_MAX_SHOWN_PREDICTIONS]
    arms = [one.arm for one in shown]
    doubts = (f'{arm.inertial_set}: {one}' for arm in arms for one in arm.inconsistencies())
    echo_each(dict.fromkeys(doubts), 'warning')
    echo(report.samples_sentence(recording, result.motion))
    if rests := report.rest_sentence(fits[0], result.motion):
        echo(rests, 'note')
    echo_each(result.motion.remarks, 'note')
    print_rich(report.set_error_table(shown), report.joint_table(shown, recording.joint_names))
    echo(f'{report.TORQUE_ERROR_DEFINITION}. {report.fit_quality_sentence(fits[0])}')
    if len(shown) < len(fits):
        more = f'{len(fits) - len(shown)} more were tried and fit worse'
        echo(f'{more}; --all prints them, --json FILE writes them')
