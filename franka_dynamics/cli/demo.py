# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics demo`: measure torque feedforward on two simulated arms; needs no display."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
import shlex

from ._interrupts import until_interrupted
from ._say import ProgressBar, say, say_each, show, suggest
from .single_verbs import Demo
from ..errors import IdentificationError, OutputError
from ..recordings.recording import write_recording
from ..report.demo import demo_report, DemoReport, draw, draw_inexact, inexact_report, write_json
from ..ros.demo import DemoPlan, run_session
from ..simulation.demo_figures import demo_figures
from ..simulation.model_trial import run_trial


def run(given: Demo) -> int:
    """
    Run the demonstration and print the tables.

    Exit 1 if a figure is outside its bound or a process fails, 3 if the machine is too slow
    even with the simulated arm waiting for every torque.
    """
    description = given.load_arm()
    plan = DemoPlan(description, given.node_parameters())
    folder = given.output / datetime.now().strftime('%Y%m%d-%H%M%S')
    try:
        folder.mkdir(parents=True)
    except OSError as error:
        raise OutputError(
            f'{folder} cannot be made: {error.strerror}. Choose another place with --output.'
        ) from error
    return _run(given, plan, folder)


def _run(given: Demo, plan: DemoPlan, folder: Path) -> int:
    """Run the demo with an exact and an inexact model, show both; return the exit status."""
    arm = plan.arm
    with until_interrupted() as unasked, ProgressBar() as bar:
        follow = bar.follow('starting', 100.0)

        def progress(text: str, share: float) -> None:
            follow(100.0 * share, description=text)
            if not unasked():
                say(f'logs: {folder}')
                raise KeyboardInterrupt

        session = run_session(plan, folder, progress)
        progress('writing the recording', 0.0)
        write_recording(session.steps, folder / 'bag')
        (folder / 'steps').unlink()
        figures = demo_figures(session.steps, session.hold, session.motions)
        report = demo_report(
            figures, session.rates, session.residual, session.errors, failed=session.failed
        )
        progress('drawing', 0.8)
        draw(figures, arm.joint_names, folder / 'demo.png')
        second = DemoReport(())
        try:
            recording, errors = run_trial(arm, plan.motion, plan.amplitude, progress=progress)
        except IdentificationError:  # the home pose has too little room about it
            pass
        else:
            write_recording(recording, folder / 'plant_bag')
            second = inexact_report({name: error for name, (_, error) in errors.items()})
            draw_inexact(errors, folder / 'inexact_model.png')
        write_json(report, session.rates, second, folder / 'demo.json')
    busy = session.rates.too_busy
    _show(report, second, busy, f'{arm.name} ({arm.inertial_set})')
    say(f'figures, pictures, bags and logs: {folder}')
    _suggest(given, folder)
    return 0 if report.passed and second.passed else 1


def _suggest(given: Demo, folder: Path) -> None:
    """Print commands to try next."""
    arm_given, arm_file = given.arm_as_given(), shlex.quote(str(folder / 'arm.yaml'))
    bag = next(one for one in (folder / 'plant_bag', folder / 'bag') if one.exists())
    say('now try', style='bold')
    suggest(
        f'sim {arm_given}',
        f'bag replay {shlex.quote(str(bag))} {arm_given}',
        f'identify arm {shlex.quote(str(bag))} {arm_given} --anyway --output {arm_file}',
        f'arm check {arm_given}',
        'doctor',
    )


def _show(report: DemoReport, second: DemoReport, too_busy: str, arm: str) -> None:
    """Print the results with an exact and an inexact model; say if the machine was too busy."""
    show(report.table(f'{arm} in MuJoCo, plant = model, torques over DDS'))
    say(report.caption)
    say_each(report.errors, 'error')
    if too_busy:
        say(
            f'this machine is too busy for 1 kHz: {too_busy}. So the first part '
            'ran again with simulated time waiting for each torque; end other work to run it '
            'in real time.',
            'note',
        )
    if not second.rows:
        say(
            'the second part is left out, because the arm has too little room about its home pose '
            'for a motion that identifies it; set another home in the arm file.',
            'note',
        )
        return
    show(
        second.table(
            'second part, an arm that differs from the model: inertias some 10 % off, friction, '
            'elastic gears, noise and an undeclared 0.2 kg'
        )
    )
    if too_busy:
        say(
            'The second part always computes one torque for each simulation step, so a busy '
            'machine makes it slower but does not change its figures.',
            'note',
        )
