# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's own dynamics of the generated model; Gazebo's model, torques, topics and world."""

from dataclasses import replace
import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np
import pinocchio as pin
import pytest

import franka_dynamics as fd
from franka_dynamics.arm.bodies import FixedFrame
from franka_dynamics.control.default_gains import default_gains
from franka_dynamics.control.settings import Settings
from franka_dynamics.dynamics import model as dynamics
from franka_dynamics.errors import InertiaError
from franka_dynamics.files import share_directory
from franka_dynamics.simulation import gazebo
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings
from franka_dynamics.simulation.mujoco_model import build_mujoco, FLANGE_SITE

from ..agreement import refuses
from ..arms import random_arm
from ..control.closed_loop import core

# Bound on the difference; 5e-14 was measured on fer.
ATOL = 1e-10
OWN = FixedFrame(xyz=np.ones(3), rpy=np.zeros(3), name='flange', joint=7)
ARMS = {
    'fer': fd.load('fer'),
    'fr3': fd.load('fr3'),
    'fer with hand': fd.load('fer', hand='franka_hand'),
    'a link without mass': replace(
        fd.load('fer'),
        links=(*fd.load('fer').links[:3], fd.LinkInertia.zero(), *fd.load('fer').links[4:]),
    ),
    'own frame': replace(fd.load('fer'), fixed_frames=(OWN,)),
    **{f'random {seed}': random_arm(np.random.default_rng(seed)) for seed in range(3)},
}
GRAVITY = (1.0, -2.0, -9.0)


def oracle(model, q, dq):
    """Return bias force, mass matrix and flange pose as MuJoCo computes them."""
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, dq
    mujoco.mj_forward(model, data)
    mass = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, mass)
    site = model.site(FLANGE_SITE).id
    pose = np.eye(4)
    pose[:3, :3] = data.site_xmat[site].reshape(3, 3)
    pose[:3, 3] = data.site_xpos[site]
    return np.array(data.qfrc_bias), mass, pose


@pytest.mark.parametrize('name', ARMS)
def test_bias_mass_matrix_and_pose_agree_with_mujocos(name):
    arm = ARMS[name]
    written, model = fd.NewtonEulerModel(arm, GRAVITY), build_mujoco(arm, gravity=GRAVITY)
    for q, dq, _ in zip(*fd.sample_states(arm, 20, seed=11)):
        bias, mass, pose = oracle(model, q, dq)
        scale = max(1.0, np.abs(bias).max())
        np.testing.assert_allclose(
            written.nonlinear_effects(q, dq), bias, rtol=0, atol=ATOL * scale
        )
        scale = max(1.0, np.abs(mass).max())
        np.testing.assert_allclose(written.mass_matrix(q), mass, rtol=0, atol=ATOL * scale)
        np.testing.assert_allclose(written.frames(q)[-1], pose, rtol=0, atol=1e-12)


def test_a_set_that_is_not_physical_is_refused_with_its_link():
    with refuses(InertiaError, 'ledezma2021', 'fer_joint2'):
        build_mujoco(fd.load('fer', 'ledezma2021'))


def test_a_joint_at_full_torque_is_held_at_its_stop():
    arm = fd.load('fr3')
    most = arm.limit('effort')
    for joint in range(arm.n):
        for side, limit in ((1.0, 'upper'), (-1.0, 'lower')):
            model = build_mujoco(arm, gravity=(0.0, 0.0, 0.0), stops=True)
            data = mujoco.MjData(model)
            data.qpos[:] = arm.home
            data.qpos[joint] = arm.limit(limit)[joint] - 0.05 * side
            data.ctrl[joint] = side * most[joint]
            beyond = []
            for _ in range(500):
                mujoco.mj_step(model, data)
                beyond.append(side * (data.qpos[joint] - arm.limit(limit)[joint]))
            # In the collision a step of the fastest, the last joint at 58 rad/s; then at rest.
            assert max(beyond) < 0.06
            assert abs(beyond[-1]) < 1e-3


def test_stops_change_nothing_for_an_arm_within_its_limits():
    arm, states = fd.load('fr3'), []
    for stops in (False, True):
        model = build_mujoco(arm, stops=stops)
        data = mujoco.MjData(model)
        data.qpos[:] = arm.home
        for _ in range(200):
            mujoco.mj_step(model, data)
        states.append(np.array(data.qpos))
    np.testing.assert_array_equal(*states)


TORQUE = 1e-12  # N m; 6e-14 was seen
CONFIG = share_directory() / 'config'


@pytest.mark.parametrize('arm', ['fer', 'fr3', 'rpr'])
def test_the_direct_models_zero_is_the_start_pose_by_pinocchio(arm):
    description = fd.load(arm)
    start = description.home_position + 0.05
    model = pin.buildModelFromXML(gazebo.gazebo_urdf(description, start))
    q, dq, ddq = fd.sample_states(description, 50, 0)
    expected = fd.NewtonEulerModel(description).inverse_dynamics(q, dq, ddq)
    states = zip(q - start, dq, ddq)
    actual = [pin.rnea(model, model.createData(), *state) for state in states]
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=TORQUE)
    found = model.lowerPositionLimit, model.upperPositionLimit
    moved = [description.limit(limit) - start for limit in ('lower', 'upper')]
    np.testing.assert_allclose(found, moved, rtol=0.0, atol=1e-14)


def test_a_start_is_home_with_pinocchios_gravity_torque():
    description = fd.load('fr3', hand='franka_hand')
    np.testing.assert_array_equal(description.home_position, description.home)
    expected = fd.Model(description).gravity(description.home)
    np.testing.assert_allclose(gazebo.holding_torque(description), expected, rtol=0.0, atol=TORQUE)


def test_the_worlds_gravity_and_name_are_ours():
    world = ElementTree.parse(CONFIG / 'gazebo_world.sdf').find('world')
    assert world.get('name') == gazebo.WORLD_NAME
    assert tuple(float(word) for word in world.findtext('gravity').split()) == dynamics.GRAVITY


# The cycle that gz_ros2_control loses at its start, in MuJoCo, with the gains for it. ------------

STEP = 1e-3
HELD = 600  # cycles before the start, in which the node settles
UNTIL_THE_NODE_IS_HEARD = 6  # cycles: one without torque, then the initial effort
MOST_RAD = 0.03  # 0.028 of a bare fr3's last joint with states 20 ms old; the others 0.019


def test_the_node_brings_the_arm_back_after_a_lost_cycle():
    # The states are 20 cycles old. The slowest motion decays by 0.47 1/s.
    arm, seconds, age = fd.load('fr3'), 2.0, 20
    simulation = ArmSimulation(arm, SimulationSettings(brake_release_after=0.0))
    kp, kd = map(tuple, default_gains(arm))
    controller = core(Settings('gz_ros2_control', kp=kp, kd=kd), arm=arm)
    states = [(arm.home_position, np.zeros(arm.n))] * HELD
    for k in range(HELD + round(seconds / STEP)):
        late = max(k - age, 0)
        torque = controller.step(*states[late], STEP * k)
        if k >= HELD:
            lost, heard = k == HELD, k >= HELD + UNTIL_THE_NODE_IS_HEARD
            held = 0.0 * gazebo.holding_torque(arm) if lost else gazebo.holding_torque(arm)
            simulation.step(torque if heard else held)
            reading = simulation.read()
            states.append((reading.position, reading.velocity))
    assert not simulation.is_braked
    away = np.abs([q - arm.home_position for q, _ in states])
    assert away.max() < MOST_RAD
    assert away[-1].max() < 0.7 * away.max()
