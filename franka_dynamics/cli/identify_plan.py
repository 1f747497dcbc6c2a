# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics identify plan`: plan an identification motion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
import shlex
from typing import TYPE_CHECKING

import numpy as np
import yaml

from ._arm_options import ArmOptions, this_command
from ._options import file_option, gravity_option
from ._recording_options import BagNames
from ._say import ProgressBar, say, show
from ..arm import ArmDescription
from ..errors import IdentificationError
from ..files import write_text
from ..identification.excitation_problem import ExcitationLimits, ExcitationProblem
from ..options import option
from ..report.table import Head, Table

if TYPE_CHECKING:
    from ..identification.excitation import Excitation
    from ..typing import Array

_POINTS_PER_S = 25.0
_DRAW_S, _STEP_S = 0.05, 0.27  # processor seconds for a random motion and for an iteration
_FEWEST, _MOST = 10, 200  # range of repetitions if their number is not given


@dataclass(frozen=True, kw_only=True)
class Plan(ExcitationLimits, BagNames, ArmOptions):
    """Compute a trajectory for identification, within the arm's limits and above the table."""

    gravity: tuple[float, float, float] = gravity_option()
    output: Path = file_option(
        'trajectory_msgs/JointTrajectory as YAML', default=Path('excitation.yaml')
    )
    period: float = option('duration of the motion [s]', 'S', default=10.0)
    repetitions: int | None = option(
        'how often the motion will be recorded (default: until every base parameter that '
        f'matters is identifiable, {_FEWEST} to {_MOST} times)',
        'N',
        default=None,
        least=1,
    )
    given: tuple[str, ...] = option(
        'bags that were recorded before; the motion is planned for the parameters that they leave '
        'uncertain',
        'BAG',
        default=(),
    )
    start: tuple[float, ...] = option(
        "pose at the start and the end (default: the arm file's home)", 'RAD', default=()
    )
    draws: int = option(
        'number of random trajectories; the optimisation starts from the best one',
        'N',
        default=100,
        least=1,
    )
    iterations: int = option(
        'largest number of iterations of the optimisation', 'N', default=300, least=1
    )

    def run(self) -> int:
        """Write the trajectory; exit 1 if needed parameters stay unknown."""
        arm = self.load_arm()
        found, repetitions = self._optimise(arm)
        identifiable = self._print(arm, found, repetitions)
        time = np.linspace(0.0, self.period, round(self.period * _POINTS_PER_S) + 1)
        text = _trajectory_yaml(arm.joint_names, time, *found.trajectory.at(time))
        write_text(self.output, text)
        say(
            f'trajectory: {self.output}; play it with\n'
            f'  {this_command()} node play {shlex.quote(str(self.output))}\n'
            'or, where ROS 2 is installed, with\n  ros2 topic pub --once '
            '/feedforward/reference trajectory_msgs/msg/JointTrajectory '
            f'"$(cat {shlex.quote(str(self.output))})"'
        )
        return 0 if identifiable else 1

    def _problem(self, arm: ArmDescription) -> ExcitationProblem:
        return ExcitationProblem(
            arm,
            self.part(ExcitationLimits),
            self.gravity,
            duration=(self.repetitions or _FEWEST) * self.period,
        )

    def _optimise(self, arm: ArmDescription) -> tuple[Excitation, int]:
        """Optimise the motion; return it with the number of repetitions to record."""
        from ..identification.excitation import optimise, repeated
        from ..identification.excitation_problem import bag_information
        from ..recordings.preprocessing import prepare

        start = self.start or arm.home
        if start is None:
            raise IdentificationError(f'{arm.name} has no home pose; give one with --start.')
        problem = self._problem(arm)
        with ProgressBar() as bar:
            motions = [prepare(self.read(bag, arm, bar)) for bag in self.given]
            if motions:
                known = np.sum([bag_information(problem, one) for one in motions], axis=0)
                problem = replace(problem, known=known)
            # _DRAW_S and _STEP_S were measured on an AMD EPYC for seven joints.
            seconds = (arm.n / 7.0) ** 3 * (_DRAW_S * self.draws + _STEP_S * self.iterations)
            say(
                f'planning: {self.draws} random motions, then at most {self.iterations} '
                f'steps from the best, about {seconds:.0f} s of one processor'
            )
            found = optimise(
                problem,
                start,
                period=self.period,
                draws=self.draws,
                iterations=self.iterations,
                progress=bar.follow('planning'),
            )
        if self.repetitions is not None:
            return found, self.repetitions
        return repeated(problem, found, _FEWEST, _MOST)

    def _print(self, arm: ArmDescription, found: Excitation, repetitions: int) -> bool:
        """Print which base parameters stay unknown; return False if one of them matters."""
        from ..identification.excitation_problem import IDENTIFIABLE
        from ..report.elements import rounded

        problem = self._problem(arm)
        names, values = problem.model.base.names, problem.model.base.values(arm)
        unknown = found.left_open > IDENTIFIABLE
        missing = problem.not_known(found.deviations)
        left = problem.torques_left(found.deviations)
        times = f'{repetitions} repetitions of {self.period:g} s'
        given = f', and the {len(self.given)} given bags' if self.given else ''
        say(
            f'After {times} ({repetitions * self.period / 60.0:.1f} minutes){given} '
            f'{np.count_nonzero(~unknown)} of {len(names)} base parameters are identifiable; a '
            f"standard deviation is at most {found.left_open.max():.0%} of the prior's (masses "
            f'100 %, others in proportion). Random motions within the same limits '
            f'({len(found.random_worst)} of them) reach {found.random_worst.min():.0%} to '
            f'{found.random_worst.max():.0%} after {self.repetitions or _FEWEST} repetitions.'
        )
        if unknown.any():
            rows = [
                (
                    names[k],
                    *rounded(values[k], found.deviations[k]),
                    found.left_open[k],
                    left[k],
                    'NOT identifiable' if missing[k] else 'not needed',
                )
                for k in np.flatnonzero(unknown)
            ]
            heads = (
                *('parameter', 'start', 'deviation', Head("of the prior's", form='.0%')),
                *(Head('torque, of the noise', form='.2g'), ''),
            )
            title = f'predicted standard deviations after {times}{given}'
            show(Table(title, heads, rows))
        if missing.any():
            say(
                f'{np.count_nonzero(missing)} that matter are NOT identifiable: move more '
                '(--fraction, --period), repeat it more often (--repetitions), or plan a second '
                'motion with the bag of this one (--given).'
            )
        return not missing.any()


def _trajectory_yaml(joint_names: Sequence[str], time: Array, *states: Array) -> str:
    """
    Return a trajectory message as YAML, from times (N,) [s] and `states` (N, n).

    `states` are positions [rad], velocities [rad/s] and accelerations [rad/s^2].
    """
    fields = ('positions', 'velocities', 'accelerations')
    stamps = np.round(time * 1e9).astype(np.int64).tolist()
    points = [
        dict(zip(fields, rows))
        | {'time_from_start': dict(zip(('sec', 'nanosec'), divmod(stamp, 10**9)))}
        for stamp, *rows in zip(stamps, *(np.round(states, 6) + 0.0).tolist())
    ]
    message = {'joint_names': list(joint_names), 'points': points}
    return yaml.safe_dump(message, sort_keys=False, default_flow_style=None, width=1000)
