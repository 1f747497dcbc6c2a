# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A node killed by SIGKILL: the keeper, a process of its own, takes its torque back over DDS."""

import re
import signal
import time

import numpy as np
import pytest
from rclpy.qos import QoSProfile
from std_msgs.msg import Float64MultiArray

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.process_beacon import ProcessBeacon

from .conftest import COMMAND

REMAPS = {'keeper/command': COMMAND, 'keeper/gravity': 'feedforward/gravity'}
# An inclined base, so that the target fci has something to command.
INCLINED = {'gravity_vector': '[4.0,0.0,-8.9]'}


@pytest.fixture
def heard(probe):
    """Return all commands with the time they were sent, by this machine's clock [s]."""
    messages = []

    def on_command(message, info):
        messages.append((1e-9 * info['source_timestamp'], np.array(message.data)))

    probe.take_times()
    probe.create_subscription(Float64MultiArray, COMMAND, on_command, QoSProfile(depth=1000))
    return messages


@pytest.fixture
def start_keeper(launch, probe):
    def start(**parameters):
        before = probe.count_publishers(COMMAND)
        keeper = launch('keeper_node', remaps=REMAPS, **parameters)
        probe.until(lambda: probe.count_publishers(COMMAND) > before, 'the keeper')
        return keeper

    return start


class Commander:
    """Somebody with a beacon in this process, whose end is its beacon's."""

    def __init__(self, probe):
        self.probe = probe
        self.publisher = probe.create_publisher(Float64MultiArray, COMMAND, 1)
        self.beacon = ProcessBeacon(self.publisher.topic_name)
        assert self.beacon.lit

    def until_watched(self, keeper, torque, heard):
        """Command a torque until the keeper watches, and the test hears commands, too."""
        message = Float64MultiArray(data=[float(value) for value in torque])

        def done():
            self.publisher.publish(message)
            return heard and watched(keeper)

        self.probe.until(done, 'the keeper watches')


@pytest.fixture
def commander(probe):
    commander = Commander(probe)
    yield commander
    commander.beacon.close()


def watched(keeper):
    """Return whether a keeper hears commands and sees the process that sends them."""
    return 'commands are heard' in keeper.text and 'is watched' in keeper.text


def wait_for_resting(probe, heard, resting):
    probe.until(lambda: np.array_equal(heard[-1][1], resting), 'the resting torque')


def steps(heard):
    """Return the largest change of torque beyond 1000 N m/s between two commands [N m]."""
    sent = np.array([stamp for stamp, _ in heard])
    changes = np.abs(np.diff([torque for _, torque in heard], axis=0)).max(axis=1)
    # Where messages were lost on the way here, time has passed between those that came.
    return (changes - 1000.0 * np.maximum(np.diff(sent), 0.0)).max()


def test_sigkill_of_the_node_then_its_torque_ramps_to_zero(
    arm, probe, start_node, start_keeper, heard, record_property
):
    keeper = start_keeper(silence=0.0)  # a busy machine is silent, too
    node = start_node(target='fci', **INCLINED)
    arm.until(lambda: len(heard) > 300 and watched(keeper), 'three hundred commands')
    held = np.abs(heard[-1][1]).max()
    assert held > 1.0
    count, killed = len(heard), time.time()
    node.end(signal.SIGKILL)
    wait_for_resting(probe, heard, np.zeros(7))
    assert "the node's process has ended" in keeper.text
    first = next(t for t, torque in heard[count:] if np.abs(torque).max() < held)
    record_property('kill to first stop step [ms]', 1e3 * (first - killed))
    # Messages may be lost on the way here: ten in a row are allowed for.
    assert steps(heard[count:]) <= 10.0


def test_sigkill_of_the_node_at_80_newton_metres_then_zero(
    arm, probe, start_node, start_keeper, heard
):
    keeper = start_keeper(silence=0.0)
    node = start_node(target='fci', kp='[900.0,900.0,900.0,900.0,0.0,0.0,0.0]', ramp_time=0.0)
    arm.until(lambda: len(heard) > 300 and watched(keeper), 'commands')

    # Somebody moves the arm away from where the gains hold it.
    def further():
        arm.q[1] += 5e-4
        arm.send(1, velocity=[0.0, 0.5, *[0.0] * 5])
        # Beyond it by more than the last messages, which the keeper may not hear, change.
        return heard[-1][1].min() < -82.0

    probe.until(further, 'eighty newton metres')
    count = len(heard)
    node.end(signal.SIGKILL)
    wait_for_resting(probe, heard, np.zeros(7))
    probe.until(lambda: 'the stop sequence ended' in keeper.text, 'the end')
    assert steps(heard[count - 1 :]) <= 10.0
    # Said is what acted, and not where the ramp had come to by then.
    assert re.search(r'from \[.*-8\d\.', keeper.text), keeper.text


def test_an_end_at_80_newton_metres_then_none_is_left(probe, start_keeper, commander, heard):
    keeper = start_keeper(silence=0.0)
    commander.until_watched(keeper, np.array([80.0, -80.0, 0.0, 40.0, 5.0, 0.0, 0.0]), heard)
    commander.beacon.close()
    probe.until(lambda: np.array_equal(heard[-1][1], np.zeros(7)), 'zero')
    assert steps(heard) <= 10.0


def test_an_end_before_a_command_was_heard_is_told(probe, start_keeper, commander):
    keeper = start_keeper()
    probe.until(lambda: 'is watched' in keeper.text, 'the keeper watches')
    commander.beacon.close()
    probe.until(lambda: 'before a command of it was heard' in keeper.text, 'a warning')
    assert 'publishing the stop sequence' not in keeper.text


def test_an_orderly_end_of_the_node_then_the_keeper_stays_silent(
    arm, probe, start_node, start_keeper, heard
):
    keeper = start_keeper()
    node = start_node(target='fci', **INCLINED)
    arm.until(lambda: len(heard) > 300 and watched(keeper), 'commands')
    assert node.end() == 0
    wait_for_resting(probe, heard, np.zeros(7))
    assert keeper.end() == 0
    # At most the last step was taken twice, where its message overtook the end of the process.
    assert 'from [' not in keeper.text or float(np.abs(heard[-1][1]).max()) == 0.0


def test_a_stopped_process_then_silence_tells(arm, probe, start_node, start_keeper, heard):
    keeper = start_keeper()
    node = start_node(target='fci', **INCLINED)
    arm.until(lambda: len(heard) > 300 and watched(keeper), 'commands')
    node._process.send_signal(signal.SIGSTOP)
    wait_for_resting(probe, heard, np.zeros(7))
    assert 'no command came for' in keeper.text
    node.kill()


def test_sigkill_where_nobody_carries_then_g_is_left(arm, probe, start_node, start_keeper, heard):
    keeper = start_keeper(target='mujoco')
    node = start_node(target='mujoco', kp='[50.0]')
    arm.until(
        lambda: (
            len(heard) > 300
            and watched(keeper)
            and 'gravity is heard on /feedforward/gravity' in keeper.text
        ),
        'commands',
    )
    # Away from where it is held, so that the gains add to g.
    for _ in range(50):
        arm.q[1] += 1e-3
        arm.send(1, velocity=[0.0, 1.0, *[0.0] * 5])
    q = arm.q.copy()
    arm.until(lambda: abs(heard[-1][1][1] - heard[0][1][1]) > 1.0, 'a torque beyond g')
    # The torque may have been for a state on the way; the keeper is to know the g of the last.
    so_far = len(heard)
    arm.until(lambda: len(heard) > so_far + 200, 'commands where it is')
    node.end(signal.SIGKILL)
    probe.until(lambda: 'the stop sequence ended' in keeper.text, 'the end')
    probe.until(
        lambda: np.abs(heard[-1][1] - NewtonEulerModel(load('fer')).gravity(q)).max() < 1e-9,
        'g is left',
    )


def test_sigint_in_mid_ramp_then_the_keeper_finishes_it(probe, start_keeper, commander, heard):
    # As launch sends it to every process when one has died.
    keeper = start_keeper()
    commander.until_watched(keeper, np.full(7, 80.0), heard)
    commander.beacon.close()
    probe.until(lambda: heard[-1][1].max() < 80.0, 'the first step')
    assert keeper.end() == 0
    wait_for_resting(probe, heard, np.zeros(7))
