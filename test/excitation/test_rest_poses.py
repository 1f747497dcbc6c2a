# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A load from poses at rest: the motion against MuJoCo's places, the load on a simulated arm."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import LinkInertia, MaxwellSlipFriction
from franka_dynamics.arm.payload import payload_array
from franka_dynamics.errors import IdentificationError
from franka_dynamics.excitation.limits import ExcitationLimits
from franka_dynamics.excitation.rest_poses import plan_rest_poses
from franka_dynamics.fit.torque_model import expected_residual
from franka_dynamics.recordings.recording import Recording
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings
from franka_dynamics.simulation.mujoco_model import build_mujoco_model, FLANGE_SITE

from ..agreement import refuses
from ..made_recordings import recorded

FR3 = fd.load('fr3', hand='franka_hand')
TABLE_M = 0.1
LIMITS = ExcitationLimits(table_height=TABLE_M)
LOAD = LinkInertia.from_center_of_mass(0.73, [0.03, -0.02, 0.09], [2e-3, 0, 0, 2e-3, 0, 1e-3])
# Dry friction that holds a resting joint, as gears do: half of it by slip elements [N m].
STICKING = MaxwellSlipFriction(
    viscous=np.array([1.0, 1.0, 0.8, 0.8, 0.5, 0.3, 0.3]),
    coulomb=np.array([0.4, 0.4, 0.3, 0.4, 0.2, 0.2, 0.2]),
    offset=np.zeros(7),
    slip=np.array([[0.4, 0.4, 0.3, 0.4, 0.2, 0.2, 0.2]]),
    reach=np.array([0.02]),
)
KP = np.array([600.0] * 4 + [250.0, 150.0, 50.0])
KD = np.array([30.0] * 4 + [10.0, 10.0, 5.0])


@pytest.fixture(scope='module')
def plan():
    return plan_rest_poses(FR3, LIMITS, FR3.home, pose_count=8)


def test_the_motion_keeps_limits_and_the_plane(plan):
    step = 1e-3
    states = plan.trajectory.states_at(np.arange(0.0, plan.times[-1], step))
    q = states[:, 0]
    assert (q > FR3.limit('lower')).all() and (q < FR3.limit('upper')).all()
    # By differences, not by the trajectory's own derivatives.
    dq = np.diff(q, axis=0) / step
    assert (np.abs(dq) < 0.31 * FR3.limit('velocity')).all()
    assert (np.abs(np.diff(dq, axis=0)) / step < 0.31 * FR3.limit('acceleration')).all()
    model = build_mujoco_model(FR3)
    data = mujoco.MjData(model)
    site = model.site(FLANGE_SITE).id
    for row in q[::50]:
        data.qpos[:] = row
        mujoco.mj_kinematics(model, data)
        tip = data.site_xpos[site] + 0.15 * data.site_xmat[site].reshape(3, 3)[:, 2]
        for place in (tip, data.site_xpos[site], *data.xpos[-3:]):
            assert place[2] > TABLE_M + 0.14


def test_a_low_limit_of_acceleration_is_kept():
    limit = 0.5  # rad/s^2, so low that it makes the moves slower
    joints = tuple(
        replace(one, limits=replace(one.limits, acceleration=limit)) for one in FR3.joints
    )
    slow = replace(FR3, joints=joints)
    plan = plan_rest_poses(slow, LIMITS, FR3.home, pose_count=8)
    step = 2e-3
    q = plan.trajectory.states_at(np.arange(0.0, plan.times[-1], step))[:, 0]
    assert np.abs(np.diff(q, 2, axis=0)).max() / step**2 < 0.31 * limit


def test_each_pose_is_approached_from_both_sides_and_rested_at(plan):
    np.testing.assert_array_equal(plan.positions[[0, -1]], [FR3.home, FR3.home])
    for pose in plan.poses:
        (firsts,) = np.nonzero((plan.positions == pose).all(axis=1))
        rests = [k for k in firsts if k + 1 in firsts]
        assert len(rests) == 2 and (np.diff(plan.times)[rests] > 1.999).all()
        before = plan.positions[rests[0] - 1], plan.positions[rests[1] - 1]
        assert (before[0] < pose).all() and (before[1] > pose).all()


def test_the_stated_deviations_are_those_of_drawn_torques(plan):
    # Torques at rest are g of the load: differences of an independent model, per unit of load.
    columns = []
    for body in np.vstack([np.zeros(3), 0.1 * np.eye(3)]):
        loaded = FR3.with_payload(LinkInertia.from_center_of_mass(1.0, body, np.zeros(6)))
        gravity = [fd.ExponentialsModel(one).gravity(plan.poses) for one in (loaded, FR3)]
        columns.append((gravity[0] - gravity[1]).ravel())
    mass, *moments = columns
    matrix = np.column_stack([*((one - mass) / 0.1 for one in moments), mass])
    noise = np.tile(expected_residual(FR3.limit('effort')), len(plan.poses))
    covariance = np.linalg.inv((matrix / noise[:, None]).T @ (matrix / noise[:, None]))
    found = [*plan.center_std, plan.mass_std]
    np.testing.assert_allclose(found, np.sqrt(np.diag(covariance)), rtol=0.02)


def test_chosen_poses_tell_more_than_random_ones(plan):
    rng = np.random.default_rng(5)
    chosen = spread(plan.poses)
    reach = 0.5 * (FR3.limit('upper') - FR3.limit('lower'))
    middle = 0.5 * (FR3.limit('upper') + FR3.limit('lower'))
    drawn = [spread(middle + 0.9 * reach * rng.uniform(-1.0, 1.0, (8, 7))) for _ in range(20)]
    assert chosen < 0.9 * np.median(drawn)


def spread(poses):
    """Return the largest deviation of a centre of 1 kg from torques at rest, to a factor."""
    model = fd.NewtonEulerModel(FR3)
    noise = expected_residual(FR3.limit('effort'))
    rows = []
    for q in poses:
        J = fd.Model(FR3).jacobian(q)
        down = model.frames(q)[-1, :3, :3].T @ np.array([0.0, 0.0, -1.0])
        turn = model.frames(q)[-1, :3, :3]
        cross = np.cross(np.eye(3), down)  # of unit moments m c with gravity, in the flange
        rows.append((J[3:].T @ turn @ cross.T) / noise[:, None])
    matrix = np.concatenate(rows)
    return np.sqrt(np.linalg.inv(matrix.T @ matrix).diagonal().max())


def recorded_rests(plan, payload, seed):
    """Return what the sensors of a simulated arm measure along the plan, at 100 Hz."""
    arm = replace(FR3, friction=STICKING)
    settings = SimulationSettings(
        start_position=np.asarray(FR3.home),
        gravity_compensation=True,
        brake_release_after=0.0,
        payload=payload,
        friction=True,
        armature=True,
        position_noise=1e-5,
        velocity_noise=1e-3,
        effort_noise=0.05,
        seed=seed,
    )
    sim = ArmSimulation(arm, settings)
    rows = []
    for i, (q, dq, _) in enumerate(
        plan.trajectory.states_at(np.arange(0.0, plan.times[-1], 1e-3))
    ):
        seen = sim.read()
        sim.step(KP * (q - seen.position) + KD * (dq - seen.velocity))
        if i % 10 == 0:
            seen = sim.read()
            rows.append((seen.time, seen.position, seen.velocity, seen.effort))
    time, q, dq, effort = (np.array(one) for one in zip(*rows))
    stamps = 10**18 + np.round(time * 1e9).astype(np.int64)
    return Recording('rests', '/joint_states', FR3.joint_names, stamps, q, dq, effort)


def require_found(bare, loaded):
    """Require the load of two recordings to 2 % and 5 mm, within its deviations."""
    found = fd.identify_payload([bare], [loaded], FR3)
    truth = payload_array(LOAD)
    np.testing.assert_allclose(found.values[0], truth[0], rtol=0.02)
    np.testing.assert_allclose(found.values[1:4], truth[1:4], atol=0.005)
    assert (np.abs(found.values - truth)[:4] < 4.0 * found.std[:4]).all()


def test_a_load_is_found_from_torques_of_newton_and_euler(plan):
    time = np.arange(0.0, plan.times[-1], 0.01)
    states = np.moveaxis(plan.trajectory.states_at(time), 1, 0)
    logs = [
        recorded(arm, time, *states, friction=STICKING, noise=0.2, rng=np.random.default_rng(seed))
        for seed, arm in enumerate((FR3, FR3.with_payload(LOAD)))
    ]
    require_found(*logs)


@pytest.mark.long
def test_a_load_is_found_on_a_simulated_arm_that_rubs(plan):
    loads = LinkInertia.zero(), LOAD
    require_found(*(recorded_rests(plan, one, seed) for seed, one in enumerate(loads)))


@pytest.mark.parametrize(
    ('changes', 'count', 'named'),
    [
        ({}, 7, '7'),
        ({}, 17, '16'),
        ({'table_height': 0.6}, 8, 'start'),
    ],
)
def test_what_cannot_be_planned_is_named(changes, count, named):
    with refuses(IdentificationError, named):
        plan_rest_poses(FR3, replace(LIMITS, **changes), FR3.home, pose_count=count)
