# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Gautier and Khalil's direct method: its recursions, and its map against `base_parameters`."""

import numpy as np
import pytest

from franka_dynamics.arm import ArmDescription, Convention, DHRow, Joint, JointKind, load
from franka_dynamics.arm.dh_conversion import in_modified_convention
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.regressor import parameter_vector
from franka_dynamics.identification.base_parameters import base_parameters
from franka_dynamics.identification.direct_method import (
    direct_base_parameters,
    energy_increment,
    energy_transform,
    modified_dh_rows,
)
from franka_dynamics.identification.energy_regressors import energy_regressors

from .trees import GRAVITIES, TILTED, VERTICAL
from ..arms import make_random_arm

# Energies per parameter of order 100; measured 6e-13.
ATOL_ENERGY = 1e-11
# Coefficients of up to 3, computed by both methods; measured difference 2.3e-14.
ATOL_COEFFICIENT = 1e-12
# Of known arms, relative to the value or to 1: sums of some dozen products, each rounded to 1e-16
# of its value, which BLAS adds in another order on each kind of processor; 4e-15 seen with five.
SUMS_OF_PRODUCTS = 5e-14


ARMS = {
    **{name: load(name) for name in ('fer', 'fr3', 'scemi', 'stanford')},
    'rpr': in_modified_convention(load('rpr')),
}


@pytest.mark.parametrize('seed', range(8))
def test_the_appendixs_recursions_give_the_energies_of_twists(seed):
    # `energy_regressors` is Pinocchio's, which uses neither lambda nor f.
    arm = make_random_arm(seed, n=4, special=(0.0, 0.6)[seed % 2], base=True)
    q, dq = np.random.default_rng(seed).uniform(-2.0, 2.0, (2, 4))
    expected = np.reshape(energy_regressors(arm, q, dq, TILTED), (2, 4, 10))
    found = np.zeros((2, 10))
    found[1, 6:] = -np.asarray(TILTED) @ arm.base[:3]
    omega, velocity = np.zeros(3), np.zeros(3)
    for j, (joint, row, pose) in enumerate(
        zip(arm.joints, modified_dh_rows(arm), arm.joint_transforms(q))
    ):
        turns, rates = joint.kind is JointKind.REVOLUTE, np.array([0.0, 0.0, dq[j]])
        angle = joint.row.theta + q[j] * turns
        at = row._replace(ct=np.cos(angle), st=np.sin(angle), r=row.r + q[j] * (not turns))
        found = found @ energy_transform(at).T
        found[0] += energy_increment(at, omega, velocity, dq[j], turns)
        velocity = pose[:3, :3].T @ (velocity + np.cross(omega, pose[:3, 3])) + rates * (not turns)
        omega = pose[:3, :3].T @ omega + rates * turns
        np.testing.assert_allclose(found, expected[:, j], rtol=0.0, atol=ATOL_ENERGY)


@pytest.mark.parametrize('convention', Convention)
def test_energies_are_linear_in_the_parameters_in_both_conventions(convention):
    arm = make_random_arm(1, n=5, convention=convention)
    q, dq = np.random.default_rng(1).uniform(-2.0, 2.0, (2, 3, 2, 5))
    model, X = NewtonEulerModel(arm, TILTED), parameter_vector(arm)
    expected = model.kinetic_energy(q, dq), model.potential_energy(q)
    found = np.array(energy_regressors(arm, q, dq, TILTED)) @ X
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=ATOL_ENERGY)


@pytest.mark.parametrize('rotors', [False, True])
@pytest.mark.parametrize('name', ARMS)
def test_the_direct_method_gives_the_qrs_map_of_known_arms(name, rotors):
    for gravity in GRAVITIES:
        found = direct_base_parameters(ARMS[name], gravity, rotor_inertia=rotors)
        other = base_parameters(ARMS[name], gravity, rotor_inertia=rotors)
        assert found.names == other.names
        agree = {'rtol': SUMS_OF_PRODUCTS, 'atol': SUMS_OF_PRODUCTS}
        np.testing.assert_allclose(found.matrix, other.matrix, **agree)
        np.testing.assert_allclose(found.values(), other.values(), **agree)
        assert found.rank_gap.smallest_kept > 1e-3 and found.rank_gap.largest_dropped < 1e-13


@pytest.mark.parametrize('seed', range(12))
def test_the_direct_method_gives_the_qrs_map_of_a_random_arm(seed):
    special = (0.0, 0.6, 0.85, 0.95)[seed % 4]
    n, rotors, base = 2 + seed % 6, seed % 3 == 0, seed % 2
    arm = make_random_arm(seed, n=n, special=special, rotors=rotors, base=base)
    for gravity in GRAVITIES[seed % 2 :: 2]:
        found, other = direct_base_parameters(arm, gravity), base_parameters(arm, gravity)
        assert found.columns == other.columns
        np.testing.assert_allclose(found.matrix, other.matrix, rtol=0.0, atol=ATOL_COEFFICIENT)


@pytest.mark.parametrize(
    ('kind', 'gravity', 'kept'),
    [
        (JointKind.REVOLUTE, VERTICAL, {'ZZ_1'}),
        (JointKind.REVOLUTE, TILTED, {'ZZ_1', 'mX_1', 'mY_1'}),
        (JointKind.PRISMATIC, TILTED, {'m_1'}),
    ],
)
def test_a_single_joint_has_the_parameters_of_theorems_3_and_4(kind, gravity, kept):
    joint = Joint('j', kind, DHRow())
    arm = ArmDescription('one', Convention.MODIFIED, (joint,), load('scemi').links[:1])
    assert set(direct_base_parameters(arm, gravity).names) == kept


def test_an_arm_in_standard_rows_has_the_parameters_of_its_modified_rows():
    found = direct_base_parameters('rpr')
    assert found.description.convention is Convention.MODIFIED
    # At random states the regressor of that arm has this rank, and regrouping keeps its torques.
    rank, lost = found.check_at_random_states()
    assert len(found) == rank == 11 and lost < 1e-12
