# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics bag replay`: compare a recording's measured torques with the model's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ._command import refuse, require_with
from ._next import next_command
from ._options import ArmChoice, BagReader
from ._say import ProgressBar, say, say_each, show, suggest, write_json
from ..arm import ArmDescription, available_sets
from ..arm.arm_file import is_franka
from ..control.external_wrench import WrenchEstimator
from ..control.guard_replay import replay_guard
from ..dynamics.pinocchio_model import PinocchioModel
from ..files import write_text
from ..identification.options import IdentificationOptions
from ..identification.sources import LEAST_S
from ..identification.verdict import of_motion, Verdict
from ..names import AS_LISTED, NO_HAND
from ..recordings.options import SignalOptions
from ..recordings.plausibility import require_units, suspicions
from ..recordings.preprocessing import Motion, prepare, seconds_at_rest
from ..recordings.recording import effort_scales, Recording
from ..recordings.replay import equally_good, fit_all, replay_columns, ReplayFit
from ..report import replay as report
from ..report.external import write_external
from ..report.verdict import headline, verdict_lines
from ..typing import Array

_SHOWN = 3
_HAND = 'franka_hand'


def run(
    bag: str,
    arm: ArmChoice,
    reader: BagReader,
    signal: SignalOptions,
    *,
    sets: tuple[str, ...],
    hands: tuple[str, ...],
    gravity: tuple[float, float, float],
    effort_scale: tuple[float, ...],
    output: Path,
    all: bool,
    no_plots: bool,
    json: Path | None,
    external: Path | None,
    frame: str,
    tool_center: tuple[float, float, float],
    learn: Path | None,
    require: float | None,
) -> int:
    """Print tables and verdict; return 1 only if the best set's error E is above --require."""
    if no_plots:
        refuse('--no-plots: the folder holds plots alone', 'output')
    if external is None:
        require_with('--external PATH', 'frame', 'tool_center')
    arm = reader.arm_of(bag, arm)
    arms = _candidates(arm, sets, hands)

    def estimator(candidate: ArmDescription) -> WrenchEstimator:
        number = int(frame) if frame.isdigit() else frame
        return WrenchEstimator(PinocchioModel(candidate, gravity), number, tool_center)

    if external is not None:
        estimator(arms[0])  # refuses an impossible point before the bag is read
    model = IdentificationOptions(gravity).torque_model(arms[0])
    with ProgressBar() as bar:
        recording = reader.read(bag, arms[0], bar)
        recording = recording.scaled(effort_scale)
        require_units(recording, arms[0])
        # Beside those of a friction to be fitted, the torque of the arm file's friction, which
        # is the same for all candidates.
        of_file = replay_columns(arms[0].friction)

        def columns(q: Array, dq: Array) -> Array:
            return np.concatenate([model.friction.columns(q, dq), of_file(q, dq)], axis=-1)

        motion = prepare(recording, signal, columns=columns)
        warnings = suspicions(recording, arms[0])
        each = bar.track(arms, description='predicting')
        fits = fit_all(each, motion, gravity=gravity)
        guarded = replay_guard(
            fits[0].arm,
            recording.time,
            recording.q,
            recording.dq,
            recording.effort,
            gravity=gravity,
            progress=bar.follow('observing torques'),
        )
    others = equally_good(fits, motion)
    long_enough = recording.duration - seconds_at_rest(motion) >= LEAST_S
    name = Path(recording.source).name
    # Starts from the hand that fits best; `identify arm` starts from the hand of its options.
    alike = [one for one in arms if one.hand == fits[0].arm.hand]
    found = of_motion(motion, model, alike[0], alike, name) if long_enough else None
    say_each(warnings, 'warning')  # before the verdict, which warnings may make meaningless
    _print(recording, motion, fits, others, found, effort_scale, all)
    say(report.guard_sentence(guarded, recording.joint_names))
    if learn is not None:
        write_text(learn, report.guard_parameters(guarded, recording.source))
        say(f"this arm's bounds: {learn}; give them to the node by --params-file")
    if json:
        data = report.replay_as_data(recording, motion, fits, others, warnings, found)
        figures = ('share', 'residual', 'watched', 'stopped')
        data['guard'] = {name: getattr(guarded, name) for name in figures}
        write_json(json, data)
    if external is not None:
        about = {
            'payload': arm.payload or 'none',
            'gravity': ' '.join(f'{value:g}' for value in gravity),
            'wrench': 'force [N] and moment [N m] that the arm exerts on its surroundings, axes '
            f'of the base, at {frame} + ({", ".join(f"{value:g}" for value in tool_center)}) m',
        }
        best = fits[0], recording, motion, estimator(fits[0].arm)
        say(write_external(external, *best, about))
    if not no_plots:
        path, title = output / 'torques.png', f'{name} on {fits[0].arm.name}'
        report.plot_torques(motion, fits, recording.joint_names, title, path)
        say(f'plot: {path}')
    if require is not None and fits[0].filtered.E > require:
        say(f'E is above the required {require:g} {fits[0].unit.name}', style='red')
        return 1
    if long_enough:
        say('An arm file from this recording:')
        # It starts from the hand that fits best, and from one set.
        chosen = replace(
            arm, hand=fits[0].arm.hand, inertial_set=sets[0] if len(sets) == 1 else None
        )
        suggest(next_command('identify arm', bag, '--output', 'arm.yaml', arm=chosen))
    return 0


def _candidates(arm: ArmChoice, sets: Sequence[str], hands: Sequence[str]) -> list[ArmDescription]:
    """Return the arm with every combination of the sets and hands to try."""
    sets = sets or available_sets(arm.arm)
    if hands:
        return arm.load_each(sets, hands)
    # Not the older descriptions of the hand: the heavier ones would take the place of a load.
    hands = (_HAND,) if is_franka(arm.load(sets[0], AS_LISTED).name) else ()
    return arm.load_each(sets, (AS_LISTED, NO_HAND, *hands))


def _print(
    recording: Recording,
    motion: Motion,
    fits: Sequence[ReplayFit],
    others: Sequence[ReplayFit],
    found: Verdict | None,
    effort_scale: tuple[float, ...],
    all: bool,
) -> None:
    options, names = motion.options, fits[0].arm.joint_names
    said = 'Too little motion to be judged.' if found is None else headline(found)
    say(f'{said} {report.best_sentence(fits[0], others)}'.strip(), style='bold')
    if found is not None:
        scale = effort_scales(effort_scale, len(names))
        say_each(verdict_lines(found, names, scale))
    named = (fits[0], *others)
    ordered = (*named, *(one for one in fits if one not in named))
    shown = fits if all else ordered[:_SHOWN]
    suspicious = (
        f'{one.arm.inertial_set}: {sentence}'
        for one in shown
        for sentence in one.arm.inconsistencies()
    )
    say_each(dict.fromkeys(suspicious), 'warning')
    say(
        f'{recording.source}, {recording.topic}: {len(recording)} messages in '
        f'{recording.duration:.1f} s; compared are {len(motion)} samples at {options.rate:g} '
        f'Hz, cut-off {options.cutoff:g} Hz, {options.trim:g} s trimmed at each end'
    )
    say_each(motion.remarks, 'note')
    show(report.replay_table(shown), report.joint_table(shown, recording.joint_names))
    show(report.E_IN_WORDS)
    if len(shown) < len(fits):
        say(
            f'{len(fits) - len(shown)} more were tried and fit worse; --all prints them, '
            '--json FILE writes them'
        )
