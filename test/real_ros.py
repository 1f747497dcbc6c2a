# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Run the tests that need more of ROS than its wheels, where a machine has it: PART ... or all.

Each part needs a package that apt or a workspace brings. It is looked for in the folder --ros
(/opt/ros/jazzy, or install of a workspace), or else in franka_dynamics/real/PART of
$XDG_CACHE_HOME (~/.cache), where somebody may have built it, and in /opt/ros/jazzy. A setup.bash
in such a folder sets the paths of what lies there. The last line says what was not run, and why.

What has to keep time with a simulator runs one part after the other, and what does not, too: these
two go on at the same time.
"""

import argparse
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
import os
from pathlib import Path
import subprocess
import sys
import time

ROOT = Path(__file__).parents[1]
APT = Path('/opt/ros/jazzy')
WORKERS = '-n 4 --dist loadfile --no-loadscope-reorder --max-worker-restart=0'.split()


@dataclass
class Part:
    """
    Tests that need a ROS package, with the variables that they need.

    Where somebody may have built it, it lies in `folder`, by default that of the part's name. A
    part `by_the_clock` has a process that a busy machine makes late.
    """

    package: str
    tests: tuple[str, ...]
    variables: dict[str, str] = field(default_factory=dict)
    folder: str = ''
    by_the_clock: bool = False


# In this order. franka_ros2 misses its cycles beside a compiler: what compiles (franka_model,
# ros2_control) comes first of the others, and Gazebo, which can wait, is beside it.
PARTS = {
    'franka_model': Part(
        'franka_bringup', ('test/ros/test_robot_model.py',), folder='franka_ros2'
    ),
    'ros2_control': Part(
        'controller_manager',
        (
            'test/cpp_package/test_ros2_control.py',
            'test/launch_files',
            'test/ros/test_launch.py',
            'test/ros/test_motion_goals.py',
            'test/ros/test_controller_managers.py',
            'test/ros/test_discovery_server.py',
        ),
    ),
    'cyclonedds': Part(
        'rmw_cyclonedds_cpp',
        (
            'test/ros/test_running_node.py::test_states_of_drivers_suffice',
            'test/ros/test_running_node.py::test_a_gripper_on_the_arms_topic_does_not_stop_the_arm',
            'test/ros/test_running_node.py::test_changes_that_need_each_other_are_taken_together',
            'test/ros/test_receiver_check.py::test_beside_another_sender_there_is_no_first_torque',
            'test/ros/test_receiver_check.py'
            '::test_a_later_sender_is_shown_a_later_source_of_states_stops',
            'test/ros/test_stopping.py::test_signals_end_at_the_resting_torque_and_exit_zero',
            'test/ros/test_stopping.py::test_transitions_begin_stop_and_bring_back',
        ),
        {'RMW_IMPLEMENTATION': 'rmw_cyclonedds_cpp'},
    ),
    'gazebo': Part('ros_gz_sim', ('test/ros/test_gazebo.py',), by_the_clock=True),
    'franka_ros2': Part('franka_bringup', ('test/ros/test_franka_ros2.py',), by_the_clock=True),
    'mujoco_ros2_control': Part(
        'mujoco_ros2_control',
        ('test/ros/test_launch.py::test_an_arm_in_mujoco_ros2_control_is_held',),
        by_the_clock=True,
    ),
}


def built_folder() -> Path:
    """Return the folder in whose folders somebody may have built parts."""
    cache = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache')
    return cache / 'franka_dynamics' / 'real'


def folders(part: str, given: Path | None) -> list[Path]:
    """Return where a part is looked for, in order."""
    if given is not None:
        return [given]
    return [built_folder() / (PARTS[part].folder or part), APT]


def sourced(folder: Path, variables: dict[str, str]) -> dict[str, str]:
    """Return the environment with some variables after a folder's setup.bash."""
    words = ['bash', '-c', 'source "$0" && env -0', str(folder / 'setup.bash')]
    streams = {'stdout': subprocess.PIPE, 'text': True}
    output = subprocess.run(words, check=True, env={**os.environ, **variables}, **streams).stdout
    return dict(line.split('=', 1) for line in output.split('\0') if line)


def found(part: str, given: Path | None) -> tuple[Path, dict[str, str]] | None:
    """Return the first folder that has a part's package, and its environment; None without one."""
    for folder in folders(part, given):
        if not (folder / 'setup.bash').is_file():
            continue
        environment = sourced(folder, PARTS[part].variables)
        entry = Path('share/ament_index/resource_index/packages') / PARTS[part].package
        prefixes = environment.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
        if any((Path(prefix) / entry).exists() for prefix in prefixes):
            return folder, environment
    return None


def run(part: str, folder: Path, environment: dict[str, str], words: list[str]) -> int:
    """Run a part's tests, then print what they say; return pytest's exit status."""
    # apt's packages, and a workspace's on them, are for the system's Python; what was built beside
    # wheels, for this one.
    beside_wheels = folder.parent == built_folder()
    python = sys.executable if beside_wheels else os.environ.get('ROS_PYTHON', 'python3')
    command = [
        python,
        '-m',
        'pytest',
        '-q',
        '-m',
        'not long',
        *words,
        *PARTS[part].tests,
    ]
    began = time.monotonic()
    tests = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env={
            **environment,
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
            'FRANKA_DYNAMICS_ROS2_CONTROL': environment['AMENT_PREFIX_PATH'],
        },
    )
    took = time.monotonic() - began
    print(f'{part}: {folder}\n{tests.stdout}{part}: {took:.0f} s', flush=True)
    return tests.returncode


def run_at_once(places: dict[str, tuple[Path, dict[str, str]]], words: list[str]) -> list[int]:
    """Run parts' tests, those by the clock beside the others; return pytest's exit statuses."""

    def run_in_order(by_the_clock: bool) -> list[int]:
        return [
            run(part, *place, words)
            for part, place in places.items()
            if PARTS[part].by_the_clock is by_the_clock
        ]

    print(f'running: {", ".join(places)}', flush=True)
    with ThreadPoolExecutor(2) as pool:
        return [
            status for statuses in pool.map(run_in_order, (True, False)) for status in statuses
        ]


def main() -> int:
    """Run what is asked for; return 1 if a test fails, 2 if a ROS that was named has nothing."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('part', nargs='*', help=f'of {", ".join(PARTS)} (default: all)')
    parser.add_argument('--ros', type=Path, help='the only folder to look in')
    parser.add_argument('--pytest', default=' '.join(WORKERS), help="more of pytest's options")
    options = parser.parse_args()
    unknown = set(options.part) - set(PARTS)
    if unknown:
        parser.error(f'no part is called {", ".join(sorted(unknown))}')
    places = {}
    absent = []
    for part in PARTS:
        if options.part and part not in options.part:
            continue
        place = found(part, options.ros)
        if place is None:
            looked = ' nor '.join(map(str, folders(part, options.ros)))
            absent.append(f'{part} (neither {looked} has {PARTS[part].package})')
            continue
        places[part] = place
    statuses = run_at_once(places, options.pytest.split())
    print(f'not run: {"; ".join(absent) or "nothing"}', flush=True)
    if any(statuses):
        return 1
    return 2 if options.ros and not statuses else 0


if __name__ == '__main__':
    sys.exit(main())
