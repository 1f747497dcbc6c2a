# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The comparison of two arms names all differences that were put in, and no others."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import (
    Convention,
    JointKind,
    LinkInertia,
    load,
    MaxwellSlipFriction,
    ViscousCoulombFriction,
)
from franka_dynamics.arm.dh_conversion import with_joint_reversed
from franka_dynamics.arm.inertia import six_from_tensor, TENSOR_ORDER
from franka_dynamics.arm.sampling import random_arm, sample_states
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import DescriptionError
from franka_dynamics.spatial import pose_from_xyz_rpy
from franka_dynamics.urdf.serial_chain import read_chain
from franka_dynamics.urdf.writer import write_urdf
from franka_dynamics.validation.comparison import alike
from franka_dynamics.validation.source import compare

from ..arms import with_link, with_row_shifted
from ..urdf.urdf_texts import edited

KINDS = ('mass', 'c', 'I', 'a', 'd', 'alpha', 'sign')
FAULTS, STATES = 16, 10
VISIBLE_NM = 1e-9  # above the rounding error of a torque (1e-13), below the smallest effect put in
ROW_FAULTS = {'a': 0.01, 'd': 0.01, 'alpha': 0.05}
# For each kind: first of the ten numbers, how many, size of the error.
LINK_FAULTS = {'mass': (0, 1, 0.1), 'c': (1, 3, 0.01), 'I': (4, 6, 0.001)}
NUMBERS = (
    'mass',
    *(f'centre of mass {axis}' for axis in 'xyz'),
    *(f'inertia {axes} about the centre of mass' for axes in TENSOR_ORDER),
)


def plant(rng, arm, kind):
    """Return an arm with one error of a kind, and the place and parameter of the error."""
    joint = int(rng.integers(arm.n))
    name, link = arm.joint_names[joint], arm.links[joint]
    size = float(rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 2.0))
    if kind in ROW_FAULTS:
        return with_row_shifted(arm, joint, **{kind: ROW_FAULTS[kind] * size}), name, kind
    if kind == 'sign':
        return with_joint_reversed(arm, joint), name, 'joint sign'
    first, count, scale = LINK_FAULTS[kind]
    place = first + int(rng.integers(count))
    numbers = np.array(
        [link.mass, *link.center_of_mass, *six_from_tensor(link.inertia_at_center_of_mass)]
    )
    numbers[place] += scale * size
    wrong = LinkInertia.from_center_of_mass(numbers[0], numbers[1:4], numbers[4:])
    return with_link(arm, joint, wrong), name, NUMBERS[place]


def torque_change(arm, other, seed, count=STATES):
    """Return the largest torque difference of two arms, by Pinocchio."""
    states = sample_states(arm, count, seed)
    here, there = (PinocchioModel(one).inverse_dynamics(*states) for one in (arm, other))
    return np.abs(here - there).max()


@pytest.mark.parametrize('arm', ['fer', 'fr3'])
def test_each_single_fault_of_a_shipped_arm_is_named_alone(arm):
    description = load(arm)
    unnoticed = 0
    for seed in range(FAULTS):
        faulty, place, parameter = plant(np.random.default_rng(seed), description, KINDS[seed % 7])
        found = compare(description, faulty).differences
        assert [(one.place, one.parameter) for one in found] == [(place, parameter)], seed
        # `has_effect` agrees with Pinocchio's torques.
        visible = torque_change(description, faulty, seed) > VISIBLE_NM
        assert found[0].has_effect == visible, (seed, str(found[0]))
        unnoticed += not visible
    assert 0 < unnoticed < FAULTS  # both verdicts occur


@pytest.mark.parametrize('convention', list(Convention))
def test_each_single_fault_of_a_random_arm_is_named_alone(convention):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        arm = random_arm(rng, convention=convention)
        faulty, place, parameter = plant(rng, arm, KINDS[seed % 7])
        found = compare(arm, faulty).differences
        assert [(one.place, one.parameter) for one in found] == [(place, parameter)], seed


def test_one_wrong_first_moment_of_a_table_is_named_alone():
    arm = load('fer', 'ledezma2021')
    link = arm.links[2]
    wrong = LinkInertia(link.mass, link.first_moment + (0.0, 0.01, 0.0), link.inertia)
    (found,) = compare(arm, with_link(arm, 2, wrong)).differences
    assert found.parameter == 'first moment y'


def test_the_effect_of_a_fault_is_pinocchios_torque_change():
    arm = load('fer')
    faulty = with_row_shifted(arm, 3, a=0.01)
    (found,) = compare(arm, faulty).differences
    expected = torque_change(arm, faulty, 0, count=200)
    np.testing.assert_allclose(found.torque_effect, expected, rtol=0.0, atol=1e-11)
    assert str(found) == (
        f'fer_joint4: a is 0.0925 instead of 0.0825 [m]; torque changes by '
        f'up to {expected:.3g} N m.'
    )


@pytest.mark.parametrize(
    ('change', 'parameter', 'effect'),
    [
        ({'limits': replace(load('fer').joints[2].limits, jerk=1.0)}, 'limit jerk', False),
        ({'rotor_inertia': 0.2}, 'rotor inertia', True),
        ({'kind': JointKind.PRISMATIC}, 'kind', True),
    ],
)
def test_given_another_joint_when_compared_then_it_is_named(change, parameter, effect):
    arm = load('fer')
    joints = (*arm.joints[:2], replace(arm.joints[2], **change), *arm.joints[3:])
    (found,) = compare(arm, replace(arm, joints=joints)).differences
    assert (found.place, found.parameter, found.has_effect) == ('fer_joint3', parameter, effect)


def test_of_another_mounting_only_the_tilt_has_an_effect():
    arm = load('fer')
    tilted = replace(arm, base=pose_from_xyz_rpy((0.0, 0.5, 0.0), (0.3, 0.0, 0.0)))
    found = compare(arm, tilted).differences
    assert [(one.place, one.parameter, one.has_effect) for one in found] == [
        ('base', 'roll', True),
        ('base', 'position y', False),
    ]


def test_all_differences_put_in_at_once_give_the_others_torque():
    # Friction, a reversed joint, rows and inertias differ at once.
    arm = load('fer')
    table = load('fer', 'ledezma2021', hand='none')
    other = with_row_shifted(with_joint_reversed(table, 4), 1, d=0.02)
    friction = replace(other.friction, amplitude=2.0 * other.friction.amplitude)
    other = replace(other, friction=friction)
    together = compare(arm, other).together
    states = sample_states(arm, 200, 0)
    here, there = (
        PinocchioModel(one).inverse_dynamics(*states) + one.friction.torque(states.dq)
        for one in (arm, other)
    )
    apart = np.abs(there - here).max(axis=0)
    np.testing.assert_allclose(together.largest, apart.max(), rtol=1e-6, atol=0.0)
    assert together.joint == arm.joint_names[int(apart.argmax())]


def test_as_many_digits_are_said_as_tell_two_numbers_apart():
    arm = replace(load('fer'), hand='none')
    last = replace(arm.links[-1], mass=0.735522004)
    (found,) = compare(arm, with_link(arm, 6, last)).differences
    assert 'mass is 0.735522004 instead of 0.735522 [kg]' in str(found)


def test_no_friction_or_another_model_names_the_friction_model():
    arm = load('fer')
    rubbed = ViscousCoulombFriction(np.ones(7), np.zeros(7), np.zeros(7))
    for friction in (None, rubbed):
        (found,) = compare(arm, replace(arm, friction=friction)).differences
        assert (found.place, found.parameter) == ('arm', 'friction model')
    (width,) = compare(
        replace(arm, friction=rubbed), replace(arm, friction=replace(rubbed, width=0.1))
    ).differences
    assert (width.place, width.parameter, width.has_effect) == ('arm', 'friction width', False)


def test_arms_of_unequal_length_are_refused_with_both_lengths():
    arm = load('fer')
    shorter = replace(arm, joints=arm.joints[:6], links=arm.links[:6], home=None, friction=None)
    with pytest.raises(DescriptionError, match=r'has 7 joints and .* has 6'):
        compare(arm, shorter)


def slipping(slip, reach):
    """Return a friction of Maxwell-slip elements, all joints alike."""
    slips = np.tile(np.reshape(slip, (-1, 1)), 7)
    return MaxwellSlipFriction(*np.zeros((4, 7)), slips, np.array(reach))


TWO = slipping([1.0, 2.0], [0.004, 0.3])
THREE = slipping([1.0, 1.0, 1.0], [0.004, 0.3, 0.5])
# More elements than the arm has joints.
EIGHT = [slipping(np.ones(8), np.append(0.01 * 2.0 ** np.arange(7), last)) for last in (1.28, 1.4)]


@pytest.mark.parametrize(
    ('frictions', 'words'),
    [((TWO, THREE), '4, 300, 500 mrad'), ((THREE, TWO), '4, 300 mrad'), (EIGHT, '1280')],
)
def test_other_slip_elements_act_on_torque_and_belong_to_no_joint(frictions, words):
    # Steady sliding is the same; only a reversing motion shows the difference.
    here, there = (replace(load('fer'), friction=friction) for friction in frictions)
    (found,) = compare(here, there).differences
    assert (found.place, found.parameter, found.has_effect) == ('arm', 'friction model', True)
    assert words in str(found)


def test_a_slip_element_is_named_with_its_joint():
    slip = np.array(TWO.slip)
    slip[0, 4] = 1.5
    arm = replace(load('fer'), friction=TWO)
    (found,) = compare(arm, replace(arm, friction=replace(TWO, slip=slip))).differences
    assert (found.place, found.parameter) == ('fer_joint5', 'friction slip[1]')
    assert found.torque_effect == pytest.approx(0.5, rel=1e-6)


FER = write_urdf(load('fer'))


def compared(text, arm='fer'):
    description = load(arm)
    return compare(description, read_chain(text, description.joint_names))


def origin(joint):
    return f"joint[@name='fer_joint{joint}']/origin"


def test_links_in_frames_off_the_dh_frames_are_converted():
    # Link 1's frame is moved down axis 1 by 0.1 m, so z in it becomes z + 0.1.
    text = edited(FER, origin(1), xyz='0 0 0.233')
    text = edited(text, origin(2), xyz='0 0 0.1')
    x, y, z = load('fer').links[0].center_of_mass.tolist()
    text = edited(text, "link[@name='fer_link1']/inertial/origin", xyz=f'{x!r} {y!r} {z + 0.1!r}')
    found = compared(text)
    assert found.differences == ()
    here, there = (arm.links[0].parameters() for arm in (load('fer'), found.second))
    np.testing.assert_allclose(there, here, rtol=0.0, atol=1e-14)  # [kg m^2]


@pytest.mark.parametrize(
    ('path', 'attributes', 'expected'),
    [
        (origin(4), {'xyz': '0.0825 0.01 0'}, ('fer_joint4', 'd', 0.0, -0.01)),
        (origin(4), {'rpy': '1.570796326794897 0 0.1'}, ('fer_joint3', 'theta', 0.0, 0.1)),
        (origin(5), {'xyz': '-0.08 0.384 0'}, ('fer_joint5', 'a', -0.0825, -0.08)),
        (origin(2), {'rpy': '-1.5 0 0'}, ('fer_joint2', 'alpha', -np.pi / 2, -1.5)),
        (origin(1), {'rpy': '0 0 0.5'}, ('fer_joint1', 'theta', 0.0, 0.5)),
        ("joint[@name='fer_link8_joint']/origin", {'xyz': '0 0 0.1'}, ('flange', 'd', 0.107, 0.1)),
    ],
)
def test_one_edited_origin_names_joint_quantity_and_numbers(path, attributes, expected):
    found = compared(edited(FER, path, **attributes)).geometry
    numbers = {(one.place, one.parameter): (one.first, one.second) for one in found}
    np.testing.assert_allclose(numbers[expected[:2]], expected[2:], rtol=0.0, atol=1e-9)


def test_a_reversed_axis_is_named_as_the_joints_sign():
    text = edited(FER, "joint[@name='fer_joint7']/axis", xyz='0 0 -1')
    (found,) = compared(text).geometry
    assert (found.place, found.parameter) == ('fer_joint7', 'joint sign')
    assert 'wrong sign' in found.cause


def test_millimetres_and_few_digits_are_named_as_the_cause():
    arm = load('fr3')
    for change, cause in (
        ({'a': 82.5 - 0.0825}, 'millimetres in place of metres'),
        ({'alpha': 1.57 - np.pi / 2}, 'an angle written with too few digits'),
    ):
        (found,) = compared(write_urdf(with_row_shifted(arm, 3, **change)), 'fr3').differences
        assert found.cause == cause and f'likeliest cause: {cause}.' in str(found)


def test_an_arm_is_itself_in_rows_that_are_cut_otherwise():
    # 0.1 m are moved from the first row to the base, and the last frame along its axis.
    arm = load('fr3')
    base, moved = np.array(arm.base), np.eye(4)
    base[2, 3], moved[2, 3] = 0.1, -0.05
    other = with_row_shifted(with_row_shifted(arm, 0, d=-0.1), 6, d=0.05)
    other = replace(
        other,
        base=base,
        links=(*arm.links[:6], arm.links[6].expressed_in(moved)),
        flange=replace(arm.flange, d=arm.flange.d - 0.05),
    )
    assert compare(arm, other).differences == ()


def test_only_angles_are_alike_after_a_full_turn():
    assert alike(np.pi, -np.pi, 1e-12, angle=True)
    assert not alike(np.pi, -np.pi, 1e-12)
    assert not alike(np.pi, -np.pi + 1e-9, 1e-12, angle=True)
