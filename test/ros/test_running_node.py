# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One running node: wrong joint states stop it; its parameters change whole, without a step."""

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
import pytest
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from franka_dynamics.control.settings import Settings
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import SettingsError

from .conftest import FER, FER_GRAVITY
from ..agreement import refuses

NAMES = list(FER.joint_names)
HOME = list(FER.home)
NODE, STATES, COMMANDS = 'feedforward', 'feedforward: Joint states', 'feedforward: Command'
LOAD = [3.0, 0.0, 0.0, 0.05, 3e-3, 0.0, 0.0, 3e-3, 0.0, 3e-3]
LOADED = NewtonEulerModel(
    FER.with_payload(Settings(payload=tuple(LOAD)).payload_inertia())
).gravity(FER.home)
# After the end of the ramp only rounding remains.
ATOL_NM = 1e-12


@pytest.fixture(scope='module')
def world(node_world):
    world = node_world(target='mujoco')
    world.arm.until(lambda: len(world.commands) > 50, 'commands')
    return world


MISSING = {'name': NAMES[:6], 'position': HOME[:6], 'velocity': [0.0] * 6, 'effort': []}


@pytest.mark.parametrize(
    ('changes', 'sentence'),
    [
        (MISSING, 'lacks fer_joint7; it has fer_joint1'),
        ({'position': [*HOME[:2], np.nan, *HOME[3:]]}, 'the position of fer_joint3 is nan'),
    ],
)
def test_a_state_at_fault_is_named_and_the_arm_stopped(world, changes, sentence):
    world.commands_come()
    # Forget the diagnostics of the previous test, which may contain the same sentence.
    world.probe.forget()

    def told(subject, text):
        # As fast as possible: a stop that waits for a pause of states would never end.
        world.arm.send(20, pause=0.0, **changes)
        return world.probe.says(subject, text)

    world.probe.until(lambda: told(STATES, sentence), f'diagnostics say: {sentence}')
    # The stop sequence ends at the torque that holds the arm; then nothing is published.
    world.probe.until(lambda: told(COMMANDS, 'silent'), 'the node is silent')
    # Diagnostics may arrive before the last command, which was sent earlier.
    world.probe.until(
        lambda: np.allclose(world.commands[-1].data, FER_GRAVITY, rtol=0, atol=1e-9), 'its end'
    )
    count = len(world.commands)
    world.arm.send(50, **changes)
    for one in world.commands[count:]:
        np.testing.assert_allclose(one.data, FER_GRAVITY, rtol=0, atol=1e-9)


def test_a_gripper_on_the_arms_topic_does_not_stop_the_arm(world):
    second = world.probe.create_publisher(JointState, 'joint_states', 1)
    world.probe.until(second.get_subscription_count, 'the node listens')
    world.commands_come()
    stops = world.probe.told(COMMANDS, 'stops')
    before = len(world.commands)
    gripper = {'name': ['finger_joint1'], 'position': [0.01], 'velocity': [0.0], 'effort': []}
    for _ in range(200):
        world.arm.send(1, effort=[np.nan] * 7)  # no measurement
        second.publish(world.arm.message(**gripper))
    world.arm.until(lambda: len(world.commands) > before + 100, 'commands go on')
    world.probe.until(lambda: world.probe.told(COMMANDS, 'stops') == stops, 'no stop')
    world.probe.destroy_publisher(second)


def settle(world, expected):
    """Publish states until the command is the expected torque."""
    world.arm.until(
        lambda: np.allclose(world.commands[-1].data, expected, rtol=0, atol=ATOL_NM),
        f'a command of {expected}',
    )


def test_a_payload_put_on_and_taken_off_leaves_torques_the_same(world):
    settle(world, FER_GRAVITY)
    before = list(world.commands[-1].data)
    world.probe.client.set_parameters({'payload': LOAD})
    settle(world, LOADED)
    world.probe.client.set_parameters({'payload': [0.0] * 10})
    settle(world, FER_GRAVITY)
    world.arm.send(100)
    assert list(world.commands[-1].data) == before


@pytest.mark.parametrize(
    ('values', 'reason'),
    [
        ({'scale': 0.5, 'kd': [-1.0]}, 'kd must be within 0'),
        ({'robot_type': 'fr3'}, 'read-only'),
        ({'kp': [250.0] * 7}, 'swing'),
        ({'terms.no_such': 1.0}, 'terms.no_such: no such parameter'),
        ({'target': 'x' * 10**6}, 'target'),
        ({'scale': np.nan}, 'scale'),
        ({'payload': [np.nan] * 10}, 'payload'),
        ({'scale': True}, 'type bool; it must be double'),
    ],
    ids=lambda one: ' '.join(one) if isinstance(one, dict) else one,
)
def test_of_values_at_fault_none_is_taken_and_the_reason_is_told(world, values, reason):
    settle(world, FER_GRAVITY)
    client = world.probe.client
    with refuses(SettingsError, reason):
        client.set_parameters(values)
    if len(values) == 1:  # one by one, as `ros2 param set` does
        ((name, value),) = values.items()
        given = [Parameter(name, value=value).to_parameter_msg()]
        answer = client.call_service(SetParameters, 'set_parameters', parameters=given)
        (result,) = answer.results
        assert not result.successful and reason in result.reason
    world.arm.send(100)
    np.testing.assert_allclose(world.commands[-1].data, FER_GRAVITY, rtol=0, atol=ATOL_NM)


def test_changes_that_need_each_other_are_taken_together(world):
    # Stiffness without damping would swing; with it, it may even be late on a busy machine.
    stiff = {'kp': [250.0] * 4 + [25.0, 25.0, 5.0]}
    with refuses(SettingsError, 'swing'):
        world.probe.client.set_parameters(stiff)
    world.probe.client.set_parameters({**stiff, 'kd': [4.0] * 4 + [0.5, 0.5, 0.1]})
    world.probe.client.set_parameters({'kp': [0.0], 'kd': [0.0]})
    settle(world, FER_GRAVITY)


@pytest.mark.parametrize(
    ('parameters', 'step_ns', 'clock', 'words'),
    [
        ({'period': 0.005}, 33 * 10**6, False, ('30 Hz', 'franka/joint_states')),
        (
            {'use_sim_time': True},
            10**6,
            False,
            ('use_sim_time is true', 'nobody publishes /clock'),
        ),
        ({}, 10**6, True, ('/clock comes from /probe', 'set use_sim_time true')),
        ({}, 10**6, False, ('chrony', 'max_state_age')),
    ],
)
def test_of_states_that_are_rare_or_of_another_clock_the_cause_is_named(
    parameters, step_ns, clock, words, probe, arm, start_node
):
    if clock:
        probe.create_publisher(Clock, '/clock', 1)
    start_node(**{'max_state_age': 0.1, **parameters})
    arm.wait_for_listener()

    def told():
        arm.send(step_ns=step_ns)
        one = probe.status(STATES)
        return one and all(word in one.message for word in words) and 'loop' not in one.message

    probe.until(told, str(words))


def test_a_status_comes_again_unchanged_and_to_who_has_not_found_its_publisher(world, start_arm):
    """`ros2 topic echo` then subscribes without durability, as here."""
    start_arm(robot_type='fr3', remaps={'__ns': '/other'})
    world.commands_come()
    told = {NODE: [], 'other/simulator': []}
    for name, statuses in told.items():
        world.probe.create_subscription(DiagnosticStatus, f'{name}/status', statuses.append, 1)
    world.arm.until(lambda: all(len(statuses) > 2 for statuses in told.values()), 'three of each')
    for statuses in told.values():
        assert len({one.level + one.message.encode() for one in statuses[-2:]}) == 1
