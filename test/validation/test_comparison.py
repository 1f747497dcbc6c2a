# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The comparison of two arms names all differences that were put in, and no others."""

from dataclasses import replace

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import Convention, JointKind, MaxwellSlipFriction, ViscousCoulombFriction
from franka_dynamics.arm.inertia import elements_from_tensor
from franka_dynamics.spatial import pose_from_xyz_rpy
from franka_dynamics.urdf.writer import urdf_text

from ..arms import random_arm, with_joint, with_link, with_row_shifted
from ..urdf.urdf_texts import edited

FER = fd.load('fer')
TURNING = {'convention': Convention.MODIFIED, 'kinds': (JointKind.REVOLUTE,)}
LINK_KINDS = ('mass', 'c', 'I')
FAULTS, STATES = 16, 10
VISIBLE_NM = 1e-9  # above the rounding error of a torque (1e-13), below the smallest effect put in
# For each kind: first of the ten numbers, how many, size of the error.
LINK_FAULTS = {'mass': (0, 1, 0.1), 'c': (1, 3, 0.01), 'I': (4, 6, 0.001)}
WORDS = {'mass': 'mass', 'c': 'centre of mass ', 'I': 'inertia '}


def plant(rng, arm, kind):
    """Return an arm with one error in the numbers of a link, and the link's joint."""
    joint = int(rng.integers(arm.n))
    link, size = arm.links[joint], float(rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 2.0))
    first, count, scale = LINK_FAULTS[kind]
    numbers = np.array(
        [link.mass, *link.center_of_mass, *elements_from_tensor(link.inertia_at_center_of_mass)]
    )
    numbers[first + int(rng.integers(count))] += scale * size
    wrong = fd.LinkInertia.from_center_of_mass(numbers[0], numbers[1:4], numbers[4:])
    return with_link(arm, joint, wrong), arm.joint_names[joint]


def torque_change(arm, other, seed, count=STATES):
    """Return the largest torque difference of two arms, by Pinocchio."""
    states = fd.sample_states(arm, count, seed)
    here, there = (fd.Model(one).inverse_dynamics(*states) for one in (arm, other))
    return np.abs(here - there).max()


def named_alone(arm, seed, rng):
    """Return an arm with one error, and the differences, which name it."""
    kind = LINK_KINDS[seed % 3]
    faulty, place = plant(rng, arm, kind)
    found = fd.compare(arm, faulty).differences
    assert found and {(one.kind, one.place) for one in found} == {('link', place)}, seed
    assert all(one.parameter.startswith(WORDS[kind]) for one in found)
    return faulty, found


@pytest.mark.parametrize('arm', ['fer', 'fr3'])
def test_each_fault_of_a_shipped_arms_link_is_named_alone(arm):
    description = fd.load(arm)
    unnoticed = 0
    for seed in range(FAULTS):
        faulty, found = named_alone(description, seed, np.random.default_rng(seed))
        # `has_effect` agrees with Pinocchio's torques.
        visible = torque_change(description, faulty, seed) > VISIBLE_NM
        assert {one.has_effect for one in found} == {visible}, (seed, str(found[0]))
        unnoticed += not visible
    assert 0 < unnoticed < FAULTS  # both verdicts occur


@pytest.mark.parametrize('convention', list(Convention))
def test_each_fault_of_a_random_arms_link_is_named_alone(convention):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        named_alone(random_arm(rng, convention=convention), seed, rng)


@pytest.mark.parametrize('arm', ['fer', 'random'])
@pytest.mark.parametrize(
    ('shift', 'parameter'), [({'a': 0.013}, 'position '), ({'alpha': 0.05}, 'turn about ')]
)
def test_a_moved_axis_is_one_difference_of_its_joint_or_of_the_base(arm, shift, parameter):
    rng = np.random.default_rng(5)
    arm = FER if arm == 'fer' else random_arm(rng, joints=6, **TURNING)
    for joint, name in enumerate(arm.joint_names):
        found = fd.compare(arm, with_row_shifted(arm, joint, **shift)).geometry
        assert {one.place for one in found} == {name if joint else 'base'}
        # What is behind the joint is moved along or about the common normal.
        moved = [one.second - one.first for one in found if one.parameter.startswith(parameter)]
        np.testing.assert_allclose(np.linalg.norm(moved), [*shift.values()], rtol=1e-9)
    assert not fd.compare(arm, arm).differences


@pytest.mark.parametrize(
    ('shift', 'parameter'), [({'d': 0.01}, 'position z'), ({'theta': 0.2}, 'turn about z')]
)
def test_a_slide_along_or_turn_about_an_axis_is_one_difference(shift, parameter):
    for joint, place in ((0, 'base'), (2, 'fer_joint3'), (6, 'fer_joint7')):
        (found,) = fd.compare(FER, with_row_shifted(FER, joint, **shift)).differences
        assert (found.place, found.parameter) == (place, parameter)
        assert abs(found.second - found.first) == pytest.approx(*shift.values(), rel=1e-9)


def test_a_reversed_joint_is_one_difference():
    text = edited(URDF, "joint[@name='fer_joint2']/axis", xyz='0 0 -1')
    text = edited(text, "joint[@name='fer_joint4']/axis", xyz='0 0 -1')
    limits = "joint[@name='fer_joint4']/limit"
    text = edited(text, limits, lower='0.0698', upper='3.0718')
    found = fd.compare(FER, text)
    assert [(one.place, one.parameter) for one in found.differences] == [
        ('fer_joint2', 'direction of the axis'),
        ('fer_joint4', 'direction of the axis'),
    ]
    signs = np.array([1, -1, 1, -1, 1, 1, 1])
    q, dq, ddq = fd.sample_states(FER, 200, 0)
    here, there = (
        fd.Model(FER).inverse_dynamics(*(sign * one for one in (q, dq, ddq)))
        for sign in (1, signs)
    )
    assert found.together.largest == pytest.approx(np.abs(here - signs * there).max(), rel=1e-9)


@pytest.mark.parametrize(
    ('roll', 'names'), [(0.3, ['position y', 'turn about x']), (0.0, ['position y'])]
)
def test_another_mounting_has_an_effect_if_it_is_tilted(roll, names):
    tilted = replace(FER, base=pose_from_xyz_rpy((0.0, 0.5, 0.0), (roll, 0.0, 0.0)))
    found = fd.compare(FER, tilted).differences
    assert [(one.place, one.parameter) for one in found] == [('base', name) for name in names]
    assert [one.has_effect for one in found] == [roll > 0.0] * len(names)


def test_the_differences_of_a_link_have_the_effect_of_the_link():
    # Two numbers of link 3 and one of link 5.
    heavier = replace(FER.links[2], mass=FER.links[2].mass + 1.0)
    other = with_link(with_link(FER, 2, heavier), 4, FER.links[4] + FER.links[4])
    found = fd.compare(FER, other).differences
    for joint in (3, 5):
        alone = with_link(FER, joint - 1, other.links[joint - 1])
        effects = {one.torque_effect for one in found if one.place == f'fer_joint{joint}'}
        assert len(effects) == 1
        expected = torque_change(FER, alone, 0, count=200)
        np.testing.assert_allclose(effects.pop(), expected, rtol=0.0, atol=1e-11)


def test_all_differences_put_in_at_once_give_the_others_torque():
    # Friction, rows and inertias differ at once.
    arm = fd.load('fer')
    other = with_row_shifted(fd.load('fer', 'ledezma2021', hand='none'), 1, d=0.02)
    friction = replace(other.friction, amplitude=2.0 * other.friction.amplitude)
    other = replace(other, friction=friction)
    together = fd.compare(arm, other).together
    states = fd.sample_states(arm, 200, 0)
    here, there = (
        fd.Model(one).inverse_dynamics(*states) + one.friction.torque(states.dq)
        for one in (arm, other)
    )
    apart = np.abs(there - here).max(axis=0)
    np.testing.assert_allclose(together.largest, apart.max(), rtol=1e-6, atol=0.0)
    mean = np.sqrt(np.mean(np.sum((there - here) ** 2, axis=1)))
    assert together.rms == pytest.approx(mean, rel=1e-6)
    assert together.joint == arm.joint_names[int(apart.argmax())]


def slipping(slip, reach):
    """Return the FER with a friction of Maxwell-slip elements, all joints alike."""
    slips = np.tile(np.reshape(slip, (-1, 1)), 7)
    return replace(FER, friction=MaxwellSlipFriction(*np.zeros((3, 7)), slips, np.array(reach)))


TWO = slipping([1.0, 2.0], [0.004, 0.3])
THREE = slipping([1.0, 1.0, 1.0], [0.004, 0.3, 0.5])
RUBBING = ViscousCoulombFriction(np.ones(7), np.zeros(7), np.zeros(7))
RUBBED, WIDER = (replace(FER, friction=x) for x in (RUBBING, replace(RUBBING, width=0.1)))
JERKY = with_joint(FER, 2, limits=replace(FER.joints[2].limits, jerk=1.0))


@pytest.mark.parametrize(
    ('first', 'second', 'expected'),
    [
        (FER, JERKY, ('fer_joint3', 'limit jerk', False)),
        (FER, with_joint(FER, 2, rotor_inertia=0.2), ('fer_joint3', 'rotor inertia', True)),
        (FER, with_joint(FER, 2, kind=JointKind.PRISMATIC), ('fer_joint3', 'kind', True)),
        (FER, replace(FER, friction=None), ('arm', 'friction model', True)),
        (FER, RUBBED, ('arm', 'friction model', True)),
        (RUBBED, WIDER, ('arm', 'friction width', False)),
        # Steady sliding is the same; only a reversing motion shows other slip elements.
        (TWO, THREE, ('arm', 'friction model', True)),
    ],
)
def test_one_change_is_named_alone_with_its_place(first, second, expected):
    (found,) = fd.compare(first, second).differences
    assert (found.place, found.parameter, found.has_effect) == expected


def test_a_difference_is_said_with_as_many_digits_as_tell_its_numbers_apart():
    bare = replace(FER, hand='none')
    heavier = with_link(bare, 6, replace(bare.links[6], mass=0.735522004))
    (found,) = fd.compare(bare, heavier).differences
    assert 'mass is 0.735522004 instead of 0.735522 [kg]' in str(found)


def test_a_slip_element_is_named_with_its_joint():
    slip = np.array(TWO.friction.slip)
    slip[0, 4] = 1.5
    other = replace(TWO, friction=replace(TWO.friction, slip=slip))
    (found,) = fd.compare(TWO, other).differences
    assert (found.place, found.parameter) == ('fer_joint5', 'friction slip[1]')
    assert found.torque_effect == pytest.approx(0.5, rel=1e-6)


URDF = urdf_text(FER)


def compared(text, arm=FER):
    return fd.compare(arm, text)


FLANGE = "joint[@name='fer_link8_joint']/origin"


def origin(joint):
    return f"joint[@name='fer_joint{joint}']/origin"


def test_links_in_frames_off_the_dh_frames_are_converted():
    # Link 1's frame is moved down axis 1 by 0.1 m, so z in it becomes z + 0.1.
    text = edited(URDF, origin(1), xyz='0 0 0.233')
    text = edited(text, origin(2), xyz='0 0 0.1')
    x, y, z = FER.links[0].center_of_mass.tolist()
    text = edited(text, "link[@name='fer_link1']/inertial/origin", xyz=f'{x!r} {y!r} {z + 0.1!r}')
    assert compared(text).differences == ()


@pytest.mark.parametrize(
    ('path', 'attributes', 'place', 'parameter', 'size'),
    [
        (origin(5), {'xyz': '-0.08 0.384 0'}, 'fer_joint5', 'position ', 0.0025),
        (origin(1), {'rpy': '0 0 0.5'}, 'base', 'turn about ', 0.5),
        (origin(1), {'rpy': '0.2 0 0'}, 'base', 'turn about ', 0.2),
        (FLANGE, {'xyz': '0 0 0.1'}, 'flange', 'position ', 0.007),
    ],
)
def test_one_edited_origin_names_joint_quantity_and_size(path, attributes, place, parameter, size):
    found = compared(edited(URDF, path, **attributes)).geometry
    assert {one.place for one in found} == {place}
    moved = [one.second - one.first for one in found if one.parameter.startswith(parameter)]
    np.testing.assert_allclose(np.linalg.norm(moved), size, rtol=1e-9)


def test_an_arm_is_itself_in_rows_that_are_cut_otherwise():
    # 0.1 m are moved from the first row to the base, and the last frame along its axis.
    arm = fd.load('fr3')
    base, moved = np.array(arm.base), np.eye(4)
    base[2, 3], moved[2, 3] = 0.1, -0.05
    other = with_row_shifted(with_row_shifted(arm, 0, d=-0.1), 6, d=0.05)
    other = replace(
        other,
        base=base,
        links=(*arm.links[:6], arm.links[6].expressed_in(moved)),
        flange=replace(arm.flange, d=arm.flange.d - 0.05),
    )
    assert fd.compare(arm, other).differences == ()
