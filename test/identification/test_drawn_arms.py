# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Arms drawn from an identification: physical, spread as stated, and covering unseen motion."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import ViscousCoulombFriction
from franka_dynamics.errors import IdentificationError
from franka_dynamics.fit.options import IdentificationOptions
from franka_dynamics.recordings.preprocessing import to_motion
from franka_dynamics.recordings.replay import predict_torque

from ..agreement import refuses
from ..arms import drawn_around, first_joints

FER = fd.load('fer', hand='none')
SHORT = first_joints(FER, 3)
SIMPLE = IdentificationOptions(friction='viscous_coulomb')


@pytest.fixture(scope='module')
def identified(simulate):
    """Return what is identified of an arm of three joints."""
    friction = ViscousCoulombFriction(np.full(3, 0.5), np.full(3, 1.0), np.full(3, 0.1))
    recording = simulate(drawn_around(SHORT, 0), friction=friction, noise=0.3)
    return fd.identify([to_motion(recording)], SHORT, [SHORT], SIMPLE)


@pytest.fixture(scope='module')
def drawn(identified):
    """Return two hundred arms drawn from it."""
    return fd.draw_identified(identified, 200, seed=1)


def test_an_arm_inside_of_what_is_possible_gets_the_mean_and_covariance_as_stated(identified):
    # Its links are far from thin, and the draws so near that all of them are possible.
    thick = np.diag([0.1, 0.1, 0.1])
    links = tuple(
        fd.LinkInertia(link.mass, link.first_moment, link.inertia + thick)
        for link in identified.arm.links
    )
    arm = replace(identified.arm, links=links)
    estimate = identified.estimate
    base = estimate.model.base
    count = len(base)
    theta = estimate.theta.copy()
    theta[:count] = base.values(arm)
    about = replace(estimate, theta=theta, covariance=1e-2 * estimate.covariance)
    drawn = fd.draw_identified(replace(identified, arm=arm, estimate=about), 200)
    values = np.array([base.matrix @ fd.parameter_vector(one.arm) for one in drawn])
    std = about.std[:count]
    # Of 200 draws a mean is within 4 / sqrt(200), a deviation within 4 / sqrt(400) of its own.
    np.testing.assert_allclose((values.mean(axis=0) - theta[:count]) / std, 0.0, atol=0.3)
    np.testing.assert_allclose(values.std(axis=0) / std, 1.0, atol=0.2)
    stated = about.covariance[:count, :count] / np.outer(std, std)
    np.testing.assert_allclose(np.corrcoef(values.T), stated, atol=0.3)
    np.testing.assert_allclose([one.base_parameters for one in drawn], values, rtol=1e-9)


def test_an_arm_at_the_edge_of_what_is_possible_spreads_no_more_than_stated(identified, drawn):
    estimate = identified.estimate
    values = np.array([one.base_parameters for one in drawn])
    std = estimate.std[: len(estimate.model.base)]
    off = (values.mean(axis=0) - estimate.theta[: len(std)]) / std
    assert np.sqrt(np.mean(off**2)) < 0.5
    assert (values.std(axis=0) / std < 1.2).all()


def test_friction_has_the_spread_that_is_stated(identified, drawn):
    friction = identified.arm.friction
    values = np.array([one.arm.friction.offset for one in drawn])
    std = np.sqrt(friction.covariance[:, 2, 2])
    np.testing.assert_allclose((values.mean(axis=0) - friction.offset) / std, 0.0, atol=0.3)
    np.testing.assert_allclose(values.std(axis=0) / std, 1.0, atol=0.2)


def test_each_arm_is_physical_and_the_same_for_the_same_seed(identified, drawn):
    assert all(one.arm.inconsistencies() == () for one in drawn)
    first, second = (fd.draw_identified(identified, count, seed=1)[0] for count in (1, 3))
    np.testing.assert_array_equal(first.base_parameters, second.base_parameters)
    np.testing.assert_array_equal(first.base_parameters, drawn[0].base_parameters)
    other = fd.draw_identified(identified, 1, seed=2)[0]
    assert not np.allclose(first.base_parameters, other.base_parameters)


def test_files_and_tables_describe_the_drawn_arm(drawn, tmp_path):
    one = drawn[0]
    (tmp_path / 'arm.urdf').write_text(one.urdf())
    read = fd.load(tmp_path / 'arm.urdf')
    q = np.array([0.3, -0.5, 0.7])
    expected = fd.Model(one.arm).gravity(q)
    np.testing.assert_allclose(fd.Model(read).gravity(q), expected, rtol=1e-9, atol=1e-9)
    model = mujoco.MjModel.from_xml_string(one.mjcf())
    data = mujoco.MjData(model)
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    np.testing.assert_allclose(data.qfrc_bias, expected, rtol=1e-6, atol=1e-9)
    # MuJoCo's own numbers of its compiled model are those of the table.
    table = one.parameters()
    for k, joint in enumerate(one.arm.joint_names, 1):
        place = model.joint(joint)
        assert table[f'joint_{k}/damping'] == pytest.approx(place.damping[0], rel=1e-6)
        assert table[f'joint_{k}/frictionloss'] == pytest.approx(place.frictionloss[0], rel=1e-6)
        mass = model.body(place.bodyid[0]).mass[0]
        assert table[f'link_{k}/mass'] == pytest.approx(mass, rel=1e-6)


def test_a_negative_count_is_refused(identified):
    assert fd.draw_identified(identified, 0) == []
    for count, seed in ((-1, 0), (1, -1)):
        with refuses(IdentificationError, f'count is {count}', f'seed {seed}'):
            fd.draw_identified(identified, count, seed)


@pytest.mark.long
@pytest.mark.parametrize('name', ['slow', 'fast'])
def test_drawn_arms_and_the_stated_deviation_cover_unseen_motion(
    name, fer_recording, fer_1khz_recording
):
    whole = fer_recording if name == 'slow' else fer_1khz_recording
    first = whole.time < 0.5 * whole.duration
    result = fd.identify([whole.select(first)], FER, [FER])
    unseen = to_motion(whole.select(~first))
    torques = [
        predict_torque(one.arm, unseen).predicted_torque for one in fd.draw_identified(result, 40)
    ]
    spread = np.std(torques, axis=0)
    error = unseen.effort - predict_torque(result.arm, unseen).predicted_torque
    std = np.hypot(spread, result.arm.torque_deviation.filtered)
    share = np.mean(np.abs(error) < 1.96 * std)
    assert share > 0.93
    # Parameters tell a part of the errors; what no parameters explain is in the deviation.
    assert 0.1 < np.sqrt(np.mean(spread**2) / np.mean(error**2)) < 1.0
