# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A session with the node: references and their reports, default gains, parameters at rest."""

import numpy as np
import pytest
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory

from franka_dynamics.control.default_gains import default_gains
from franka_dynamics.control.receiver import COMMAND_TIMEOUT_S
from franka_dynamics.demo.multisine import multisine
from franka_dynamics.errors import SettingsError
from franka_dynamics.ros.parameter_tables import parameter_specs
from franka_dynamics.ros.trajectory_messages import reference_message

from .conftest import FER
from ..agreement import refuses

NODE = '/feedforward'


@pytest.fixture
def commanding(probe, arm, commands, start_node):
    """Return a function that starts a node, and waits until it commands."""

    def start(**parameters):
        node = start_node(target='mujoco', **parameters)
        arm.wait_for_listener()
        arm.until(lambda: len(commands) > 50, 'commands')
        return node

    return start


def test_a_motion_is_fed_forward_and_told_of_whether_followed_stopped_or_refused(
    probe, arm, commanding
):
    commanding()

    def told(*keys):
        return [[one.values[key] for key in keys] for one in probe.references]

    def latest():
        return told('state', 'reason', 'frame_id')[-1] if probe.references else ['', '', '']

    references = probe.create_publisher(JointTrajectory, f'{NODE}/reference', 10)
    probe.until(references.get_subscription_count, 'a listener')
    planned = probe.collect(JointTrajectory, f'{NODE}/feedforward_trajectory', reliable=True)
    inertia = probe.collect(JointState, f'{NODE}/inertia_torque')
    # Then the node knows the earlier subscriptions, too.
    arm.until(lambda: inertia, 'M ddq at rest')
    message = reference_message(multisine(FER, 2.0, 0.2))
    references.publish(message)
    arm.until(lambda: np.abs(inertia[-1].effort).max() > 0.1, 'M ddq of it')
    arm.until(lambda: not np.any(inertia[-1].effort), 'its end')
    arm.until(lambda: latest()[0] == 'finished', 'the report of its end')
    arm.until(lambda: planned, 'its torques')
    assert told('state') == [['accepted'], ['following'], ['finished']]
    assert planned[0].header.stamp.sec > 0
    # The second motion, long enough for a busy machine, is interrupted by a stop.
    message = reference_message(multisine(FER, 20.0, 0.001))
    message.header.frame_id = 'x' * 100  # the sender's identifier
    references.publish(message)
    # The other thread computes its torques, perhaps after the event that it is followed.
    arm.until(lambda: latest()[0] == 'following' and len(planned) == 2, 'the second is followed')

    def interrupted():
        arm.send(1, position=(np.array(FER.home) + 0.3).tolist())  # as another arm's state
        return latest()[0] == 'interrupted'

    probe.until(interrupted, 'the interruption')
    assert 'fer_joint1' in latest()[1] and latest()[2] == 'x' * 64
    *before, (way,) = told('to command again')
    assert not any(one for (one,) in before) and 'clear the fault' in way
    # The third motion comes after the stop, which has latched a fault.
    references.publish(message)
    probe.until(lambda: latest()[0] == 'refused', 'the refusal')
    assert 'Nothing would follow the reference' in latest()[1] and latest()[2] == 'x' * 64
    assert 'franka-dynamics node clear' in latest()[1]
    probe.until_status(NODE, state='silent')

    def counted():
        expected = {'accepted': '2', 'finished': '1', 'interrupted': '1', 'refused': '1'}
        return all(
            probe.told('feedforward: Command', f'references {state}') == n
            for state, n in expected.items()
        )

    arm.until(counted, 'the counts in diagnostics')
    assert len(planned) == 2  # the third motion was refused


def test_default_gains_are_set_and_timeouts_only_while_inactive(probe, arm, commands, commanding):
    node = commanding(kp=[-1.0])
    line = next(
        line for line in node.text.splitlines() if 'default gains from the inertia' in line
    )
    kp = [float(value) for value in line.split('kp [')[1].split(']')[0].split(',')]
    np.testing.assert_allclose(
        kp, default_gains(FER.with_armature(), COMMAND_TIMEOUT_S)[0], rtol=1e-3
    )
    assert 'now: kp' not in node.text  # the gains are in the first law, and applied once
    with refuses(SettingsError, 'only while the node is not active'):
        probe.client.set_all({'period': 0.1})
    # What a dump has is no change, also of what is read at the start alone.
    names = [spec.name for spec in parameter_specs('feedforward')]
    probe.client.set_all(dict(zip(names, probe.client.parameter_values(names))))
    assert probe.client.change_state('deactivate') == 'inactive'
    probe.client.set_all({'period': 0.1})
    with refuses(SettingsError, 'period'):
        probe.client.set_all({'period': -1.0})
    before = node.text.count('agree to')
    assert probe.client.change_state('activate') == 'active'
    assert node.text.count('agree to') == before + 1  # configured anew
    count = len(commands)
    arm.until(lambda: len(commands) > count + 50, 'commands')
