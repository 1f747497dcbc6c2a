# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Which URDFs become the model, and the sentence for each that does not."""

from dataclasses import replace
import re

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load, load_hand
from franka_dynamics.arm.inertia import six_from_tensor
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import UrdfError, UrdfMismatchError
from franka_dynamics.urdf.writer import write_urdf
from franka_dynamics.validation.urdf_check import model_from_urdf

from ..arms import with_link
from ..urdf.urdf_texts import edited

ROUNDING = 1e-14  # kg m^2
TORQUE = 1e-12  # N m, of 100: rounding of sums


def findings_of(description, reference=None, **options):
    with pytest.raises(UrdfMismatchError) as raised:
        model_from_urdf(write_urdf(description), reference or load(description.name), **options)
    return raised.value.verdict.findings


def swap(link, order):
    """Return a link with the axes of its inertia at the centre of mass permuted."""
    tensor = link.inertia_at_center_of_mass[np.ix_(order, order)]
    return LinkInertia.from_center_of_mass(link.mass, link.center_of_mass, tensor)


@pytest.mark.parametrize(
    ('arm', 'inertial_set', 'hand'),
    [
        ('fer', 'gaz2019', 'hand_ledezma2021'),
        ('rpr', 'aluminium', 'none'),
    ],
)
def test_a_published_set_is_recognised_with_its_hand(arm, inertial_set, hand):
    description = load(arm, inertial_set, hand=hand)
    model = model_from_urdf(write_urdf(description), load(arm))
    assert (model.verdict.inertial_set, model.verdict.hand) == (inertial_set, hand)
    assert model.verdict.exact
    for found, expected in zip(model.description.links, description.links):
        np.testing.assert_allclose(
            found.parameters(), expected.parameters(), rtol=0.0, atol=ROUNDING
        )


def test_a_set_of_four_decimals_passes_as_rounded_with_effect():
    gaz = load('fer', 'gaz2019')
    rounded = gaz.map_links(
        lambda link: LinkInertia.from_center_of_mass(
            round(link.mass, 4),
            link.center_of_mass.round(4),
            six_from_tensor(link.inertia_at_center_of_mass).round(4),
        )
    )
    text = write_urdf(gaz)
    for i, link in enumerate(rounded.links):  # link 2 is no longer physical, as in 2021's table
        text = rewritten(text, f'fer_link{i + 1}', link)
    verdict = model_from_urdf(text, gaz).verdict
    assert (verdict.inertial_set, verdict.exact) == ('gaz2019', False)
    states = sample_states(gaz, 200, 0)
    tau = [NewtonEulerModel(arm).inverse_dynamics(*states) for arm in (gaz, rounded)]
    stated = float(re.search(r'up to ([\d.e-]+) N m', ' '.join(verdict.notes)).group(1))
    np.testing.assert_allclose(stated, np.abs(tau[0] - tau[1]).max(), rtol=0.05, atol=0.0)


def test_numbers_that_no_motion_shows_pass_with_a_note():
    gaz = load('fer', 'gaz2019')
    first = gaz.links[0]
    moved = LinkInertia(
        first.mass,
        first.first_moment + [0.0, 0.0, -0.23],
        first.inertia + np.diag([0.1, 0.1, 0.0]),
    )
    verdict = model_from_urdf(write_urdf(with_link(gaz, 0, moved)), gaz).verdict
    assert verdict.inertial_set == 'gaz2019'
    assert 'acts on torques: none; no motion shows' in verdict.notes[-1]
    assert verdict.notes[0] == (
        'fer_joint1: first moment z is -0.236704 here and -0.466704 there [kg m]; no effect on '
        'torque. Passed.'
    )


def test_a_number_that_only_a_tilted_base_shows_is_refused_all_the_same():
    gaz = load('fer')
    first = gaz.links[0]
    off_axis = LinkInertia(first.mass, first.first_moment + [0.05, 0.0, 0.0], first.inertia)
    (finding,) = findings_of(with_link(gaz, 0, off_axis))
    assert (finding.place, finding.parameter) == ('fer_joint1', 'first moment x')
    assert finding.torque_effect > 0.2 and 'where the base is tilted' in str(finding)


def test_an_error_in_link_3_is_named_with_its_cause_and_never_accepted():
    # Every pattern has its case in test_inertia_diagnosis; here, that its link is told.
    gaz = load('fer', 'gaz2019')
    link = gaz.links[2]
    about_origin = LinkInertia.from_center_of_mass(link.mass, link.center_of_mass, link.inertia)
    wrong = rewritten(write_urdf(gaz), 'fer_link3', about_origin)
    with pytest.raises(UrdfMismatchError) as raised:
        model_from_urdf(wrong, gaz, accept_unknown_inertials=True)
    findings = raised.value.verdict.findings
    assert {one.place for one in findings} == {'fer_joint3'}
    assert all('about the frame origin, but URDF' in one.cause for one in findings)


def test_pi_half_of_five_digits_passes_as_rounded_of_three_it_does_not():
    text, gaz = write_urdf(load('fer')), load('fer')
    rounded = edited(text, "joint[@name='fer_joint4']/origin", rpy='1.5708 0 0')
    assert model_from_urdf(rounded, gaz).verdict.inertial_set == 'gaz2019'
    coarse = edited(text, "joint[@name='fer_joint4']/origin", rpy='1.57 0 0')
    with pytest.raises(UrdfMismatchError, match=r'fer_joint4: alpha is .* too few digits'):
        model_from_urdf(coarse, gaz)
    longer = edited(text, "joint[@name='fer_link8_joint']/origin", xyz='0 0 0.108')
    with pytest.raises(UrdfMismatchError, match=r'flange: d is 0[.]107 here and 0[.]108'):
        model_from_urdf(longer, gaz)


def rewritten(text, link_name, link):
    """Return a URDF with one link's inertial replaced, physical or not."""
    six = six_from_tensor(link.inertia_at_center_of_mass)
    keys = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
    new = (
        '<inertial><origin xyz="'
        + ' '.join(repr(float(v)) for v in link.center_of_mass)
        + f'"/><mass value="{link.mass!r}"/><inertia '
        + ' '.join(f'{key}="{float(value)!r}"' for key, value in zip(keys, six))
        + '/></inertial>'
    )
    return re.sub(
        rf'(<link name="{link_name}">\s*)<inertial>.*?</inertial>',
        rf'\g<1>{new}',
        text,
        flags=re.DOTALL,
    )


def test_axes_swapped_beneath_the_hand_are_found_in_link_7():
    fr3 = load('fr3')
    wrong = with_link(fr3, 6, swap(fr3.links[6], [0, 2, 1]))
    text = write_urdf(wrong, tool=('fr3_hand', load_hand('franka_hand')))
    with pytest.raises(
        UrdfMismatchError,
        match=r'fr3_joint7: .*x y z taken as x z y\) '
        r'\(beneath franka_hand\)',
    ):
        model_from_urdf(text, fr3)


def test_a_swap_smaller_than_the_rounding_is_still_a_swap():
    fer = load('fer', 'franka_description')
    link = fer.links[6]
    wrong = rewritten(write_urdf(load('fer')), 'fer_link7', swap(link, [1, 0, 2]))
    for i in range(6):
        wrong = rewritten(wrong, f'fer_link{i + 1}', fer.links[i])
    with pytest.raises(UrdfMismatchError, match=r'fer_joint7: .*x y z taken as y x z'):
        model_from_urdf(wrong, fer)


def test_a_wrong_mass_is_named_with_both_and_may_be_accepted():
    gaz = load('fer', 'gaz2019')
    link = gaz.links[2]
    wrong = with_link(
        gaz,
        2,
        LinkInertia.from_center_of_mass(
            3.8286, link.center_of_mass, link.inertia_at_center_of_mass
        ),
    )
    (finding,) = findings_of(wrong)
    assert (finding.place, finding.parameter) == ('fer_joint3', 'mass')
    assert (finding.first, finding.second) == (pytest.approx(3.228604), pytest.approx(3.8286))
    accepted = model_from_urdf(write_urdf(wrong), gaz, accept_unknown_inertials=True)
    assert accepted.verdict.inertial_set == 'unknown'
    assert 'Accepted.' in accepted.verdict.notes[0]
    np.testing.assert_allclose(accepted.description.links[2].mass, 3.8286, rtol=0.0, atol=1e-15)


def test_a_missing_hand_is_named_with_its_mass():
    findings = findings_of(load('fr3'), expected_hand='franka_hand')
    assert {one.cause for one in findings} == {'the hand franka_hand is missing'}
    (mass,) = (one for one in findings if one.parameter == 'mass')
    assert (mass.second, mass.first) == (pytest.approx(0.627143), pytest.approx(1.339743))


def test_a_hand_link_without_mass_is_said_to_miss_its_mass():
    text = write_urdf(load('fr3'), tool=('fr3_hand', LinkInertia.zero()))
    with pytest.raises(UrdfMismatchError, match=r'a hand \(fr3_hand\), but its mass is missing'):
        model_from_urdf(text, load('fr3'))
    light = LinkInertia.from_center_of_mass(0.3, (0.01, 0.02, 0.08), 0.002 * np.eye(3))
    with pytest.raises(UrdfMismatchError) as raised:
        model_from_urdf(write_urdf(load('fr3'), tool=('fr3_hand', light)), load('fr3'))
    assert 'a tool of 0.3 kg' in str(raised.value)


def test_the_inertials_of_another_arm_name_that_arm():
    fr3 = load('fr3')
    as_fer = replace(fr3, joints=load('fer').joints)
    (finding,) = findings_of(as_fer, load('fer'))
    assert finding.cause == 'the URDF is that of a fr3'


def test_a_link_no_body_could_be_is_refused_even_as_unknown():
    gaz = load('fer', 'gaz2019')
    link = gaz.links[4]
    thin = LinkInertia.from_center_of_mass(
        link.mass, link.center_of_mass, np.diag([0.01, 0.01, 0.03])
    )
    with pytest.raises(UrdfMismatchError) as raised:
        model_from_urdf(
            rewritten(write_urdf(gaz), 'fer_link5', thin), gaz, accept_unknown_inertials=True
        )
    assert {f.cause for f in raised.value.verdict.findings} == {
        'no real body has these parameters'
    }


def test_a_published_set_that_is_not_physical_passes_with_a_note():
    published = load('fer', 'franka_description')
    text = write_urdf(load('fer'))
    for i, link in enumerate(published.links):
        text = rewritten(text, f'fer_link{i + 1}', link)
    verdict = model_from_urdf(text, load('fer')).verdict
    assert verdict.inertial_set == 'franka_description'
    assert verdict.notes[0].startswith('the link behind fer_joint4 is not physical')


def test_a_prefix_and_own_joint_names_are_the_descriptions_too():
    left = load('fr3', prefix='left_')
    assert model_from_urdf(write_urdf(left), left).description.joint_names == left.joint_names
    panda = tuple(f'panda_joint{i}' for i in range(1, 8))
    text = write_urdf(load('fer')).replace('fer_joint', 'panda_joint')
    assert model_from_urdf(text, load('fer'), joint_names=panda).description.joint_names == panda


def test_tighter_limits_are_taken_over_and_looser_ones_are_not():
    text = write_urdf(load('fer')).replace(
        'lower="-2.8973" upper="2.8973" effort="87"', 'lower="-2" upper="3" effort="50"', 1
    )
    model = model_from_urdf(text, load('fer'))
    limits = model.description.joints[0].limits
    assert (limits.lower, limits.upper, limits.effort) == (-2.0, 2.8973, 50.0)
    assert limits.effort_rate == 1000.0
    assert 'fer_joint1 (lower -2 for -2.8973, effort 50 for 87)' in model.verdict.notes[-1]


def test_a_tilted_mount_tells_the_gravity_in_the_base():
    text = write_urdf(load('fer')).replace(
        '<origin xyz="0 0 0" rpy="0 0 0" />', '<origin xyz="0 0 1" rpy="0.5 0 0" />', 1
    )
    model = model_from_urdf(text, load('fer'))
    # -9.81 (0, sin 0.5, cos 0.5)
    told = 'tilted: in its frame gravity is (0, -4.7032, -8.6091) m/s^2'
    assert any(told in note and 'Set gravity_vector' in note for note in model.verdict.notes)


def test_missing_inertials_or_limits_and_an_unknown_tool_are_named():
    text, fer = write_urdf(load('fer')), load('fer')
    bare = re.sub(
        r'(<link name="fer_link3">\s*)<inertial>.*?</inertial>', r'\1', text, flags=re.DOTALL
    )
    with pytest.raises(UrdfError, match=r'link fer_link3 without mass: there is no <inertial>'):
        model_from_urdf(bare, fer)
    with pytest.raises(UrdfError, match='joint fer_joint1 without <limit>'):
        model_from_urdf(re.sub(r'<limit[^>]*/>', '', text, count=1), fer)
    tool = LinkInertia.from_center_of_mass(1.2, (0.01, 0.02, 0.08), 0.002 * np.eye(3))
    held = write_urdf(fer, tool=('gripper', tool))
    named = r'a tool of 1.2 kg at \(0.01, 0.02, 0.08\) m from the flange that is no known hand'
    with pytest.raises(UrdfMismatchError, match=named):
        model_from_urdf(held, fer)
