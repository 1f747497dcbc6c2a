# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motor currents instead of torques: torque constants are identified, and doubtful ones named."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load, ViscousCoulombFriction
from franka_dynamics.errors import IdentificationError, RecordingError
from franka_dynamics.identification.effort_scale import _median, find_effort_scale, SCALE_NOT_SHOWN
from franka_dynamics.identification.identify import identify
from franka_dynamics.identification.options import IdentificationOptions
from franka_dynamics.identification.prior import Prior
from franka_dynamics.identification.samples import QRFactors
from franka_dynamics.identification.torque_model import TorqueModel
from franka_dynamics.recordings.preprocessing import Motion, SignalOptions
from franka_dynamics.report.diagnosis import diagnosis_lines
from franka_dynamics.report.identification import verdict

from ..arms import drawn_around, with_link

FER = load('fer')
# An arm of six joints with geared motors, without stated torque limits or torque constants.
SIX = replace(
    FER,
    joints=tuple(
        replace(joint, limits=replace(joint.limits, effort=np.inf)) for joint in FER.joints[:6]
    ),
    links=FER.links[:6],
    home=None,
    friction=None,
    name='six axes',
)
SCALE = np.array([11.0, -9.0, 8.0, 6.0, 2.5, 2.0])  # [N m/A]; motor 2 turns the other way round
FRICTION = ViscousCoulombFriction(np.full(6, 0.5), np.full(6, 0.8), np.zeros(6))
CURRENTS = IdentificationOptions(friction='viscous_coulomb', effort_unit='A')


@pytest.fixture(scope='module')
def six():
    joints = tuple(replace(joint, rotor_inertia=0.1) for joint in SIX.joints)
    return drawn_around(replace(SIX, joints=joints), 3)


@pytest.fixture(scope='module')
def currents(simulate, six):
    recording = simulate(six, duration=60.0, friction=FRICTION, noise=0.1, rate=60.0)
    return replace(recording, effort=recording.effort / SCALE)


def test_given_scales_are_taken_and_make_torques(currents):
    torques = replace(currents, effort=currents.effort * SCALE)
    found = []
    for given, scale in ((currents, SCALE), (torques, np.ones(6))):
        options = replace(CURRENTS, effort_scale=tuple(scale))
        first, second = (given.part(slice(*ends)) for ends in ((0, 1800), (1800, None)))
        found.append(identify([first], SIX, [SIX], options, tests=[second]))
    result, expected = found
    np.testing.assert_array_equal(result.effort_scale, SCALE)
    np.testing.assert_allclose(result.base.theta, expected.base.theta, rtol=0.0, atol=1e-6)
    assert result.arm_score.test.whole == pytest.approx(expected.arm_score.test.whole, rel=1e-4)


def test_scales_at_fault_are_answered_with_one_sentence(currents):
    for scale in ((1.0, 2.0), (0.0,)):
        with pytest.raises(RecordingError, match='one number that is not zero for each of the 6'):
            identify([currents], SIX, [SIX], replace(CURRENTS, effort_scale=scale))
    with pytest.raises(IdentificationError, match="no effort unit 'V'; choose Nm or A"):
        IdentificationOptions(effort_unit='V')


def centred(link):
    return LinkInertia.from_center_of_mass(link.mass, np.zeros(3), link.inertia_at_center_of_mass)


def test_an_industrial_arms_scales_survive_a_wrong_wrist(simulate, six):
    """Heavy rotors, friction of 6 % of the limits, and a starting set without a wrist."""
    limits = np.array([330.0, 330.0, 150.0, 54.0, 54.0, 54.0])
    joints = tuple(
        replace(joint, limits=replace(joint.limits, effort=limit), rotor_inertia=rotor)
        for joint, limit, rotor in zip(SIX.joints, limits, (3.7, 3.7, 1.5, 0.4, 0.4, 0.4))
    )
    small = LinkInertia.from_center_of_mass(0.2, np.zeros(3), 2e-4 * np.eye(3))
    truth = with_link(replace(SIX, joints=joints), 5, small)
    rubbing = ViscousCoulombFriction(0.03 * limits, 0.06 * limits, np.zeros(6))
    recording = simulate(truth, duration=30.0, friction=rubbing, noise=0.3, rate=60.0)
    start = replace(
        truth,
        joints=tuple(replace(joint, rotor_inertia=0.0) for joint in joints),
        links=(*truth.links[:4], *map(centred, truth.links[4:])),
    )
    scale = np.append(SCALE[:5], -SCALE[5])
    result = identify([replace(recording, effort=recording.effort / scale)], start, [], CURRENTS)
    found, deviation = result.effort_scale, result.fit.scale.deviation
    np.testing.assert_allclose(found[:4] / scale[:4], 1.0, rtol=0.0, atol=0.1)
    told = deviation <= SCALE_NOT_SHOWN
    assert told[:4].all() and not told[5]
    # The last joint carries nearly nothing: its scale is held at the median of the others, with
    # the sign that friction shows, and a sentence names it.
    others = np.median(np.log(np.abs(found[told])))
    np.testing.assert_allclose(np.log(-found[5]), others, rtol=0.0, atol=1e-3)
    assert not result.accepted
    said = ' '.join([*diagnosis_lines(result), *verdict(result)])
    assert 'the scales of fer_joint2, fer_joint6 have the opposite sign' in said
    assert 'The motion does not show the scale of fer_joint6' in said
    assert 'if those are 10% too large, so are these scales' in said


def test_half_of_the_weight_is_on_either_side_of_a_weighted_median():
    # The weights of 1, 2 and 7 have their middles at 0.1, 0.3 and 0.7: 0.5 lies between 2 and 7.
    assert _median(np.array([7.0, 1.0, 2.0]), np.array([0.6, 0.2, 0.2])) == pytest.approx(4.5)
    assert _median(np.array([3.0, 1.0, 2.0]), np.ones(3) / 3.0) == pytest.approx(2.0)


def test_an_effort_limit_of_zero_is_an_unknown_limit():
    time = np.arange(600) / 30.0
    turning = np.linspace(1.0, 2.5, 6)
    q = 0.4 * np.sin(np.outer(time, turning))
    dq, ddq = 0.4 * turning * np.cos(np.outer(time, turning)), -(turning**2) * q
    found = []
    for limit in (np.inf, 0.0):
        joints = (replace(one, limits=replace(one.limits, effort=limit)) for one in SIX.joints)
        arm = replace(SIX, joints=tuple(joints))
        model = TorqueModel.of(arm, rotor_inertia=True)
        torque = model.base.regressor(q, dq, ddq) @ model.base.values(arm) + FRICTION.torque(dq)
        effort, piece = torque / SCALE, np.zeros(len(time), int)
        motion = Motion(time, q, dq, ddq, effort, effort, piece, SignalOptions())
        prior = Prior.towards(arm, model, np.abs(effort).max(axis=0))
        found.append(find_effort_scale(QRFactors.of(model, motion), prior, arm).scale)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)
    np.testing.assert_allclose(found[1], SCALE, rtol=0.05)
