# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the live view takes from a running system."""

import subprocess
import sys
import time

import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.live_view import LiveView, watch
from franka_dynamics.ros.node_group import default_signals
from franka_dynamics.urdf.writer import write_urdf
from franka_dynamics.view.scene import EXTERNAL, GRAVITY, MEASURED

from .conftest import TIMEOUT_S

FER = load('fer')
# Ctrl-C in the middle of rclpy's making of a message, where an exception would be lost.
INTERRUPTED_IN_A_MESSAGE = """
import os, signal, sys
from sensor_msgs.msg import JointState
from franka_dynamics.cli.main import main
make, left = JointState.__init__, [20]
def interrupted(self, *given, **named):
    make(self, *given, **named)
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGINT)
JointState.__init__ = interrupted
sys.exit(main(['view', '--port', '0']))
"""
ATOL_NM = 1e-12  # two formulations: 2e-14 measured


@pytest.fixture
def view():
    view = LiveView(FER, 'joint_states', 'feedforward')
    yield view
    view.close()


def test_gravity_from_joint_states_alone_is_our_own_models(view, arm, probe):
    arm.wait_for_listener()
    measured = [1.0] * 7  # all zeros would be no effort
    probe.until(lambda: (arm.send(2, effort=measured), view.read())[1], 'a state')
    state = view.read()
    np.testing.assert_allclose(state.q, FER.home, rtol=0.0, atol=0.0)
    np.testing.assert_allclose(
        state.torques[GRAVITY], NewtonEulerModel(FER).gravity(FER.home), rtol=0.0, atol=ATOL_NM
    )
    assert MEASURED in state.torques and EXTERNAL not in state.torques
    assert state.time >= 0.0


def test_a_nodes_terms_in_another_order_are_taken_by_name(view, arm, probe):
    publisher = probe.create_publisher(JointState, 'feedforward/external_torque', 1)
    torque = np.arange(7.0)
    message = JointState(name=list(FER.joint_names)[::-1], effort=list(torque[::-1]))

    def shown():
        publisher.publish(message)
        state = view.read()
        return state is not None and EXTERNAL in state.torques

    arm.wait_for_listener()
    arm.until(shown, 'the external torque')
    np.testing.assert_allclose(view.read().torques[EXTERNAL], torque, rtol=0.0, atol=0.0)


def test_given_a_urdf_without_its_package_then_capsules_stay(arm, probe):
    pytest.importorskip('viser', reason='viser is not installed')
    from franka_dynamics.view.window import Window

    mesh = '<visual><geometry><mesh filename="package://absent_arm/0.stl"/></geometry></visual>'
    latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    publisher = probe.create_publisher(String, 'robot_description', latched)
    publisher.publish(String(data=write_urdf(FER).replace('</link>', f'{mesh}</link>')))
    give_up = time.monotonic() + TIMEOUT_S
    with Window(FER, port=0) as window:

        def go_on():
            arm.send(1)
            assert time.monotonic() < give_up, window.remark.content
            return not (window.remark.content and window._table.content)

        watch(window, FER, 'joint_states', 'feedforward', go_on, look_for_meshes=True)
        assert 'package absent_arm, which has the meshes' in window.remark.content
        shapes, handles = window._scene._drawn['links']
        assert {mesh.joint for mesh in shapes.meshes} == set(range(8))
        assert all(part.visible for part in handles)
        # They are where the arm is: the seventh frame of the model, at the state shown.
        np.testing.assert_allclose(
            window._scene._frames[7].position,
            NewtonEulerModel(FER).frames(FER.home)[6, :3, 3],
            rtol=0.0,
            atol=1e-9,
        )


def test_ctrl_c_within_a_message_ends_the_view_in_peace(arm, probe):
    pytest.importorskip('viser', reason='viser is not installed')
    viewer = subprocess.Popen(
        [sys.executable, '-c', INTERRUPTED_IN_A_MESSAGE],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=default_signals,
    )
    terms = probe.create_publisher(JointState, 'feedforward/gravity', 1)

    def ended():
        terms.publish(JointState(name=list(FER.joint_names), effort=[1.0] * 7))
        return viewer.poll() is not None

    try:
        arm.until(ended, 'the end of the view')
        said = viewer.stdout.read()
    finally:
        viewer.kill()
        viewer.communicate()
    assert viewer.returncode == 0, said
    assert 'Traceback' not in said
