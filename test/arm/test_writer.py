# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is written as an arm file is read back as the same arm."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.arm.writer import arm_yaml
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import DescriptionError

ROUNDING = 1e-14  # a pose goes through roll, pitch and yaw; all other numbers are exact


def written_and_read(arm, tmp_path):
    path = tmp_path / 'arm.yaml'
    path.write_text(arm_yaml(arm, title='An arm', set_source='a test'), encoding='utf-8')
    return load(path)


@pytest.mark.parametrize(('name', 'inertial_set', 'hand'), [
    ('fer', 'gaz2019', 'none'), ('fer', 'ledezma2021', 'as_listed'),
    ('fer', 'franka_description', 'franka_hand'), ('fr3', None, 'as_listed')])
def test_given_a_shipped_arm_when_written_and_read_then_every_number_is_the_same(
        name, inertial_set, hand, tmp_path):
    arm = load(name, inertial_set, hand=hand)
    back = written_and_read(arm, tmp_path)
    assert back.joints == arm.joints
    assert back.links == arm.links
    assert back.base_link == arm.base_link
    assert (back.name, back.flange, back.hand) == (arm.name, arm.flange, arm.hand)
    np.testing.assert_array_equal(back.home, arm.home)
    np.testing.assert_array_equal(back.base, arm.base)
    velocity = np.linspace(-2.0, 2.0, 7)
    if arm.friction is None:
        assert back.friction is None
    else:
        np.testing.assert_array_equal(back.friction.torque(velocity),
                                      arm.friction.torque(velocity))


@pytest.mark.parametrize('rpy', [(0.3, -0.5, 2.0), (0.0, np.pi / 2, 0.4), (0.1, -np.pi / 2, 0.0),
                                 (np.pi, 0.0, 0.0)])
def test_given_a_tilted_base_and_rotors_when_written_and_read_then_the_dynamics_are_the_same(
        rpy, tmp_path):
    from scipy.spatial.transform import Rotation
    base = np.eye(4)
    base[:3, :3] = Rotation.from_euler('xyz', rpy).as_matrix()
    base[:3, 3] = (0.1, -0.2, 0.3)
    fer = load('fer')
    arm = replace(fer, base=base, friction=None, joints=tuple(
        replace(joint, rotor_inertia=0.1 * i) for i, joint in enumerate(fer.joints)))
    back = written_and_read(arm, tmp_path)
    np.testing.assert_allclose(back.base, base, rtol=0.0, atol=ROUNDING)
    q, dq, ddq = sample_states(arm, 20, seed=0)
    np.testing.assert_allclose(NewtonEulerModel(back).inverse_dynamics(q, dq, ddq),
                               NewtonEulerModel(arm).inverse_dynamics(q, dq, ddq),
                               rtol=0.0, atol=1e-11)


def test_given_an_unknown_friction_model_when_written_then_it_says_which_exist():
    class Sticky:
        def torque(self, dq):
            return np.ones_like(dq)

    arm = replace(load('fer'), friction=Sticky())
    with pytest.raises(DescriptionError, match='type Sticky has no form in an arm file'):
        arm_yaml(arm, title='An arm', set_source='a test')
