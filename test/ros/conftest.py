# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes as processes, and a probe that talks to them over DDS."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, ExitStack, suppress
from functools import cached_property
from multiprocessing import get_context
import os
from pathlib import Path
import signal
import subprocess
import time
from typing import ClassVar

import pytest

rclpy = pytest.importorskip('rclpy', reason='ROS 2 is not installed')

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus  # noqa: E402
from rclpy.context import Context  # noqa: E402
from rclpy.node import Node  # noqa: E402
from rclpy.qos import QoSProfile, ReliabilityPolicy  # noqa: E402
from rclpy.time import Time  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray, String  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from franka_dynamics.arm import load  # noqa: E402
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel  # noqa: E402
from franka_dynamics.ros import NODE_MODULES  # noqa: E402
from franka_dynamics.ros.clients.node_client import NodeClient  # noqa: E402
from franka_dynamics.ros.parameter_tables import NODE_NAMES  # noqa: E402
from franka_dynamics.ros.rclpy_private import Executor  # noqa: E402
from franka_dynamics.ros.receivers.receiver_kinds import (  # noqa: E402
    DECLARATION_SERVICES,
    ReceiverKind,
)
from franka_dynamics.ros.status import NodeStatus  # noqa: E402
from franka_dynamics.ros.topics import DESCRIPTION_QOS  # noqa: E402

from ..processes import PYTHONPATH, TIMEOUT_S  # noqa: E402
from ..ros2_control_prefix import environment, in_prefixes, MANAGER, mock_urdf  # noqa: E402

FER = load('fer')
FER_GRAVITY = NewtonEulerModel(FER).gravity(FER.home)  # the torque that holds it [N m]
# A held arm moves by rounding, 2e-15 rad; one that nobody carries falls by 2e-6 rad in 1 ms.
HELD_RAD = 1e-6
COMMAND = 'effort_controller/commands'
UNDISCOVERED_S = 10.0  # a node that is not discovered by then is made again
SLOW_AFTER_S = 20.0  # a test that waits longer sends at 20 Hz, not at 1 kHz
# Parameters of a feedforward node for a slow machine: a process may pause for seconds.
PATIENT = {
    'robot_type': 'fer',
    'period': 2.5,
    'max_state_age': 0.0,
    'remaps': {'feedforward/command': COMMAND},
}
# An inclined base, so that with the target fci a torque is commanded.
INCLINED = {'gravity_vector': '[4.0,0.0,-8.9]', 'mount_tilt_compensated_by': 'node'}
# Parameters of a simulated arm that depends on no clock.
LOCKSTEP = {
    'robot_type': 'fer',
    'ideal': True,  # tests compare with what a model computes
    'lockstep_timeout': 5.0,  # no torque is late, however busy the machine
    # Slower than a real arm, because it keeps a core busy while a test waits.
    'lockstep_rate': 300.0,
    'brake_release_after': 0.1,
}

SIMULATORS = 'mujoco', 'gz_ros2_control'  # targets whose torques contain gravity
# A simulated arm beside a node that is started alone, so both have a real arm's names.
ROOT_NAMES = {'remaps': {'__ns': '/'}}

# Importing takes most of a node's start. So Python's fork server imports all of it once, and each
# node is a copy of the fork server with its own environment, output, arguments and program.
PROCESSES = get_context('forkserver')
NAMES = *NODE_NAMES, 'gazebo_direct'
PROCESSES.set_forkserver_preload([NODE_MODULES[f'{name}_node'] for name in NAMES])
NODE = """
import ctypes, faulthandler, gc, importlib, os, runpy, sys
gc.freeze()  # or the garbage collector would copy all that was imported
os.environ.clear()
os.environ.update(environment)
for number in (1, 2):
    os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND), number)
faulthandler.enable()
sys.argv = [program, *arguments]
try:
    if program.endswith('.py'):
        sys.path.insert(0, os.path.dirname(program))
        runpy.run_path(program, run_name='__main__')
    sys.exit(importlib.import_module(program).main())
except SystemExit as end:
    sys.stdout.flush()
    ctypes.CDLL(None).exit(end.code or 0)  # with the destructors of C++, unlike multiprocessing's
"""


def stamp(message) -> float:
    """Return a message's header stamp [s]."""
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


class NodeProcess:
    """A node of this package, or a script, as a process; keyword arguments are its parameters."""

    # Processes that should still run, because no test has asked them to end.
    lasting: ClassVar[set['NodeProcess']] = set()

    def __init__(self, program: str, log, *, remaps=(), **parameters) -> None:
        arguments = ['--ros-args']
        for name, value in parameters.items():
            text = str(value).lower() if isinstance(value, bool) else str(value)
            arguments += ['-p', f'{name}:={text}']
        for old, new in dict(remaps).items():
            arguments += ['-r', f'{old}:={new}']
        given = {
            'log': str(log),
            'environment': {**os.environ, 'PYTHONPATH': PYTHONPATH},
            'program': program if program.endswith('.py') else NODE_MODULES[program],
            'arguments': arguments,
        }
        log.touch()
        self.log = log
        self._process = PROCESSES.Process(target=exec, args=(NODE, given))
        self._process.start()
        self.lasting.add(self)

    def send(self, number: signal.Signals) -> None:
        """Send a signal that ends the process."""
        self.lasting.discard(self)
        if self.running:
            # Its end is seen a moment after the fork server has reaped it.
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def wait(self, status: int = 0) -> None:
        """Wait for the end; require an exit status, or show how the log ended."""
        self.lasting.discard(self)
        self._process.join(TIMEOUT_S)
        ended = self._process.exitcode
        assert ended == status, f'{self.log.name}: exit status {ended}: {self.text[-3000:]}'

    def end(self) -> None:
        """Interrupt the process and wait; require exit status 0."""
        self.send(signal.SIGINT)
        self.wait()

    def kill(self) -> None:
        """Kill the process, if it has not ended, and wait."""
        self.send(signal.SIGKILL)
        self._process.join(TIMEOUT_S)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.is_alive()

    @property
    def text(self) -> str:
        return self.log.read_text()


class Probe(Node):
    """A node of the test's own, in a context of its own."""

    def __init__(self, name: str = 'probe', **options) -> None:
        self._own_context = Context()
        rclpy.init(context=self._own_context)
        # Probes of one process share a name, and rcl's /rosout keeps one publisher by name.
        super().__init__(name, context=self._own_context, enable_rosout=False, **options)
        # EventsExecutor takes a fifth of the default executor's processor time per message.
        self._own_executor = Executor(context=self._own_context)
        self._own_executor.add_node(self)
        self._ends = ExitStack()
        self._statuses: dict[str, NodeStatus | None] = {}  # by the names that `status` takes
        self.references: list[NodeStatus] = []  # what nodes said about references, once each
        self.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)

    def declare(self, kind: ReceiverKind) -> None:
        """Offer the service by which a simulated arm declares itself."""
        self.create_service(Trigger, DECLARATION_SERVICES[kind], lambda _, answer: answer)

    def close(self) -> None:
        self._ends.close()
        self._own_executor.shutdown()
        self.destroy_node()
        self._own_context.try_shutdown()

    @contextmanager
    def neighbour(self, name: str) -> Iterator['Probe']:
        """
        Make another node, which this one has discovered; close it at the end.

        On a busy machine two participants of one process seldom never find each other, in the
        middleware. Then the node is made again.
        """
        before = self.get_node_names().count(name)
        found = False
        while not found:
            with closing(Probe(name)) as node:
                give_up = time.monotonic() + UNDISCOVERED_S
                while not found and time.monotonic() < give_up:
                    self.spin()
                    found = self.get_node_names().count(name) > before
                if found:
                    yield node

    def spin(self, seconds: float = 0.01) -> None:
        self._own_executor.spin_once(timeout_sec=seconds)

    def until(self, done: Callable[[], object], what: str, every: float = 0.0) -> None:
        """
        Spin until `done` returns True; fail with the text `what` after a time-out.

        What sends, or makes entities, is called once in `every` [s]: a flood delays discovery.
        """
        give_up = time.monotonic() + TIMEOUT_S
        while not done():
            called = time.monotonic()
            self.spin()
            while time.monotonic() < called + every:
                self.spin()
            for process in NodeProcess.lasting:
                assert process.running, f'{process.log.name} ended: {process.text}'
            assert time.monotonic() < give_up, f'never happened: {what}; {self._statuses}'

    def collect(self, kind: type, topic: str, reliable: bool = False, depth: int = 1000) -> list:
        """Return a list to which every message on a topic is appended."""
        messages: list = []
        reliability = ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT
        qos = QoSProfile(depth=depth, reliability=reliability)
        self.create_subscription(kind, topic, messages.append, qos)
        return messages

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for one in map(NodeStatus.from_message, message.status):
            if one.subject == 'Reference' and one not in self.references[-1:]:
                self.references.append(one)
        self._statuses.update((x.name, x) for x in map(NodeStatus.from_message, message.status))

    def status(self, name: str) -> NodeStatus | None:
        """
        Return the latest diagnostics of a name such as 'feedforward: Command'; None before them.

        Of a node's name alone it is the typed status on its ~/status.
        """
        if ': ' not in name and name not in self._statuses:
            self._statuses[name] = None

            def take(message: DiagnosticStatus) -> None:
                self._statuses[name] = NodeStatus.from_message(message)

            self.create_subscription(DiagnosticStatus, f'{name}/status', take, DESCRIPTION_QOS)
        return self._statuses.get(name)

    def told(self, name: str, key: str) -> str:
        """Return a value of a status, '' until it has come."""
        one = self.status(name)
        return '' if one is None else one.values[key]

    def says(self, name: str, text: str) -> bool:
        """Return whether a status contains a text."""
        one = self.status(name)
        return one is not None and text in ' '.join((one.message, *one.values.values()))

    def forget(self) -> None:
        """Forget what nodes have said up to now."""
        self._statuses.update(dict.fromkeys(self._statuses))

    def until_status(self, name: str, **values: str) -> None:
        """Wait until values of a status are these."""
        found = lambda: {key: self.told(name, key) for key in values}  # noqa: E731
        self.until(lambda: found() == values, f'{name}: {values}')

    def until_says(self, name: str, text: str) -> None:
        self.until(lambda: self.says(name, text), f'{name}: {text}')

    @cached_property
    def client(self) -> NodeClient:
        """A client of the feedforward node, which lasts as long as the probe."""
        return self._ends.enter_context(NodeClient('/feedforward', TIMEOUT_S, self.spin))


class ArmStream:
    """A made-up arm that publishes joint states, one at a time."""

    def __init__(self, probe: Probe, names, q, topic: str = 'joint_states', qos=1) -> None:
        self._probe = probe
        self._publisher = probe.create_publisher(JointState, topic, qos)
        self.names = list(names)
        self.q = list(map(float, q))
        self.stamp_ns = 100 * 10**9

    def wait_for_listener(self) -> None:
        self._probe.until(self._publisher.get_subscription_count, 'a listener to joint states')

    def message(self, **changes) -> JointState:
        still = [0.0] * len(self.names)
        state = {
            'name': self.names,
            'position': self.q,
            'velocity': still,
            'effort': still,
        }
        message = JointState(**state | changes)
        message.header.stamp = Time(nanoseconds=self.stamp_ns).to_msg()
        return message

    def send(self, count: int = 1, *, step_ns: int = 10**6, pause: float = 1e-3, **changes):
        for _ in range(count):
            self.stamp_ns += step_ns
            self._publisher.publish(self.message(**changes))
            self._probe.spin(pause)

    def until(self, done: Callable[[], object], what: str) -> None:
        """Publish good states to subscribers until `done` returns True."""
        slow = time.monotonic() + SLOW_AFTER_S

        def step() -> object:
            if self._publisher.get_subscription_count():
                self.send(2, pause=1e-3 if time.monotonic() < slow else 0.05)
            return done()

        self._probe.until(step, what)

    def until_says(self, name: str, text: str) -> None:
        self.until(lambda: self._probe.says(name, text), f'{name}: {text}')


@pytest.fixture
def probe():
    with closing(Probe()) as node:
        yield node


@pytest.fixture
def make_node(monkeypatch):
    """Make nodes in this process, each with a context and ROS arguments of its own."""
    with ExitStack() as ends:

        def make(kind, *arguments, **options):
            context = Context()
            words = ['--ros-args', *map(str, arguments)]
            rclpy.init(args=words, context=context)
            monkeypatch.setattr('sys.argv', ['node', *words])
            ends.callback(context.try_shutdown)
            node = kind.__new__(kind)
            ends.callback(node.destroy_node)  # also of one that raises an error when it is made
            node.__init__(context=context, **options)
            return node

        yield make


def launching(folder: Path):
    """Yield a function that starts nodes; they end with it, and log to a folder."""
    processes: list[NodeProcess] = []

    def start(module: str, **parameters) -> NodeProcess:
        log = folder / f'{len(processes)}-{Path(module).name}.log'
        processes.append(NodeProcess(module, log, **parameters))
        return processes[-1]

    try:
        yield start
    finally:
        for process in processes:
            process.kill()


@pytest.fixture
def launch(tmp_path):
    """Start nodes that end with the test; their output is in the test's folder."""
    yield from launching(tmp_path)


@pytest.fixture
def start_node(launch, probe):
    """Start the feedforward node with the parameters PATIENT; the probe may take its torques."""

    def start(**parameters):
        if parameters.get('target') in SIMULATORS:
            probe.declare(ReceiverKind.SIMULATED_ARM)
        return launch('feedforward_node', **PATIENT | parameters)

    return start


@pytest.fixture
def start_arm(launch):
    """Start a simulated arm in lockstep."""
    return lambda **parameters: launch('simulator_node', **ROOT_NAMES | LOCKSTEP | parameters)


@pytest.fixture
def arm(probe):
    """Make up a FER that stands at its home pose."""
    return ArmStream(probe, FER.joint_names, FER.home)


@pytest.fixture
def commands(probe):
    # Reliable, like the subscription of an effort controller: before the node ends it waits until
    # such readers have its last torque.
    return probe.collect(Float64MultiArray, COMMAND, reliable=True)


class Manager:
    """A real controller manager with an arm as mock hardware, in the namespace of a probe."""

    def __init__(self, probe, arm, log: Path, *arguments, prefixes=(), **description) -> None:
        self.probe = probe
        self._log = log
        self._is_interrupted = False
        publisher = probe.create_publisher(String, 'robot_description', DESCRIPTION_QOS)
        publisher.publish(String(data=mock_urdf(arm, **description)))
        space = ['-r', f'__ns:={probe.get_namespace()}']
        command = [in_prefixes(MANAGER), '--ros-args', *space, *map(str, arguments)]
        with log.open('ab') as output:
            streams = {'stdout': output, 'stderr': output}
            self.process = subprocess.Popen(command, env=environment(*prefixes), **streams)
        name = f'{probe.get_namespace().rstrip("/")}/controller_manager'
        self._client = NodeClient(name, TIMEOUT_S, probe.spin)
        self._client.__enter__()

    def ask(self, kind, service: str, **fields) -> None:
        """Call a service of the manager, which must succeed."""
        answer = self._client.call_service(kind, service, **fields)
        assert answer.ok, (service, fields, self._log.read_text()[-3000:])

    def load(self, *names: str) -> None:
        """Load and configure controllers."""
        from controller_manager_msgs.srv import ConfigureController, LoadController

        for name in names:
            self.ask(LoadController, 'load_controller', name=name)
            self.ask(ConfigureController, 'configure_controller', name=name)

    def switch(self, activate=(), deactivate=()) -> None:
        """Activate and deactivate controllers."""
        from controller_manager_msgs.srv import SwitchController

        names = {'activate_controllers': activate, 'deactivate_controllers': deactivate}
        strict = SwitchController.Request.STRICT
        self.ask(SwitchController, 'switch_controller', strictness=strict, **names)

    def unload(self, name: str) -> None:
        """Deactivate and unload a controller, if it is loaded."""
        from controller_manager_msgs.srv import ListControllers, UnloadController

        for one in self._client.call_service(ListControllers, 'list_controllers').controller:
            if one.name == name:
                if one.state == 'active':
                    self.switch((), [name])
                self.ask(UnloadController, 'unload_controller', name=name)

    def interrupt(self) -> str:
        """Interrupt the process, which must end with exit status 0; return its log."""
        self._is_interrupted = True
        self._client.__exit__(None, None, None)
        self.process.send_signal(signal.SIGINT)
        status = self.process.wait(TIMEOUT_S)
        said = self._log.read_text()
        assert status == 0, said
        return said

    def end(self) -> None:
        """Kill the process; it must have run until now, unless it was interrupted."""
        if self._is_interrupted:
            self.process.kill()
            return
        self._client.__exit__(None, None, None)
        ran = self.process.poll() is None
        self.process.kill()
        self.process.wait()
        assert ran, self._log.read_text()[-3000:]


@pytest.fixture
def run_manager(probe, tmp_path):
    """Run controller managers, in the namespace of the probe, if ros2_control is there."""
    with ExitStack() as ends:

        def run(arm, *arguments, **description) -> Manager:
            log = tmp_path / 'controller_manager.log'
            manager = Manager(probe, arm, log, *arguments, **description)
            ends.callback(manager.end)
            return manager

        yield run


class NodeWorld:
    """A feedforward node with a made-up FER in front of it and a probe beside it."""

    def __init__(self, probe, node) -> None:
        self.probe = probe
        self.node = node
        self.commands = probe.collect(Float64MultiArray, COMMAND)
        self.arm = ArmStream(probe, FER.joint_names, FER.home)
        self.arm.wait_for_listener()

    def commands_come(self) -> None:
        """Acknowledge a fault of an earlier test, and wait until the node commands."""
        self.probe.client.clear_fault()
        before = len(self.commands)
        self.arm.until(lambda: len(self.commands) > before + 5, 'commands from good states')


@pytest.fixture(scope='module')
def node_world(tmp_path_factory):
    """Make worlds that last as long as their module."""
    with ExitStack() as ends:

        def make(**parameters) -> NodeWorld:
            probe = ends.enter_context(closing(Probe('world')))
            if parameters.get('target') in SIMULATORS:
                probe.declare(ReceiverKind.SIMULATED_ARM)
            log = tmp_path_factory.mktemp('world') / 'node.log'
            node = NodeProcess('feedforward_node', log, **PATIENT | parameters)
            ends.callback(node.kill)
            return NodeWorld(probe, node)

        yield make
