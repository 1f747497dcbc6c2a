# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The whole procedure, on a real arm's recording and on simulated ones."""

from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load, SigmoidFriction, ViscousCoulombFriction
from franka_dynamics.errors import IdentificationError
from franka_dynamics.identification.identify import identify
from franka_dynamics.identification.result import IdentificationOptions
from franka_dynamics.recordings.preprocessing import prepare, SignalOptions
from franka_dynamics.recordings.recording import read_recording
from franka_dynamics.recordings.replay import fit

FER = load('fer')
FRICTION = ViscousCoulombFriction(np.full(7, 0.2), np.full(7, 0.3), np.full(7, 0.1))


@pytest.fixture
def scores_of():
    return lambda result: {one.name: one for one in result.scores}


def test_given_a_real_arm_when_trained_on_its_first_half_then_the_second_is_predicted(
        fer_recording_path, scores_of):
    recording = read_recording(fer_recording_path, FER.joint_names)
    motion = prepare(recording)
    result = identify([motion], FER, [FER],
                      other_cutoffs={5.0: [prepare(recording, SignalOptions(cutoff=5.0))]})
    scores = scores_of(result)
    # The best published set with fitted friction has 0.51 there.
    assert scores['gaz2019, none'].test.whole == pytest.approx(0.512, abs=2e-3)
    for name in ('base parameters, no pull', 'base parameters', 'consistent'):
        assert scores[name].test.whole <= 0.41
        assert scores[name].other_cutoffs[5.0].whole < 0.5
    assert scores['consistent'].test.whole == pytest.approx(0.384, abs=3e-3)
    assert result.consistent.arm.inconsistencies() == ()
    # The scores come from triangles; the arm's own model on the samples says the same.
    direct = fit(result.consistent.arm, motion.halves()[1])
    assert direct.with_friction.whole == pytest.approx(scores['consistent'].test.whole, rel=1e-9)


def test_given_a_rich_simulated_motion_when_identified_then_it_beats_its_wrong_start(
        simulate, scores_of):
    truth = load('fer', hand='franka_hand')
    motions = [prepare(simulate(truth, duration=40.0, friction=FRICTION, noise=0.2, seed=seed))
               for seed in (0, 1)]
    result = identify(motions, FER, [FER])
    scores = scores_of(result)
    noise_alone = 0.2 * np.sqrt(7.0 / result.filter_inflation)
    assert scores['consistent'].test.whole < 1.6 * noise_alone
    assert scores['gaz2019, none'].test.whole > 5.0 * noise_alone


def test_given_a_poor_motion_when_identified_then_it_does_not_look_good_by_over_fitting(
        simulate, scores_of):
    # Ten seconds in which joints 4 to 7 hardly move, then a motion that turns them.
    recording = simulate(FER, duration=24.0, friction=FRICTION, noise=0.5)
    first = recording.time < 12.0
    slow = np.where(np.arange(7) > 2, 0.02, 1.0)
    middle = recording.q[recording.time >= 12.0][0]
    from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
    q = np.where(first[:, None], middle + slow * (recording.q - middle), recording.q)
    dq = np.where(first[:, None], slow * recording.dq, recording.dq)
    ddq = np.gradient(dq, 1.0 / 30.0, axis=0)
    rng = np.random.default_rng(9)
    effort = (NewtonEulerModel(FER).inverse_dynamics(q, dq, ddq) + FRICTION.torque(dq)
              + 0.5 * rng.standard_normal(q.shape))
    result = identify([prepare(replace(recording, q=q, dq=dq, effort=effort))], FER, [FER])
    scores = scores_of(result)
    assert result.base.strength > 0.0
    assert len(result.not_shown) > 10
    if result.unregularised is not None:
        assert scores['base parameters'].test.whole < scores['base parameters, no pull'].test.whole
    assert scores['consistent'].test.whole < 1.5 * scores['gaz2019, none'].test.whole


def test_given_rotors_when_asked_for_then_they_come_back(simulate):
    truth = replace(FER, joints=tuple(replace(joint, rotor_inertia=0.2) for joint in FER.joints))
    motion = prepare(simulate(truth, duration=60.0, friction=FRICTION, noise=0.1, rate=30.0))
    result = identify([motion], FER, options=IdentificationOptions(rotor_inertia=True))
    rotors = [joint.rotor_inertia for joint in result.consistent.arm.joints]
    # Joints 1 and 2 share theirs with links that only they move.
    np.testing.assert_allclose(rotors[3:], 0.2, rtol=0.0, atol=0.05)


def test_given_sigmoid_friction_when_asked_for_then_the_arm_has_it_and_predicts(simulate):
    motion = prepare(simulate(FER, duration=60.0, friction=FER.friction, noise=0.1))
    result = identify([motion], FER, options=IdentificationOptions(friction='sigmoid'))
    assert isinstance(result.arm.friction, SigmoidFriction)
    # Offsets are shared with gravity and the filter rounds off the turn; the swing is left.
    swing = [friction.torque(np.full(7, 0.8)) - friction.torque(np.full(7, -0.8))
             for friction in (result.arm.friction, FER.friction)]
    np.testing.assert_allclose(swing[0], swing[1], rtol=0.1, atol=0.03)
    assert result.arm_score.name == 'consistent, sigmoid friction'
    direct = fit(result.arm, motion.halves()[1])
    assert direct.with_friction.whole == pytest.approx(result.arm_score.test.whole, rel=1e-12)


def test_given_an_unknown_friction_when_asked_for_then_those_there_are_are_listed():
    with pytest.raises(IdentificationError, match="no friction 'none'; choose viscous_coulomb or"):
        IdentificationOptions(friction='none')


def test_given_encoder_noise_when_asked_for_then_the_bias_is_reported_beside(simulate):
    motion = prepare(simulate(FER, duration=30.0, friction=FRICTION, noise=0.2))
    quiet = identify([motion], FER)
    loud = identify([motion], FER, options=IdentificationOptions(encoder_noise=(1e-4, 0.05)))
    assert quiet.bias is None
    assert loud.bias.shape == loud.base.theta.shape
    np.testing.assert_array_equal(loud.base.theta, quiet.base.theta)
    assert np.abs(loud.bias / loud.base.deviations).max() > 0.1


def test_given_a_still_arm_when_identified_then_it_says_what_would_help(simulate):
    recording = simulate(FER)
    still = replace(recording, q=np.tile(FER.home, (len(recording), 1)),
                    dq=np.zeros_like(recording.dq))
    with pytest.raises(IdentificationError, match=r'depends on mX_2, .* alone\. The other 31 base '
                       r'parameters \(ZZR_1, .* turns every joint to and fro'):
        identify([prepare(still)], FER)


def test_given_one_joint_that_rests_when_identified_then_it_is_named(simulate):
    recording = simulate(FER, duration=30.0, noise=0.2)
    resting = np.arange(7) == 4
    result = identify([prepare(replace(
        recording, q=np.where(resting, 0.3, recording.q),
        dq=np.where(resting, 0.0, recording.dq)))], FER)
    assert result.unregularised is None
    assert result.remarks == (
        'fer_joint5 stood still in the training half: friction there and inertias about those '
        'axes are not shown; turn every joint, to and fro',)


def test_given_nothing_or_unlike_preparations_when_identified_then_it_is_refused(simulate):
    with pytest.raises(IdentificationError, match='There is no recording to identify from'):
        identify([], FER)
    recording = simulate(FER)
    with pytest.raises(IdentificationError, match='were not prepared alike'):
        identify([prepare(recording), prepare(recording, SignalOptions(cutoff=5.0))], FER)
