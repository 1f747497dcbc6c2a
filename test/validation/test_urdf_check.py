# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A URDF compared with a shipped arm, and two arms with each other."""

from dataclasses import replace
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import (
    Convention,
    JointKind,
    MaxwellSlipFriction,
    ViscousCoulombFriction,
)
from franka_dynamics.arm.inertia import elements_from_tensor
from franka_dynamics.errors import UrdfError, UrdfMismatchError
from franka_dynamics.spatial import pose_from_xyz_rpy
from franka_dynamics.urdf.writer import add_inertial, urdf_text
from franka_dynamics.validation import compare_files
from franka_dynamics.validation.compare_files import nearest_set, published_arms
from franka_dynamics.validation.urdf_check import checked_arm_from_urdf

from ..agreement import refuses
from ..arms import random_arm, with_joint, with_link, with_row_shifted
from ..urdf.urdf_texts import edited, without

ROUNDING = 1e-14  # kg m^2
GAZ = fd.load('fer', 'gaz2019')
FR3 = fd.load('fr3')
about_center = fd.LinkInertia.from_center_of_mass
TOOL = about_center(1.2, (0.01, 0.02, 0.08), 0.002 * np.eye(3))


def rewritten(text, **links):
    """Return a URDF with the inertials of some links replaced, physical or not."""
    robot = ElementTree.fromstring(text)
    for name, link in links.items():
        element = robot.find(f"link[@name='{name}']")
        element.remove(element.find('inertial'))
        add_inertial(element, link)
    return ElementTree.tostring(robot, encoding='unicode')


def swapped(link, order):
    """Return a link with the axes of its inertia at the centre of mass permuted."""
    tensor = link.inertia_at_center_of_mass[np.ix_(order, order)]
    return about_center(link.mass, link.center_of_mass, tensor)


def links_of(arm):
    return {f'{arm.name}_link{i}': link for i, link in enumerate(arm.links, start=1)}


def refused(text, reference, **options):
    """Return the findings for which a URDF is refused."""
    with pytest.raises(UrdfMismatchError) as raised:
        checked_arm_from_urdf(text, reference, **options)
    findings = raised.value.verdict.findings
    assert str(findings[0]) in str(raised.value)
    return findings


@pytest.mark.parametrize(
    ('arm', 'inertial_set', 'hand'),
    [('fer', 'gaz2019', 'hand_ledezma2021'), ('rpr', 'aluminium', 'none')],
)
def test_a_published_set_is_recognised_with_its_hand(arm, inertial_set, hand):
    description = fd.load(arm, inertial_set, hand=hand)
    found, verdict = checked_arm_from_urdf(urdf_text(description), fd.load(arm))
    assert (verdict.inertial_set, verdict.hand_in_urdf) == (inertial_set, hand)
    assert verdict.nearest_set.largest_distance < ROUNDING
    links = compare_files.links_in_frames_of(description, found)
    there, here = ([one.parameters() for one in each] for each in (links, description.links))
    np.testing.assert_allclose(there, here, rtol=0.0, atol=ROUNDING)


def test_a_set_of_four_decimals_passes_as_rounded_with_effect():
    rounded = GAZ.map_links(
        lambda link: about_center(
            round(link.mass, 4),
            link.center_of_mass.round(4),
            elements_from_tensor(link.inertia_at_center_of_mass).round(4),
        )
    )
    # By rounding, link 2 is no longer physical, as in the table of 2021.
    _, verdict = checked_arm_from_urdf(rewritten(urdf_text(GAZ), **links_of(rounded)), GAZ)
    assert verdict.inertial_set == 'gaz2019'
    states = fd.sample_states(GAZ, 200, 0)
    here, there = (fd.NewtonEulerModel(arm).inverse_dynamics(*states) for arm in (GAZ, rounded))
    stated = float(re.search(r'up to ([\d.e-]+) N m', ' '.join(verdict.notes)).group(1))
    np.testing.assert_allclose(stated, np.abs(here - there).max(), rtol=0.05, atol=0.0)


def test_numbers_that_no_motion_shows_pass_with_a_note():
    first = GAZ.links[0]
    tensor = first.inertia + np.diag([0.1, 0.1, 0.0])
    other = fd.LinkInertia(first.mass, first.first_moment + [0.0, 0.0, -0.23], tensor)
    _, verdict = checked_arm_from_urdf(urdf_text(with_link(GAZ, 0, other)), GAZ)
    assert verdict.inertial_set == 'gaz2019' and verdict.notes[0].startswith('fer_joint1: ')


def test_a_number_that_only_a_tilted_base_shows_is_refused():
    first = GAZ.links[0]
    off_axis = fd.LinkInertia(first.mass, first.first_moment + [0.05, 0.0, 0.0], first.inertia)
    findings = refused(urdf_text(with_link(GAZ, 0, off_axis)), GAZ)
    assert {one.owner for one in findings} == {'fer_joint1'}
    assert not any(one.has_effect for one in findings)  # in the given gravity


FER_URDF = urdf_text(GAZ)
HAND = fd.load_hand('franka_hand')
TURNED = HAND.expressed_in(pose_from_xyz_rpy(np.zeros(3), (0.0, 0.0, np.pi / 2)))
COARSE = fd.load('fer', 'franka_description')
ABOUT_ORIGIN = GAZ.links[2].inertia
IMPOSSIBLE = np.diag([0.01, 0.01, 0.03])
UNKNOWN_TOO = {'accept_unknown_inertials': True}


def with_tensor(number, tensor):
    """Return the FER_URDF's URDF with another tensor about a link's centre of mass."""
    link = GAZ.links[number - 1]
    wrong = about_center(link.mass, link.center_of_mass, tensor)
    return rewritten(FER_URDF, **{f'fer_link{number}': wrong})


def with_hand(inertia, arm=FR3):
    return urdf_text(arm, tool=('fr3_hand', inertia))


def moved(joint, **pose):
    return edited(FER_URDF, f"joint[@name='{joint}']/origin", **pose)


SWAPPED_HAND = with_hand(HAND, with_link(FR3, 6, swapped(FR3.links[6], [0, 2, 1])))


@pytest.mark.parametrize(
    ('text', 'options', 'places', 'remark'),
    [
        (with_tensor(3, ABOUT_ORIGIN), {}, ['fer_joint3'], ''),
        (with_tensor(5, IMPOSSIBLE), UNKNOWN_TOO, ['fer_joint5'], 'no real body'),
        (SWAPPED_HAND, {}, ['fr3_joint7'], ''),
        (with_hand(TOOL), {}, ['fr3_joint7'], ''),
        (with_hand(HAND), {'expected_hand': 'none'}, ['fr3_joint7'], ''),
        (urdf_text(FR3), {'expected_hand': 'franka_hand'}, ['fr3_joint7'], ''),
        (with_hand(TURNED), {}, ['fr3_joint7'], ''),
        (urdf_text(replace(FR3, joints=GAZ.joints)), {}, GAZ.joint_names, ''),
        (moved('fer_joint4', rpy='1.57 0 0'), {}, ['fer_joint4'], ''),
        (moved('fer_link8_joint', xyz='0 0 0.108'), {}, ['flange'], ''),
    ],
)
def test_a_planted_fault_is_refused_with_its_place(text, options, places, remark):
    findings = refused(text, GAZ if 'fer_joint1' in text else FR3, **options)
    assert {one.owner for one in findings} == set(places)
    assert all(remark in one.remark for one in findings)


def test_pi_half_of_five_digits_passes_as_rounded():
    text, times = re.subn(r'1\.5707963\d*', '1.5708', FER_URDF)
    assert times == 6
    _, verdict = checked_arm_from_urdf(text, GAZ)
    assert verdict.inertial_set == 'gaz2019'


def test_a_wrong_mass_is_named_with_both_and_may_be_accepted():
    link = GAZ.links[2]
    heavy = about_center(3.8286, link.center_of_mass, link.inertia_at_center_of_mass)
    text = urdf_text(with_link(GAZ, 2, heavy))
    (finding,) = refused(text, GAZ)
    assert (finding.owner, finding.parameter) == ('fer_joint3', 'mass')
    assert (finding.first, finding.second) == (
        pytest.approx(3.228604),
        pytest.approx(3.8286),
    )
    accepted, verdict = checked_arm_from_urdf(text, GAZ, accept_unknown_inertials=True)
    assert verdict.inertial_set == 'unknown' and 'Accepted.' in verdict.notes[0]
    np.testing.assert_allclose(accepted.links[2].mass, 3.8286, rtol=0.0, atol=1e-14)


def test_a_published_set_that_is_not_physical_passes_with_a_note():
    _, verdict = checked_arm_from_urdf(rewritten(FER_URDF, **links_of(COARSE)), GAZ)
    assert verdict.inertial_set == 'franka_description'
    assert 'fer_link4' in verdict.notes[0]


def test_a_prefix_and_own_joint_names_are_the_descriptions_too():
    left = fd.load('fr3', prefix='left_')
    assert checked_arm_from_urdf(urdf_text(left), left)[0].joint_names == left.joint_names
    panda = tuple(f'panda_joint{i}' for i in range(1, 8))
    text = FER_URDF.replace('fer_joint', 'panda_joint')
    assert checked_arm_from_urdf(text, GAZ, joint_names=panda)[0].joint_names == panda


def test_tighter_limits_are_taken_over_and_looser_ones_are_not():
    text = edited(FER_URDF, "joint[@name='fer_joint1']/limit", lower='-2', upper='3', effort='50')
    found, verdict = checked_arm_from_urdf(text, GAZ)
    limits = found.joints[0].limits
    assert (limits.lower, limits.upper, limits.effort) == (-2.0, 2.8973, 50.0)
    assert limits.effort_rate == 1000.0
    told = ('fer_joint1', '-2 ', '-2.8973', '50 ', '87')
    assert all(one in verdict.notes[-1] for one in told)


def test_a_urdf_without_a_flange_names_the_frame_taken():
    robot = ElementTree.fromstring(FER_URDF)
    for tag, name in (('link', 'fer_link8'), ('joint', 'fer_link8_joint')):
        robot.remove(robot.find(f"{tag}[@name='{name}']"))
    _, verdict = checked_arm_from_urdf(ElementTree.tostring(robot, encoding='unicode'), GAZ)
    assert any('fer_link7' in note and 'payload' in note for note in verdict.notes)


def test_a_link_or_hand_without_mass_is_named():
    with refuses(UrdfError, 'fer_link3'):
        checked_arm_from_urdf(without(FER_URDF, "link[@name='fer_link3']", 'inertial'), GAZ)
    with refuses(UrdfError, 'fr3_hand'):
        checked_arm_from_urdf(with_hand(fd.LinkInertia.zero()), FR3)


def with_added(link, mass=0.0, center=0.0, tensor=0.0):
    return about_center(
        link.mass + mass,
        link.center_of_mass + center,
        link.inertia_at_center_of_mass + tensor * np.eye(3),
    )


@pytest.mark.parametrize(
    ('change', 'same'),
    [
        ({'mass': 4e-5}, True),
        ({'mass': 6e-5}, False),
        ({'center': 4e-5}, True),
        ({'center': 2e-4}, False),
        ({'tensor': 4e-5}, True),
        ({'tensor': 6e-5}, False),
    ],
)
def test_four_decimals_are_the_border_between_rounded_and_other(change, same):
    assert (
        compare_files.links_agree_to_table_digits(with_added(GAZ.links[3], **change), GAZ.links[3])
        is same
    )


def test_a_small_link_rounded_to_four_decimals_is_another():
    # Its moments of inertia are 2e-4 kg m^2; rounding changes them by up to a quarter.
    fr3 = fd.load('fr3').links[6]
    rounded = elements_from_tensor(fr3.inertia_at_center_of_mass).round(4)
    assert not compare_files.links_agree_to_table_digits(
        about_center(fr3.mass, fr3.center_of_mass, rounded), fr3
    )


def test_given_every_known_set_when_identified_then_it_is_itself():
    sets = published_arms(GAZ)
    assert len(sets) >= 9
    for known in sets:
        assert nearest_set(known.links, sets).published_arm is known


def test_the_nearest_set_is_that_of_the_nearest_numbers():
    arm = fd.load('fer', 'franka_description', hand='franka_hand')
    links = [fd.LinkInertia.from_parameters(1.005 * link.parameters()) for link in arm.links]
    found = nearest_set(links, published_arms(GAZ))
    assert not any(found.link_matches)
    closest = found.published_arm
    assert (closest.inertial_set, closest.hand) == (arm.inertial_set, arm.hand)


FER = fd.load('fer')
TURNING = {'convention': Convention.MODIFIED, 'kinds': (JointKind.REVOLUTE,)}
LINK_KINDS = ('mass', 'c', 'I')
FAULTS = 16
STATES = 10
VISIBLE_NM = 1e-9  # above the rounding error of a torque (1e-13), below the smallest effect put in
# For each kind: first of the ten numbers, how many, size of the error.
LINK_FAULTS = {'mass': (0, 1, 0.1), 'c': (1, 3, 0.01), 'I': (4, 6, 0.001)}
WORDS = {'mass': 'mass', 'c': 'centre of mass ', 'I': 'inertia '}


def plant(rng, arm, kind):
    """Return an arm with one error in the numbers of a link, and the link's joint."""
    joint = int(rng.integers(arm.n))
    link = arm.links[joint]
    size = float(rng.choice([-1.0, 1.0]) * rng.uniform(0.5, 2.0))
    first, count, scale = LINK_FAULTS[kind]
    tensor = elements_from_tensor(link.inertia_at_center_of_mass)
    numbers = np.array([link.mass, *link.center_of_mass, *tensor])
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
    assert found and {(one.kind, one.owner) for one in found} == {('link', place)}, seed
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
    ('shift', 'parameter'),
    [({'a': 0.013}, 'position '), ({'alpha': 0.05}, 'turn about ')],
)
def test_a_moved_axis_is_one_difference_of_joint_or_base(arm, shift, parameter):
    arm = FER if arm == 'fer' else random_arm(np.random.default_rng(5), joints=6, **TURNING)
    for joint, name in enumerate(arm.joint_names):
        found = fd.compare(arm, with_row_shifted(arm, joint, **shift)).geometry_differences
        assert {one.owner for one in found} == {name if joint else 'base'}
        # What is behind the joint is moved along or about the common normal.
        moved = [one.second - one.first for one in found if one.parameter.startswith(parameter)]
        np.testing.assert_allclose(np.linalg.norm(moved), [*shift.values()], rtol=1e-9)
    assert not fd.compare(arm, arm).differences


@pytest.mark.parametrize(
    ('shift', 'parameter'),
    [({'d': 0.01}, 'position z'), ({'theta': 0.2}, 'turn about z')],
)
def test_a_slide_along_or_turn_about_an_axis_is_one_difference(shift, parameter):
    for joint, place in ((0, 'base'), (2, 'fer_joint3'), (6, 'fer_joint7')):
        (found,) = fd.compare(FER, with_row_shifted(FER, joint, **shift)).differences
        assert (found.owner, found.parameter) == (place, parameter)
        assert abs(found.second - found.first) == pytest.approx(*shift.values(), rel=1e-9)


def test_a_reversed_joint_is_one_difference():
    text = edited(URDF, "joint[@name='fer_joint2']/axis", xyz='0 0 -1')
    text = edited(text, "joint[@name='fer_joint4']/axis", xyz='0 0 -1')
    text = edited(text, "joint[@name='fer_joint4']/limit", lower='0.0698', upper='3.0718')
    found = fd.compare(FER, text)
    assert [(one.owner, one.parameter) for one in found.differences] == [
        ('fer_joint2', 'direction of the axis'),
        ('fer_joint4', 'direction of the axis'),
    ]
    signs = np.array([1, -1, 1, -1, 1, 1, 1])
    states = fd.sample_states(FER, 200, 0)
    model = fd.Model(FER)
    here, there = (model.inverse_dynamics(*(sign * x for x in states)) for sign in (1, signs))
    assert found.total_effect.largest == pytest.approx(abs(here - signs * there).max(), rel=1e-9)


@pytest.mark.parametrize(
    ('roll', 'names'), [(0.3, ['position y', 'turn about x']), (0.0, ['position y'])]
)
def test_another_mounting_has_an_effect_if_it_is_tilted(roll, names):
    tilted = replace(FER, base=pose_from_xyz_rpy((0.0, 0.5, 0.0), (roll, 0.0, 0.0)))
    found = fd.compare(FER, tilted).differences
    assert [(one.owner, one.parameter) for one in found] == [('base', name) for name in names]
    assert [one.has_effect for one in found] == [roll > 0.0] * len(names)


def test_the_differences_of_a_link_have_the_effect_of_the_link():
    # Two numbers of link 3 and one of link 5.
    heavier = replace(FER.links[2], mass=FER.links[2].mass + 1.0)
    other = with_link(with_link(FER, 2, heavier), 4, FER.links[4] + FER.links[4])
    found = fd.compare(FER, other).differences
    for joint in (3, 5):
        alone = with_link(FER, joint - 1, other.links[joint - 1])
        effects = {one.torque_effect for one in found if one.owner == f'fer_joint{joint}'}
        assert len(effects) == 1
        expected = torque_change(FER, alone, 0, count=200)
        np.testing.assert_allclose(effects.pop(), expected, rtol=0.0, atol=1e-11)


def test_all_differences_put_in_at_once_give_the_others_torque():
    # Friction, rows and inertias differ at once.
    arm = fd.load('fer')
    other = with_row_shifted(fd.load('fer', 'ledezma2021', hand='none'), 1, d=0.02)
    friction = replace(other.friction, amplitude=2.0 * other.friction.amplitude)
    other = replace(other, friction=friction)
    together = fd.compare(arm, other).total_effect
    states = fd.sample_states(arm, 200, 0)
    torques = (fd.Model(one).inverse_dynamics(*states) for one in (arm, other))
    here, there = (x + one.friction.torque(states.dq) for x, one in zip(torques, (arm, other)))
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


@pytest.mark.parametrize(('kind', 'unit'), [('REVOLUTE', 'N m'), ('PRISMATIC', 'N')])
def test_a_limit_that_differs_has_its_unit(kind, unit):
    one = with_joint(FER, 2, kind=JointKind[kind])
    limits = replace(one.joints[2].limits, effort=5.0)
    (found,) = fd.compare(one, with_joint(one, 2, limits=limits)).differences
    assert (found.parameter, found.unit) == ('limit effort', unit)


@pytest.mark.parametrize(
    ('first', 'second', 'expected'),
    [
        (FER, JERKY, ('fer_joint3', 'limit jerk', False)),
        (
            FER,
            with_joint(FER, 2, rotor_inertia=0.2),
            ('fer_joint3', 'rotor inertia', True),
        ),
        (
            FER,
            with_joint(FER, 2, kind=JointKind.PRISMATIC),
            ('fer_joint3', 'kind', True),
        ),
        (FER, replace(FER, friction=None), ('arm', 'friction model', True)),
        (FER, RUBBED, ('arm', 'friction model', True)),
        (RUBBED, WIDER, ('arm', 'friction width', False)),
        # Steady sliding is the same; only a reversing motion shows other slip elements.
        (TWO, THREE, ('arm', 'friction model', True)),
    ],
)
def test_one_change_is_named_alone_with_its_place(first, second, expected):
    (found,) = fd.compare(first, second).differences
    assert (found.owner, found.parameter, found.has_effect) == expected


@pytest.mark.parametrize('places', [(0, 1), (1, 0)])
def test_a_number_of_friction_that_one_arm_states_differs(places):
    known = replace(FER, friction=replace(RUBBING, receiver_offset=np.full(7, 0.2)))
    arms = RUBBED, known
    found = fd.compare(*(arms[place] for place in places)).differences
    assert [one.owner for one in found] == list(FER.joint_names)
    assert {one.parameter for one in found} == {'friction receiver_offset'}
    values = np.array([(one.first, one.second) for one in found])[:, list(places)]
    np.testing.assert_array_equal(values, [(np.nan, 0.2)] * 7)
    assert not any(one.has_effect for one in found)


def test_a_difference_is_said_with_enough_digits():
    bare = replace(FER, hand='none')
    heavier = with_link(bare, 6, replace(bare.links[6], mass=0.735522004))
    (found,) = fd.compare(bare, heavier).differences
    assert re.search(r'mass .*\b0\.735522004 .*\b0\.735522 ', str(found))


def test_a_slip_element_is_named_with_its_joint():
    slip = np.array(TWO.friction.slip)
    slip[0, 4] = 1.5
    (found,) = fd.compare(TWO, replace(TWO, friction=replace(TWO.friction, slip=slip))).differences
    assert (found.owner, found.parameter) == ('fer_joint5', 'friction slip[1]')
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
    found = compared(edited(URDF, path, **attributes)).geometry_differences
    assert {one.owner for one in found} == {place}
    moved = [one.second - one.first for one in found if one.parameter.startswith(parameter)]
    np.testing.assert_allclose(np.linalg.norm(moved), size, rtol=1e-9)


def test_an_arm_is_itself_in_rows_that_are_cut_otherwise():
    # 0.1 m are moved from the first row to the base, and the last frame along its axis.
    arm = fd.load('fr3')
    base = np.array(arm.base)
    moved = np.eye(4)
    base[2, 3] = 0.1
    moved[2, 3] = -0.05
    other = with_row_shifted(with_row_shifted(arm, 0, d=-0.1), 6, d=0.05)
    other = replace(
        other,
        base=base,
        links=(*arm.links[:6], arm.links[6].expressed_in(moved)),
        flange=replace(arm.flange, d=arm.flange.d - 0.05),
    )
    assert fd.compare(arm, other).differences == ()
