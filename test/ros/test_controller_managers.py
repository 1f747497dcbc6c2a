# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Receivers beside real controller managers, and the example controller in C++, over DDS."""

from contextlib import closing, ExitStack
from functools import partial
import signal
import subprocess
from threading import Event, Thread

from builtin_interfaces.msg import Time
import numpy as np
import pytest
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.clients.node_client import NodeClient
from franka_dynamics.ros.receivers import controller_managers
from franka_dynamics.ros.receivers.receiver_finder import ReceiverFinder
from franka_dynamics.ros.receivers.receiver_kinds import ReceiverKind

from .conftest import Manager, Probe
from ..processes import ROOT, TIMEOUT_S
from ..ros2_control_prefix import environment, made, PREFIXES

pytest.importorskip('controller_manager_msgs', reason='controller_manager_msgs is not installed')

from franka_dynamics.ros.clients import awaited_controller

ARM = load('fr3')
NAMES = list(ARM.joint_names)
WEIGHT = NewtonEulerModel(ARM).gravity(ARM.home)
TORQUES = '/effort_controller/commands'
# For a slow machine: a process may pause for seconds.
STEADY = {'period': 2.5, 'max_state_age': 0.0}

FORWARD = 'forward_command_controller/ForwardCommandController'
REMAP = f'-r, "~/commands:={TORQUES}"'
EFFORTS = {'joints': NAMES, 'interface_name': 'effort'}
# Controllers by name: type, parameters, and ROS arguments of their nodes.
CONTROLLERS = {
    'effort_controller': (FORWARD, EFFORTS, REMAP),
    'group': (
        'effort_controllers/JointGroupEffortController',
        {'joints': NAMES},
        REMAP,
    ),
    'other_order': (
        FORWARD,
        {'joints': NAMES[::-1], 'interface_name': 'effort'},
        REMAP,
    ),
    'positions': (FORWARD, {'joints': NAMES, 'interface_name': 'position'}, REMAP),
    'moved': (FORWARD, EFFORTS, f'{REMAP}, -r, "__ns:=/elsewhere"'),
    'of_another_topic': (FORWARD, EFFORTS, ''),
    'joint_state_broadcaster': (
        'joint_state_broadcaster/JointStateBroadcaster',
        {},
        '',
    ),
}


def parameters():
    """Return the text of a parameter file for a manager of these controllers."""
    lines = ['/**/controller_manager:', '  ros__parameters:', '    update_rate: 200']
    for name, (kind, _, words) in CONTROLLERS.items():
        lines.append(f'    {name}.type: {kind}')
        if words:
            lines.append(f'    {name}.node_options_args: ["--ros-args", {words}]')
    for name, (_, values, _) in CONTROLLERS.items():
        if values:
            lines += [f'/**/{name}:', '  ros__parameters:']
            lines += [f'    {key}: {value}' for key, value in values.items()]
    return '\n'.join(lines)


@pytest.fixture(scope='module')
def managers(tmp_path_factory):
    """Run a manager in simulated time in /simulated, and one in real time in /real."""
    folder = tmp_path_factory.mktemp('managers')
    over = Event()
    file = folder / 'parameters.yaml'
    file.write_text(parameters())
    with ExitStack() as ends:
        found = {}
        for space in ('simulated', 'real'):
            probe = ends.enter_context(closing(Probe('beside', namespace=space)))
            words = (
                '--params-file',
                file,
                '-p',
                f'use_sim_time:={space == "simulated"}'.lower(),
            )
            log = folder / f'{space}.log'
            found[space] = Manager(probe, ARM, log, *words, commands=('effort', 'position'))
            ends.callback(found[space].end)
        clock = probe.create_publisher(Clock, '/clock', 1)

        def tick():
            while not over.wait(0.005):
                clock.publish(Clock(clock=probe.get_clock().now().to_msg()))

        thread = Thread(target=tick)
        thread.start()
        ends.callback(thread.join)
        ends.callback(over.set)
        yield found


@pytest.fixture
def loaded(managers):
    """Return a function that loads controllers, which are unloaded after the test."""
    names = []

    def load_them(space, *controllers):
        managers[space].load(*controllers)
        names.extend((space, one) for one in controllers)
        return managers[space]

    yield load_them
    for space, name in names:
        managers[space].unload(name)


@pytest.fixture
def looking(probe):
    """Return a finder of receivers by a node in the namespace /."""
    publisher = probe.create_publisher(Float64MultiArray, TORQUES, 1)
    with closing(ReceiverFinder(probe, publisher)) as finder:
        finder.target = 'mujoco'
        finder.joint_names = NAMES
        yield finder


def until_found(probe, looking, expected):
    """Wait until the receivers have these kinds."""
    found = {}

    def are_found():
        found.clear()
        found.update((name, one.kind) for name, one in looking.find_receivers().items())
        return found == expected

    try:
        probe.until(are_found, '')
    except AssertionError as error:
        raise AssertionError(f'{found} in place of {expected}') from error
    return looking.find_receivers()


def test_a_receiver_is_known_by_declaration_or_manager(probe, looking, loaded):
    loaded(
        'simulated',
        *[name for name in CONTROLLERS if name != 'joint_state_broadcaster'],
    )
    loaded('real', 'effort_controller')
    probe.create_subscription(Float64MultiArray, TORQUES, print, 1)  # the node itself
    with closing(Probe('arm', namespace='/simulated')) as arm:
        arm.declare(ReceiverKind.SIMULATED_ARM)
        arm.collect(Float64MultiArray, TORQUES)
        with closing(Probe('driver', namespace='/simulated')) as driver:
            driver.collect(Float64MultiArray, TORQUES)
            found = until_found(
                probe,
                looking,
                {
                    '/simulated/effort_controller': ReceiverKind.SIMULATED_CONTROLLER,
                    '/simulated/group': ReceiverKind.SIMULATED_CONTROLLER,
                    '/simulated/other_order': ReceiverKind.OTHER_CONTROLLER,
                    '/simulated/positions': ReceiverKind.OTHER_CONTROLLER,
                    '/elsewhere/moved': ReceiverKind.SIMULATED_CONTROLLER,
                    '/real/effort_controller': ReceiverKind.REAL_CONTROLLER,
                    '/simulated/arm': ReceiverKind.SIMULATED_ARM,
                    '/simulated/driver': ReceiverKind.UNRECOGNISED,
                },
            )
    # It may be a controller whose manager is not seen yet.
    assert [name for name, one in found.items() if one.uncertainty] == ['/simulated/driver']
    assert 'fr3_joint7/effort, fr3_joint6' in str(found['/simulated/other_order'])
    assert 'fr3_joint1/position' in str(found['/simulated/positions'])


def test_what_cannot_be_asked_is_waited_for(probe, looking, loaded, monkeypatch):
    manager = loaded('real', 'effort_controller')
    name = '/real/effort_controller'
    until_found(probe, looking, {name: ReceiverKind.REAL_CONTROLLER})
    looking.close()  # forgets the answer
    manager.process.send_signal(signal.SIGSTOP)
    try:
        until_found(probe, looking, {name: ReceiverKind.UNDETERMINED})
        silent = 'has not answered for'
        probe.until(lambda: silent in looking.find_receivers()[name].uncertainty, silent)
    finally:
        manager.process.send_signal(signal.SIGCONT)
    until_found(probe, looking, {name: ReceiverKind.REAL_CONTROLLER})
    # Two managers of one name, of which nobody can tell whose answer comes.
    with closing(Probe('controller_manager', namespace='/real')):
        found = until_found(probe, looking, {name: ReceiverKind.UNDETERMINED})
        assert '/real/controller_manager' in found[name].uncertainty
    until_found(probe, looking, {name: ReceiverKind.REAL_CONTROLLER})
    # The other one ends.
    looking.close()
    monkeypatch.setattr(controller_managers, 'ListControllers', None)
    found = until_found(probe, looking, {name: ReceiverKind.UNDETERMINED})
    assert 'controller_manager_msgs' in found[name].uncertainty


class Efforts:
    """The efforts that the mock hardware of a manager gets, from its joint states."""

    def __init__(self, manager):
        self._probe = manager.probe
        self.states = manager.probe.collect(JointState, 'joint_states')

    def latest(self):
        """Return the efforts of the next state, shape (7,) [N m]."""
        before = len(self.states)
        self._probe.until(lambda: len(self.states) > before, 'a joint state')
        row = dict(zip(self.states[-1].name, self.states[-1].effort))
        return np.array([row[name] for name in NAMES])

    def until(self, expected, what):
        """Wait until these efforts are applied."""
        self._probe.until(lambda: np.abs(self.latest() - expected).max() < 1e-9, what)


NODE = '/simulated/feedforward'
SIMULATED = {
    'robot_type': 'fr3',
    'target': 'mujoco',
    'use_sim_time': True,
    'remaps': {'__ns': '/simulated', '~/command': TORQUES},
}


def until_says(probe, state, words):
    """Wait until the node has a state, and its status these words."""

    def says():
        one = probe.status(NODE)
        return one and one.values['state'] == state and words in one.message

    probe.until(says, words)


def test_torques_flow_only_to_the_only_active_controller(loaded, launch):
    manager = loaded('simulated', 'joint_state_broadcaster', 'effort_controller')
    probe = manager.probe
    efforts = Efforts(manager)
    manager.switch(['joint_state_broadcaster'])
    launch('feedforward_node', **STEADY, **SIMULATED)
    until_status = partial(until_says, probe)

    until_status('silent', '/simulated/effort_controller is inactive; activate it')
    np.testing.assert_array_equal(efforts.latest(), np.zeros(7))
    manager.switch(['effort_controller'])
    efforts.until(WEIGHT, 'the arm carried by the node')
    manager.switch([], ['effort_controller'])
    until_status('silent', '/simulated/effort_controller is inactive')
    manager.switch(['effort_controller'])
    until_status('running', 'torques are sent')
    efforts.until(WEIGHT, 'the arm carried again')
    # A real arm's controller comes: torques go to zero, and stay there while it is there.
    real = loaded('real', 'effort_controller')
    efforts.until(np.zeros(7), 'zero')
    until_status('silent', '/real/effort_controller (a controller in real time)')
    torques = real.probe.collect(Float64MultiArray, TORQUES)
    with NodeClient(NODE, TIMEOUT_S, probe.spin) as client:
        client.clear_fault()
        probe.forget()
        until_status('silent', '/real/effort_controller (a controller in real time)')
        assert not any(np.any(one.data) for one in torques)
        real.unload('effort_controller')
        client.clear_fault()
    efforts.until(WEIGHT, 'the arm carried once it has gone')


def test_a_controller_is_activated_once_its_node_waits_for_that_alone(loaded, launch):
    manager = loaded('simulated', 'joint_state_broadcaster', 'effort_controller')
    efforts = Efforts(manager)
    manager.switch(['joint_state_broadcaster'])
    node = launch('feedforward_node', **STEADY, **SIMULATED)
    names = NODE, '/simulated/controller_manager', 'effort_controller'
    assert awaited_controller.main(names) == 0
    efforts.until(WEIGHT, 'the arm carried by the node')
    assert node.text.count('commanding (target mujoco)') == 1
    assert not any(words in node.text for words in ('nobody receives', 'torques ended'))


def test_an_inactive_broadcaster_is_named_after_a_reflex(loaded, launch):
    both = ['joint_state_broadcaster', 'effort_controller']
    manager = loaded('simulated', *both)
    efforts = Efforts(manager)
    manager.switch(both)
    launch('feedforward_node', **STEADY, **SIMULATED)
    efforts.until(WEIGHT, 'the arm carried by the node')
    manager.switch([], both)
    manager.switch(['effort_controller'])
    named = 'joint_state_broadcaster of /simulated/controller_manager is inactive'
    until_says(manager.probe, 'silent', named)
    manager.switch(['joint_state_broadcaster'])
    until_says(manager.probe, 'running', 'torques are sent')
    efforts.until(WEIGHT, 'the arm carried again')


@pytest.fixture(scope='module')
def hold_program(tmp_path_factory):
    """Build the example controller in C++, and return its program."""
    if not PREFIXES:
        pytest.skip('FRANKA_DYNAMICS_ROS2_CONTROL is no prefix with rclcpp')
    folder = tmp_path_factory.mktemp('cpp_controller')
    install = folder / 'install'
    source = ROOT / 'examples/cpp_controller'
    made(source, folder / 'build', install, '-DCMAKE_CXX_FLAGS=-Werror')
    return install / 'lib' / 'franka_dynamics_cpp_controller' / 'hold'


class HoldController:
    """The running example controller, with the states and terms that it gets, and its torques."""

    model = NewtonEulerModel(ARM)

    def __init__(self, probe, process) -> None:
        self.probe = probe
        self.process = process
        latest = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        self.terms = [
            probe.create_publisher(JointState, f'feedforward/{name}', latest)
            for name in ('mass_matrix', 'coriolis_matrix', 'gravity')
        ]
        self.states = probe.create_publisher(JointState, 'joint_states', latest)
        self.commands = probe.collect(
            Float64MultiArray, 'effort_controller/commands', reliable=True
        )
        self.sent_count = 0

    def send_state(self, header, q, dq, order) -> None:
        """Publish a state with its joints in this order, which may leave some out."""
        names = [NAMES[k] for k in order]
        rows = {'position': list(q[order]), 'velocity': list(dq[order])}
        self.states.publish(JointState(header=header, name=names, **rows))
        self.probe.spin()

    def settles(self, q, dq, expected) -> bool:
        """Publish a state, its joints in another order, and before it the terms at it."""
        self.sent_count += 1
        header = Header(stamp=Time(sec=10, nanosec=self.sent_count * 1000))
        model = self.model
        matrices = model.mass_matrix(q), model.coriolis_matrix(q, dq), model.gravity(q)
        for publisher, values in zip(self.terms, matrices):
            efforts = {'name': NAMES, 'effort': list(values.ravel())}
            publisher.publish(JointState(header=header, **efforts))
        self.send_state(header, q, dq, [3, 0, 6, 2, 1, 5, 4])
        commands = self.commands
        return bool(commands) and np.abs(np.array(commands[-1].data) - expected).max() < 1e-9

    def holds(self) -> bool:
        """Publish the state and terms of an arm at home; return whether its weight is sent."""
        return self.settles(ARM.home, np.zeros(ARM.n), WEIGHT)

    def has_ended_torques(self, state=()) -> bool:
        """Publish any state (second, velocities, joints) given; return whether zero is sent."""
        if state:
            seconds, dq, joints = state
            header = Header(stamp=Time(sec=seconds))
            self.send_state(header, ARM.home, np.array(dq), list(joints))
        self.probe.spin()
        return not np.any(self.commands[-1].data)

    def largest_step(self) -> float:
        """Return the largest change of a torque from one command to the next [N m]."""
        return np.abs(np.diff([list(one.data) for one in self.commands], axis=0)).max()


@pytest.fixture
def holding(hold_program, probe):
    """Run the example controller until it holds an arm at home."""
    words = '--ros-args', '-p', 'add_gravity:=true'
    process = subprocess.Popen([hold_program, *words], env=environment())
    try:
        controller = HoldController(probe, process)
        probe.until(controller.holds, 'the torque that holds')
        yield controller
    finally:
        process.kill()
        process.wait()


LARGEST_STEP_NM = 1.0 + 1e-12


def test_the_example_reaches_its_torque_by_1_nm_per_cycle(holding):
    assert np.any(np.abs(WEIGHT) > 2.0 * LARGEST_STEP_NM)
    assert holding.largest_step() <= LARGEST_STEP_NM


def test_the_example_gives_the_law_it_states(probe, holding):
    away = ARM.home + 0.02
    dq = np.linspace(-0.2, 0.2, ARM.n)
    model = holding.model
    law = (
        model.mass_matrix(away) @ (100.0 * (ARM.home - away) - 20.0 * dq)
        + model.coriolis_matrix(away, dq) @ dq
        + model.gravity(away)
    )
    probe.until(lambda: holding.settles(away, dq, law), 'the law away from there')
    assert holding.largest_step() <= LARGEST_STEP_NM


@pytest.mark.parametrize(
    'state',
    [
        pytest.param((20, [0.0] * 7, range(7)), id='terms of another time'),
        pytest.param((10, [0.0] * 7, range(6)), id='a joint is missing'),
        pytest.param((10, [0.0] * 6 + [np.nan], range(7)), id='no finite torque'),
        pytest.param((), id='states cease'),
    ],
)
def test_the_example_ends_torques_without_a_usable_state(probe, holding, state):
    probe.until(lambda: holding.has_ended_torques(state), 'no torque')
    assert holding.largest_step() <= LARGEST_STEP_NM
    probe.until(holding.holds, 'the arm is held again')


def test_ctrl_c_ends_the_examples_torques_before_it_exits(probe, holding):
    holding.process.send_signal(signal.SIGINT)
    probe.until(holding.has_ended_torques, 'no torque')
    assert holding.process.wait(10.0) == 0
    assert holding.largest_step() <= LARGEST_STEP_NM
