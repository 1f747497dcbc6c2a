# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which URDFs are accepted as the model, why others are refused; published sets recognised."""

from dataclasses import replace
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm.inertia import elements_from_tensor
from franka_dynamics.errors import UrdfError, UrdfMismatchError
from franka_dynamics.spatial import pose_from_xyz_rpy
from franka_dynamics.urdf.writer import add_inertial, urdf_text
from franka_dynamics.validation.compare_files import (
    agree_within_rounding,
    links_in_frames_of,
    nearest_set,
    published_sets,
)
from franka_dynamics.validation.urdf_check import checked_arm_from_urdf

from ..agreement import refuses
from ..arms import with_link
from ..urdf.urdf_texts import edited, without

ROUNDING = 1e-14  # kg m^2
GAZ, FR3 = fd.load('fer', 'gaz2019'), fd.load('fr3')
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
    assert verdict.nearest.distance < ROUNDING
    links = links_in_frames_of(description, found)
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
    assert verdict.inertial_set == 'gaz2019'
    assert verdict.notes[0].startswith('fer_joint1: ')


def test_a_number_that_only_a_tilted_base_shows_is_refused_all_the_same():
    first = GAZ.links[0]
    off_axis = fd.LinkInertia(first.mass, first.first_moment + [0.05, 0.0, 0.0], first.inertia)
    findings = refused(urdf_text(with_link(GAZ, 0, off_axis)), GAZ)
    assert {one.place for one in findings} == {'fer_joint1'}
    assert not any(one.has_effect for one in findings)  # in the given gravity


FER = urdf_text(GAZ)
HAND = fd.load_hand('franka_hand')
TURNED = HAND.expressed_in(pose_from_xyz_rpy(np.zeros(3), (0.0, 0.0, np.pi / 2)))
COARSE = fd.load('fer', 'franka_description')
ABOUT_ORIGIN, IMPOSSIBLE = GAZ.links[2].inertia, np.diag([0.01, 0.01, 0.03])
UNKNOWN_TOO = {'accept_unknown_inertials': True}


def with_tensor(number, tensor):
    """Return the FER's URDF with another tensor about a link's centre of mass."""
    link = GAZ.links[number - 1]
    wrong = about_center(link.mass, link.center_of_mass, tensor)
    return rewritten(FER, **{f'fer_link{number}': wrong})


def with_hand(inertia, arm=FR3):
    return urdf_text(arm, tool=('fr3_hand', inertia))


def moved(joint, **pose):
    return edited(FER, f"joint[@name='{joint}']/origin", **pose)


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
    assert {one.place for one in findings} == set(places)
    assert all(remark in one.remark for one in findings)


def test_pi_half_of_five_digits_passes_as_rounded():
    text, times = re.subn(r'1\.5707963\d*', '1.5708', FER)
    assert times == 6
    _, verdict = checked_arm_from_urdf(text, GAZ)
    assert verdict.inertial_set == 'gaz2019'


def test_a_wrong_mass_is_named_with_both_and_may_be_accepted():
    link = GAZ.links[2]
    heavy = about_center(3.8286, link.center_of_mass, link.inertia_at_center_of_mass)
    text = urdf_text(with_link(GAZ, 2, heavy))
    (finding,) = refused(text, GAZ)
    assert (finding.place, finding.parameter) == ('fer_joint3', 'mass')
    assert (finding.first, finding.second) == (pytest.approx(3.228604), pytest.approx(3.8286))
    accepted, verdict = checked_arm_from_urdf(text, GAZ, accept_unknown_inertials=True)
    assert verdict.inertial_set == 'unknown'
    assert 'Accepted.' in verdict.notes[0]
    np.testing.assert_allclose(accepted.links[2].mass, 3.8286, rtol=0.0, atol=1e-14)


def test_a_published_set_that_is_not_physical_passes_with_a_note():
    _, verdict = checked_arm_from_urdf(rewritten(FER, **links_of(COARSE)), GAZ)
    assert verdict.inertial_set == 'franka_description'
    assert verdict.notes[0].startswith("link 'fer_link4' is not physical")


def test_a_prefix_and_own_joint_names_are_the_descriptions_too():
    left = fd.load('fr3', prefix='left_')
    assert checked_arm_from_urdf(urdf_text(left), left)[0].joint_names == left.joint_names
    panda = tuple(f'panda_joint{i}' for i in range(1, 8))
    text = FER.replace('fer_joint', 'panda_joint')
    assert checked_arm_from_urdf(text, GAZ, joint_names=panda)[0].joint_names == panda


def test_tighter_limits_are_taken_over_and_looser_ones_are_not():
    text = edited(FER, "joint[@name='fer_joint1']/limit", lower='-2', upper='3', effort='50')
    found, verdict = checked_arm_from_urdf(text, GAZ)
    limits = found.joints[0].limits
    assert (limits.lower, limits.upper, limits.effort) == (-2.0, 2.8973, 50.0)
    assert limits.effort_rate == 1000.0
    assert 'fer_joint1 (lower -2 for -2.8973, effort 50 for 87)' in verdict.notes[-1]


def test_a_urdf_without_a_flange_says_which_frame_is_taken_for_it():
    robot = ElementTree.fromstring(FER)
    for tag, name in (('link', 'fer_link8'), ('joint', 'fer_link8_joint')):
        robot.remove(robot.find(f"{tag}[@name='{name}']"))
    _, verdict = checked_arm_from_urdf(ElementTree.tostring(robot, encoding='unicode'), GAZ)
    assert any('fer_link7' in note and 'payload' in note for note in verdict.notes)


def test_a_link_or_hand_without_mass_is_named():
    with refuses(UrdfError, 'fer_link3'):
        checked_arm_from_urdf(without(FER, "link[@name='fer_link3']", 'inertial'), GAZ)
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
    assert agree_within_rounding(with_added(GAZ.links[3], **change), GAZ.links[3]) is same


def test_a_small_link_rounded_to_four_decimals_is_another():
    # Its moments of inertia are 2e-4 kg m^2; rounding changes them by up to a quarter.
    fr3 = fd.load('fr3').links[6]
    rounded = elements_from_tensor(fr3.inertia_at_center_of_mass).round(4)
    assert not agree_within_rounding(about_center(fr3.mass, fr3.center_of_mass, rounded), fr3)


def test_given_every_known_set_when_identified_then_it_is_itself():
    sets = published_sets(GAZ)
    assert len(sets) >= 9
    for known in sets:
        assert nearest_set(known.links, sets).published_arm is known


def test_if_no_link_fits_the_nearest_set_is_that_of_the_nearest_numbers():
    arm = fd.load('fer', 'franka_description', hand='franka_hand')
    links = [fd.LinkInertia.from_parameters(1.005 * link.parameters()) for link in arm.links]
    found = nearest_set(links, published_sets(GAZ))
    assert not any(found.matches)
    assert (found.published_arm.inertial_set, found.published_arm.hand) == (
        arm.inertial_set,
        arm.hand,
    )
