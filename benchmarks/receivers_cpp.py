# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
How the C++ receiver reacts when its sender dies, stalls, or is not the only sender.

    FRANKA_DYNAMICS_ROS2_CONTROL=/opt/ros/jazzy python benchmarks/receivers_cpp.py [--events kill]

The receiver runs in ros2_control's controller manager at 1 kHz on mock hardware, over DDS. Events
and columns are some of those of benchmarks/receivers.py; `two` is a second sender. Exit status 0
if no torque stepped by more than 1 N m, or stayed constant for longer than the time-out plus 5 ms,
other than the torque that holds the arm.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
import sys
import tempfile

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from franka_dynamics.arm import load
from franka_dynamics.ros.node_group import use_isolated_network
from test.cpp_package.ros2_control import built, EVENTS, Senders

_MOST_STEP, _MOST_HELD_S = 1.0 + 1e-6, 0.055


def main() -> int:
    """Print a row for each event; return 1 if a bound was missed, else 0."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--events', nargs='+', choices=EVENTS, default=EVENTS)
    events = parser.parse_args().events
    if not os.environ.get('FRANKA_DYNAMICS_ROS2_CONTROL'):
        parser.error('FRANKA_DYNAMICS_ROS2_CONTROL names no prefix with ros2_control')
    use_isolated_network()
    bad, arm = 0, load('fr3')
    with tempfile.TemporaryDirectory() as folder:
        print('building the controller takes minutes', file=sys.stderr)
        built(Path(folder))
        print('event         largest step  held')
        for event in events:
            with Senders(arm, Path(folder)) as senders:
                step, held, *_ = senders.happen(event)
            wrong = step > _MOST_STEP or held > _MOST_HELD_S
            mark = '   <- BAD' if wrong else ''
            print(f'{event:13} {step:8.3f} N m {1e3 * held:5.0f} ms{mark}', flush=True)
            bad += wrong
    print(f'{bad} of {len(events)} events missed a bound')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
