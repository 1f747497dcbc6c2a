# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The work of `franka-dynamics bag replay`, which compares measured and modelled torques."""

from pathlib import Path

from .choices import ArmChoice, BagReader, forbid_options, Options, require_installed
from .console import echo, echo_each, print_rich, ProgressBar, write_json
from ..identification.options import IdentificationOptions
from ..identification.tracking import predict_tracking, TrackingPrediction
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
    """Print tables and verdict; return 1 if the best model's torque error E exceeds --require."""
    if options.no_plots:
        forbid_options('--no-plots: the folder holds plots alone', 'output')
    else:
        require_installed('Plots need matplotlib', 'replay', 'matplotlib')
    arm = reader.arm_in_bag(options.bag, arm)
    arms = arm.load_sets_and_hands(options.sets, options.hands)
    with ProgressBar() as bar:
        recording = reader.read_recording(options.bag, arms[0], bar)
        result = evaluate_replay(recording, arms, signal, fit)
    best = result.predictions[0]
    tracking = None
    if options.gains:
        tracking = predict_tracking(result.recording, arms[0], options.gains, gravity=fit.gravity)
    if options.json:
        write_json(options.json, {**report.replay_as_data(result), 'tracking': tracking})
    if options.external:
        echo(report.save_external_torque(options.external, result, list(fit.gravity)))
    plots = [] if options.no_plots else _save_plots(options.output, result, tracking)
    echo_each(result.warnings, 'warning')  # before the verdict, which these may make meaningless
    _print_result(result, fit, options.everything)
    if tracking is not None:
        print_rich(report.tracking_error_table(tracking))
        echo(f'{report.TRACKING_CAVEAT}.')
    echo_each(f'plot: {path}' for path in plots)
    if options.require is not None and best.error.E > options.require:
        echo(
            f'E is above the required {options.require:g} {best.error_unit.name}',
            style='red',
        )
        return 1
    return 0


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
    echo_each(result.motion.remarks, 'note')
    print_rich(report.set_error_table(shown), report.joint_table(shown, recording.joint_names))
    echo(f'{report.TORQUE_ERROR_DEFINITION}. {report.fit_quality_sentence(fits[0])}')
    if len(shown) < len(fits):
        more = f'{len(fits) - len(shown)} more were tried and fit worse'
        echo(f'{more}; --all prints them, --json FILE writes them')
