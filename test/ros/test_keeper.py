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
# An inclined base, so that the target fci has something to command.
INCLINED = {'gravity_vector': '[4.0,0.0,-8.9]'}


@pytest.fixture
def heard(probe):
    """Return all commands as they came."""
    return probe.collect(Float64MultiArray, COMMAND, reliable=True, depth=10000)


@pytest.fixture
def start_keeper(launch, probe):
    def start(**parameters):
        before = probe.count_publishers(COMMAND)
        keeper = launch('keeper_node', remaps={'keeper/command': COMMAND}, **parameters)
        probe.until(lambda: probe.count_publishers(COMMAND) > before, 'the keeper')
        return keeper

    return start


def torques(heard):
    return np.array([message.data for message in heard])


def wait_for_resting(probe, heard, resting):
    probe.until(lambda: np.array_equal(heard[-1].data, resting), 'the resting torque')


def largest_step(heard):
    return np.abs(np.diff(torques(heard), axis=0)).max()


def at_five_newton_metres(arm, heard, *keepers):
    """Wait until commands act, and keepers know of them."""
    arm.until(
        lambda: (
            len(heard) > 300
            and np.abs(heard[-1].data).max() > 1.0
            and all('is watched' in keeper.text for keeper in keepers)
        ),
        'commands',
    )


def test_sigkill_of_the_node_then_its_torque_ramps_to_zero(
    arm, probe, start_node, start_keeper, heard
):
    keeper = start_keeper()
    node = start_node(target='fci', **INCLINED)
    at_five_newton_metres(arm, heard, keeper)
    node.end(signal.SIGKILL)
    wait_for_resting(probe, heard, np.zeros(7))
    probe.until(lambda: 'the stop sequence ended' in keeper.text, 'the end')
    assert 'has ended: publishing the stop sequence' in keeper.text
    assert largest_step(heard) <= 1.0 + 1e-9


@pytest.mark.parametrize('stalled', [0.05, 0.6])
def test_a_node_that_stands_still_never_speaks_beside_the_keeper(
    arm, probe, start_node, start_keeper, heard, stalled
):
    keeper = start_keeper()
    node = start_node(target='fci', kp='[900.0,900.0,900.0,900.0,0.0,0.0,0.0]', ramp_time=0.0)
    arm.until(lambda: len(heard) > 300 and 'feedforward (process' in keeper.text, 'commands')
    for _ in range(100):  # away from where the gains hold it
        arm.q[1] += 5e-4
        arm.send(1, velocity=[0.0, 0.5, *[0.0] * 5])
    arm.until(lambda: heard[-1].data[1] < -40.0, 'forty newton metres')
    node.send(signal.SIGSTOP)
    wait(probe, stalled)
    node.signal_again(signal.SIGCONT)
    if stalled < 0.1:
        arm.until(lambda: len(heard) > 1000, 'more commands')
        assert 'stands still' not in keeper.text
    else:
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


def wait(probe, seconds):
    give_up = time.monotonic() + seconds
    while time.monotonic() < give_up:
        probe.spin(0.001)


def test_a_second_node_is_refused_by_name(arm, probe, start_node, heard):
    first = start_node(target='fci', **INCLINED)
    at_five_newton_metres(arm, heard)
    second = start_node(target='fci')
    assert second.wait() == 1
    assert 'not activated: /feedforward (process' in second.text
    first.end()


def test_bytes_without_sense_do_not_reach_a_keeper(arm, probe, start_node, start_keeper, heard):
    keeper = start_keeper()
    node = start_node(target='fci', **INCLINED)
    at_five_newton_metres(arm, heard, keeper)
    publisher = probe.create_publisher(Float64MultiArray, COMMAND, 1)
    probe.until(lambda: publisher.get_subscription_count() >= 1, 'a listener')
    node.end(signal.SIGKILL)
    wait_for_resting(probe, heard, np.zeros(7))
    for _ in range(100):
        publisher.publish(b'\x00\x01\x00\x00')
        wait(probe, 0.01)
    assert keeper.running
    assert keeper.end() == 0


def test_an_orderly_end_of_the_node_then_the_keeper_stays_silent(
    arm, probe, start_node, start_keeper, heard
):
    keeper = start_keeper()
    node = start_node(target='fci', **INCLINED)
    at_five_newton_metres(arm, heard, keeper)
    assert node.end() == 0
    wait_for_resting(probe, heard, np.zeros(7))
    assert keeper.end() == 0
    assert 'publishing the stop sequence' not in keeper.text
    assert largest_step(heard) <= 1.0 + 1e-9


def test_sigkill_where_nobody_carries_then_g_is_left(arm, probe, start_node, start_keeper, heard):
    keeper = start_keeper()
    node = start_node(target='mujoco', kp='[50.0]')
    arm.until(lambda: len(heard) > 300 and 'feedforward (process' in keeper.text, 'commands')
    # Away from where it is held, so that the gains add to g.
    for _ in range(50):
        arm.q[1] += 1e-3
        arm.send(1, velocity=[0.0, 1.0, *[0.0] * 5])
    q = arm.q.copy()
    so_far = len(heard)
    arm.until(lambda: len(heard) > so_far + 200, 'commands where it is')
    node.end(signal.SIGKILL)
    probe.until(lambda: 'the stop sequence ended' in keeper.text, 'the end')
    probe.until(
        lambda: np.abs(heard[-1].data - NewtonEulerModel(load('fer')).gravity(q)).max() < 1e-9,
        'g is left',
    )
    assert largest_step(heard[1:]) <= 1.0 + 1e-9


def test_gravity_that_the_node_gave_up_is_not_brought_back(
    arm, probe, start_node, start_keeper, heard
):
    # Its target lets a stop end at g(q), but something else is seen to carry the arm.
    keeper = start_keeper()
    node = start_node(target='mujoco', ramp_time=0.0)
    gravity = NewtonEulerModel(load('fer')).gravity(arm.q)
    arm.until(
        lambda: (
            heard
            and np.abs(heard[-1].data - gravity).max() < 1e-9
            and 'feedforward (process' in keeper.text
        ),
        'g',
    )

    def given_up():
        arm.send(2, effort=[*(2.0 * gravity)])
        return not np.any(heard[-1].data)

    probe.until(given_up, 'zero')
    arm.until(lambda: probe.says(COMMANDS, 'something else adds 100%'), 'why')
    count = len(heard)
    node.end(signal.SIGKILL)
    wait(probe, 0.5)
    assert not np.any(torques(heard)[count - 1 :])
    assert 'publishing the stop sequence' not in keeper.text


def test_sigint_in_mid_ramp_then_the_keeper_finishes_it(
    arm, probe, start_node, start_keeper, heard
):
    # As launch sends it to every process when one has died.
    keeper = start_keeper()
    node = start_node(target='fci', kp='[900.0,900.0,900.0,900.0,0.0,0.0,0.0]', ramp_time=0.0)
    arm.until(lambda: len(heard) > 300 and 'feedforward (process' in keeper.text, 'commands')
    for _ in range(100):
        arm.q[1] += 5e-4
        arm.send(1, velocity=[0.0, 0.5, *[0.0] * 5])
    arm.until(lambda: heard[-1].data[1] < -40.0, 'forty newton metres')
    node.end(signal.SIGKILL)
    probe.until(lambda: 'publishing the stop sequence' in keeper.text, 'the first step')
    assert keeper.end() == 0
    wait_for_resting(probe, heard, np.zeros(7))
