# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The work of `franka-dynamics demo`, which measures feedforward on two simulated arms."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from .choices import ArmChoice, require_installed, was_option_given
from .console import echo, echo_each, print_rich, ProgressBar
from .end_signals import catch_end_signals
from ..arm.arm_file import is_franka_arm
from ..demo import report as reports
from ..demo.controller_comparison import compare_controllers
from ..errors import IdentificationError, list_text
from ..recordings.recording import write_recording
from ..ros.clients.demo_session import DemoPlan, run_demo

_PLANT_BAG_NAME = 'plant_bag'
_SECOND_PART_TITLE = (
    'second part, an arm that differs from the model: inertias some 10 % off, friction, '
    'elastic gears, noise and an undeclared 0.2 kg'
)


def run_demonstration(choice: ArmChoice, output: Path, *, lockstep: bool) -> int:
    """
    Measure tracking over ROS 2 with an exact model, then an inexact one; return 1 if out of bound.

    Exit 1 if a figure is outside its bound or a process fails, 3 if the machine is too slow
    even with the simulated arm waiting for every torque.
    """
    needed = 'mujoco', 'rosbags', 'scipy', 'matplotlib', 'clarabel'
    require_installed(f'The demonstration needs {list_text(needed)}', 'sim,identify', *needed)
    if not was_option_given('hand') and is_franka_arm(choice.load().name):
        choice = replace(choice, hand='franka_hand')
    arm = choice.load()
    folder = output / datetime.now().strftime('%Y%m%d-%H%M%S')
    folder.mkdir(parents=True, exist_ok=True)
    plan = DemoPlan(arm, choice.node_parameters(folder), lockstep=lockstep)
    exact_bag = folder / 'bag'
    with catch_end_signals() as keep_running, ProgressBar() as bar:
        follow = bar.new_task('starting', 100.0)

        def show_progress(task: str, fraction: float) -> None:
            """Show the step and the share done; raise KeyboardInterrupt after a signal to end."""
            follow(100.0 * fraction, description=task)
            if not keep_running():
                echo(f'logs: {folder}')
                raise KeyboardInterrupt

        session = run_demo(plan, folder, show_progress, lambda note: echo(note, 'note'))
        show_progress('writing the recording', 0.0)
        write_recording(session.recording, exact_bag)
        (folder / 'steps').unlink()
        metrics = reports.demo_metrics(session.recording, session.hold_interval, session.motions)
        report = reports.demo_report(metrics, session)
        show_progress('drawing', 0.8)
        reports.plot_exact_model_run(metrics, session.recording, folder / 'demo.png')
        second = _simulate_inexact_model(plan, folder, show_progress)
        reports.write_demo_json(report, session.timing, second, folder / 'demo.json')
    exact = f'{arm.name} ({arm.inertial_set}) in MuJoCo, plant = model, over DDS'
    print_rich(report.table(exact))
    echo(report.caption)
    echo_each(report.errors, 'error')
    if second.rows:
        print_rich(second.table(_SECOND_PART_TITLE))
    echo(f'figures, pictures, bags and logs: {folder}')
    return 0 if report.passed and second.passed else 1


def _simulate_inexact_model(
    plan: DemoPlan, folder: Path, progress: Callable[[str, float], None]
) -> reports.DemoReport:
    """Write bag and plot of an arm unlike its model; return a report, empty if impossible."""
    motion = plan.motion_duration, plan.amplitude
    try:
        recording, errors = compare_controllers(plan.arm, *motion, on_progress=progress)
    except IdentificationError as error:  # such as too little room about home
        echo(f'no second part: {error}', 'note')
        return reports.DemoReport(())
    write_recording(recording, folder / _PLANT_BAG_NAME)
    reports.plot_inexact_model_errors(errors, folder / 'inexact_model.png')
    return reports.inexact_model_report(errors)
