# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm that is written to an arm file and loaded again is the same in every field."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import (
    available_arms,
    available_sets,
    JointLimits,
    load,
    MaxwellSlipFriction,
    SigmoidFriction,
    ViscousCoulombFriction,
)
from franka_dynamics.arm.arm_file_writer import arm_file_text
from franka_dynamics.spatial import pose_from_xyz_rpy

from ..arms import with_joint

ROUNDING = 1e-14  # a rotated base is written as roll, pitch and yaw; all other numbers are exact
N, FER = 7, load('fer')


def written_and_read(arm, tmp_path):
    path = tmp_path / 'arm.yaml'
    path.write_text(arm_file_text(arm), encoding='utf-8')
    return load(path)


SHIPPED = [
    *((arm, name, 'as_listed') for arm in available_arms() for name in available_sets(arm)),
    *(('fr3', 'franka_description', hand) for hand in ('none', 'franka_hand')),
]


def assert_every_field_returns(arm, tmp_path):
    back = written_and_read(arm, tmp_path)
    assert replace(back, file=arm.file) == arm


@pytest.mark.parametrize(('name', 'inertial_set', 'hand'), SHIPPED)
def test_a_saved_shipped_arm_returns_in_every_field(name, inertial_set, hand, tmp_path):
    assert_every_field_returns(load(name, inertial_set, hand=hand), tmp_path)


def random(seed, low, high, *shape):
    return np.random.default_rng(seed).uniform(low, high, shape)


FRICTIONS_AND_LIMITS = [
    (None, JointLimits()),
    (SigmoidFriction(*random(1, 0.1, 9.0, 3, N)), JointLimits(lower=-1.25)),
    (
        ViscousCoulombFriction(
            *random(2, -1.0, 1.0, 3, N), width=0.0375, deviations=random(3, 0.0, 0.1, 3, N)
        ),
        JointLimits(upper=0.1),
    ),
    (
        MaxwellSlipFriction(
            *random(4, -1.0, 1.0, 3, N),
            reach=[0.004, 1.0 / 3.0],
            slip=random(5, -1.0, 1.0, 2, N),
            width=0.0125,
            deviations=random(6, 0.0, 0.1, 5, N),
        ),
        JointLimits(-1.0 / 3.0, 2.0 / 3.0, 1e-5, 1e5, 7.0, 0.3, 1000.0, 0.46, 17.0),
    ),
]


@pytest.mark.parametrize(('friction', 'limits'), FRICTIONS_AND_LIMITS)
def test_any_limits_and_friction_return_from_a_saved_arm(friction, limits, tmp_path):
    joints = (
        replace(joint, limits=limits, rotor_inertia=1e-5 * i) for i, joint in enumerate(FER.joints)
    )
    arm = replace(FER, home=None, friction=friction, joints=tuple(joints), repairs=('moved',))
    assert_every_field_returns(arm, tmp_path)


@pytest.mark.parametrize('rpy', [(0.0, np.pi / 2, 0.4), (0.3, -1.1, 2.0)])  # gimbal lock, any
def test_a_turned_base_returns_from_a_saved_arm(rpy, tmp_path):
    base = pose_from_xyz_rpy((0.1, -0.2, 0.3), rpy)
    back = written_and_read(replace(FER, base=base), tmp_path)
    np.testing.assert_allclose(back.base, base, rtol=0.0, atol=ROUNDING)


@pytest.mark.parametrize(
    'name', ['1e5', '08', '010', '0x1F', '1:30', 'yes', '.5', '1_0', '-3', 'a: b']
)
def test_names_that_yaml_could_take_for_something_else_are_read_back(name, tmp_path):
    arm = replace(with_joint(load('rpr'), 0, name=name), inertial_set=name, source=name)
    found = written_and_read(arm, tmp_path)
    assert (found.inertial_set, found.source, found.joint_names[0]) == (name, name, name)
