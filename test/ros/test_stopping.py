# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The end of the node by signals, transitions and kills; another node that commands."""

import os
import signal
import subprocess
import sys
import time

from lifecycle_msgs.msg import Transition
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

from .conftest import INCLINED

FER = load('fer')
GRAVITY = NewtonEulerModel(FER).gravity(FER.home)
ZERO = np.zeros(7)
NODE = 'feedforward'


@pytest.mark.parametrize(
    ('signals', 'target', 'parameters', 'resting'),
    [
        # A terminal that closes signals every process of its group; launch signals each again.
        ((signal.SIGHUP, signal.SIGINT), 'fci', INCLINED, ZERO),
        ((signal.SIGTERM,), 'mujoco', {}, GRAVITY),
    ],
)
def test_signals_end_at_the_resting_torque_and_exit_zero(
    arm, probe, start_node, commands, signals, target, parameters, resting
):
    node = start_node(target=target, **parameters)
    arm.until(lambda: len(commands) > 300, 'three hundred commands')
    assert np.abs(commands[-1].data).max() > 1.0
    node.send(signals[0])
    while node.running:
        for number in signals[1:]:
            node.signal_again(number)
        probe.spin(0.005)
    assert node.wait() == 0
    probe.until(
        lambda: np.allclose(commands[-1].data, resting, rtol=0, atol=1e-12), 'the resting torque'
    )
    steps = np.abs(np.diff([message.data for message in commands], axis=0)).max()
    # Up to ten messages in a row may be lost.
    assert steps <= 10.0


def test_transitions_begin_stop_and_bring_back(arm, probe, start_node, commands):
    node = start_node(target='fci', autostart=False, **INCLINED)
    assert probe.lifecycle_state(NODE) == 'unconfigured'
    assert probe.transition(NODE, Transition.TRANSITION_CONFIGURE)
    assert probe.lifecycle_state(NODE) == 'inactive'
    probe.until(lambda: probe.says('feedforward: Command', 'not activated'), 'diagnostics')
    assert probe.transition(NODE, Transition.TRANSITION_ACTIVATE)
    probe.until(
        lambda: 'no joint state on /joint_states for' in node.text, 'the silence of an arm is told'
    )
    assert not commands
    arm.until(lambda: len(commands) > 300, 'commands')
    assert probe.transition(NODE, Transition.TRANSITION_DEACTIVATE)
    assert probe.lifecycle_state(NODE) == 'inactive'
    probe.until(lambda: np.array_equal(commands[-1].data, ZERO), 'zero torque')
    count = len(commands)
    arm.send(100)
    assert len(commands) == count
    probe.until(lambda: probe.says('feedforward: Command', 'deactivated'), 'diagnostics')
    assert probe.says('feedforward: Joint states', 'reads no joint states')
    assert probe.transition(NODE, Transition.TRANSITION_ACTIVATE)
    arm.until(lambda: len(commands) > count + 50, 'commands again')
    assert probe.transition(NODE, Transition.TRANSITION_DEACTIVATE)
    assert probe.transition(NODE, Transition.TRANSITION_CLEANUP)
    assert probe.lifecycle_state(NODE) == 'unconfigured'
    assert probe.transition(NODE, Transition.TRANSITION_CONFIGURE)
    assert probe.transition(NODE, Transition.TRANSITION_ACTIVATE)
    count = len(commands)
    arm.until(lambda: len(commands) > count + 50, 'commands after cleanup')
    assert probe.transition(NODE, Transition.TRANSITION_ACTIVE_SHUTDOWN)
    assert probe.lifecycle_state(NODE) == 'finalized'
    assert node.end() == 0


def test_an_arm_that_there_is_not_ends_the_node_with_one_sentence(start_node):
    node = start_node(robot_type='ur5')
    assert node.wait() == 1
    assert "There is no arm 'ur5'; shipped are" in node.text
    assert 'Traceback' not in node.text


def test_a_killed_node_leaves_the_arm_held_and_a_new_one_is_followed(probe, start_arm, start_node):
    states = probe.collect(JointState, 'joint_states')
    simulator = start_arm(lockstep_timeout=0.05)
    first = start_node(target='mujoco')
    probe.until(lambda: probe.says('simulator: Simulated arm', 'False'), 'brakes open')
    first.end(signal.SIGKILL)
    probe.until(lambda: 'holding the arm until a command' in simulator.text, 'the arm held')
    # DDS still lists the dead node for 20 s.
    start_node(target='mujoco', held_until_commanded=True)
    probe.diagnostics.clear()
    command = 'feedforward: Command'
    probe.until(lambda: probe.says(command, 'torques are published'), 'the new node commands')
    assert probe.diagnostics[command][2]['faults latched'] == '0'
    count = len(states)
    probe.until(lambda: len(states) > count + 200, 'two hundred states')
    np.testing.assert_allclose(states[-1].position, FER.home, rtol=0, atol=1e-4)
    assert simulator.text.count('following') >= 2  # more often on a busy machine


def test_activation_is_refused_while_somebody_else_commands(arm, probe, start_node):
    rival = probe.create_publisher(Float64MultiArray, 'effort_controller/commands', 1)
    timer = probe.create_timer(0.005, lambda: rival.publish(Float64MultiArray(data=[0.5] * 7)))
    node = start_node(target='mujoco', listen_before_activation=10.0, autostart=False)
    assert probe.transition(NODE, Transition.TRANSITION_CONFIGURE)
    assert not probe.transition(NODE, Transition.TRANSITION_ACTIVATE)
    assert probe.lifecycle_state(NODE) == 'inactive'
    assert 'somebody else commands /effort_controller/commands' in node.text
    probe.destroy_timer(timer)


def test_zero_is_reached_while_bad_states_come_without_a_pause(arm, probe, start_node, commands):
    start_node(target='fci', **INCLINED)
    arm.until(lambda: len(commands) > 300, 'commands')
    bad = {'position': [float('nan')] * 7}

    def at_zero():
        # As fast as possible: a stop that waits for a pause of states would never end.
        for _ in range(20):
            arm.send(1, pause=0.0, **bad)
        return np.array_equal(commands[-1].data, ZERO)

    probe.until(at_zero, 'zero torque while bad states come')


def test_the_arm_is_held_again_after_its_simulator_is_restarted(probe, start_arm, start_node):
    # The node commands after twenty trusted states; in lockstep the arm waits for a torque after
    # each of them.
    arm = {'publish_clock': True, 'lockstep_timeout': 0.05}
    first = start_arm(**arm)
    start_node(target='mujoco', state_timeout=0.3, use_sim_time=True, max_state_age=0.1)
    probe.until(lambda: probe.says('simulator: Simulated arm', 'False'), 'brakes open')
    first.end(signal.SIGKILL)
    # Without the simulator simulated time stands still, so no state is late.
    probe.until(
        lambda: probe.says('feedforward: Joint states', 'stands still'), 'that time stands is told'
    )
    probe.diagnostics.clear()
    states = probe.collect(JointState, 'joint_states')
    start_arm(**arm)
    probe.until(lambda: probe.says('simulator: Simulated arm', 'False'), 'brakes open again')
    count = len(states)
    probe.until(lambda: len(states) > count + 200, 'it goes on')
    np.testing.assert_allclose(states[-1].position, FER.home, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    'started',
    [
        ('-c', 'from franka_dynamics.ros.start import feedforward_node; feedforward_node()'),
        ('-m', 'franka_dynamics.ros.feedforward_node'),
    ],
    ids=['command', 'module'],
)
def test_a_signal_while_a_node_is_imported_ends_it_in_order(started, tmp_path):
    # Given a slow import.
    (tmp_path / 'rclpy.py').write_text(
        "import time\nprint('importing', flush=True)\ntime.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, *started],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, 'PYTHONPATH': os.pathsep.join([str(tmp_path), *sys.path])},
    ) as process:
        assert process.stdout.readline() == 'importing\n'
        process.send_signal(signal.SIGTERM)
        assert process.communicate() == ('', '')
    assert process.returncode == 0


def test_a_signal_ends_listening_for_other_commands(start_node):
    node = start_node(target='mujoco', listen_before_activation=10.0)
    give_up = time.monotonic() + 60.0
    while 'agree to' not in node.text:  # the cross-check at configure
        assert time.monotonic() < give_up
        time.sleep(0.01)
    assert node.end() == 0
    assert 'not activated: the node was asked to end' in node.text
