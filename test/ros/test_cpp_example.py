# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The example controller in C++, built by its own CMakeLists and run over DDS."""

import signal
import subprocess

from builtin_interfaces.msg import Time
import numpy as np
import pytest
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header

from franka_dynamics.arm import load
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

from ..processes import ROOT
from ..ros2_control_prefix import environment, made, PREFIXES


@pytest.mark.skipif(
    not PREFIXES, reason='FRANKA_DYNAMICS_ROS2_CONTROL names no prefix with rclcpp'
)
def test_built_and_run_it_gives_the_law_it_states(probe, tmp_path):
    made(
        ROOT / 'examples' / 'cpp_controller',
        tmp_path / 'build',
        tmp_path / 'install',
        '-DCMAKE_CXX_FLAGS=-Werror',
    )
    program = tmp_path / 'install' / 'lib' / 'franka_dynamics_cpp_controller' / 'hold'
    arm = load('fr3')
    model = NewtonEulerModel(arm)
    latest = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    publishers = {
        name: probe.create_publisher(JointState, f'feedforward/{name}', latest)
        for name in ('mass_matrix', 'coriolis_matrix', 'gravity')
    }
    states = probe.create_publisher(JointState, 'joint_states', latest)
    commands = probe.collect(Float64MultiArray, 'effort_controller/commands', reliable=True)
    sent = [0]

    def send_state(header, q, dq, order):
        names = [arm.joint_names[k] for k in order]
        rows = {'position': list(q[order]), 'velocity': list(dq[order])}
        states.publish(JointState(header=header, name=names, **rows))
        probe.spin()

    def settled(q, dq, expected):
        """Publish a state, its joints in another order, and before it the terms at it."""
        sent[0] += 1
        header = Header(stamp=Time(sec=10, nanosec=sent[0] * 1000))
        matrices = model.mass_matrix(q), model.coriolis_matrix(q, dq), model.gravity(q)
        for publisher, values in zip(publishers.values(), matrices):
            efforts = {'name': list(arm.joint_names), 'effort': list(values.ravel())}
            publisher.publish(JointState(header=header, **efforts))
        send_state(header, q, dq, [3, 0, 6, 2, 1, 5, 4])
        return bool(commands) and np.abs(np.array(commands[-1].data) - expected).max() < 1e-9

    def held():
        return settled(arm.home, np.zeros(arm.n), model.gravity(arm.home))

    def largest_step():
        return np.abs(np.diff([list(one.data) for one in commands], axis=0)).max()

    process = subprocess.Popen(
        [program, '--ros-args', '-p', 'add_gravity:=true'], env=environment()
    )
    try:
        # The controller holds the arm where it is, and reaches its torque by 1 N m per cycle.
        probe.until(held, 'the torque that holds')
        assert largest_step() <= 1.0 + 1e-12
        away, dq = arm.home + 0.02, np.linspace(-0.2, 0.2, arm.n)
        law = (
            model.mass_matrix(away) @ (100.0 * (arm.home - away) - 20.0 * dq)
            + model.coriolis_matrix(away, dq) @ dq
            + model.gravity(away)
        )
        probe.until(lambda: settled(away, dq, law), 'the law away from there')
        still = np.zeros(arm.n)
        for fault, state in {
            'terms of another time': (20, still, range(7)),
            'a joint is missing': (10, still, range(6)),
            'no finite torque': (10, np.append(still[1:], np.nan), range(7)),
            'states cease': None,
            'Ctrl-C': None,
        }.items():
            probe.until(held, 'the arm is held again')
            if fault == 'Ctrl-C':
                process.send_signal(signal.SIGINT)

            def faded(state=state):
                if state:
                    seconds, speeds, joints = state
                    send_state(Header(stamp=Time(sec=seconds)), arm.home, speeds, list(joints))
                probe.spin()
                return not np.any(commands[-1].data)

            probe.until(faded, f'no torque after: {fault}')
        assert process.wait(10.0) == 0
        assert largest_step() <= 1.0 + 1e-12
    finally:
        process.kill()
        process.wait()
