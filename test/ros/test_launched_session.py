# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The documented first commands, launched: simulation.launch.py, then a motion.

By ROS's own launch where it is installed with this package; else the processes that the launch
file names are started with the arguments it gives them.
"""

from concurrent.futures import ThreadPoolExecutor
import importlib.util
import os
from pathlib import Path
import signal
import subprocess
import sys

import numpy as np
import pytest
from sensor_msgs.msg import JointState

from franka_dynamics.arm import load
from franka_dynamics.control.multisine import multisine
from franka_dynamics.resources import share_directory
from franka_dynamics.ros.messages import request_message
from franka_dynamics.ros.node_client import NodeClient, NodeClientError

from .conftest import ROOT, TIMEOUT_S

SHARE = share_directory()
# A hiccup of a busy machine moves the last joint of a bare fr3 by a radian, and it comes back.
TOLERANCE_RAD = 0.1


def installed() -> bool:
    """Return whether `ros2 launch` finds this package."""
    if importlib.util.find_spec('ros2launch') is None:
        return False
    try:
        from ament_index_python.packages import get_package_prefix

        return (Path(get_package_prefix('franka_dynamics')) / 'lib' / 'franka_dynamics').is_dir()
    except LookupError:
        return False


class Launched:
    """What a launch file has started."""

    def __init__(self, commands, folder) -> None:
        self.logs = [folder / f'{i}.log' for i, _ in enumerate(commands)]
        environment = {
            **os.environ,
            'PYTHONPATH': os.pathsep.join(
                [str(ROOT), *filter(None, [os.environ.get('PYTHONPATH')])]
            ),
        }
        self._processes = []
        for command, log in zip(commands, self.logs):
            with log.open('wb') as output:
                self._processes.append(
                    subprocess.Popen(
                        command, stdout=output, stderr=subprocess.STDOUT, env=environment
                    )
                )

    @property
    def text(self) -> str:
        return ''.join(log.read_text() for log in self.logs)

    def end(self) -> list[int]:
        for process in self._processes:
            process.send_signal(signal.SIGINT)
        return [process.wait(TIMEOUT_S) for process in self._processes]

    def kill(self) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)  # `ros2 launch` ends what it has started
        for process in self._processes:
            try:
                process.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def without_launch(monkeypatch, name, **arguments):
    """Return the commands that a launch file stands for."""
    spec = importlib.util.spec_from_file_location('launching', ROOT / 'test' / 'launching.py')
    launching = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, 'launching', launching)
    spec.loader.exec_module(launching)
    monkeypatch.setattr(launching.FindPackageShare, 'perform', lambda self, context: str(SHARE))
    commands = []
    for node in launching.run(launching.load(SHARE / 'launch' / name, monkeypatch), **arguments):
        command = [sys.executable, '-m', f'franka_dynamics.ros.{node.executable}', '--ros-args']
        for file in node.files:
            command += ['--params-file', file]
        for key, value in node.parameters.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            command += ['-p', f'{key}:={text}'] if text else []
        for old, new in node.remappings.items():
            command += ['-r', f'{old}:={new}']
        commands.append([*command, '-r', f'__ns:=/{node.namespace.strip("/")}'])
    return commands


@pytest.fixture
def launched(monkeypatch, tmp_path):
    """Return a function that launches a file of ours; what it started ends with the test."""
    started = []

    def launch(name, **arguments):
        commands = (
            [
                [
                    'ros2',
                    'launch',
                    'franka_dynamics',
                    name,
                    *(f'{key}:={value}' for key, value in arguments.items()),
                ]
            ]
            if installed()
            else without_launch(monkeypatch, name, **arguments)
        )
        started.append(Launched(commands, tmp_path))
        return started[-1]

    yield launch
    for one in started:
        one.kill()


def test_the_first_commands_end_the_motion_where_it_should_and_a_stop_is_told(probe, launched):
    arm = load('fr3v2')
    session = launched('simulation.launch.py', robot_type=arm.name)
    probe.until(lambda: probe.says('simulator: Simulated arm', 'False'), 'brakes open')
    states = probe.collect(JointState, 'joint_states')

    def play(duration):
        with NodeClient('feedforward') as client:
            return client.play(request_message(multisine(arm, duration, 0.3), 2.0))

    assert play(2.0) == 'finished'
    probe.until(lambda: 'finished' in session.text, "the node's own word")
    probe.until(lambda: len(states) > 0, 'a state')
    error = np.abs(np.array(states[-1].position) - arm.home)
    assert error.max() < TOLERANCE_RAD
    # Then a motion of ten seconds, which is stopped in its middle.
    with ThreadPoolExecutor(1) as pool:
        playing = pool.submit(play, 10.0)
        probe.until(lambda: 'reference 2 following' in session.text, 'the motion is followed')
        assert probe.transition('/feedforward', 4)  # deactivate
        with pytest.raises(NodeClientError, match='the motion was interrupted: '):
            playing.result()
    assert set(session.end()) == {0}
