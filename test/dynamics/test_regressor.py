# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torques linear in the parameters, arms from such vectors, and inertia in {S}."""

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

from franka_dynamics.arm import load
from franka_dynamics.dynamics import regressor
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.regressor import (
    parameter_names,
    parameter_vector,
    torque_regressor,
    with_parameter_vector,
)
from franka_dynamics.dynamics.sampling import sample_states
from franka_dynamics.dynamics.space_inertia import space_inertias
from franka_dynamics.errors import InertiaError

from ..agreement import refuses
from ..arms import make_random_arm, of_points

# Pinocchio's order is m, hx, hy, hz, xx, xy, yy, xz, yz, zz.
OURS = [4, 5, 7, 6, 8, 9, 1, 2, 3, 0]
# Entries reach 90 (squared velocities, accelerations of 20 rad/s^2); measured 2.1e-14.
ATOL_COLUMN = 1e-12


@pytest.mark.parametrize('name', ['fer', 'fr3'])
def test_regressor_columns_of_a_franka_arm_equal_pinocchios(name):
    description = load(name)
    states = sample_states(description, 20, seed=1)
    actual = torque_regressor(description, *states).reshape(20, 7, 7, 10)
    model = PinocchioModel(description).model
    data = model.createData()
    expected = [pin.computeJointTorqueRegressor(model, data, *state) for state in zip(*states)]
    expected = np.reshape(expected, (20, 7, 7, 10))[..., OURS]
    np.testing.assert_allclose(actual, expected, rtol=0.0, atol=ATOL_COLUMN)


def test_a_regressor_in_blocks_equals_single_states_and_gives_chosen_columns(monkeypatch):
    monkeypatch.setattr(regressor, '_STATES_PER_BLOCK', 4)
    description, columns = load('fer'), (69, 5, 18)
    states = sample_states(description, 10, 0)
    whole = torque_regressor(description, *states)
    single = [torque_regressor(description, *state) for state in zip(*states)]
    np.testing.assert_allclose(whole, single, rtol=0.0, atol=ATOL_COLUMN)
    chosen = torque_regressor(description, *states, columns=columns)
    np.testing.assert_array_equal(chosen, whole[..., columns])


def test_an_arm_is_rebuilt_from_its_vector_with_links_and_rotors():
    arm, other = make_random_arm(4, n=3, rotors=True), make_random_arm(5, n=3)
    other = with_parameter_vector(other, parameter_vector(arm, rotor_inertia=True))
    assert other.links == arm.links
    assert [j.rotor_inertia for j in other.joints] == [j.rotor_inertia for j in arm.joints]


def test_a_bad_arm_vector_is_refused_by_name():
    for length, place in ((69, 68), (70, 13)):
        vector = np.where(np.arange(length) == place, np.nan, 0.0)
        with refuses(InertiaError, 'fer', '(69,)' if length == 69 else 'nan at [13]'):
            with_parameter_vector(load('fer'), vector)


def test_names_are_those_of_a_number_of_links_or_of_an_arm():
    assert parameter_names(load('rpr')) == parameter_names(3) == parameter_names(np.int64(3))
    assert len(parameter_names(load('rpr'), rotor_inertia=True)) == 33


ATOL = 1e-13  # tensors near 10 kg m^2


@pytest.mark.parametrize('name', ['fer', 'fr3', 'rpr'])
def test_space_tensors_are_those_of_the_moved_point_masses(name):
    rng = np.random.default_rng(0)
    arm = load(name, hand='none')
    clouds = [(rng.uniform(0.1, 1.0, 6), rng.uniform(-0.3, 0.3, (6, 3))) for _ in arm.links]
    arm = replace(arm, links=tuple(of_points(*cloud) for cloud in clouds))
    q = rng.uniform(-1.5, 1.5, arm.n)
    poses = PinocchioModel(arm).frames(q)
    for link, (masses, points), pose in zip(space_inertias(arm, q), clouds, poses):
        moved = points @ pose[:3, :3].T + pose[:3, 3]
        center = masses @ moved / masses.sum()
        for actual, expected in (
            (link.mass, masses.sum()),
            (link.center_of_mass, center),
            (link.about_frame_origin, of_points(masses, moved - pose[:3, 3]).inertia),
            (link.about_center_of_mass, of_points(masses, moved - center).inertia),
            (link.about_space_origin, of_points(masses, moved).inertia),
        ):
            np.testing.assert_allclose(actual, expected, rtol=0.0, atol=ATOL)
