# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms of one to twelve joints, turning and sliding, are commanded, estimated and simulated."""

from dataclasses import replace

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import JointKind
from franka_dynamics.control.default_gains import default_gains
from franka_dynamics.control.feedforward import Feedforward, State, Stop
from franka_dynamics.dynamics.external_torque import WrenchEstimator
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings

from ..arms import limited, random_arm

BOTH = (JointKind.REVOLUTE, JointKind.PRISMATIC)
ARMS = [(n, BOTH) for n in range(1, 13)] + [(1, BOTH[:1]), (1, BOTH[1:])]


@pytest.mark.parametrize(('n', 'kinds'), ARMS)
def test_an_arm_of_any_number_of_joints_moves_as_told_and_stops(n, kinds):
    arm = limited(
        random_arm(np.random.default_rng(n), joints=n, kinds=kinds),
        effort=2000.0,
        effort_rate=1e4,
        acceleration=10.0,
        jerk=1e3,
    )
    joints = tuple(replace(joint, rotor_inertia=0.3) for joint in arm.joints)
    arm = replace(arm, joints=joints)
    simulation = ArmSimulation(arm, SimulationSettings(brake_release_after=0.02))
    kp, kd = default_gains(arm, 0.05)
    controller = Feedforward(arm, 'mujoco', kp=tuple(kp), kd=tuple(kd))
    begin = simulation.position.copy()
    goal = begin + 0.05
    for k in range(700):
        reading = simulation.read()
        torque = controller.step(
            reading.position, reading.velocity, reading.time, effort=reading.effort
        )
        if k == 100:
            assert controller.state is State.RUNNING, controller.status
            controller.follow(np.array([begin, goal]), [0.0, 0.4])
        if k == 600:
            np.testing.assert_allclose(reading.position, goal, rtol=0.0, atol=0.02)
            controller.stop('test', Stop.HOLD)
        simulation.step(torque)
    assert controller.state is State.HOLDING, controller.status


@pytest.mark.parametrize(('n', 'kinds'), ARMS)
def test_loads_and_wrenches_of_any_number_of_joints_have_their_shapes(n, kinds):
    rng = np.random.default_rng(n)
    arm = random_arm(rng, joints=n, kinds=kinds)
    q = rng.normal(0.0, 0.2, n)
    torque = rng.normal(0.0, 1.0, n)
    model = fd.Model(arm)
    found = WrenchEstimator(model).estimate(q, torque)
    # The joint torque of the wrench is the part of the torque that a wrench can cause.
    explained = model.jacobian(q).T @ found.wrench
    left = np.linalg.norm(torque - explained)
    np.testing.assert_allclose(found.unexplained_torque, left, rtol=1e-9, atol=1e-12)
    batch = fd.BatchModel(arm)
    one = batch.gravity(q[None])
    np.testing.assert_allclose(one, model.gravity(q)[None], rtol=1e-9, atol=1e-9)
