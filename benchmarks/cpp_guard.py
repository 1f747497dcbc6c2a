# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Simulate rows of guard_misconfiguration.py by the core in C++, beside the one in Python.

In the rows of the core in C++ the arm gets its torques alone. The Python core is given the same
joint states and plans motions, whose points the core in C++ gets beside each state. Exit status 1
if a peak speed differs by more than 0.1 rad/s.
"""

from pathlib import Path
import sys
import tempfile
from typing import Any

import guard_misconfiguration as bench
import guard_runs as runs
from guard_runs import Feedforward
import numpy as np

from franka_dynamics.control.core_table import Stop
from franka_dynamics.control.settings import Settings, StateLimits
from franka_dynamics.errors import SettingsError

sys.path.insert(0, str(Path(__file__).parents[1]))

from test.cpp_package import cpp_core

MAX_DIFFERENCE = 0.1  # [rad/s]
# The compiled core; processes that are forked have it, too.
_LIBRARY: list[Any] = []


def _core_of(arm: Any) -> cpp_core.Core:
    """Return the compiled core with an arm."""
    with tempfile.TemporaryDirectory() as folder:
        return cpp_core.Core(_LIBRARY[0], arm, Path(folder))


class Compiled(Feedforward):
    """A core whose torques are those of the one in C++."""

    def __init__(self, arm: Any, target: str = 'fci', **options: Any) -> None:
        super().__init__(arm, target, **options)
        names = ('period', 'limits', 'applied_when_silent')
        settings = {name: value for name, value in options.items() if name not in names}
        self._compiled = cpp_core.Feedforward(
            _core_of(arm),
            Settings().changed(target=target, **settings),
            period=options.get('period', 1e-3),
            limits=options.get('limits', StateLimits()),
            in_loop=options.get('applied_when_silent', True),
        )
        self._follows = False

    def follow(self, *values: Any, **more: Any) -> Any:
        """Follow a motion, as the Python core plans it."""
        motion = super().follow(*values, **more)
        self._follows = True
        return motion

    def step(self, q: Any, dq: Any, time: float, **more: Any) -> Any:
        """Take a joint state; return the torque of the core in C++, (n,) [N m]."""
        given = None
        motion = self.reference.motion
        if self._follows and motion is not None:
            point = motion.at(time)
            given = [point.q, point.dq, point.ddq, 0.0 * point.q]
        super().step(q, dq, time, **more)
        return self._sent(self._compiled.step(q, dq, time, given=given, **more))

    def tick(self, now: float, silence: float | None = None) -> Any:
        """Return the torque of the core in C++ while no joint state comes, (n,) [N m]."""
        super().tick(now, silence)
        return self._sent(self._compiled.tick(now, silence))

    def _sent(self, torque: Any) -> Any:
        self._follows = self._follows and self.state.value == 'running'
        self.output.is_new = self._compiled.told.sends
        return torque

    def reset(self) -> None:
        """Reset both cores."""
        super().reset()
        if hasattr(self, '_compiled'):
            self._compiled.reset()

    def start(self) -> None:
        """Start both cores."""
        super().start()
        self._compiled.start()

    def stop(self, reason: str, then: Stop = Stop.LET_GO) -> None:
        """Stop both cores."""
        super().stop(reason, then)
        self._compiled.stop(then)

    def change(self, **settings: Any) -> None:
        """Change settings of both cores."""
        super().change(**settings)
        refused = self._compiled.change(**settings)
        if refused:
            raise SettingsError(refused)


def row(job: bench.Job) -> tuple[bench.Job, runs.Run, runs.Run]:
    """Run one job by the core in C++, and by the one in Python."""
    return job, bench.run_of(job, Compiled), bench.run_of(job)


def main() -> int:
    """Run the rows; print those that differ, and the largest difference."""
    given = bench.parser_of(0).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        _LIBRARY.append(cpp_core.compiled(Path(folder)))
    largest = 0.0
    count = differ = 0
    for job, compiled, python in runs.rows_of(row, bench.jobs_of(given), given):
        difference = abs(compiled.peak - python.peak)
        count += 1
        differ += difference > MAX_DIFFERENCE
        largest = max(largest, difference)
        if difference > MAX_DIFFERENCE or not np.isfinite(difference):
            print(
                f'{" | ".join(map(str, job))}: {compiled.peak:.2f} rad/s in C++ '
                f'({compiled.stopped[:120]}), {python.peak:.2f} in Python '
                f'({python.stopped[:120]})',
                flush=True,
            )
    print(
        f'draw {given.draw}: {count} rows, {differ} of them differ by more than '
        f'{MAX_DIFFERENCE:g} rad/s, the largest difference is {largest:.3g} rad/s'
    )
    return int(differ > 0)


if __name__ == '__main__':
    sys.exit(main())
