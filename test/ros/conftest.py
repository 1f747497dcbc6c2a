# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes as processes, and a probe that talks to them over DDS."""

from collections.abc import Callable
import os
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import ClassVar

import pytest

rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from builtin_interfaces.msg import Time  # noqa: E402
from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from lifecycle_msgs.srv import ChangeState, GetState  # noqa: E402
import numpy as np  # noqa: E402
from rcl_interfaces.srv import SetParametersAtomically  # noqa: E402
from rclpy.context import Context  # noqa: E402
from rclpy.experimental import EventsExecutor  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.qos import QoSProfile, ReliabilityPolicy  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from franka_dynamics.ros.node_group import default_signals  # noqa: E402

from .forked_nodes import ForkedNode  # noqa: E402

# Only reached when something is broken; no test depends on how long a step takes.
TIMEOUT_S = 180.0
ANSWER_S = 20.0  # of a service; a transition may wait, or publish a stop sequence
COMMAND = 'effort_controller/commands'
# Fewer than the default of 300, because many nodes start here, with well-known arms.
CROSSCHECK_STATES = 30
# Parameters of a feedforward node for a slow machine, without waiting at activation.
PATIENT = {
    'crosscheck_states': CROSSCHECK_STATES,
    'listen_before_activation': 0.0,
    'state_timeout': 2.0,
    'max_state_age': 0.0,
    'remaps': {'feedforward/command': COMMAND},
}
# An inclined base, so that with the target fci a torque is commanded.
INCLINED = {'gravity_vector': '[4.0,0.0,-8.9]'}
# Parameters of a simulated arm that depends on no clock.
LOCKSTEP = {
    'pacing': 'lockstep',
    'lockstep_timeout': 1.0,
    # No faster than a real arm, or it would keep a whole core busy while a test waits.
    'lockstep_rate': 1000.0,
    'brake_release_after': 0.1,
}

ROOT = Path(__file__).parents[2]


def started(module, arguments, output, environment) -> subprocess.Popen:
    """Return a process as a user starts it."""
    program = (
        [str(ROOT / 'examples' / module)]
        if module.endswith('.py')
        else ['-m', f'franka_dynamics.ros.{module}']
    )
    return subprocess.Popen(
        [sys.executable, *program, *arguments],
        stdout=output,
        stderr=subprocess.STDOUT,
        preexec_fn=default_signals,
        env=environment,
    )


class NodeProcess:
    """A node of this package, or a script of examples/, as a process."""

    running_now: ClassVar[list['NodeProcess']] = []

    def __init__(self, module: str, log, **parameters) -> None:
        self.running_now.append(self)
        remaps = parameters.pop('remaps', {})
        extra = parameters.pop('extra', [])
        arguments = []
        for name, value in parameters.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            arguments += ['-p', f'{name}:={text}']
        for old, new in remaps.items():
            arguments += ['-r', f'{old}:={new}']
        self.log = log
        arguments = ['--ros-args', *arguments, *extra]
        environment = {
            **os.environ,
            'PYTHONPATH': os.pathsep.join(
                [str(ROOT), *filter(None, [os.environ.get('PYTHONPATH')])]
            ),
        }
        with log.open('ab') as output:
            self._process = (
                ForkedNode(module, arguments, output, environment)
                if ForkedNode.can_be(module, environment)
                else started(module, arguments, output, environment)
            )

    def send(self, number: signal.Signals) -> None:
        self.running_now.remove(self)
        self._process.send_signal(number)

    def signal_again(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def wait(self) -> int:
        if self in self.running_now:
            self.running_now.remove(self)
        return self._process.wait(TIMEOUT_S)

    def end(self, by: signal.Signals = signal.SIGINT) -> int:
        self.send(by)
        return self.wait()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    @property
    def text(self) -> str:
        return self.log.read_text()

    def kill(self) -> None:
        if self in self.running_now:
            self.running_now.remove(self)
        if self.running:
            self._process.kill()
        self._process.wait()


class Probe(Node):
    """A node of the test's own, in a context of its own."""

    def __init__(self) -> None:
        self._own_context = Context()
        rclpy.init(context=self._own_context)
        # Probes of one process share a name, and rcl's /rosout keeps one publisher by name.
        super().__init__('probe', context=self._own_context, enable_rosout=False)
        # EventsExecutor takes a fifth of the default executor's processor time per message.
        self._own_executor = EventsExecutor(context=self._own_context)
        self._own_executor.add_node(self)
        self._known_clients: dict = {}
        self.diagnostics: dict[str, tuple[int, str, dict[str, str]]] = {}
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)

    def close(self) -> None:
        self._own_executor.shutdown()
        self.destroy_node()
        self._own_context.try_shutdown()

    def spin(self, seconds: float = 0.01) -> None:
        self._own_executor.spin_once(timeout_sec=seconds)

    def until(self, done: Callable[[], object], what: str) -> None:
        """Spin until `done` returns True; fail with the text `what` after a time-out."""
        give_up = time.monotonic() + TIMEOUT_S
        while not done():
            self.spin()
            for process in NodeProcess.running_now:
                assert process.running, f'{process.log.name} ended: {process.text}'
            assert time.monotonic() < give_up, f'never happened: {what}; {self.diagnostics}'

    def collect(self, kind: type, topic: str, reliable: bool = False, depth: int = 1000) -> list:
        """Return a list to which every message on a topic is appended."""
        messages: list = []
        reliability = ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT
        qos = QoSProfile(depth=depth, reliability=reliability)
        self.create_subscription(kind, topic, messages.append, qos)
        return messages

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for entry in message.status:
            self.diagnostics[entry.name] = (
                entry.level[0],
                entry.message,
                {p.key: p.value for p in entry.values},
            )

    def says(self, subject: str, text: str) -> bool:
        """Return whether the latest diagnostics of a subject contain a text."""
        _, message, pairs = self.diagnostics.get(subject, (0, '', {}))
        return text in message or text in ' '.join(pairs.values())

    def ask(self, kind: type, service: str, request):
        """Return the answer of a service, or None if no answer came."""
        client = self._known_clients.pop(service, None)
        if client is None:
            client = self.create_client(kind, service)
            self.until(client.service_is_ready, f'service {service}')
            # A server that has not discovered this client yet discards its answer, and DDS cannot
            # tell whether it has. So wait, and let callers ask again.
            give_up = time.monotonic() + 0.3
            while time.monotonic() < give_up:
                self.spin()
        else:
            self.until(client.service_is_ready, f'service {service}')
        future = client.call_async(request)
        give_up = time.monotonic() + ANSWER_S
        while not future.done() and time.monotonic() < give_up:
            self.spin()
        if not future.done():
            self.destroy_client(client)
            return None
        self._known_clients[service] = client  # discovered: the next call need not wait
        return future.result()

    def call(self, kind: type, service: str, request):
        """Return the answer of a service that may be asked twice without harm."""
        answer = None
        give_up = time.monotonic() + TIMEOUT_S
        while answer is None:
            answer = self.ask(kind, service, request)
            assert time.monotonic() < give_up, f'no answer of {service}'
        return answer

    def set_parameters(self, node: str, **values):
        """Set parameters atomically; return the result."""
        names = {name.replace('__', '.'): value for name, value in values.items()}
        request = SetParametersAtomically.Request(
            parameters=[
                Parameter(name, value=value).to_parameter_msg() for name, value in names.items()
            ]
        )
        return self.call(
            SetParametersAtomically, f'{node}/set_parameters_atomically', request
        ).result

    def transition(self, node: str, number: int) -> bool:
        before = self.lifecycle_state(node)
        request = ChangeState.Request()
        request.transition.id = number
        answer = self.ask(ChangeState, f'{node}/change_state', request)
        return answer.success if answer is not None else self.lifecycle_state(node) != before

    def clear_fault(self, node: str):
        """Acknowledge a latched fault; return the answer."""
        return self.call(Trigger, f'{node}/clear_fault', Trigger.Request())

    def lifecycle_state(self, node: str) -> str:
        return self.call(GetState, f'{node}/get_state', GetState.Request()).current_state.label


class ArmStream:
    """A made-up arm that publishes joint states, one at a time."""

    def __init__(self, probe: Probe, names, q, topic: str = 'joint_states') -> None:
        self._probe = probe
        self._publisher = probe.create_publisher(
            JointState, topic, QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
        )
        self.names, self.q = list(names), np.array(q, dtype=float)
        self.stamp_ns = 100 * 10**9

    def wait_for_listener(self) -> None:
        self._probe.until(
            lambda: self._publisher.get_subscription_count() > 0, 'a listener to the joint states'
        )

    def message(self, **changes) -> JointState:
        message = JointState(
            name=self.names,
            position=list(self.q),
            velocity=[0.0] * len(self.names),
            effort=[0.0] * len(self.names),
        )
        for field, value in changes.items():
            setattr(message, field, value)
        message.header.stamp = Time(sec=self.stamp_ns // 10**9, nanosec=self.stamp_ns % 10**9)
        return message

    def send(self, count: int = 1, *, step_ns: int = 10**6, pause: float = 1e-3, **changes):
        for _ in range(count):
            self.stamp_ns += step_ns
            self._publisher.publish(self.message(**changes))
            self._probe.spin(pause)

    def until(self, done: Callable[[], object], what: str) -> None:
        """Publish good states to subscribers until `done` returns True."""

        def step() -> object:
            if self._publisher.get_subscription_count() > 0:
                self.send(2)
            return done()

        self._probe.until(step, what)


@pytest.fixture
def probe():
    node = Probe()
    yield node
    node.close()


def launching(folder: Path):
    """Yield a function that starts nodes; they end with it, and log to a folder."""
    processes: list[NodeProcess] = []

    def start(module: str, **parameters) -> NodeProcess:
        process = NodeProcess(
            module, folder / f'{len(processes)}-{Path(module).name}.log', **parameters
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()


@pytest.fixture
def launch(tmp_path):
    """Start nodes that end with the test; their output is in the test's folder."""
    yield from launching(tmp_path)


@pytest.fixture(scope='module')
def launch_for_module(tmp_path_factory):
    """Start nodes that all tests of a module share."""
    yield from launching(tmp_path_factory.mktemp('nodes'))


@pytest.fixture
def start_node(launch):
    """Start the feedforward node with the parameters PATIENT."""

    def start(**parameters) -> NodeProcess:
        return launch('feedforward_node', **{**PATIENT, **parameters})

    return start


@pytest.fixture
def start_arm(launch):
    """Start a simulated arm in lockstep."""

    def start(**parameters) -> NodeProcess:
        return launch('simulator_node', **{**LOCKSTEP, **parameters})

    return start


@pytest.fixture
def make_arm(probe):
    """Make up arms on topics of their own."""
    return lambda names, q, topic: ArmStream(probe, names, q, topic)


@pytest.fixture
def arm(probe):
    """Make up a FER that stands at its home pose."""
    from franka_dynamics.arm import load

    fer = load('fer')
    return ArmStream(probe, fer.joint_names, fer.home)


@pytest.fixture
def commands(probe):
    # Reliable, like the subscription of an effort controller: before the node ends it waits until
    # such readers have its last torque.
    return probe.collect(Float64MultiArray, COMMAND, reliable=True)


class NodeWorld:
    """A feedforward node with a made-up arm in front of it and a probe beside it."""

    def __init__(self, log, **parameters) -> None:
        from franka_dynamics.arm import load
        from franka_dynamics.dynamics.pinocchio_model import PinocchioModel

        description = load(parameters.get('robot_type', 'fer'))
        self.gravity = PinocchioModel(description).gravity(description.home)
        self.probe = Probe()
        self.commands = self.probe.collect(Float64MultiArray, COMMAND)
        self.arm = ArmStream(self.probe, description.joint_names, description.home)
        self.node = NodeProcess('feedforward_node', log, **{**PATIENT, **parameters})
        self.arm.wait_for_listener()

    def close(self) -> None:
        self.node.kill()
        self.probe.close()


@pytest.fixture(scope='module')
def node_world(tmp_path_factory):
    """Make worlds that last as long as their module."""
    worlds: list[NodeWorld] = []

    def make(**parameters) -> NodeWorld:
        log = tmp_path_factory.mktemp('world') / 'feedforward_node.log'
        worlds.append(NodeWorld(log, **parameters))
        return worlds[-1]

    yield make
    for world in worlds:
        world.close()
