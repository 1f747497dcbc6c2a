# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The demonstration: a simulated arm, the node and a player as processes, joined by DDS alone.

First the arm is held by the feedforward torques with no feedback at all. Then it follows an
excitation trajectory twice under the same weak PD: with gravity, Coriolis and inertia torques,
and with gravity alone. Everything is recorded; the figures come from the recording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
import os
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.srv import SetParametersAtomically
import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from .node_group import default_signals, end_of, use_isolated_network
from .realtime import ON, request_realtime, SWITCH
from .recording_session import BagRecorder
from ..arm import ArmDescription
from ..errors import FrankaDynamicsError
from ..simulation.model_trial import weak_gains

COMMAND = '/effort_controller/commands'
STATES = '/joint_states'
PLANNED = '/feedforward/feedforward_trajectory'
TOPICS = {
    STATES: JointState,
    COMMAND: Float64MultiArray,
    PLANNED: JointTrajectory,
    '/feedforward/feedforward': JointState,
    '/diagnostics': DiagnosticArray,
}
# Of the weak PD [1/s]: what it cannot do shows what the feedforward does. A loaded machine lets
# torques over DDS be tens of milliseconds late.
_MOST_RATE = 20.0
# A process may take half a minute to start beside a dozen others that want the processor.
_START_TIMEOUT_S, _SETTLE_S = 120.0, 1.0
_END_TIMEOUT_S = 30.0


class DemoError(FrankaDynamicsError):
    """A process of the demonstration did not do its part."""


@dataclass(frozen=True)
class DemoPlan:
    """
    The arm, the nodes' parameters that name it, times [s], and how far joints move [rad].

    `payload` is for the nodes that have such a parameter.
    """

    arm: ArmDescription
    arm_parameters: tuple[str, ...] = ('-p', 'robot_type:=fer')
    payload: tuple[str, ...] = ()
    hold: float = 10.0
    motion: float = 10.0
    amplitude: float = 0.5


@dataclass(frozen=True)
class Phase:
    """A part of the run, by the stamps of the joint states [s]."""

    name: str
    start: float
    end: float


@dataclass(frozen=True)
class DemoRun:
    """
    What a session leaves: its bag, its phases, the last diagnostics by status name, and errors.

    `errors` are the sentences that nodes reported with level ERROR before they were told to end.
    """

    bag: Path
    phases: tuple[Phase, ...]
    diagnostics: dict[str, dict[str, str]]
    errors: tuple[str, ...]


def run_session(
    plan: DemoPlan, folder: Path, progress: Callable[[str, float], None] = lambda *_: None
) -> DemoRun:
    """
    Run all processes; return when they have ended.

    Parameters
    ----------
    plan : DemoPlan
        What to run.
    folder : Path
        Where the bag and the processes' logs go; the bag must not exist.
    progress : callable
        Told the name of what is being done and its share from 0 to 1.

    Raises
    ------
    DemoError
        If a process ends early or does not get ready; the message quotes its log.

    """
    use_isolated_network()
    # The simulated arm stands for a real one, which never waits for a processor.
    os.environ.setdefault(SWITCH, ON)
    # Nor may the recorder wait: the arm shares memory with it, and would wait for it in turn.
    request_realtime()
    rclpy.init()
    try:
        return _Session(plan, folder, progress).run()
    finally:
        rclpy.try_shutdown()


class _Session:
    def __init__(
        self, plan: DemoPlan, folder: Path, progress: Callable[[str, float], None]
    ) -> None:
        self._plan, self._folder, self._progress = plan, folder, progress
        self._node = rclpy.create_node('demo')
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._diagnostics: dict[str, dict[str, str]] = {}
        self._node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._errors: dict[str, None] = {}  # each sentence once, in the order they came

    def run(self) -> DemoRun:
        plan, phases = self._plan, []
        bag = self._folder / 'bag'
        arm = (*plan.arm_parameters, *plan.payload)
        kp, kd = weak_gains(plan.arm, _MOST_RATE)
        with BagRecorder(self._node, bag, TOPICS), self._all_ended():
            self._start('simulator_node', *arm)
            # On a busy machine the simulated arm pauses, as no real one does, and its clock falls
            # behind; neither is to end the run.
            self._start(
                'feedforward_node',
                *arm,
                '-p',
                'target:=mujoco',
                '-p',
                'max_state_age:=0.0',
                '-p',
                'state_timeout:=1.0',
                '-p',
                'min_input_rate:=10.0',
                # How far gravity and a weak PD stray is one of the figures.
                '-p',
                'max_tracking_error:=[0.0]',
                '-r',
                f'feedforward/command:={COMMAND}',
            )
            self._until(
                'waiting for the arm and the node', self._brakes_are_open, _START_TIMEOUT_S
            )
            phases.append(self._phase('hold', 'holding by feedforward alone', plan.hold))
            self._set(kp=kp.tolist(), kd=kd.tolist())
            phases.append(self._play('feedforward', 'following with M ddq + C dq + g and PD'))
            self._set(**{'terms.coriolis': False, 'terms.inertia': False})
            phases.append(self._play('gravity_only', 'following with g and PD alone'))
            errors = tuple(self._errors)
            self._end('feedforward_node', signal.SIGINT)
            self._end('simulator_node', signal.SIGTERM)
        self._progress('done', 1.0)
        return DemoRun(bag, tuple(phases), self._diagnostics, errors)

    def _start(self, module: str, *arguments: str) -> None:
        log = (self._folder / f'{module}.log').open('wb')
        self._processes[module] = subprocess.Popen(
            [sys.executable, '-m', f'franka_dynamics.ros.{module}', '--ros-args', *arguments],
            stdout=log,
            stderr=subprocess.STDOUT,
            preexec_fn=default_signals,
        )

    def _end(self, module: str, by: signal.Signals) -> None:
        process = self._processes.pop(module)
        process.send_signal(by)
        until = time.monotonic() + _END_TIMEOUT_S
        while process.poll() is None and time.monotonic() < until:
            self._executor.spin_once(timeout_sec=0.01)
        if process.poll() is None:
            process.kill()
            raise DemoError(f'{module} did not end within {_END_TIMEOUT_S:g} s of {by.name}.')
        if process.returncode != 0:
            raise DemoError(f'{module} {self._end_of(module, process)}')

    @contextmanager
    def _all_ended(self) -> Iterator[None]:
        try:
            yield
        finally:
            for process in self._processes.values():
                process.kill()
                process.wait()

    def _phase(self, name: str, text: str, seconds: float) -> Phase:
        """Spin for a while and return it as a phase; stamps are this machine's clock."""
        start = time.time()
        began = time.monotonic()
        self._until(
            text,
            lambda: time.monotonic() - began >= seconds,
            seconds + 1.0,
            share=lambda: (time.monotonic() - began) / seconds,
        )
        return Phase(name, start, time.time())

    def _play(self, name: str, text: str) -> Phase:
        self._phase('settle', 'settling', _SETTLE_S)
        start = time.time()
        self._start(
            'reference_player_node',
            *self._plan.arm_parameters,
            '-p',
            f'duration:={self._plan.motion}',
            '-p',
            f'amplitude:={self._plan.amplitude}',
            '-p',
            'settle:=0.0',
            '-p',
            'tolerance:=0.0',
            '-r',
            'feedforward/reference:=/feedforward/reference',
        )
        player = self._processes['reference_player_node']
        whole = self._plan.motion + _START_TIMEOUT_S
        self._until(
            text,
            lambda: player.poll() is not None,
            whole,
            share=lambda: (time.time() - start) / (self._plan.motion + 3.0),
        )
        del self._processes['reference_player_node']
        if player.returncode != 0:
            raise DemoError(
                f'reference_player_node {self._end_of("reference_player_node", player)}'
                f'{self._warned_last("simulator_node")}'
            )
        return Phase(name, start, time.time())

    def _until(
        self,
        text: str,
        done: Callable[[], bool],
        timeout: float,
        share: Callable[[], float] = lambda: 0.0,
    ) -> None:
        until = time.monotonic() + timeout
        while not done():
            self._executor.spin_once(timeout_sec=0.05)
            self._progress(text, min(1.0, share()))
            for module, process in self._processes.items():
                if process.poll() is not None and module != 'reference_player_node':
                    raise DemoError(f'{module} {self._end_of(module, process)}')
            if time.monotonic() > until:
                raise DemoError(
                    f'gave up {text} after {timeout:g} s; the logs are in {self._folder}.'
                )

    def _set(self, **parameters: Any) -> None:
        client = self._node.create_client(
            SetParametersAtomically, '/feedforward/set_parameters_atomically'
        )
        client.wait_for_service(timeout_sec=_START_TIMEOUT_S)
        request = SetParametersAtomically.Request(
            parameters=[
                Parameter(name, value=value).to_parameter_msg()
                for name, value in parameters.items()
            ]
        )
        future = client.call_async(request)
        self._until('setting parameters', future.done, _START_TIMEOUT_S)
        result = future.result().result
        if not result.successful:
            raise DemoError(f'the node refused {parameters}: {result.reason}')
        self._node.destroy_client(client)

    def _brakes_are_open(self) -> bool:
        return self._diagnostics.get('simulator: Simulated arm', {}).get('braked') == 'False'

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for entry in message.status:
            self._diagnostics[entry.name] = {pair.key: pair.value for pair in entry.values}
            if entry.level == DiagnosticStatus.ERROR:
                self._errors[f'{entry.name}: {entry.message}'] = None

    def _warned_last(self, module: str) -> str:
        """Return what a process warned of last, which may be why another failed."""
        lines = (self._folder / f'{module}.log').read_text(errors='replace').splitlines()
        warned = [line for line in lines if line.startswith(('[WARN]', '[ERROR]'))]
        return f' {module}: {warned[-1].rpartition("]: ")[2]}.' if warned else ''

    def _end_of(self, module: str, process: subprocess.Popen[bytes]) -> str:
        return end_of(process, self._folder / f'{module}.log')
