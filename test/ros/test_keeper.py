# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A node that is killed or stands still: a keeper takes its torque back, over DDS."""

import signal
import time

from lifecycle_msgs.msg import Transition
import numpy as np
import pytest
from std_msgs.msg import Float64MultiArray

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

from .conftest import COMMAND

COMMANDS = 'feedforward: Command'


@pytest.fixture
def heard(probe):
    """Return all commands as they came."""
    return probe.collect(Float64MultiArray, COMMAND, reliable=True, depth=10000)


@pytest.fixture
def start_keeper(launch, probe):
    def start():
        before = probe.count_publishers(COMMAND)
        keeper = launch('keeper_node', remaps={'keeper/command': COMMAND})
        probe.until(lambda: probe.count_publishers(COMMAND) > before, 'the keeper')
        return keeper

    return start


@pytest.fixture
def forty_newton_metres(arm, start_node, heard):
    """Return a function: a node that a keeper watches, whose gains pull by so much."""

    def start(keeper, target='fci'):
        node = start_node(target=target, kp='[900.0,900.0,900.0,900.0,0.0,0.0,0.0]', ramp_time=0.0)
        arm.until(lambda: len(heard) > 300 and 'feedforward (process' in keeper.text, 'commands')
        for _ in range(100):  # away from where the gains hold it
            arm.q[1] += 5e-4
            arm.send(1, velocity=[0.0, 0.5, *[0.0] * 5])
        count = len(heard)  # those that are heard last answer states of where it stands now
        arm.until(lambda: len(heard) > count + 200 and heard[-1].data[1] < -40.0, '40 N m')
        return node

    return start


def wait_for_resting(probe, heard, resting):
    probe.until(
        lambda: np.allclose(heard[-1].data, resting, rtol=0, atol=1e-9), 'the resting torque'
    )


def largest_step(heard):
    return np.abs(np.diff([message.data for message in heard], axis=0)).max()


def wait(probe, seconds):
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        probe.spin(0.001)


def test_a_node_that_stands_still_never_speaks_beside_the_keeper(
    arm, probe, start_keeper, heard, forty_newton_metres
):
    keeper = start_keeper()
    node = forty_newton_metres(keeper)
    node.send(signal.SIGSTOP)
    wait(probe, 0.6)
    node.signal_again(signal.SIGCONT)
    wait_for_resting(probe, heard, np.zeros(7))
    # It goes silent, and stays so until somebody activates it again.
    if node.running:  # it is ended where it stood still in the act of publishing
        arm.until(lambda: probe.says(COMMANDS, 'a keeper has taken the torque back'), 'why')
        count = len(heard)
        arm.send(100)
        assert len(heard) == count
        assert not probe.clear_fault('feedforward').success
        assert probe.transition('feedforward', Transition.TRANSITION_DEACTIVATE)
        assert probe.transition('feedforward', Transition.TRANSITION_ACTIVATE)
        arm.until(lambda: len(heard) > count + 100, 'commands again')
    assert largest_step(heard) <= 1.0 + 1e-9


def test_a_killed_nodes_torque_is_led_to_where_its_stop_ends_by_a_keeper_told_to_end(
    arm, probe, start_keeper, heard, forty_newton_metres
):
    # As launch tells every process to end when one has died; nobody else carries the arm.
    keeper = start_keeper()
    forty_newton_metres(keeper, 'mujoco').end(signal.SIGKILL)
    probe.until(lambda: 'publishing the stop sequence' in keeper.text, 'the first step')
    assert keeper.end() == 0
    wait_for_resting(probe, heard, NewtonEulerModel(load('fer')).gravity(arm.q))
    assert 'has ended: publishing the stop sequence' in keeper.text
    assert largest_step(heard) <= 1.0 + 1e-9


def test_a_second_node_is_refused_by_name_and_an_orderly_end_keeps_the_keeper_silent(
    probe, start_node, start_keeper, heard, forty_newton_metres
):
    keeper = start_keeper()
    node = forty_newton_metres(keeper)
    second = start_node(target='fci')
    assert second.wait() == 1
    assert 'not activated: /feedforward (process' in second.text
    assert node.end() == 0
    wait_for_resting(probe, heard, np.zeros(7))
    assert keeper.end() == 0
    assert 'publishing the stop sequence' not in keeper.text
    assert largest_step(heard) <= 1.0 + 1e-9
