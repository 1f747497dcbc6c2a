# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What every formulation must satisfy by itself, whatever the others say."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import random_arm, sample_states
from franka_dynamics.dynamics.lagrangian import LagrangianModel
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel

from ..agreement import assert_near

STEP = 1e-5  # [rad, m, s], of the central differences: their error is step^2 and eps/step
DIFFERENCES = 1e-6  # ten times the largest seen, of max(1, |a|)
CLOSED_FORM = 1e-11  # a hundred times the largest seen, of max(1, |a|)

every_formulation = pytest.mark.parametrize(
    'formulation', [PinocchioModel, NewtonEulerModel, ExponentialsModel, LagrangianModel]
)


def arms_and_states():
    """Fer and three random arms, each with gravity and a state."""
    for seed, name in enumerate(['fer'] + 3 * ['random']):
        rng = np.random.default_rng(seed)
        arm = random_arm(rng) if name == 'random' else load(name)
        state = [stack[0] for stack in sample_states(arm, 1, seed)]
        yield arm, rng.normal(size=3) * 9.81, *state


CASES = list(arms_and_states())
every_case = pytest.mark.parametrize('case', CASES, ids=lambda case: f'{case[0].name}{case[0].n}')


def central(function, q, direction):
    return (function(q + STEP * direction) - function(q - STEP * direction)) / (2.0 * STEP)


def gradient(function, q):
    return np.array([central(function, q, unit) for unit in np.eye(len(q))])


@every_formulation
@every_case
def test_c_is_made_of_the_christoffel_symbols_of_m(formulation, case):
    arm, gravity, q, dq, _ = case
    model = formulation(arm, gravity)
    slopes = np.moveaxis(gradient(model.mass_matrix, q), 0, -1)  # dM_ij/dq_k
    along, across = slopes @ dq, np.einsum('ikj,k->ij', slopes, dq)
    assert_near(model.coriolis_matrix(q, dq), 0.5 * (along + across - across.T), DIFFERENCES)


@every_formulation
@every_case
def test_gravity_torque_is_the_slope_of_the_potential_energy(formulation, case):
    arm, gravity, q, _, _ = case
    model = formulation(arm, gravity)
    assert_near(model.gravity(q), gradient(model.potential_energy, q), DIFFERENCES)


@every_formulation
@every_case
def test_joint_power_is_the_slope_of_the_energy(formulation, case):
    # dE/dt = tau . dq along the motion that tau brings about.
    arm, gravity, q, dq, ddq = case
    model = formulation(arm, gravity)

    def energy(time):
        velocity = dq + time * ddq
        return model.kinetic_energy(
            q + time * dq + 0.5 * time**2 * ddq, velocity
        ) + model.potential_energy(q + time * dq + 0.5 * time**2 * ddq)

    power = (energy(STEP) - energy(-STEP)) / (2.0 * STEP)
    assert_near(model.inverse_dynamics(q, dq, ddq) @ dq, power, 10.0 * DIFFERENCES)


@every_formulation
@every_case
def test_jacobians_are_the_slopes_of_the_poses(formulation, case):
    arm, gravity, q, _, _ = case
    model = formulation(arm, gravity)
    slopes = np.array([central(model.frames, q, unit) for unit in np.eye(arm.n)])
    poses = model.frames(q)
    for frame in range(1, arm.n + 2):
        rotation = poses[frame - 1, :3, :3]
        jacobian = model.jacobian(q, frame)
        assert_near(jacobian[:3].T, slopes[:, frame - 1, :3, 3], DIFFERENCES)
        for column, slope in zip(jacobian[3:].T, slopes[:, frame - 1, :3, :3]):
            spin = slope @ rotation.T
            assert_near(column, [spin[2, 1], spin[0, 2], spin[1, 0]], DIFFERENCES)


@every_formulation
@every_case
def test_forward_dynamics_returns_the_acceleration_of_its_torque(formulation, case):
    arm, gravity, q, dq, ddq = case
    model, wrench = formulation(arm, gravity), np.arange(1.0, 7.0)
    tau = model.inverse_dynamics(q, dq, ddq, wrench=wrench)
    # Compared as torques: a light wrist accelerates by what is rounding in a torque.
    mass, came_back = model.mass_matrix(q), model.forward_dynamics(q, dq, tau, wrench=wrench)
    assert_near(mass @ came_back, mass @ ddq, CLOSED_FORM)


@every_formulation
@every_case
def test_a_wrenchs_torque_is_by_the_transposed_jacobian(formulation, case):
    arm, gravity, q, dq, ddq = case
    model, wrench = formulation(arm, gravity), np.arange(1.0, 7.0)
    from_wrench = model.inverse_dynamics(q, dq, ddq) - model.inverse_dynamics(
        q, dq, ddq, wrench=wrench
    )
    assert_near(from_wrench, model.jacobian(q).T @ wrench, CLOSED_FORM)


@every_formulation
def test_any_physical_arms_mass_matrix_is_positive_definite(formulation):
    for seed in range(20):
        arm = random_arm(np.random.default_rng(seed))
        mass = formulation(arm).mass_matrix(sample_states(arm, 1, seed).q[0])
        np.testing.assert_array_equal(mass, mass.T)
        assert np.linalg.eigvalsh(mass)[0] > 0.0


@every_formulation
def test_a_rotor_adds_torque_to_its_own_joint_only(formulation):
    arm = random_arm(np.random.default_rng(5), joints=4)
    rotor = 0.37
    joints = tuple(
        replace(joint, rotor_inertia=joint.rotor_inertia + (rotor if i == 2 else 0.0))
        for i, joint in enumerate(arm.joints)
    )
    q, dq, ddq = (stack[0] for stack in sample_states(arm, 1, 5))
    plain, heavier = formulation(arm), formulation(replace(arm, joints=joints))
    added = heavier.inverse_dynamics(q, dq, ddq) - plain.inverse_dynamics(q, dq, ddq)
    assert_near(added, [0.0, 0.0, rotor * ddq[2], 0.0], CLOSED_FORM)
