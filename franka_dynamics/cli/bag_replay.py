# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics bag replay`: compare a recording's measured torques with the model's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
import shlex
from typing import TYPE_CHECKING

import numpy as np

from ._arm_options import suggest
from ._external import ExternalTorque
from ._options import file_option, folder_option, gravity_option, json_option
from ._recording_options import RecordingOptions
from ._say import ProgressBar, say, say_each, show, write_json
from ..arm import ArmDescription, available_hands, available_sets
from ..arm.arm_file import AS_LISTED, is_franka
from ..arm.hand_file import NO_HAND
from ..files import write_text
from ..options import option
from ..recordings.plausibility import require_radians, suspicions
from ..recordings.preprocessing import Motion, prepare
from ..recordings.recording import effort_scale_option, effort_scales, Recording
from ..typing import Array

if TYPE_CHECKING:
    from ..identification.verdict import Verdict
    from ..recordings.replay import ReplayFit

_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class Replay(RecordingOptions, ExternalTorque):
    """Compare a recording's measured torques with the model's, for each inertial set and hand."""

    bag: str = option('a rosbag2 folder, or one .mcap or .db3 file', 'BAG', positional=True)
    sets: tuple[str, ...] = option(
        'inertial sets to try (default: all of the arm file)', 'SET', flags=('--set',), default=()
    )
    hands: tuple[str, ...] = option(
        f'hands to try each set with: none, as_listed, {", ".join(available_hands())} or the path '
        'of a hand file (default: as_listed, none and, for a Franka arm, all shipped hands)',
        'HAND',
        flags=('--hand',),
        default=(),
    )
    gravity: tuple[float, float, float] = gravity_option()
    effort_scale: tuple[float, ...] = effort_scale_option()
    output: Path = folder_option('folder for plots', default=Path('replay_output'))
    all: bool = option('print all sets and hands, not only those that fit best', default=False)
    no_plots: bool = option('draw no plots', default=False)
    json: Path | None = json_option()
    learn: Path | None = file_option(
        "write the guard's bounds for this arm as a parameter file of the node; nobody may have"
        ' touched the arm in this recording'
    )
    require: float | None = option(
        'exit with 1 unless the error E of the best set is at most this [N m; percent of the '
        'limits if a joint is prismatic]',
        'E',
        default=None,
    )

    def run(self) -> int:
        """Print tables and verdict; return 1 only if the best set's error E is above --require."""
        from ..control.guard_replay import replay_guard
        from ..identification.options import IdentificationOptions
        from ..identification.sources import LEAST_S
        from ..identification.verdict import of_motion
        from ..recordings.replay import equally_good, fit_all, replay_columns
        from ..report.replay import guard_parameters, guard_sentence, replay_as_data

        if self.no_plots:
            self.refuse('--no-plots: the folder holds plots alone', 'output')
        if self.external is None:
            self.require_with('--external PATH', 'frame', 'tool_center')
        arms = self._candidates()
        model = IdentificationOptions(self.gravity).torque_model(arms[0])
        with ProgressBar() as bar:
            recording = self.read(self.bag, arms[0], bar)
            require_radians(recording, arms[0])
            recording = recording.scaled(self.effort_scale)
            # Beside those of a friction to be fitted, the torque of the arm file's friction, which
            # is the same for all candidates.
            of_file = replay_columns(arms[0].friction)

            def columns(q: Array, dq: Array) -> Array:
                return np.concatenate([model.friction.columns(q, dq), of_file(q, dq)], axis=-1)

            motion = prepare(recording, self.signal, columns=columns)
            warnings = suspicions(recording, arms[0])
            each = bar.track(arms, description='predicting')
            fits = fit_all(each, motion, gravity=self.gravity)
            guarded = replay_guard(
                fits[0].arm,
                recording.time,
                recording.q,
                recording.dq,
                recording.effort,
                gravity=self.gravity,
                progress=bar.follow('observing torques'),
            )
        others = equally_good(fits, motion)
        long_enough = recording.duration >= LEAST_S
        name = Path(recording.source).name
        # With the hand that fits best, as `identify arm` judges with the hand that it is told.
        alike = [one for one in arms if one.hand == fits[0].arm.hand]
        found = of_motion(motion, model, alike[0], alike, name) if long_enough else None
        say_each(warnings, 'warning')  # before the verdict, which warnings may make meaningless
        self._print(recording, motion, fits, others, found)
        say(guard_sentence(guarded, recording.joint_names))
        if self.learn is not None:
            write_text(self.learn, guard_parameters(guarded, recording.source))
            say(f"this arm's bounds: {self.learn}; give them to the node by --params-file")
        if self.json:
            data = replay_as_data(recording, motion, fits, others, warnings, found)
            figures = ('share', 'residual', 'watched', 'stopped')
            data['guard'] = {name: getattr(guarded, name) for name in figures}
            write_json(self.json, data)
        if self.external is not None:
            self.write_external(self.external, fits[0], recording, motion, self.gravity)
        if not self.no_plots:
            self._plot(recording, motion, fits)
        if self.require is not None and fits[0].filtered.E > self.require:
            say(f'E is above the required {self.require:g} {fits[0].unit.name}', style='red')
            return 1
        if long_enough:
            say('An arm file from this recording:')
            words = [self.bag, '--arm', self.arm, '--hand', fits[0].arm.hand]
            suggest(f'identify arm {shlex.join(words)} --output arm.yaml')
        return 0

    def _plot(self, recording: Recording, motion: Motion, fits: Sequence[ReplayFit]) -> None:
        """Write a plot of measured torques, the predictions of the best fit, and differences."""
        from ..report.replay import plot_torques

        title = f'{Path(recording.source).name} on {fits[0].arm.name}'
        path = self.output / 'torques.png'
        plot_torques(motion, fits, recording.joint_names, title, path)
        say(f'plot: {path}')

    def _candidates(self) -> list[ArmDescription]:
        """Return the arm with every combination of the sets and hands to try."""
        sets = self.sets or available_sets(self.arm)
        arm_name = self.load_arm(sets[0], AS_LISTED).name
        known = available_hands() if is_franka(arm_name) else ()
        return self.load_each(sets, self.hands or (AS_LISTED, NO_HAND, *known))

    def _print(
        self,
        recording: Recording,
        motion: Motion,
        fits: Sequence[ReplayFit],
        others: Sequence[ReplayFit],
        found: Verdict | None,
    ) -> None:
        from ..report.replay import best_sentence, E_IN_WORDS, joint_table, replay_table
        from ..report.verdict import headline, verdict_lines

        options, names = motion.options, fits[0].arm.joint_names
        said = 'Too short to be judged.' if found is None else headline(found)
        say(f'{said} {best_sentence(fits[0], others)}'.strip(), style='bold')
        if found is not None:
            scale = effort_scales(self.effort_scale, len(names))
            say_each(verdict_lines(found, names, scale))
        named = (fits[0], *others)
        ordered = (*named, *(one for one in fits if one not in named))
        shown = fits if self.all else ordered[:_SHOWN]
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
        show(replay_table(shown), joint_table(shown, recording.joint_names))
        show(E_IN_WORDS)
        if len(shown) < len(fits):
            say(
                f'{len(fits) - len(shown)} more were tried and fit worse; --all prints them, '
                '--json FILE writes them'
            )
