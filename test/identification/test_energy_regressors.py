# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Energies linear in the parameters (Gautier and Khalil 1990), and what is misprinted."""

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.arm import (
    ArmDescription,
    Convention,
    DHRow,
    Joint,
    JointKind,
    LinkInertia,
    load,
)
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.dynamics.body_tree import joint_twists
from franka_dynamics.dynamics.lagrangian import LagrangianModel
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.regressor import parameter_vector
from franka_dynamics.identification.energy_regressors import (
    coupling_matrix,
    energy_regressors,
    link_step,
    transfer_matrix,
)
from franka_dynamics.spatial import twists_seen_from

TILTED = (3.0, -5.0, -7.0)
# Energies of up to 460 J; measured 2.1e-13 against Pinocchio.
RTOL_ENERGY, ATOL_ENERGY = 0.0, 5e-12
# Central differences of an energy of some 100 J with a step of 1e-5: 1e-16 * 100 / 1e-5.
STEP, ATOL_DIFFERENCE = 1e-5, 1e-7
# Entries of order one.
ATOL_MATRIX = 1e-14
CONVENTIONS = list(Convention)


@pytest.mark.parametrize('convention', CONVENTIONS)
@pytest.mark.parametrize('seed', range(15))
def test_energies_of_a_random_arm_equal_pinocchios(random_arm, convention, seed):
    arm = random_arm(seed, convention=convention)
    q, dq, _ = sample_states(arm, 5, seed)
    kinetic, potential = energy_regressors(arm, q, dq, TILTED)
    model = PinocchioModel(arm, TILTED).model
    data = model.createData()
    expected = np.array(
        [
            (
                pin.computeKineticEnergy(model, data, *state),
                pin.computePotentialEnergy(model, data, state[0]),
            )
            for state in zip(q, dq)
        ]
    )
    np.testing.assert_allclose(
        kinetic @ parameter_vector(arm), expected[:, 0], rtol=RTOL_ENERGY, atol=ATOL_ENERGY
    )
    np.testing.assert_allclose(
        potential @ parameter_vector(arm), expected[:, 1], rtol=RTOL_ENERGY, atol=ATOL_ENERGY
    )


@pytest.mark.parametrize('name', ['fer', 'scemi', 'rpr'])
def test_energies_of_a_known_arm_equal_the_lagrangians(name):
    arm = load(name)
    q, dq, _ = sample_states(arm, 50, 4)
    kinetic, potential = energy_regressors(arm, q, dq)
    lagrangian = LagrangianModel(arm)
    np.testing.assert_allclose(
        kinetic @ parameter_vector(arm),
        lagrangian.kinetic_energy(q, dq),
        rtol=RTOL_ENERGY,
        atol=ATOL_ENERGY,
    )
    np.testing.assert_allclose(
        potential @ parameter_vector(arm),
        lagrangian.potential_energy(q),
        rtol=RTOL_ENERGY,
        atol=ATOL_ENERGY,
    )


def test_lagranges_equation_on_the_energies_gives_torques():
    # Eq. (5) with dq = 0: -dE/dq vanishes, and d/dt(dE/d(dq)) = M ddq with M from E.
    arm = load('fer')
    q = sample_states(arm, 1, 2).q[0]
    X = parameter_vector(arm)

    def kinetic(dq):
        return energy_regressors(arm, q, dq)[0] @ X

    def potential(at):
        return energy_regressors(arm, at, np.zeros(7))[1] @ X

    units = np.eye(7)
    mass = np.array([[kinetic(a + b) - kinetic(a) - kinetic(b) for b in units] for a in units])
    slope = np.array(
        [(potential(q + STEP * e) - potential(q - STEP * e)) / (2.0 * STEP) for e in units]
    )
    model = NewtonEulerModel(arm)
    np.testing.assert_allclose(mass, model.mass_matrix(q), rtol=0.0, atol=ATOL_ENERGY)
    np.testing.assert_allclose(slope, model.gravity(q), rtol=0.0, atol=ATOL_DIFFERENCE)


@pytest.mark.parametrize('convention', CONVENTIONS)
def test_lambda_moves_a_link_into_the_frame_before(random_arm, convention):
    for seed in range(10):
        arm = random_arm(seed, n=1, convention=convention)
        pose = arm.joint_transforms([0.7])[0]
        moved = link_step(arm, 0, 0.7).transfer.T @ arm.links[0].parameters()
        np.testing.assert_allclose(
            moved, arm.links[0].expressed_in(pose).parameters(), rtol=0.0, atol=ATOL_MATRIX * 10
        )


# The errata on eq. (2) and the appendix: the corrected form holds, the printed fails.


def test_sigma_in_eq_2_picks_r_for_a_prismatic_joint():
    # Corrected: q = (1 - sigma) theta + sigma r. Printed: sigma theta + sigma f.
    row = DHRow(a=0.1, alpha=0.4, d=0.2, theta=0.3)
    for sigma, kind in ((0, JointKind.REVOLUTE), (1, JointKind.PRISMATIC)):
        arm = ArmDescription(
            'one', Convention.MODIFIED, (Joint('j', kind, row),), (LinkInertia.zero(),)
        )
        theta, r = (1 - sigma) * 0.5, sigma * 0.5
        corrected = DHRow(a=0.1, alpha=0.4, d=0.2 + r, theta=0.3 + theta)
        printed = DHRow(a=0.1, alpha=0.4, d=0.2 + sigma * 0.5, theta=0.3 + sigma * 0.5)
        pose = arm.joint_transforms([0.5])[0]
        np.testing.assert_allclose(
            pose, corrected.transform(Convention.MODIFIED), rtol=0.0, atol=ATOL_MATRIX
        )
        assert np.abs(pose - printed.transform(Convention.MODIFIED)).max() > 0.1


def test_de_7_to_9_hold_with_the_minus_signs_put_back(random_arm):
    arm = random_arm(3, n=4, kinds='RRPR')
    q, dq, _ = sample_states(arm, 1, 0)
    entries = energy_regressors(arm, q, dq)[0][0, 30:]
    twist = np.zeros((1, 6))
    for i, pose in enumerate(arm.joint_transforms(q[0])):
        twist = twists_seen_from(pose, twist) + dq[0, i] * joint_twists(arm)[i]
    v, w = twist[0, :3], twist[0, 3:]
    corrected = [w[2] * v[1] - w[1] * v[2], w[0] * v[2] - w[2] * v[0], w[1] * v[0] - w[0] * v[1]]
    printed = [w[2] * v[1] * w[1] * v[2], w[0] * v[2] * w[2] * v[0], w[1] * v[0] * w[0] * v[1]]
    np.testing.assert_allclose(entries[6:9], corrected, rtol=0.0, atol=ATOL_ENERGY)
    np.testing.assert_allclose(
        entries[[0, 1, 2, 3, 4, 5, 9]],
        [
            w[0] ** 2 / 2,
            w[0] * w[1],
            w[0] * w[2],
            w[1] ** 2 / 2,
            w[1] * w[2],
            w[2] ** 2 / 2,
            v @ v / 2,
        ],
        rtol=0.0,
        atol=ATOL_ENERGY,
    )
    assert np.abs(entries[6:9] - printed).max() > 0.1


@pytest.mark.parametrize('revolute', [True, False])
def test_f_j_holds_when_dq_multiplies_both_brackets(revolute):
    rng = np.random.default_rng(7)
    alpha, d, theta, r, dq = rng.uniform(-1.0, 1.0, 5)
    before, X = rng.uniform(-1.0, 1.0, 6), rng.uniform(-1.0, 1.0, 10)
    pose = DHRow(d, alpha, r, theta).transform(Convention.MODIFIED)
    after = twists_seen_from(pose, before[None])[0]
    after[5 if revolute else 2] += dq
    transfer = transfer_matrix(alpha, d, theta, r)
    coupling = coupling_matrix(alpha, d, theta, r, revolute=revolute)
    own = np.zeros(10)
    own[5 if revolute else 9] = 0.5 * dq**2
    kinetic = _kinetic(LinkInertia.from_parameters(X), after)
    start = transfer @ _entries(before)
    on_omega = coupling[:, 3:] @ before[3:]
    on_v = coupling[:, :3] @ before[:3]
    corrected = start + dq * (on_omega + on_v) + own
    printed = start + dq * on_omega + on_v + own
    np.testing.assert_allclose(corrected @ X, kinetic, rtol=0.0, atol=ATOL_MATRIX * 10)
    assert abs(printed @ X - kinetic) > 1e-3


def _kinetic(link, twist):
    """Return eq. (6) of one link."""
    v, w = twist[:3], twist[3:]
    return 0.5 * (
        w @ link.inertia @ w + link.mass * v @ v + 2.0 * v @ np.cross(w, link.first_moment)
    )


def _entries(twist):
    """Return DE of one link by differences of eq. (6), which is linear in the parameters."""
    return np.array([_kinetic(LinkInertia.from_parameters(unit), twist) for unit in np.eye(10)])
