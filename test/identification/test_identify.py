# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The whole procedure: identifications of real and simulated arms, of loads, and on clusters."""

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
import os
import re
import shutil
import signal

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import LinkInertia, ViscousCoulombFriction
from franka_dynamics.arm.arm_file import arm_file_text
from franka_dynamics.arm.payload import payload_array
from franka_dynamics.arm_io import load_arm
from franka_dynamics.cli.main import EXIT_INVALID_INPUT, main
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import ClusterError, IdentificationError, RecordingError
from franka_dynamics.fit.options import IdentificationOptions
from franka_dynamics.fit.payload import identify_payload, payload_estimate
from franka_dynamics.fit.summary import require_enough_motion
from franka_dynamics.fit.torque_model import SLIP_REACHES_RAD
from franka_dynamics.identification.identify import identify
from franka_dynamics.judge.recordings import judge_motion
from franka_dynamics.recordings.episodes import Bag
from franka_dynamics.recordings.preprocessing import SignalOptions, to_motion
from franka_dynamics.recordings.recording import read_recording, write_recording
from franka_dynamics.recordings.replay import predict_torque
from franka_dynamics.report import identification
from franka_dynamics.report.payload import deviation_sentences

from ..agreement import refuses
from ..arms import drawn_around, first_joints
from ..made_recordings import drawn_friction, recorded, slow_work, smooth_motion, with_load
from ..urdf.urdf_texts import six_axes

pytestmark = pytest.mark.usefixtures('remembered_regressors')
FER = fd.load('fer')
FR3 = fd.load('fr3', hand='franka_hand')
SLIP = IdentificationOptions()
SIMPLE = IdentificationOptions(friction='viscous_coulomb')
SMOOTH = SignalOptions(cutoff=5.0)


@pytest.fixture(scope='module')
def prepared(fer_recording, fer_1khz_recording):
    """Return both real recordings, prepared for identification: the slow and the fast one."""
    return {'slow': to_motion(fer_recording), 'fast': to_motion(fer_1khz_recording)}


@pytest.fixture(scope='module')
def identified(prepared):
    """Return what is identified from the fast real recording."""
    return fd.identify([prepared['fast']], FER, [FER])


def runs(draw):
    """Return recordings of slow work, joint 5 at rest, by a random arm near the published set."""
    truth = drawn_around(FR3, draw)
    friction = drawn_friction(FR3, draw)
    return [slow_work(truth, friction, 100 * draw + k, resting=(4,)) for k in range(3)]


def test_folds_of_a_real_arm_left_out_in_turn_are_predicted(identified):
    # Of the fast recording; the slow one's are those of `identify arm`.
    result = identified
    own = result.arm_errors
    others = result.published_errors[0]
    assert own.test.E < 0.236 and own.frictionless.E < 0.92
    assert others.test.E == pytest.approx(0.563, abs=3e-3) and len(own.fold_errors) == 5
    assert result.improvement.reduction == pytest.approx(
        np.mean(np.subtract(others.fold_errors, own.fold_errors))
    )
    assert 0.0 < result.improvement.spread < result.improvement.reduction
    # The written arm is fitted to the whole recording, so that its error is smaller.
    assert own.train.E < own.test.E
    assert result.recordings.errors[0] == pytest.approx(own.train.E, rel=1e-9)
    # The recording is sound, and asks nothing.
    assert result.verdict.sound
    assert not result.verdict.questions and result.recordings.remarks == ()
    assert result.accepted and result.arm.inconsistencies() == ()


def test_a_replay_and_an_identification_give_one_verdict(simulate):
    # Of an arm with much friction and masses 20 % off, which fits near the starting set miss.
    arm = first_joints(FER, 3)
    rough = ViscousCoulombFriction(np.full(3, 1.0), np.full(3, 3.0), np.zeros(3))
    motion = to_motion(simulate(drawn_around(arm, 0, size=0.2), friction=rough, noise=0.1))
    result = fd.identify([motion], arm, [arm], SIMPLE)
    replayed = judge_motion(motion, result.estimate.model, [arm], 'log')
    scale = result.verdict.mass_ambiguity.scale_range
    assert replayed.mass_ambiguity.scale_range == pytest.approx(scale, rel=1e-9)
    assert replayed.sound == result.verdict.sound


@pytest.mark.parametrize('speed', ['slow', 'fast'])
def test_a_starting_set_with_a_wrong_link_is_doubted(prepared, speed):
    links = list(FER.links)
    links[4] = fd.LinkInertia.from_parameters(links[4].parameters() / 4.24)
    start = replace(FER, links=tuple(links))
    result = fd.identify([prepared[speed]], start, [start, fd.load('fer', hand='franka_hand')])
    assert result.verdict.sound and result.better_hand_errors is None
    # Masses of two neighbours that no joint moves far apart are known by their sum alone: what the
    # link lacks may be found at the next one.
    assert result.outlying_mass_ratios
    assert set(result.outlying_mass_ratios) <= {5, 6}
    assert max(result.outlying_mass_ratios.values()) > 1.4
    said = ' '.join(identification.detail_sentences(result))
    assert '--set' in said and '--hand' not in said


def test_a_mass_at_its_bound_and_what_constraints_cost_are_said(simulate):
    arm = first_joints(FER, 3)
    links = list(arm.links)
    links[2] = fd.LinkInertia.from_parameters(links[2].parameters() / 12.0)
    start = replace(arm, links=tuple(links))
    motion = to_motion(simulate(arm, noise=0.02))
    result = fd.identify([motion], start, [start], SIMPLE)
    # What the outer link may not take its neighbour takes, up to its own bound.
    assert result.masses_at_bound[3] == pytest.approx(3.0, rel=0.01)
    said = ' '.join(identification.detail_sentences(result))
    assert '3 (3.00 times its start) ends at its bound' in said
    free, consistent = (errors.test.E for errors in result.torque_errors[:2])
    assert consistent > 1.02 * free and 'costs' in said
    sound = fd.identify([motion], arm, [arm], SIMPLE)
    assert sound.masses_at_bound == {}
    assert 'costs' not in ' '.join(identification.detail_sentences(sound))


@pytest.mark.parametrize(('n', 'dead'), [(1, []), (6, [1, 2, 3, 4, 5])])
def test_joints_alone_or_without_effort_or_limit_are_judged(simulate, n, dead):
    arm = first_joints(FER, n)
    joints = (replace(one, limits=replace(one.limits, effort=np.inf)) for one in arm.joints)
    arm = replace(arm, joints=tuple(joints))
    log = simulate(arm, noise=0.05)
    log = replace(log, effort=np.where(np.isin(np.arange(n), dead), 0.0, log.effort))
    ambiguity = judge_motion(to_motion(log), SIMPLE.torque_model(arm), [arm], 'log').mass_ambiguity
    assert np.isfinite([*ambiguity.scale_range, *ambiguity.load_range]).all()


def test_efforts_of_the_other_sign_are_a_fault_and_no_question(prepared):
    # Of this recording only the published masses tell the sign.
    motion = prepared['slow']
    other = replace(motion, effort=-motion.effort)
    found = judge_motion(other, SLIP.torque_model(FER), [FER], 'log')
    (cause,) = found.causes
    assert (cause.kind, cause.joints) == ('gain', ()) and not found.sound
    assert cause.values[0] == pytest.approx(-1.0, abs=0.1)


def test_behind_strong_gears_the_inertias_decide(simulate):
    # Without friction both sets are off by the gears' torque, and the published one is nearer.
    arm = first_joints(FER, 3)
    gears = np.array([35.0, 35.0, 20.0])
    friction = ViscousCoulombFriction(0.1 * gears, gears, np.zeros(3))
    truth = drawn_around(arm, 19, size=0.2)
    log = simulate(truth, friction=friction, noise=0.5, duration=24.0, rate=60.0)
    result = fd.identify([to_motion(log)], arm, [arm], SIMPLE)
    assert result.arm_errors.frictionless.E > result.published_errors[0].frictionless.E > 30.0
    assert result.accepted
    np.testing.assert_allclose(result.arm.friction.coulomb, gears, rtol=0.15)
    models = map(fd.NewtonEulerModel, (result.arm, arm, truth))
    gravity, before, expected = (model.gravity(FER.home[:3]) for model in models)
    assert np.linalg.norm(gravity - expected) < 0.5 * np.linalg.norm(before - expected)


def test_two_arms_in_one_call_are_said_to_contradict(fer_recording, fer_1khz_recording):
    both = [to_motion(one) for one in (fer_1khz_recording, fer_recording)]
    result = fd.identify(both, FER, [FER], SIMPLE)
    assert any('contradicts' in one for one in result.recordings.remarks)
    assert result.recordings.names == ('recording 1', 'recording 2')
    # The page has one verdict: nothing is good in one colour and doubtful in another.
    page = identification.identification_page(result)
    assert re.findall('<p class="(\\w+)">', page) == ['warning']
    assert 'contradict' in identification.conclusion_text(result)


def test_slow_work_is_predicted_better_than_by_the_published_set():
    result = fd.identify(runs(0), FR3, [FR3])
    published = result.published_errors[0]
    assert result.arm_errors.test.E < min(0.35, published.test.E)
    assert result.arm_errors.frictionless.E < published.frictionless.E
    assert published.test.E < 0.5
    assert result.improvement.better and result.verdict.sound


def test_a_joint_that_hardly_moves_gets_no_friction_of_its_own():
    recordings = runs(4)
    result = fd.identify(recordings[:1], FR3, [FR3], tests=recordings[1:])
    # The prior keeps friction that the motion does not show near zero, with a large deviation.
    fv_5 = result.estimate.model.parameter_names.index('fv_5')
    assert result.arm.friction.viscous[4] < 0.3
    assert result.estimate.std[fv_5] > 0.5 * result.estimate.prior.std[fv_5]
    assert result.estimate.std_to_prior_ratios[fv_5] > 0.5
    (line,) = (one for one in identification.open_question_sentences(result) if 'poorly' in one)
    assert '5' in line.partition(' poorly')[0] and 'move' in line
    # At 1 rad/s friction is a fraction of the torque limit; a former version found 12.5 N m s/rad.
    assert (result.arm.friction.viscous < 0.1 * FR3.limit('effort')).all()
    # One poor run never loses on the others.
    assert result.arm_errors.test.E < result.published_errors[0].test.E
    assert result.recordings.test_count == 2


def test_an_offset_that_could_be_gravity_is_not_taken_from_it():
    # With an arm that hardly turns, a hand 0.3 kg heavier than declared looks like torque offsets.
    heavier = fd.LinkInertia.from_center_of_mass(0.3, (0.0, 0.0, 0.05), 1e-4 * np.eye(3))
    truth = FR3.with_payload(heavier)
    friction = drawn_friction(FR3, 5)
    recordings = [slow_work(truth, friction, k, reach=0.1) for k in range(3)]
    result = fd.identify(recordings[:2], FR3, [FR3], tests=recordings[2:])
    assert (np.abs(result.arm.friction.offset) < 0.01 * FR3.limit('effort')).all()
    elsewhere = to_motion(slow_work(truth, friction, 9, reach=0.5))
    own, start = (predict_torque(arm, elsewhere).frictionless_error for arm in (result.arm, FR3))
    assert own.E < 0.8 * start.E


def test_four_runs_below_ten_seconds_are_the_folds(simulate):
    arm = first_joints(FER, 3)
    truth = drawn_around(arm, 3)
    recordings = [simulate(truth, duration=9.9, noise=0.2, seed=k) for k in range(4)]
    result = fd.identify(recordings, arm, options=SIMPLE)
    assert len(result.arm_errors.fold_errors) == len(result.recordings.notes) == 4
    assert result.verdict.sound and not result.verdict.causes
    short = recordings[0].select(slice(0, round(0.9 * len(recordings[0]))))
    with refuses(RecordingError, '8.9', 'in all', '9.5 s'):
        fd.identify([short], arm, options=SIMPLE)
    with refuses(RecordingError, ' 9.49 s', ' 9.5 s'):  # not said to be 9.5
        require_enough_motion(9.496)
    require_enough_motion(9.5)
    accepted = fd.identify([short], arm, options=replace(SIMPLE, accept_unsound=True))
    assert accepted.recordings.notes[0].duration == pytest.approx(8.9, abs=0.1)


def test_one_published_set_needs_no_list(simulate, tmp_path):
    arm = first_joints(FER, 2)
    fd.save(arm, tmp_path / 'arm.yaml')
    recording = simulate(arm, noise=0.1)
    listed = fd.identify(recording, arm, [arm], SIMPLE)
    for published in (arm, tmp_path / 'arm.yaml', str(tmp_path / 'arm.yaml')):
        alone = fd.identify(recording, arm, published, SIMPLE)
        (errors,) = alone.published_errors
        assert errors.fold_errors == pytest.approx(listed.published_errors[0].fold_errors)
        assert alone.verdict.mass_ambiguity is not None


def still(recording, share=1.0):
    """Return a recording that stands still for a share of its time, at its first position."""
    rests = (np.arange(len(recording)) < share * len(recording))[:, None]
    q = np.where(rests, recording.q[:1], recording.q)
    return replace(recording, q=q, dq=np.where(rests, 0.0, recording.dq))


def five_joints(recording):
    """Return the recording of an arm's first five joints."""
    columns = {name: getattr(recording, name)[:, :5] for name in ('q', 'dq', 'effort')}
    return replace(recording, joint_names=recording.joint_names[:5], **columns)


def no_number(recording):
    effort = recording.effort.copy()
    effort[100, 3] = np.nan
    return replace(recording, effort=effort)


def clipped(recording):
    most = 0.85 * np.abs(recording.effort).max(axis=0)
    return replace(recording, effort=np.clip(recording.effort, -most, most))


@pytest.mark.parametrize(
    ('sources', 'error', 'names'),
    [
        (lambda x: [], IdentificationError, ['no recording']),
        (lambda x: [x, x.q], IdentificationError, ['path', 'ndarray']),
        (lambda x: ['/no/such/bag'], RecordingError, ['/no/such/bag']),
        (
            lambda x: [to_motion(x), to_motion(x, SMOOTH)],
            IdentificationError,
            ['signal options'],
        ),
        (lambda x: [x, x], IdentificationError, ['recording 2']),
        (lambda x: [to_motion(x)] * 2, IdentificationError, ['recording 2']),
        (lambda x: [no_number(x)], RecordingError, ['row 101', 'fer_joint4', 'nan']),
        (
            lambda x: [no_number(to_motion(x))],
            RecordingError,
            ['recording 1', '_joint4', 'nan'],
        ),
        (lambda x: [x.select(slice(0, 57))], RecordingError, ['1.86 s', '9.5 s']),
        (lambda x: [still(x)], RecordingError, ['stands still', 'identify plan']),
        (lambda x: [x, five_joints(x)], RecordingError, ['Recording 2', '5 joints', 'has 7']),
        (lambda x: [to_motion(five_joints(x))], RecordingError, ['5 joints', 'has 7']),
        (lambda x: [still(x, 0.75)], RecordingError, ['6.', 's of motion']),
        (lambda x: [clipped(x)], RecordingError, ['fer_joint', 'clipped']),
        (lambda x: [replace(x, q=np.degrees(x.q))], RecordingError, ['degrees']),
    ],
)
def test_sources_at_fault_are_refused_before_any_fit(simulate, sources, error, names):
    recording = simulate(FER, duration=24.0, noise=0.1)
    with refuses(error, *names):
        fd.identify(sources(recording), FER)


@pytest.mark.parametrize('published', ['rpr', replace(FER, base=np.diag([1.0, -1.0, -1.0, 1.0]))])
def test_a_set_of_another_geometry_is_refused_unread(published):
    with refuses(IdentificationError, 'geometry', 'fer'):
        fd.identify(['/no/such/bag'], FER, [FER, published])


def test_a_path_is_that_of_a_bag(simulate, tmp_path):
    truth = first_joints(FER, 2)
    recording = simulate(truth, noise=0.1, duration=12.0)
    fd.write_recording(recording, tmp_path / 'bag')
    found = fd.identify(str(tmp_path / 'bag'), truth, options=SIMPLE)
    expected = fd.identify([recording], truth, options=SIMPLE)
    np.testing.assert_array_equal(found.estimate.theta, expected.estimate.theta)


def test_what_friction_is_worth_is_said(identified, prepared):
    # The gains of franka_ros2's example, and the errors on left-out parts. The robot adds the
    # published gravity torque, which is wrong by what varies with the pose.
    own, robot = (
        np.array([NewtonEulerModel(arm).gravity(q) for q in prepared['fast'].q[::5]])
        for arm in (identified.arm, FER)
    )
    varying = np.var(own - robot, axis=0)
    friction = identified.arm.friction
    of_offsets = (friction.offset + (own - robot).mean(axis=0)) ** 2 - friction.offset**2
    frictionless, whole = (
        np.mean((rms.per_joint**2 + varying + more) / np.square([600] * 4 + [250, 150, 50]))
        for rms, more in (
            (identified.arm_errors.frictionless, of_offsets),
            (identified.arm_errors.test, 0.0),
        )
    )
    sentence = identification.tracking_error_sentence(identified)
    told = [float(words.split()[-1]) for words in sentence.split(' mrad')[:2]]
    expected = 1e3 * np.sqrt([frictionless, whole])
    np.testing.assert_allclose(told, expected, rtol=0.05)  # two digits
    assert whole > 2.0 * np.mean(identified.arm_errors.test.per_joint**2 / 600**2)


def test_the_written_friction_has_the_covariance_of_its_estimate(identified):
    estimate = identified.estimate
    friction = identified.arm.friction
    kept = [
        0,
        1,
        2,
        *(3 + k for k, one in enumerate(SLIP_REACHES_RAD) if one in friction.reach),
    ]
    count = estimate.model.friction.term_count
    if friction.stribeck is not None:
        kept.append(3 + len(SLIP_REACHES_RAD))
    start = len(estimate.model.base) + count * 6  # of joint 7
    own = estimate.covariance[start : start + count, start : start + count]
    np.testing.assert_array_equal(friction.covariance[6], own[np.ix_(kept, kept)])
    # Coefficients are less certain than their sum.
    terms = friction.terms(np.full(7, 0.5))
    apart = np.abs(terms * np.sqrt(np.einsum('ikk->ki', friction.covariance))).sum(axis=0)
    assert (friction.torque_std(terms) < 0.6 * apart).all()


def test_links_of_a_real_arm_stay_where_and_what_they_are(identified):
    for link, own in zip(identified.arm.links, FER.links):
        assert np.linalg.norm(link.center_of_mass - own.center_of_mass) < 0.06
        # The torques choose a precision with which masses differ by 66 %: link 6 has 1.43 times.
        assert 0.6 < link.mass / own.mass < 1.5


OWN_LOAD = LinkInertia.from_center_of_mass(0.4, [0.0, 0.02, 0.01], np.full(6, 0.0))
DECLARED = [1.5, 0.0, 0.0, 0.05]


@pytest.mark.parametrize(
    ('start', 'left'),
    [
        (FER.with_payload(DECLARED), 0.0),
        (FER.with_payload(OWN_LOAD).with_payload(DECLARED), 0.4),
        # The load is in the fitted links, but was declared only when the arm is written.
        (replace(FER, links=FER.with_payload(DECLARED).links), 0.0),
    ],
)
def test_a_written_arm_states_the_load_in_its_links(identified, tmp_path, start, left):
    result = replace(identified, arm=start, start=start)
    result.save(tmp_path / 'arm.yaml', payload=DECLARED, anyway=True)
    written = fd.load(tmp_path / 'arm.yaml')
    expected = FER.with_payload(OWN_LOAD) if left else FER
    assert written.payload.mass == pytest.approx(left, abs=1e-9)
    for one, own in zip(written.links, expected.links):
        np.testing.assert_allclose(one.parameters(), own.parameters(), rtol=0.0, atol=1e-9)


@pytest.mark.parametrize('published', [FER, FER.with_payload(DECLARED)])
def test_a_load_is_taken_off_published_links_that_hold_it(identified, tmp_path, published):
    # Only the friction is accepted, so that the file gets the published links.
    worse = replace(identified.improvement, reduction=-1.0)
    kept = replace(identified.published_fit, arm=published)
    result = replace(identified, improvement=worse, published_fit=kept)
    assert result.keeps_published_inertias
    result.save(tmp_path / 'arm.yaml', payload=DECLARED)
    written = fd.load(tmp_path / 'arm.yaml')
    assert not written.payload.parameters().any()
    for one, own in zip(written.links, FER.links):
        np.testing.assert_allclose(one.parameters(), own.parameters(), rtol=0.0, atol=1e-9)


def test_a_heavier_load_than_stated_is_not_taken_off(identified, tmp_path):
    loaded = replace(identified, arm=FER.with_payload([0.3, 0.0, 0.0, 0.05]))
    with refuses(IdentificationError, '0.5 kg', '0.3 kg'):
        loaded.save(tmp_path / 'arm.yaml', payload=[0.5, 0.0, 0.0, 0.05], anyway=True)
    assert not (tmp_path / 'arm.yaml').exists()


def test_an_unsound_recording_gives_no_file_unless_accepted(identified, prepared, tmp_path):
    motion = prepared['fast']
    broken = replace(motion, effort=motion.effort * np.where(np.arange(7) == 3, 1.3, 1.0))
    found = judge_motion(broken, SLIP.torque_model(FER), [FER], 'log')
    (cause,) = found.causes
    result = replace(identified, verdict=found)
    assert (cause.kind, cause.joints) == ('gain', (3,)) and not result.accepted
    with refuses(IdentificationError, 'not sound'):
        result.save(tmp_path / 'arm.yaml')
    result.save(tmp_path / 'arm.yaml', anyway=True)
    worse = {'improvement': replace(identified.improvement, reduction=-1.0)}
    for one in (result, replace(identified, **worse), replace(result, **worse)):
        assert not one.accepted
        asked_for = replace(one, options=replace(one.options, accept_unsound=True))
        assert asked_for.accepted
        asked_for.save(tmp_path / 'anyway.yaml')
    assert 'NOT sound' in ' '.join((tmp_path / 'arm.yaml').read_text().split())
    assert 'fer_joint4' in ' '.join(identification.detail_sentences(result))
    assert 'NOT sound' in identification.conclusion_text(result)


ONE_KG = LinkInertia.from_center_of_mass(1.0, [0.02, -0.03, 0.08], np.diag([3e-3, 4e-3, 2e-3]))


def body_of(found):
    mass, *rest = found.payload
    return LinkInertia.from_center_of_mass(mass, rest[:3], rest[3:])


def with_and_without(simulate, body, friction, **kwargs):
    """Return a list with the FER's motion without a load, and one with its motion with it."""
    return [
        [to_motion(simulate(arm, rate=100.0, friction=friction, seed=seed, **kwargs))]
        for seed, arm in enumerate((FER, FER.with_payload(body)))
    ]


def test_a_swung_kilogram_is_identified_with_its_inertia(simulate):
    motions = with_and_without(simulate, ONE_KG, FER.friction, duration=15.0, noise=0.2)
    found = identify_payload(*motions, FER)
    truth = payload_array(ONE_KG)
    assert np.abs((found.values - truth) / found.std).max() < 4.0  # of ten numbers
    assert found.values[0] == pytest.approx(1.0, rel=0.02)
    np.testing.assert_allclose(found.values[1:4], truth[1:4], rtol=0.0, atol=0.005)
    assert found.inertia_identified and body_of(found).is_physical()


@pytest.mark.parametrize('known', [False, True])
def test_rotors_behind_gears_are_no_part_of_a_load(tmp_path, known):
    (tmp_path / 'six.urdf').write_text(six_axes(), encoding='utf-8')
    arm = load_arm(tmp_path / 'six.urdf')
    joints = zip(arm.joints, (3.0, 3.0, 2.0, 0.6, 0.6, 0.6))
    geared = replace(arm, joints=tuple(replace(one, rotor_inertia=own) for one, own in joints))
    body = LinkInertia.from_center_of_mass(2.0, (0.0, 0.0, 0.08), 2e-3 * np.eye(3))
    rubbing = 0.02 * arm.limit('effort')
    friction = ViscousCoulombFriction(rubbing, rubbing, np.zeros(6))
    motions = []
    for seed, one in enumerate((geared, geared.with_payload(body))):
        path = smooth_motion(arm, 20.0, 100.0, seed, 0.6)
        rng = np.random.default_rng(seed)
        motions.append([to_motion(recorded(one, *path, friction=friction, noise=0.3, rng=rng))])
    found = identify_payload(*motions, geared if known else arm)
    truth = payload_array(body)
    np.testing.assert_allclose(found.values[:4], truth[:4], rtol=0.0, atol=0.005)
    np.testing.assert_allclose(found.values[4:], truth[4:], rtol=0.0, atol=0.03)


def test_slow_work_gives_mass_and_centre_without_inertia():
    motions = (
        [to_motion(slow_work(arm, FER.friction, seed, duration=20.0))]
        for seed, arm in ((3, FER), (4, FER.with_payload(ONE_KG)))
    )
    found = identify_payload(*motions, FER)
    truth = payload_array(ONE_KG)
    assert np.abs((found.values - truth) / found.std).max() < 3.0
    assert found.values[0] == pytest.approx(1.0, rel=0.02)
    assert not found.inertia_identified and not any(found.payload[4:])


def test_the_mass_is_within_its_deviations_though_sensors_drift():
    ratios = []
    inflations = []
    for draw in range(4):
        truth = drawn_around(FR3, draw)
        friction = drawn_friction(FR3, draw)
        seeds = range(100 * draw, 100 * draw + 6)
        logs = [to_motion(slow_work(truth, friction, seed, resting=(4,))) for seed in seeds]
        loaded = [with_load(one, truth, 1.0) for one in logs[3:]]
        found = identify_payload(logs[:3], loaded, FR3)
        ratios.append((found.values[0] - 1.0) / found.std[0])
        inflations.append(found.inflation)
    # Residuals within seconds alone give deviations that are 3 to 10 times too small.
    assert np.sqrt(np.mean(np.square(ratios))) < 2.0
    assert min(inflations) > 2.0
    (said,) = deviation_sentences(found)
    assert f'{found.inflation:.1f} times' in said


def test_white_noise_widens_no_deviation_much(simulate):
    motions = with_and_without(simulate, ONE_KG, FER.friction, duration=15.0, noise=0.2)
    found = identify_payload(*motions, FER)
    assert 1.0 <= found.inflation < 2.0
    assert not deviation_sentences(replace(found, inflation=1.0))


def test_a_payload_is_found_with_another_arm_file(simulate):
    # The arm's friction and inertias are estimated too, so that another set gives the same load.
    motions = with_and_without(simulate, ONE_KG, FER.friction, duration=20.0, noise=0.1)
    found = identify_payload(*motions, fd.load('fer', 'franka_description'))
    np.testing.assert_allclose(found.values[:4], payload_array(ONE_KG)[:4], rtol=0.0, atol=0.005)


@pytest.mark.parametrize(('without', 'loaded'), [(0, 1), (1, 0)])
def test_one_of_two_recordings_is_refused(simulate, without, loaded):
    motion = to_motion(simulate(FER))
    with refuses(IdentificationError, 'without', 'with'):
        identify_payload([motion] * without, [motion] * loaded, FER)


def test_an_unphysical_estimate_gives_a_body_of_its_mass():
    body = LinkInertia.from_center_of_mass(1.0, [0.0, 0.0, 0.1], np.diag([1e-3, 1e-3, 4e-3]))
    assert not body.is_physical()
    found = payload_estimate(body.parameters(), 1e-6 * np.eye(10), np.ones(7), 18.0)
    assert body_of(found).is_physical()
    np.testing.assert_allclose(found.payload[:4], found.values[:4], rtol=0.0, atol=1e-12)
    # Second moments along x, y and z are 2, 2, -1 g m^2; the negative one is raised to zero.
    np.testing.assert_allclose(found.payload[[4, 7, 9]], [2e-3, 2e-3, 4e-3], rtol=0.0, atol=2e-6)


def test_a_light_load_is_found_on_an_arm_without_torque_limits(simulate):
    # A former version limited friction to 2 % of 1 N m without torque limits and missed the load.
    rubbing = ViscousCoulombFriction(np.full(7, 3.0), np.full(7, 3.0), np.zeros(7))
    body = LinkInertia.from_center_of_mass(0.3, [0.0, 0.0, 0.08], 5e-4 * np.eye(3))
    joints = (replace(one, limits=replace(one.limits, effort=np.inf)) for one in FER.joints)
    motions = with_and_without(simulate, body, rubbing, duration=20.0, noise=0.2)
    found = identify_payload(*motions, replace(FER, joints=tuple(joints)))
    assert found.values[0] == pytest.approx(0.3, abs=0.03) and found.std[0] < 0.03


# The first joints of the FER only: the test is about where the work runs, not about its result.
SHORT = first_joints(FER, 3)
FRICTION = ViscousCoulombFriction(np.full(3, 0.2), np.full(3, 0.3), np.full(3, 0.1))
SHORT_REAL = drawn_around(SHORT, 0)


@pytest.fixture(scope='module')
def cluster():
    distributed = pytest.importorskip('distributed')
    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=False,
        dashboard_address=None,
        silence_logs=50,
    ) as running:
        yield running


@pytest.fixture(scope='module')
def paths(simulate, tmp_path_factory):
    found = [tmp_path_factory.mktemp('bags') / f'bag{seed}' for seed in range(3)]
    for seed, path in enumerate(found):
        recording = simulate(SHORT_REAL, duration=12.0, friction=FRICTION, noise=0.2, seed=seed)
        write_recording(recording, path)
    return found


def identified_bags(paths, **kwargs):
    bags = [Bag(str(path), SHORT.joint_names) for path in paths]
    return identify(bags, SHORT, [SHORT], SIMPLE, **kwargs)


def test_an_arm_from_masses_that_nobody_knew_is_saved(paths, tmp_path):
    start = replace(SHORT, unmeasured=('the same tensor for all links',))
    bags = [Bag(str(path), SHORT.joint_names) for path in paths]
    result = identify(bags, start, [start], SIMPLE)
    assert result.verdict.questions
    result.save(tmp_path / 'arm.yaml')
    # The recordings have told what nobody had measured.
    assert fd.load(tmp_path / 'arm.yaml').unmeasured == ()


def test_a_bag_cut_short_is_named_and_skipped_only_if_asked(paths, tmp_path):
    bags = [shutil.copytree(path, tmp_path / path.name) for path in paths]
    file = bags[2] / 'bag2.mcap'
    file.write_bytes(file.read_bytes()[:-1000])
    with refuses(RecordingError, 'bag2'):
        identified_bags(bags)
    found = identified_bags(bags, skip_failures=True)
    assert len(found.recordings.notes) == 2
    (failure,) = found.recordings.failures
    assert 'bag2' in failure


def test_a_bag_that_was_skipped_leaves_no_trace_in_the_arm(paths, tmp_path):
    in_mn_m = tmp_path / 'in_mn_m'
    recording = read_recording(paths[1], SHORT.joint_names)
    write_recording(replace(recording, effort=1000.0 * recording.effort), in_mn_m)
    found = identified_bags([paths[0], in_mn_m], skip_failures=True)
    assert len(found.recordings.failures) == 1
    alone = identified_bags([paths[0]])
    assert found.arm.torque_deviation == alone.arm.torque_deviation
    assert found.arm.friction == alone.arm.friction


def test_processes_and_a_cluster_write_the_same_arm(cluster, paths, tmp_path):
    start = tmp_path / 'start.yaml'
    page = tmp_path / 'page.html'
    files = []
    start.write_text(arm_file_text(SHORT))
    names = [str(paths[0]), '--test', str(paths[1]), '--arm', str(start)]
    command = ['identify', 'arm', *names, '--friction', 'viscous_coulomb', '--output']
    cluster_options = ['--workers', cluster.scheduler_address, '--report', str(page)]
    for options in ([], ['--workers', '2'], cluster_options):
        files.append(tmp_path / f'{len(files)}.yaml')
        assert main([*command, str(files[-1]), *options]) == 0
    # To the last digit, because sums have the same order everywhere.
    assert len({file.read_text() for file in files}) == 1
    assert page.read_text().count('measured and predicted') == 2


class DeadlyBag(Bag):
    def recording(self):
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_dies_is_told_in_a_sentence():
    with (
        ProcessPoolExecutor(1) as executor,
        refuses(ClusterError, 'memory', '--workers'),
    ):
        identify([DeadlyBag('bag', SHORT.joint_names)], SHORT, executor=executor)


def test_an_address_where_nobody_listens_is_refused_by_name(paths, monkeypatch, capsys):
    pytest.importorskip('distributed')
    monkeypatch.setattr('franka_dynamics.workers.SCHEDULER_TIMEOUT_S', 0.5)
    for address in ('tcp://127.0.0.1:9', 'nonsense://x'):
        assert main(['identify', 'arm', str(paths[0]), '--workers', address]) == EXIT_INVALID_INPUT
        assert address in capsys.readouterr().err
