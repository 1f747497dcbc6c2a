# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An arm that is written to an arm file and loaded again is the same in every field."""

from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest

from franka_dynamics.arm import (
    available_arms,
    available_sets,
    DHRow,
    JointLimits,
    LinkInertia,
    load,
    MaxwellSlipFriction,
    SigmoidFriction,
    ViscousCoulombFriction,
)
from franka_dynamics.arm.arm_file_writer import arm_file_text
from franka_dynamics.dynamics.sampling import sample_states
from franka_dynamics.errors import DescriptionError
from franka_dynamics.resources import share_directory
from franka_dynamics.spatial import pose_from_xyz_rpy
from franka_dynamics.urdf.source import described
from franka_dynamics.urdf.writer import save

from ..arms import random_arm, with_joint, with_link

ROUNDING = 1e-14  # a rotated base is written as roll, pitch and yaw; all other numbers are exact
N, FER = 7, load('fer')


def written_and_read(arm, tmp_path):
    path = tmp_path / 'arm.yaml'
    path.write_text(arm_file_text(arm), encoding='utf-8')
    return load(path)


def plain(value):
    """Return a value as types, names and numbers, which compare exactly."""
    if is_dataclass(value):
        parts = {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        return type(value), parts
    if isinstance(value, tuple):
        return [plain(one) for one in value]
    return type(value), value.tolist() if isinstance(value, np.ndarray) else value


SHIPPED = [
    *((arm, name, 'as_listed') for arm in available_arms() for name in available_sets(arm)),
    *(('fr3', 'franka_description', hand) for hand in ('none', 'franka_hand')),
]


def assert_every_field_returns(arm, tmp_path):
    back = written_and_read(arm, tmp_path)
    assert plain(replace(back, file=arm.file)) == plain(arm)


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


@pytest.mark.parametrize('seed', range(2))
def test_given_a_random_arm_when_saved_then_every_field_returns(seed, tmp_path):
    # Tensors of random arms are symmetric only up to rounding; a file has the ten parameters.
    arm = random_arm(np.random.default_rng(seed), joints=N).map_links(
        lambda link: LinkInertia.from_parameters(link.parameters())
    )
    back = written_and_read(arm, tmp_path)
    np.testing.assert_allclose(back.base, arm.base, rtol=0.0, atol=ROUNDING)
    # A file must have an inertial set and a source, so the writer fills them in.
    filled = {name: getattr(back, name) for name in ('file', 'base', 'source', 'inertial_set')}
    assert plain(back) == plain(replace(arm, **filled))


def test_a_base_at_gimbal_lock_returns_from_a_saved_arm(tmp_path):
    base = pose_from_xyz_rpy((0.1, -0.2, 0.3), (0.0, np.pi / 2, 0.4))
    back = written_and_read(replace(FER, base=base), tmp_path)
    np.testing.assert_allclose(back.base, base, rtol=0.0, atol=ROUNDING)


def test_an_unknown_friction_model_is_refused_naming_the_known():
    class Sticky:
        torque = staticmethod(np.zeros_like)

    message = 'Sticky has no form in a file; use one of sigmoid, viscous_coulomb, maxwell_slip'
    with pytest.raises(DescriptionError, match=message):
        arm_file_text(replace(FER, friction=Sticky()))


def body(*parameters):
    """Return the FER with another first link."""
    return with_link(FER, 0, LinkInertia.from_parameters(parameters))


@pytest.mark.parametrize(
    ('arm', 'sentence'),
    [
        (with_joint(FER, 0, limits=JointLimits(effort=1e9)), r'joints\[1\] .*effort is 1e\+09'),
        (with_joint(FER, 0, limits=JointLimits(effort=87e3)), 'fer_joint1 is 87000 N m.* N mm'),
        (body(*[1.0] * 3, *[0.0] * 6, -1.0), r'links\[1\].mass is -1; it cannot be neg'),
        (body(*[1.0] * 3, *[0.0] * 3, 0.1, 0.0, 0.0, 0.0), 'first_moment is not zero altho'),
        (with_joint(FER, 0, rotor_inertia=-1.0), 'rotor_inertia is -1'),
        (with_joint(FER, 0, name=''), "name must be a string, not ''"),
        (with_joint(FER, 0, row=DHRow(alpha=7.0)), 'alpha is 7 rad, more than a turn'),
        (replace(FER, name=''), "name must be a string, not ''"),
        (replace(FER, rated_load=0.0), 'rated_load is 0; it must be positive'),
        (replace(FER, rounding=-1.0), 'rounding is -1; it must be positive'),
        (
            replace(FER, home=np.full(7, 9.0)),
            'home position 9 of fer_joint1 is outside',
        ),
        (replace(FER, hand='gripper'), "hand is 'gripper'; there are franka_hand"),
    ],
)
def test_what_load_would_refuse_is_not_written(arm, sentence, tmp_path):
    file = tmp_path / 'arm.yaml'
    with pytest.raises(DescriptionError, match=sentence) as error:
        save(arm, file)
    assert '\n' not in str(error.value)
    assert not file.exists()


@pytest.mark.parametrize('arm', ['fer', share_directory() / 'urdf' / 'fr3.urdf'])
def test_an_arm_is_saved_and_sampled_by_its_name_or_file(arm, tmp_path):
    save(arm, tmp_path / 'arm.yaml')
    assert load(tmp_path / 'arm.yaml').links == described(arm).links
    assert sample_states(arm, 3).q.shape == (3, 7)


@pytest.mark.parametrize(
    'name', ['1e5', '08', '010', '0x1F', '1:30', 'yes', '.5', '1_0', '-3', 'a: b']
)
def test_names_that_yaml_could_take_for_something_else_are_read_back(name, tmp_path):
    arm = replace(with_joint(load('rpr'), 0, name=name), inertial_set=name, source=name)
    found = written_and_read(arm, tmp_path)
    assert (found.inertial_set, found.source, found.joint_names[0]) == (name, name, name)
