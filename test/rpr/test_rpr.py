# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The RPR arm: inverse kinematics, inertias of its solids, and its report's formulas."""

from dataclasses import replace
import math

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.errors import DescriptionError, UnreachableError

from ..agreement import refuses

ARM = fd.load('rpr')
RPR = fd.RprKinematics.from_description(ARM)
# The square roots of the inverse lose half the digits near the edge of the reach; away from it
# 1e-15 was measured for positions.
ATOL_INVERSE = 1e-12


def positions(count, seed=0):
    """Return joint positions at which C3 and w have either sign."""
    rng = np.random.default_rng(seed)
    return rng.uniform([-np.pi, -1.2, -np.pi], [np.pi, 0.8, np.pi], (count, 3))


def reached(q):
    """Return the flange's positions, by the recursion in DH frames, which knows no inverse."""
    return fd.NewtonEulerModel(ARM).frames(q)[..., -1, :3, 3]


EDGE = [(0.3, 0.1, np.pi / 2), (0.3, 0.1, -np.pi / 2), (1.0, -0.3, np.pi / 2)]
EDGE += [(2.0, -0.3 - 0.4 * np.cos(0.5), 0.5)]


@pytest.mark.parametrize(
    ('q', 'atol'),
    [
        *((q, ATOL_INVERSE) for q in positions(5, seed=3)),
        # At the edge of the workspace a position has an error of the root of the rounding, 1e-8.
        *((q, 1e-7) for q in EDGE),
    ],
)
def test_all_four_branches_reach_a_reached_position(q, atol):
    target = reached(q)
    branches = RPR.inverse(target)
    assert branches.shape == (4, 3)
    np.testing.assert_allclose(reached(branches), np.tile(target, (4, 1)), rtol=0.0, atol=atol)


@pytest.mark.parametrize(
    ('target', 'names'),
    [
        ((0.1, 0.1, 0.4), ['0.141421 m', 'a1 = 0.2 m']),
        ((0.5, 0.1, 0.71), [' 0.41 m', 'a3 = 0.4 m']),
        ((0.5, 0.1, -0.11), ['-0.41 m', 'a3 = 0.4 m']),
    ],
)
def test_a_target_out_of_reach_says_by_which_length_it_is(target, names):
    with refuses(UnreachableError, *names):
        RPR.inverse(target)


def test_another_arm_is_refused():
    moved = replace(ARM, base=np.eye(4) + 0.1 * np.eye(4, k=3))
    for arm, name in ((fd.load('fer'), 'fer'), (moved, 'rpr.yaml')):
        with refuses(DescriptionError, name):
            fd.RprKinematics.from_description(arm)


@pytest.mark.parametrize('seed', range(3))
def test_inverse_within_limits_gives_just_the_branches_within(seed):
    rng = np.random.default_rng(seed)
    lower = np.array([-2.0, -0.25, -1.0]) + rng.uniform(-0.3, 0.3, 3) * [1.0, 0.1, 1.0]
    upper = np.array([2.5, 0.25, 4.5])
    q = rng.uniform(lower, upper)
    q[2] = 4.0  # the inverse gives this angle less a whole turn, which is below the limit
    position = reached(q)
    found = RPR.inverse_within(position, lower, upper)
    for branch in found:
        assert ((lower <= branch + 1e-12) & (branch <= upper + 1e-12)).all()
        np.testing.assert_allclose(reached(branch), position, rtol=0.0, atol=1e-13)
    # q is among them, up to whole turns.
    away = np.abs(np.sin(0.5 * (found - q)[:, [0, 2]])).max(axis=1) + np.abs(found - q)[:, 1]
    assert away.min() < 1e-7
    margins = np.minimum(found - lower, upper - found) / (upper - lower)
    assert (np.diff(margins.min(axis=1)) <= 1e-12).all()


def test_a_point_beyond_the_limits_is_refused_naming_the_joint():
    # d2 of the nearest branch is sqrt(1.5^2 - a1^2) - a3 - 0.3.
    with refuses(UnreachableError, 'd2 = 0.7866', '-0.3 to 0.3'):
        RPR.inverse_within([1.5, 0.0, 0.3], ARM.limit('lower'), ARM.limit('upper'))
    with refuses(UnreachableError):  # limits that are exchanged
        RPR.inverse_within(reached(np.zeros(3)), ARM.limit('upper'), ARM.limit('lower'))


@pytest.mark.parametrize('seed', range(20))
def test_a_joint_that_is_held_in_one_position_is_within_limits(seed):
    q = positions(1, seed)[0]
    lower = np.array([-np.pi, q[1], -np.pi])
    upper = np.array([np.pi, q[1], np.pi])
    found = RPR.inverse_within(reached(q), lower, upper)
    np.testing.assert_allclose(found[:, 1], q[1], rtol=0.0, atol=1e-9)


# Largest difference measured: 1.4e-14 in torques up to 40 N m.
ATOL = 1e-12


def test_mujoco_of_the_same_solids_agrees_with_the_arm_file():
    mujoco = pytest.importorskip('mujoco', reason='the [sim] extra is not installed')
    # The arm of the report's figure, written as nested bodies; MuJoCo computes every inertia from
    # the geoms. quat entries are quarter turns: of T_0^1 about x, of T_1^2 about (-1, -1, 1).
    half = np.sqrt(0.5)
    xml = f"""<mujoco><compiler angle="radian" inertiafromgeom="true"/>
      <option gravity="0 0 -9.81"><flag contact="disable"/></option>
      <worldbody><body pos="0 0 0.3"><joint name="1" axis="0 0 1"/>
        <body pos="0.2 0 0" quat="{half} {half} 0 0">
          <geom type="cylinder" size="0.03 0.1" pos="0.1 0 0" euler="0 {np.pi / 2} 0"
                density="2710"/>
          <body pos="0 0 0.3" quat="0.5 -0.5 -0.5 0.5"><joint name="2" type="slide" axis="0 -1 0"/>
            <geom type="box" size="0.03 0.025 0.15" pos="0 0 0.15" density="2710"/>
            <body quat="{half} 0 0 {-half}"><joint name="3" axis="0 0 1"/>
              <geom type="cylinder" size="0.025 0.2" pos="0.4 -0.2 0" euler="{np.pi / 2} 0 0"
                    density="2710"/>
      </body></body></body></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(model)
    for q, dq, ddq in zip(*fd.sample_states(ARM, 50, seed=0)):
        data.qpos[:] = q
        data.qvel[:] = dq
        data.qacc[:] = ddq
        mujoco.mj_inverse(model, data)
        expected = fd.Model(ARM).inverse_dynamics(q, dq, ddq)
        np.testing.assert_allclose(data.qfrc_inverse, expected, rtol=0.0, atol=ATOL)


ATOL_NM = 1e-12  # torques up to 100 N m; 2e-14 was measured


def symbols():
    """Return the lengths, masses and sides of the solids that the arm file describes."""
    lengths = fd.RprKinematics.from_description(ARM)
    links = ARM.links
    tensors = [np.diag(link.inertia_at_center_of_mass) for link in links]
    names = {'g0': 9.81, 'I2y': tensors[1][1], 'I2z': tensors[1][2]}
    names |= {name: getattr(lengths, name) for name in ('d0', 'a1', 'a3', 'd2bar')}
    m1, m2, m3 = names['m1'], names['m2'], names['m3'] = [link.mass for link in links]
    h1 = names['h1'] = 2.0 * links[0].center_of_mass[0]
    a2 = names['a2'] = 2.0 * links[1].center_of_mass[2]
    names['h3'] = -2.0 * links[2].center_of_mass[1]
    # Radii and sides follow from the moments of inertia of the solids.
    names['r1'] = math.sqrt((12.0 * tensors[0][2] / m1 - h1**2) / 3.0)
    names['r3'] = math.sqrt(2.0 * tensors[2][1] / m3)
    names['b2'] = math.sqrt(12.0 * tensors[1][0] / m2 - a2**2)
    names['c2'] = math.sqrt(12.0 * tensors[1][2] / m2 - names['b2'] ** 2)
    return names


def test_every_line_of_the_report_is_what_the_formulations_say():
    from franka_dynamics.rpr.symbolic import (
        python_text,
        rpr_report_sections,
    )  # imports sympy

    text = compile(python_text(rpr_report_sections()), 'rpr_report.py', 'exec')
    model = fd.Model(ARM)
    box = np.diag(ARM.links[1].inertia_at_center_of_mass)
    # At these positions w and C3 are positive.
    bounds = [-3.0, -0.2, -1.4], [3.0, 0.3, 1.4]
    for q, dq, _ in zip(*fd.sample_states(ARM, 5, seed=0)):
        q = np.clip(q, *bounds)
        frames = model.frames(q)
        jacobian = model.jacobian(q)
        mass = model.mass_matrix(q)
        found = symbols() | dict(zip(('px', 'py', 'pz'), frames[2][:3, 3]))
        found |= {f'q{i + 1}': q[i] for i in range(3)} | {f'dq{i + 1}': dq[i] for i in range(3)}
        exec(text, found)
        exec(text, found)  # no result takes the place of a given number
        expected = {
            **{'theta1': q[0], 'd2': q[1], 'theta3': q[2]},
            **{'S3': math.sin(q[2]), 'C3': math.cos(q[2])},
            **{'I2x': box[0], 'I2x_printed': box[2]},
            **{'p_3': frames[2][:3, 3], 'J_A': jacobian[:3], 'J_G': jacobian},
            **{f'B{i + 1}{j + 1}': mass[i, j] for i in range(3) for j in range(i, 3)},
            **{'T': model.kinetic_energy(q, dq), 'U': model.potential_energy(q)},
            **{'C': model.coriolis_matrix(q, dq), 'g': model.gravity(q)},
        }
        for i, link in enumerate(ARM.links):
            expected[f'T_b{i + 1}'] = frames[i]
            expected[f'p_l{i + 1}'] = (frames[i] @ [*link.center_of_mass, 1.0])[:3]
            expected[f'I_l{i + 1}'] = link.inertia_at_center_of_mass
        for name, value in expected.items():
            one = np.squeeze(found[name])
            np.testing.assert_allclose(one, value, rtol=0.0, atol=ATOL_NM, err_msg=name)
