# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Take out each rule of the core's guard by itself; print how fast simulated arms get without it.

    python benchmarks/guard_ablation.py --draw 77 --sample 60

The rows are those of guard_misconfiguration.py. A row that no rule stops is the same without each
of them, and is not run again. Prints docs/performance.md's table: of the rows with true sensors
how many are above 2.1 rad/s and how many worse than without the guard, the same of all others, and
the row that gets faster by most.
"""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
import sys
from unittest import mock

import guard_misconfiguration as mistakes
from guard_misconfiguration import FAST, Job
import guard_runs as runs
import numpy as np

from franka_dynamics.control import disturbance, stopping
from franka_dynamics.control.feedforward import Feedforward

Rule = Callable[[Feedforward], None]  # takes one rule out of a core


def replaced(name: str, attribute: str, value: object, core: Feedforward) -> None:
    """Replace an attribute of a part of the core; it must exist."""
    part = getattr(core, name) if name else core
    assert hasattr(part, attribute), f'{name}.{attribute} is not there any more'
    setattr(part, attribute, value)


def without_compensation(core: Feedforward) -> None:
    """Let braking compensate no disturbance torque."""
    begin, torque = core.brake.begin, core.brake.torque
    core.brake.begin = (  # type: ignore[method-assign]
        lambda found, gains=None, **options: begin(0.0 * found, gains, **options)
    )
    core.brake.torque = (  # type: ignore[method-assign]
        lambda state, terms, found, *rest: torque(state, terms, 0.0 * found, *rest)
    )


def without_gains(core: Feedforward) -> None:
    """Let braking use neither kp nor kd."""
    begin = core.brake.begin

    def without(found: np.ndarray, gains: tuple | None = None, **options: bool) -> None:
        begin(found, None if gains is None else (0.0 * gains[0], 0.0 * gains[1]), **options)

    core.brake.begin = without  # type: ignore[method-assign]


def with_swinging_gains(core: Feedforward) -> None:
    """Let braking keep its gains where the sent torque swung."""
    begin = core.brake.begin
    core.brake.begin = (  # type: ignore[method-assign]
        lambda *given, torque_swings=False, **rest: begin(*given, **rest)
    )


def with_fixed_pose(core: Feedforward) -> None:
    """Let the pose that braking pulls to stay though limits hold the torque back."""
    watch, brake = core.brake._watch_speeds, core.brake

    def watched(*values: object) -> None:
        watch(*values)
        brake._withheld_torque = 0.0 * brake._withheld_torque

    brake._watch_speeds = watched  # type: ignore[method-assign]


def without_room(core: Feedforward) -> None:
    """Let no room before a position limit count."""
    watcher = core.motion_watcher
    watcher._lower, watcher._upper = watcher._lower - np.inf, watcher._upper + np.inf


def nothing(*values: object, **named: object) -> None:
    """Do nothing."""


RULES: dict[str, Rule] = {
    'comparing the arm before the first torque': partial(
        replaced, '', '_settings_contradiction', nothing
    ),
    'a bound on disturbance torques': partial(replaced, 'disturbances', 'check_bounds', nothing),
    'a bound on speeds': partial(replaced, 'motion_watcher', 'check_speeds', nothing),
    'the speed that a joint still gains': partial(
        replaced, 'disturbances', 'speed_gain_at_reversal', lambda *values: 0.0
    ),
    'room before a position limit': without_room,
    'holding an arm that falls while torques are refused': partial(
        replaced, 'motion_watcher', 'check_fall', nothing
    ),
    'compensating disturbance torque while braking': without_compensation,
    '`kp` and `kd` while braking': without_gains,
    'lower gains where the sent torque swung': with_swinging_gains,
    'a pose that follows while limits hold the torque back': with_fixed_pose,
    'noticing a position that stands still': partial(
        replaced, 'repeated_positions', 'check_positions', nothing
    ),
    'the stop by the model of an arm that is not seen': partial(
        replaced, 'open_loop_stop', 'begin_stop', nothing
    ),
}
MIXED_UP = 'letting go where torques are mixed up'
# The same by a constant of stopping.py, which does nothing with this value.
CONSTANTS = {
    'compensating what comes later, below 10 % of the limit': ('MAX_START_DISTURBANCE_RATIO', 0.0),
    "less of it along a joint's motion": ('MIN_MOTION_SPEED_RAD_S', np.inf),
    "the observer's settling": ('OBSERVER_SETTLING_TIME_S', 0.0),
    'softer gains while states are old': ('MIN_TIME_CONSTANT_TO_AGE_RATIO', 0.0),
}


def run_without(name: str, job: Job) -> runs.Run:
    """Run a job without a rule."""

    class Without(Feedforward):
        def __init__(self, *values: object, **options: object) -> None:
            super().__init__(*values, **options)  # type: ignore[arg-type]
            RULES.get(name, nothing)(self)

    with ExitStack() as changed:
        if name == MIXED_UP:
            changed.enter_context(
                mock.patch.object(disturbance, 'find_misdirected_joints', nothing)
            )
        if name in CONSTANTS:
            changed.enter_context(mock.patch.object(stopping, *CONSTANTS[name]))
        return mistakes.run_of(job, Without)


Row = tuple[Job, runs.Run, runs.Run, dict[str, runs.Run]]


def row(job: Job) -> Row:
    """Run a job with all rules, without the guard and, if it was stopped, without each rule."""
    _, guarded, free = mistakes.row(job)
    names = (MIXED_UP, *RULES, *CONSTANTS) if guarded.stopped else ()
    return job, guarded, free, {name: run_without(name, job) for name in names}


def main() -> int:
    """Run drawn rows; print the table."""
    given = mistakes.parser_of(77).parse_args()
    rows = []
    for one in runs.rows_of(row, mistakes.jobs_of(given), given):
        rows.append(one)
        print(f'\r{len(rows)} rows', end='', file=sys.stderr, flush=True)
    print(f'\n{len(rows)} rows of draw {given.draw}\n', file=sys.stderr)
    print('| without | true sensors: above 2.1 rad/s, worse | others | for example [rad/s] |')
    print('|---|---|---|---|')
    for name in ('nothing', MIXED_UP, *RULES, *CONSTANTS):
        print(line(name, rows))
    return 0


def line(name: str, rows: list[Row]) -> str:
    """Return the table's line of a rule."""
    counts = {True: [0, 0], False: [0, 0]}
    most, example = 0.1, ''
    for job, guarded, free, without in rows:
        run = without.get(name, guarded)
        count = counts[mistakes.group_of(job)[1] == 'true sensors']
        count[0] += run.peak > FAST
        count[1] += mistakes.is_worse(run, free)
        if run.peak - guarded.peak > most:
            most = run.peak - guarded.peak
            example = f'{job[0]} {job[1]}, {job[2]}: {guarded.peak:.1f} -> {run.peak:.1f}'
    true, other = (f'{fast}, {worse}' for fast, worse in (counts[True], counts[False]))
    return f'| {name} | {true} | {other} | {example} |'


if __name__ == '__main__':
    sys.exit(main())
