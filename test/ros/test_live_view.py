# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The live view of a running system."""

import numpy as np
from sensor_msgs.msg import JointState

from franka_dynamics.ros.live_view import LiveView
from franka_dynamics.view.scene import TorqueColumn

from .conftest import FER, FER_GRAVITY

ATOL_NM = 1e-12  # two formulations: 2e-14 measured


def test_states_give_our_models_gravity_and_a_nodes_terms_are_taken_by_name(arm, probe):
    publisher = probe.create_publisher(JointState, 'feedforward/external_torque', 1)
    torque, seen = np.arange(7.0), []
    term = JointState(name=list(FER.joint_names)[::-1], effort=list(torque[::-1]))

    def shown(name, with_term):
        arm.send(2, effort=[1.0] * 7)  # all zeros would be no effort
        if with_term:
            term.header.stamp = arm.message().header.stamp
            publisher.publish(term)
        seen.append(view.read())
        return seen[-1] is not None and name in seen[-1].torques

    with LiveView(FER, 'joint_states', 'feedforward') as view:
        arm.wait_for_listener()
        probe.until(lambda: shown(TorqueColumn.GRAVITY, with_term=False), 'a state')
        state = seen[-1]
        np.testing.assert_allclose(state.q, FER.home, rtol=0.0, atol=0.0)
        np.testing.assert_allclose(
            state.torques[TorqueColumn.GRAVITY], FER_GRAVITY, rtol=0.0, atol=ATOL_NM
        )
        assert (
            TorqueColumn.MEASURED in state.torques and TorqueColumn.EXTERNAL not in state.torques
        )
        assert state.time >= 0.0
        probe.until(lambda: shown(TorqueColumn.EXTERNAL, with_term=True), 'the external torque')
    np.testing.assert_array_equal(seen[-1].torques[TorqueColumn.EXTERNAL], torque)
