# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics bag replay`: a recording's measured torques against the model's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ._options import (
    file_option,
    folder_option,
    gravity_option,
    json_option,
)
from ._recording_options import (
    progress_bar,
    RecordingOptions,
)
from ._say import say, terminal, write_json
from ..arm import ArmDescription, available_hands, available_sets
from ..arm.arm_file import AS_LISTED
from ..arm.hand_file import NO_HAND
from ..arm.shapes import FRANKA_ARMS
from ..files import write_text
from ..options import option

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

    from ..control.contact import ContactReplay
    from ..recordings.mounted import MountedVerdict
    from ..recordings.preprocessing import Motion
    from ..recordings.recording import Recording
    from ..recordings.replay import Fit

_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class Replay(RecordingOptions):
    """Compare a recording's measured torques with the model's, set by set."""

    bag: str = option('a rosbag2 folder, or one .mcap or .db3 file', 'BAG', positional=True)
    sets: tuple[str, ...] = option(
        'inertial sets to try (default: all of the arm file)', 'SET', flags=('--set',), default=()
    )
    hands: tuple[str, ...] = option(
        f'hands to try each set with: none, as_listed, {", ".join(available_hands())} or the path '
        'of a hand file (default: none and, for a Franka arm, all shipped hands)',
        'HAND',
        flags=('--hand',),
        default=(),
    )
    gravity: tuple[float, float, float] = gravity_option('base')
    output: Path = folder_option('where plots go', default=Path('replay_output'))
    all: bool = option(
        'print every set and hand that was tried, not those that fit best', default=False
    )
    no_plots: bool = option('draw nothing', default=False)
    json: Path | None = json_option()
    effort_scale: tuple[float, ...] = option(
        'what one unit of effort is, for all joints or joint by joint, where it is no N '
        'm, such as the N m per A that identify finds, or -1 for the other sign',
        'NM_PER_UNIT',
        default=(),
    )
    contact: bool = option(
        "run the node's contact detection over the recording with the set that fits best,"
        ' and print its alarms',
        default=False,
    )
    learn: Path | None = file_option(
        "with --contact, for a recording that nobody touched: write the node's thresholds"
        ' for this arm as a parameter file'
    )
    require: float | None = option(
        'exit with 1 unless the best E is at most this [N m]', 'E', default=None
    )

    def run(self) -> int:
        """Print the table and the verdicts; exit 1 only if a required E is missed."""
        from ..recordings.mounted import judge_mounted
        from ..recordings.plausibility import suspicions
        from ..recordings.preprocessing import prepare
        from ..recordings.replay import fit_all, replay_columns
        from ..report.replay import (
            alike,
            contact_as_data,
            contact_lines,
            contact_parameters,
            replay_as_data,
        )

        if self.no_plots:
            self.refuse('--no-plots: the folder holds plots alone', 'output')
        if not self.contact:
            self.refuse('anything but --contact', 'learn')
        console = terminal()
        arms = _candidates(self)
        with progress_bar(console) as bar:
            recording = self.read(self.bag, arms[0], bar)
            if self.effort_scale:
                recording = recording.scaled(self.effort_scale)
            warnings = suspicions(recording, arms[0], gravity=self.gravity)
            # Friction belongs to the arm file, so all of its sets have the same.
            motion = prepare(recording, self.signal, columns=replay_columns(arms[0].friction))
            each = bar.track(arms, description='predicting')
            fits = fit_all(each, motion, gravity=self.gravity)
            found = _contact(self, recording, fits[0].arm, bar) if self.contact else None
        mounted = judge_mounted(fits, motion, gravity=self.gravity)
        others = alike(fits, motion, mounted)
        _print(console, recording, motion, fits, others, warnings, mounted, self.all)
        if found is not None:
            for line in contact_lines(found, fits[0].arm, recording.joint_names):
                say(console, line)
            if self.learn is not None:
                write_text(self.learn, contact_parameters(found, recording.source))
                say(
                    console,
                    f"this arm's thresholds: {self.learn}; give it to the node by --params-file",
                )
        if self.json:
            data = replay_as_data(recording, motion, fits, others, warnings, mounted)
            if found is not None:
                data['contact'] = contact_as_data(found, recording.joint_names)
            write_json(self.json, data)
        if not self.no_plots:
            _plot(self.output, recording, motion, fits)
            say(console, f'plot: {self.output}/torques.png')
        if self.require is not None and fits[0].whole.whole > self.require:
            say(console, f'E is above the required {self.require:g} N m', style='red')
            return 1
        return 0


def _contact(
    arguments: Replay, recording: Recording, arm: ArmDescription, bar: Progress
) -> ContactReplay:
    from ..control.contact import replay_contact

    task = bar.add_task('watching for contact', total=len(recording))
    return replay_contact(
        arm,
        recording.time,
        recording.q,
        recording.dq,
        recording.effort,
        gravity=arguments.gravity,
        progress=lambda done, total: bar.update(task, completed=done),
    )


def _candidates(arguments: Replay) -> list[ArmDescription]:
    """Return each set with each hand once."""
    sets = arguments.sets or available_sets(arguments.arm)
    arm_name = arguments.load_arm(sets[0], AS_LISTED).name
    known = available_hands() if arm_name in FRANKA_ARMS else ()
    hands = arguments.hands or (AS_LISTED, NO_HAND, *known)
    every = [arguments.load_arm(one, hand) for one in sets for hand in hands]
    return list({(arm.inertial_set, arm.hand): arm for arm in every}.values())


def _print(
    console: Console,
    recording: Recording,
    motion: Motion,
    fits: tuple[Fit, ...],
    others: Sequence[Fit],
    warnings: tuple[str, ...],
    mounted: MountedVerdict,
    every: bool,
) -> None:
    from ..report.replay import E_IN_WORDS, joint_table, replay_table, verdict

    options = motion.options
    for sentence in warnings:  # before a verdict that they may make meaningless
        say(console, sentence, 'warning')
    say(console, verdict(fits[0], others), style='bold')
    if mounted.sentence:
        say(console, mounted.sentence)
    named = (fits[0], *others)
    ordered = (*named, *(one for one in fits if one not in named))
    shown = fits if every else ordered[: max(_SHOWN, len(named))]
    for inertial_set, sentence in _inconsistencies(shown):
        say(console, f'{inertial_set}: {sentence}', 'warning')
    say(
        console,
        f'{recording.source}, {recording.topic}: {len(recording)} messages in '
        f'{recording.duration:.1f} s; compared are {len(motion)} samples at {options.rate:g} Hz, '
        f'cut-off {options.cutoff:g} Hz, {options.trim:g} s trimmed at each end',
    )
    for sentence in motion.remarks:
        say(console, sentence, 'note')
    console.print(replay_table(shown), joint_table(shown, recording.joint_names))
    console.print(E_IN_WORDS)
    if len(shown) < len(fits):
        say(
            console,
            f'{len(fits) - len(shown)} more were tried and fit worse; --all prints them, --json '
            'FILE writes them',
        )


def _inconsistencies(fits: tuple[Fit, ...]) -> dict[tuple[str, str], None]:
    """Return what is not physical about the sets tried, each sentence once."""
    return dict.fromkeys(
        (one.arm.inertial_set, sentence) for one in fits for sentence in one.arm.inconsistencies()
    )


def _plot(folder: Path, recording: Recording, motion: Motion, fits: tuple[Fit, ...]) -> None:
    from ..report.replay import plot_torques

    title = f'{Path(recording.source).name} on {fits[0].arm.name}'
    plot_torques(motion, fits, recording.joint_names, title, folder / 'torques.png')
