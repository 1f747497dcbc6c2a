# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two arms side by side: in namespaces of their own, and in one message of fourteen joints."""

from itertools import count

import numpy as np
from sensor_msgs.msg import JointState

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

from ..messages import stamp

DRIFT_RAD = 1e-6  # as in the closed loop of one arm


def launch_feedforward(launch, side, arm, remaps):
    """Launch the node of one side's arm, for states that may come as late as they like."""
    launch(
        'feedforward_node',
        robot_type=arm,
        arm_prefix=f'{side}_',
        target='mujoco',
        listen_before_activation=0.0,
        state_timeout=2.0,
        max_state_age=0.0,
        remaps=remaps,
    )


def test_two_arms_of_their_own_namespaces_are_both_held(probe, launch):
    sides = {'left': 'fer', 'right': 'fr3'}
    states = {}
    for side, arm in sides.items():
        remap = {'__ns': f'/{side}'}
        states[side] = probe.collect(JointState, f'/{side}/joint_states')
        launch(
            'simulator_node',
            robot_type=arm,
            arm_prefix=f'{side}_',
            pacing='lockstep',
            lockstep_timeout=1.0,
            lockstep_rate=1000.0,
            brake_release_after=0.1,
            remaps=remap,
        )
        launch_feedforward(
            launch, side, arm, {**remap, 'feedforward/command': 'effort_controller/commands'}
        )
    for side in sides:
        probe.until(
            lambda side=side: (
                states[side] and probe.says(f'{side}/simulator: Simulated arm', 'False')
            ),
            f'brakes of {side} open',
        )
    for side, arm in sides.items():
        begun = stamp(states[side][-1])
        probe.until(
            lambda side=side, begun=begun: stamp(states[side][-1]) > begun + 0.5, 'half a second'
        )
        np.testing.assert_allclose(
            states[side][-1].position, load(arm).home, rtol=0, atol=DRIFT_RAD
        )
        assert states[side][-1].name[0] == f'{side}_{arm}_joint1'


def test_each_of_two_nodes_takes_its_own_arm_from_one_message(probe, launch):
    left, right = load('fer', prefix='left_'), load('fr3', prefix='right_')
    torques = {}
    for side, arm in (('left', 'fer'), ('right', 'fr3')):
        torques[side] = probe.collect(JointState, f'/{side}_ff/feedforward')
        launch_feedforward(launch, side, arm, {'__node': f'{side}_ff'})
    stream_names = [*right.joint_names, *left.joint_names]
    publisher = probe.create_publisher(JointState, 'joint_states', 1)
    probe.until(lambda: publisher.get_subscription_count() == 2, 'both nodes listen')
    steps = count(1)

    def both():
        nanoseconds = 10**6 * next(steps)
        message = JointState(
            name=stream_names,
            position=[*right.home, *left.home],
            velocity=[0.0] * 14,
            effort=[0.0] * 14,
        )
        message.header.stamp.sec = 100 + nanoseconds // 10**9
        message.header.stamp.nanosec = nanoseconds % 10**9
        publisher.publish(message)
        probe.spin(1e-3)
        return all(len(messages) > 20 for messages in torques.values())

    probe.until(both, 'torques of both')
    for side, arm in (('left', left), ('right', right)):
        assert tuple(torques[side][-1].name) == arm.joint_names
        np.testing.assert_allclose(
            torques[side][-1].effort, NewtonEulerModel(arm).gravity(arm.home), rtol=0, atol=1e-9
        )
