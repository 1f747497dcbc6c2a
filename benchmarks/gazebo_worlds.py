# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The two worlds that gazebo_check.py asks: Gazebo itself, and its stand-in on MuJoCo."""

from __future__ import annotations

import os
from pathlib import Path
import re
import shutil
import signal
import subprocess
import sys
import time

from std_srvs.srv import SetBool, Trigger

from franka_dynamics.resources import share_directory
from franka_dynamics.ros.node_client import NodeClient

ROOT = Path(__file__).parents[1]
PROGRAMS = {'gz': 'gz.msgs', 'ign': 'ignition.msgs'}
START_S, ANSWER_S, ATTEMPTS = 90.0, 30.0, 3


class Gazebo:
    """Gazebo itself, by its launch file and its command line."""

    def __init__(self, robot_type: str, folder: Path, factor: float) -> None:
        self._log = (folder / 'launch.log').open('wb')
        # Fortress calls its program and its messages by another name.
        self._program, self._package = next(
            (name, package) for name, package in PROGRAMS.items() if shutil.which(name)
        )
        # Paced from its first step on: the world as it is installed, with another factor.
        installed = share_directory() / 'config' / 'gazebo_world.sdf'
        world = folder / 'world.sdf'
        world.write_text(
            re.sub(
                '(<real_time_factor>).*(</real_time_factor>)',
                rf'\g<1>{factor:g}\g<2>',
                installed.read_text(encoding='utf-8'),
            ),
            encoding='utf-8',
        )
        self._launch = subprocess.Popen(
            [
                'ros2',
                'launch',
                'franka_dynamics',
                'gazebo.launch.py',
                f'robot_type:={robot_type}',
                'gui:=false',
                f'world:={world}',
            ],
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def unpause(self) -> None:
        """Nothing: the launch file does it once the holding torque is there."""

    def pause(self, on: bool) -> None:
        """Stop time, or let it go on."""
        self._ask('control', 'WorldControl', f'pause: {str(on).lower()}')

    def reset(self) -> None:
        """Put time and joints back to where they began."""
        self._ask('control', 'WorldControl', 'reset: {all: true}')

    def pace(self, factor: float) -> None:
        """Ask for a real-time factor."""
        self._ask('set_physics', 'Physics', f'max_step_size: 0.001, real_time_factor: {factor}')

    def _ask(self, service: str, kind: str, request: str) -> None:
        command = [
            self._program,
            'service',
            '-s',
            f'/world/franka/{service}',
            '--reqtype',
            f'{self._package}.{kind}',
            '--reptype',
            f'{self._package}.Boolean',
            '--timeout',
            '5000',
            '--req',
            request,
        ]
        # On a busy machine Gazebo may not be found within the 5 s that are waited for it.
        for _ in range(ATTEMPTS):
            answer = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=ANSWER_S
            )
            self._log.write(answer.stdout)
            if b'data: true' in answer.stdout:
                return
        raise RuntimeError(f'{service} of Gazebo answered no: {request}')

    def close(self) -> None:
        """End everything that was launched."""
        os.killpg(self._launch.pid, signal.SIGINT)
        try:
            self._launch.wait(20.0)
        except subprocess.TimeoutExpired:
            os.killpg(self._launch.pid, signal.SIGKILL)


class StandIn:
    """The stand-in, and the nodes that gazebo.launch.py starts beside Gazebo."""

    def __init__(
        self,
        robot_type: str,
        folder: Path,
        factor: float,
        lockstep: float,
    ) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        files = share_directory() / 'config' / 'feedforward' / 'gz_ros2_control.yaml'
        arm = ['-p', f'robot_type:={robot_type}', '-p', 'hand:=none']
        self._start(
            str(ROOT / 'benchmarks' / 'gazebo_stand_in.py'),
            '--robot-type',
            robot_type,
            '--real-time-factor',
            str(factor),
            '--lockstep',
            str(lockstep),
        )
        self._start('-m', 'franka_dynamics.ros.gazebo_direct_node', '--ros-args', *arm)
        self._start(
            '-m',
            'franka_dynamics.ros.feedforward_node',
            '--ros-args',
            '--params-file',
            str(files),
            *arm,
            '-p',
            'take_over:=true',
            # In lockstep /clock may be behind the states of a busy machine; nothing is late there.
            *(['-p', 'max_state_age:=10.0'] if lockstep else []),
            '-r',
            '~/command:=effort_controller/commands',
        )

    def _start(self, *arguments: str) -> None:
        log = self._folder / f'{len(self._processes)}.log'
        with log.open('wb') as output:
            self._processes.append(
                subprocess.Popen(
                    [sys.executable, *arguments],
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env={
                        **os.environ,
                        'PYTHONPATH': os.pathsep.join(
                            [str(ROOT), *filter(None, [os.environ.get('PYTHONPATH')])]
                        ),
                    },
                )
            )

    def unpause(self) -> None:
        """Let time run once the holding torque is there, as the launch file does."""
        give_up = time.monotonic() + START_S
        while 'holding the arm' not in (self._folder / '1.log').read_text():
            if time.monotonic() > give_up:
                raise RuntimeError('gazebo_direct_node never held the arm')
            time.sleep(0.05)
        self.pause(False)

    def pause(self, on: bool) -> None:
        """Stop time, or let it go on."""
        with self._client() as client:
            client.ask(SetBool, 'pause', SetBool.Request(data=on))

    def reset(self) -> None:
        """Put time and joints back to where they began."""
        with self._client() as client:
            client.ask(Trigger, 'reset', Trigger.Request())

    def pace(self, factor: float) -> None:
        """Ask for a real-time factor."""
        with self._client() as client:
            client.set_all({'real_time_factor': factor})

    def _client(self) -> NodeClient:
        return NodeClient('gazebo_stand_in', ANSWER_S)

    def close(self) -> None:
        """End the processes."""
        for process in self._processes:
            process.send_signal(signal.SIGINT)
        for process in self._processes:
            try:
                process.wait(20.0)
            except subprocess.TimeoutExpired:
                process.kill()
