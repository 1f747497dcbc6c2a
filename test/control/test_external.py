# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""External torque, wrench and load: known pushes, friction, singular poses, undeclared loads."""

from dataclasses import replace
import functools
import re

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import MaxwellSlipFriction, ViscousCoulombFriction
from franka_dynamics.arm.friction_state import FrictionState
from franka_dynamics.control import settings as options
from franka_dynamics.control.default_gains import default_gains
from franka_dynamics.control.disturbance import DisturbanceMonitor
from franka_dynamics.control.feedforward import State, StateLimits
from franka_dynamics.control.limits import MIN_GOOD_STATE_COUNT
from franka_dynamics.control.settings import RECEIVER_PROFILES, Settings
from franka_dynamics.control.terms import MAX_REST_SPEED_RAD_S
from franka_dynamics.demo.multisine import multisine
from franka_dynamics.dynamics import external_torque
from franka_dynamics.dynamics.external_torque import (
    AVERAGING_BLOCK_S,
    LoadEstimator,
    MomentumObserver,
)
from franka_dynamics.errors import SettingsError
from franka_dynamics.simulation.arm_simulation import (
    ArmSimulation,
    Push,
    SimulationSettings,
)

from .closed_loop import core, FER, Loop, payload, sent_at_rest, STILL
from .closed_loop import KD as WEAK_KD
from .closed_loop import KP as WEAK_KP
from .test_core_faults import CARRIED, FIRM

PUSH = Push((0.0, 6.0, -8.0), 0.1, 9.0)  # 10 N at the flange


def states_of(arm, seconds, law, **settings):
    """Move an arm by torques law(simulation, reading); pair its states as a driver does."""
    simulation = ArmSimulation(arm, SimulationSettings(brake_release_after=0.0, **settings))
    reading = simulation.read()
    states = []
    while reading.time < seconds:
        # The effort of this step is paired with the state before the step.
        before = reading
        simulation.step(law(simulation, before))
        reading = simulation.read()
        states.append((reading.time, before.position, before.velocity, reading.effort))
    return states


def test_a_flange_push_is_observed_as_minus_j_transpose_force():
    model = fd.Model(FER)
    before = []
    observer = MomentumObserver(model)

    def law(_, at):  # the arm is held by gravity torque and damping
        return model.gravity(at.position) - 2.0 * at.velocity

    for time, q, dq, effort in states_of(FER, 0.3, law, push=PUSH):
        torque = observer.update(time, q, dq, effort)
        before += [torque] * (time < PUSH.start_time)
    # 1e-9 N m: far above rounding, far below what any sensor resolves.
    assert len(before) > 90 and np.abs(before).max() < 1e-9
    expected = -fd.NewtonEulerModel(FER).jacobian(q)[:3].T @ np.array(PUSH.force)
    # The arm moves while pushed, and the observer lags by 12 ms.
    np.testing.assert_allclose(torque, expected, rtol=0, atol=0.05 * np.abs(expected).max())


def test_a_gap_in_the_states_starts_the_observer_over():
    observer = MomentumObserver(fd.Model(FER))
    dq = np.zeros(7)
    for k in range(100):
        observer.update(1e-3 * k, FER.home, dq, np.full(7, 10.0))
    # The observer restarts as if the arm were still: without effort something else carries g.
    torque = observer.update(10.0, FER.home, dq, np.zeros(7))
    expected = -fd.NewtonEulerModel(FER).gravity(FER.home)
    np.testing.assert_allclose(torque, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize('wait', [0.051, 10.0, -1.0])
def test_a_gap_after_a_new_load_starts_the_observer_over(wait):
    still = np.zeros(7)
    loaded = FER.with_payload([2.0, 0.0, 0.0, 0.1])
    observer = MomentumObserver(fd.Model(FER))
    for k in range(100):
        observer.update(1e-3 * k, FER.home, still, np.full(7, 10.0))
    observer.change_model(fd.Model(loaded), np.full(7, 3.0))
    torque = observer.update(0.099 + wait, FER.home, still, np.zeros(7))
    expected = -fd.NewtonEulerModel(loaded).gravity(FER.home)
    np.testing.assert_allclose(torque, expected, rtol=0, atol=1e-12)


def test_a_forgotten_torque_leaves_nothing_that_grows_again():
    observer = MomentumObserver(fd.Model(FER))
    still = np.zeros(7)
    gravity = fd.NewtonEulerModel(FER).gravity(FER.home)
    for k in range(5):  # 10 N m begin to act: the estimate still rises
        observer.update(1e-3 * k, FER.home, still, gravity + 10.0 * (k > 0))
    observer.reset_estimate(np.zeros(7))
    for k in range(5, 50):
        torque = observer.update(1e-3 * k, FER.home, still, gravity)
        np.testing.assert_allclose(torque, still, rtol=0, atol=1e-9)


SLIP = MaxwellSlipFriction(*np.zeros((3, 7)), np.array([[0.4] * 7, [0.2] * 7]), [0.004, 0.05])


@functools.cache
def swing(friction):
    """Swing joints 4 and 5 by computed torque; return the states as a driver would pair them."""
    model = fd.Model(FER)
    joints = np.isin(np.arange(7), (3, 4))

    def law(_, at):
        desired = 3.0 * np.cos(6.0 * at.time) * joints
        return model.inverse_dynamics(at.position, at.velocity, desired)

    return states_of(replace(FER, friction=friction), 2.0, law, friction=True)


STEADY = ViscousCoulombFriction(np.zeros(7), np.full(7, 0.6), np.zeros(7), width=0.01)


def largest_residual(friction, states):
    followed = FrictionState(friction)
    observer = MomentumObserver(fd.Model(FER))
    largest = 0.0
    for time, q, dq, effort in states:
        followed.update(time, q)
        external = observer.update(time, q, dq, effort - followed.torque(dq))
        largest = max(largest, float(np.abs(external).max()) * (time > 0.2))
    return largest


@pytest.mark.parametrize(
    ('true', 'wrong', 'shown', 'left'),
    [
        # Half of joint 4's friction amplitude of 1.28 N m shows if friction is not subtracted. If
        # it is, 2.5 % of it remains, because state and effort are half a time step apart.
        (FER.friction, None, 0.4, 0.1),
        # Without the state of the slip elements, their 0.6 N m would show at every turn.
        (SLIP, STEADY, 0.2, 0.2),
    ],
)
def test_friction_is_taken_out_and_slip_elements_are_followed(true, wrong, shown, left):
    # The largest disturbance torque of an arm that nobody touches. It includes the first swing,
    # before which the elements' state is unknown.
    residual = largest_residual(wrong, swing(true))
    assert residual > shown and largest_residual(true, swing(true)) < left * residual


@pytest.mark.parametrize(
    ('choice', 'target', 'taken_out'),
    [
        ('auto', 'fci', 1),
        ('auto', 'mujoco', 0),
        ('included', 'mujoco', 1),
        ('excluded', 'fci', 0),
    ],
)
def test_friction_in_effort_is_the_arm_files_or_none_by_choice(choice, target, taken_out):
    found = options.friction_in_measured_effort(choice, FER, RECEIVER_PROFILES[target])
    assert found is (FER.friction if taken_out else None)


def test_effort_friction_of_an_arm_without_friction_is_refused():
    with pytest.raises(SettingsError, match=r'effort_friction is included, but .*fr3.* has no'):
        options.friction_in_measured_effort('included', fd.load('fr3'), RECEIVER_PROFILES['fci'])


# The wrench. ----------------------------------------------------------------------------------

FORCE, MOMENT = (
    np.array([12.0, -8.0, 10.0]),
    np.array([1.0, 1.5, -0.8]),
)  # amplitudes [N], [N m]
KP = np.array([600.0] * 4 + [100.0, 100.0, 30.0])
KD = np.array([30.0] * 4 + [1.0, 1.0, 0.2])
SWING_RATES = np.linspace(1.1, 2.3, 7)  # [rad/s]
STRAIGHT = np.zeros(7)  # stretched upwards: joints 1, 3 and 5 turn about one line


def acting(time):
    """Return a wrench on the flange, axes of the base, that turns slowly."""
    return np.concatenate([FORCE, MOMENT]) * np.sin(2.0 * time + np.arange(6))


def test_known_wrenches_in_mujoco_are_told_along_a_motion():
    # Given an arm that moves about home, and a wrench on its flange that turns.
    arm = fd.load('fr3v2')
    w = SWING_RATES
    model = fd.Model(arm)
    lag = 2.0 * external_torque.OBSERVER_DAMPING_RATIO / external_torque.OBSERVER_BANDWIDTH_RAD_S
    observer = MomentumObserver(model)
    estimator = external_torque.WrenchEstimator(model)

    def law(simulation, at):
        s = 0.4 * np.sin(w * at.time)
        c = 0.4 * np.cos(w * at.time)
        wrench = tuple(acting(at.time))
        simulation.push = Push(wrench[:3], 0.0, 1e9, wrench[3:])
        torque = model.inverse_dynamics(at.position, at.velocity, -w * w * s)
        return torque + KP * (arm.home + s - at.position) + KD * (w * c - at.velocity)

    # When the wrench is estimated from the simulated sensors.
    found = []
    expected = []
    for time, q, dq, effort in states_of(arm, 3.0, law):
        external = observer.update(time, q, dq, effort)
        if time > 0.2:
            estimate = estimator.estimate(q, external)
            assert not estimate.is_singular and estimate.unexplained_torque < 0.5
            found.append(estimate.wrench)
            # The arm exerts the opposite wrench on its surroundings. Within the lag of the
            # observer each joint turns by up to 20 mrad.
            expected.append(-acting(time - lag))
    # Then the estimate has the sign of O_F_ext_hat_K and the axes of the base.
    assert len(found) > 600
    error = np.abs(np.array(found) - expected).max(axis=0)
    assert (error[:3] < 0.06 * np.linalg.norm(FORCE)).all(), error
    assert (error[3:] < 0.08 * np.linalg.norm(MOMENT)).all(), error


def test_away_from_singular_poses_it_is_plain_least_squares():
    jacobian = fd.NewtonEulerModel(FER).jacobian(FER.home)
    torque = np.array([3.0, -5.0, 2.0, 4.0, -1.0, 0.5, 0.3])
    weight = 1.0 / external_torque.external_torque_std(FER)
    weighed = (jacobian * weight).T
    expected, *_ = np.linalg.lstsq(weighed, torque * weight, rcond=None)
    estimate = external_torque.WrenchEstimator(fd.Model(FER)).estimate(FER.home, torque)
    np.testing.assert_allclose(estimate.wrench, expected, rtol=1e-9)
    covariance = np.linalg.inv(weighed.T @ weighed)
    np.testing.assert_allclose(estimate.covariance, covariance, rtol=1e-7, atol=1e-12)
    assert not estimate.is_singular
    # A moment of 1 N m counts as 5 N, at a lever of 0.2 m.
    newtons = np.array([1.0, 1.0, 1.0, 5.0, 5.0, 5.0])
    largest = np.linalg.eigvalsh(estimate.covariance * np.outer(newtons, newtons))[-1] ** 0.5
    assert estimate.max_force_std == pytest.approx(largest, rel=1e-7)
    accuracy = f'standard deviation at most {largest:.1f} N in every direction'
    assert estimate.accuracy_text() == accuracy


def test_a_singular_pose_is_said_and_damped():
    # Given the arm stretched upwards, and joint torques of 10 N on its flange, with errors.
    torque = 0.1 - 10.0 * fd.NewtonEulerModel(FER).jacobian(STRAIGHT)[0]
    estimate = external_torque.WrenchEstimator(fd.Model(FER)).estimate(STRAIGHT, torque)
    # Then the directions that no joint torque shows have a large deviation and no force.
    assert estimate.is_singular and estimate.accuracy_text().startswith('singular')
    scale = np.array([1.0, 1.0, 1.0, 5.0, 5.0, 5.0])
    variances, directions = np.linalg.eigh(estimate.covariance * np.outer(scale, scale))
    blind = directions.T[variances > external_torque.MAX_FORCE_STD_N**2]
    assert len(blind) >= 1
    assert np.linalg.eigvalsh(estimate.covariance)[-1] > external_torque.MAX_FORCE_STD_N**2
    assert np.abs(blind @ (estimate.wrench * scale)).max() < 1.0
    # And the wrench stays of the size of the force.
    assert np.linalg.norm(estimate.wrench) < 15.0


def test_the_wrench_does_not_jump_into_a_singular_pose():
    estimator = external_torque.WrenchEstimator(fd.Model(FER))
    model = fd.NewtonEulerModel(FER)
    wrench = np.array([5.0, -3.0, 8.0, 0.5, 0.2, -0.4])
    path = STRAIGHT + np.linspace(0.5, 0.0, 1001)[:, None] * (FER.home - STRAIGHT)
    wrenches = np.einsum('kij,i->kj', model.jacobian(path), wrench)
    estimates = [estimator.estimate(*state) for state in zip(path, wrenches)]
    found = [estimate.wrench for estimate in estimates]
    assert not estimates[0].is_singular and estimates[-1].is_singular
    np.testing.assert_allclose(found[0], wrench, rtol=1e-9)
    # From one estimate to the next a joint moves by at most 1.2 mrad. Without damping the wrench
    # would be noise divided by zero.
    assert np.abs(np.diff(found, axis=0)).max() < 1.0


def test_at_a_tool_center_the_moment_is_about_it():
    model = fd.Model(FER)
    tool = np.array([0.0, 0.05, 0.1])
    arm = model.frames(FER.home)[-1][:3, :3] @ tool
    force = np.array([4.0, 6.0, -2.0])
    torque = model.jacobian(FER.home).T @ np.concatenate([force, np.cross(arm, force)])
    estimate = external_torque.WrenchEstimator(model, offset=tool).estimate(FER.home, torque)
    # A force at the tool centre has no moment about it.
    np.testing.assert_allclose(estimate.wrench, [*force, 0.0, 0.0, 0.0], rtol=0, atol=1e-9)


@pytest.mark.parametrize('offset', [(0.0, 1.0), (0.0, 0.0, np.nan), (0.0, 0.0, 11.0), 'flange'])
def test_a_tool_center_that_is_no_point_is_refused(offset):
    with pytest.raises(SettingsError, match=r'offset (is|must)'):
        external_torque.WrenchEstimator(fd.Model(FER), offset=offset)


@pytest.fixture
def received_torques(monkeypatch):
    """Return what cores take for the torque of the receiver, (n,) [N m], state by state."""
    torques = []
    update = MomentumObserver.update

    def kept(observer, stamp, q, dq, torque, gravity):
        torques.append(torque[0])
        return update(observer, stamp, q, dq, torque, gravity)

    monkeypatch.setattr(MomentumObserver, 'update', kept)
    return torques


@pytest.mark.parametrize('late', [0, 4])
def test_a_state_shows_the_torque_that_was_sent_before_its_age(late, received_torques):
    weak = Settings(target='mujoco', kp=WEAK_KP, kd=WEAK_KD)
    still = np.zeros(7)
    controller = core(weak, limits=StateLimits())
    count = MIN_GOOD_STATE_COUNT
    sent_at_rest(controller, count, begin=2.0 - 1e-3 * count, age=1e-3 * late)
    sent = []
    for k in range(20):
        dq = still + 1e-3 * (k % 7)  # so that each torque is another
        sent.append(controller.step(FER.home, dq, 2.0 + 1e-3 * k, age=1e-3 * late))
    assert controller.state is State.RUNNING
    np.testing.assert_array_equal(received_torques[-1], sent[-2 - late])


def test_a_receiver_that_holds_torques_keeps_the_last_one(received_torques):
    controller = core(applied_when_silent=True)
    sent_at_rest(controller, MIN_GOOD_STATE_COUNT // 2)
    assert controller.state is State.SILENT
    gravity = fd.NewtonEulerModel(FER).gravity(FER.home)
    np.testing.assert_allclose(received_torques[-1], gravity, rtol=1e-9, atol=1e-9)


TERMS = core(Settings(target='fci')).requested_law.terms
SAID = re.compile(r'([\d.]+) \+- ([\d.]+) kg at the flange that nobody declared')


def monitored(recording, more=0.0):
    """Return, after each state, the reported load and the largest torque as share of its bound."""
    monitor = DisturbanceMonitor(FER, StateLimits(), TERMS)
    said = []
    shares = []
    states = recording.time.tolist(), recording.q, recording.dq, recording.effort + more
    for time, q, dq, effort in zip(*states):
        monitor.update(TERMS.terms_at(time, q, dq, None), effort, [], 0, silent=True)
        said.append(monitor.load_estimator.load_mass_text())
        shares.append(float((np.abs(monitor.external_torque) / monitor.running_bound).max()))
    return said, shares


def test_real_bare_arms_show_no_load_and_come_near_no_bound(fer_recording, fer_1khz_recording):
    for one in (fer_recording, fer_1khz_recording):
        said, shares = monitored(one)
        assert not any(said)
        assert 0.1 < max(shares[np.searchsorted(one.time, one.time[0] + 0.2, 'right') :]) < 0.8


def test_a_load_is_seen_on_recordings_of_real_arms(fer_recording, fer_1khz_recording):
    # Both arms are bare: the torque of the load is added to what was measured.
    kg = 0.71
    bare = fd.Model(FER)
    loaded = fd.Model(fd.load('fer', payload=[kg, 0.01, 0.0, 0.07]))
    for recording in (fer_recording, fer_1khz_recording):
        one = recording.select(recording.time < recording.time[0] + 12.0)
        ddq = np.gradient(one.dq, one.time, axis=0)
        more = loaded.inverse_dynamics(one.q, one.dq, ddq)
        more -= bare.inverse_dynamics(one.q, one.dq, ddq)
        said, _ = monitored(one, more)
        assert not any(said[: np.searchsorted(one.time, one.time[0] + 2.0)])
        masses = [float(SAID.match(text)[1]) for text in said if text]
        assert len(masses) > 0.7 * len(said) and masses[-1] == pytest.approx(kg, abs=0.1)
        deviation = float(SAID.match(said[-1])[2])
        assert abs(masses[-1] - kg) < 3.0 * deviation < 0.3


@pytest.mark.parametrize('kg', [0.0, 0.6])
def test_rotors_that_sensors_do_not_feel_are_no_load(kg):
    # As a noisy policy moves it: small and fast. The model has rotors, which sensors behind the
    # drives do not measure.
    arm = fd.load('fr3').with_armature()
    rotors = np.array([joint.rotor_inertia for joint in arm.joints])
    bare = fd.NewtonEulerModel(fd.load('fr3'))
    loaded = bare
    if kg:
        loaded = fd.NewtonEulerModel(fd.load('fr3', payload=[kg, 0.0, 0.0, 0.05]))
    rate = 20.0  # rad/s
    estimator = LoadEstimator(arm, MAX_REST_SPEED_RAD_S)
    model = fd.Model(arm)
    for time in 0.006 * np.arange(1000):
        wave = 0.05 * np.exp(1j * rate * time) * np.ones(7)
        q, dq = arm.home + wave.imag, rate * wave.real
        late = time - 0.5 * AVERAGING_BLOCK_S  # as the momentum observer is
        wave = 0.05 * np.exp(1j * rate * late) * np.ones(7)
        then = arm.home + wave.imag, rate * wave.real, -(rate**2) * wave.imag
        external = loaded.inverse_dynamics(*then) - bare.inverse_dynamics(*then)
        estimator.update(time, q, dq, external - rotors * then[2], model)
    said = estimator.load_mass_text()
    if not kg:
        assert said == ''
    else:
        mass, deviation = map(float, SAID.match(said).groups())
        assert abs(mass - kg) < 3.0 * deviation < 0.3


@pytest.mark.parametrize(('side', 'sign'), [('upper', 1.0), ('lower', -1.0)])
def test_a_joint_that_presses_against_its_stop_is_told_first(side, sign):
    arm = fd.load('fr3')
    wrist = np.eye(7)[6]
    at_limit = np.where(wrist, arm.limit(side) - 0.01 * sign, arm.home_position)
    for q, pressed, is_told in (
        (at_limit, sign * 5.0, True),
        (at_limit, -sign * 5.0, False),
        (arm.home_position, sign * 5.0, False),
    ):
        controller = core(Settings(target='mujoco'), arm=arm, applied_when_silent=True)
        gravity = fd.NewtonEulerModel(arm).gravity(q)
        begin = 1200  # for 1 s an arm at rest is not judged, because brakes may open late
        for k in range(begin + 100):
            effort = None if k < begin else gravity + pressed * wrist
            controller.step(q + 1e-12 * (-1) ** k, STILL, 1.0 + 1e-3 * k, effort=effort)
        assert ' departs by ' in controller.why
        said = f': fr3_joint7 is at its {side} limit, and may have hit its stop, or '
        assert (said in controller.why) is is_told


@pytest.mark.parametrize(('side', 'sign'), [('upper', 1.0), ('lower', -1.0)])
def test_an_impossible_torque_of_an_arm_at_a_stop_names_the_stop_first(side, sign):
    # An impact of the elbow is felt at the wrist, too, where it exceeds more of the torque limit.
    arm = fd.load('fr3')
    elbow, wrist = np.eye(7)[[3, 5]]
    at_limit = np.where(elbow, arm.limit(side) - 0.01 * sign, arm.home_position)
    for q, is_told in ((at_limit, True), (arm.home_position, False)):
        controller = core(Settings(target='mujoco'), arm=arm)
        effort = fd.NewtonEulerModel(arm).gravity(q) + 40.0 * wrist + 20.0 * elbow
        controller.step(q, STILL, 1.0, effort=effort)
        said = (
            f': fr3_joint4 is at its {side} limit, and may have hit its stop, or efforts are not'
        )
        assert 'the effort of fr3_joint6 is ' in controller.why
        assert (said in controller.why) is is_told
        assert 'limit: efforts are not in N m' in controller.why or is_told


def falls_by(name, declared, carried, *, measures):
    """Return the sentence that stops an arm with gentle gains and another load than declared."""
    arm = fd.load(name)
    kp, kd = default_gains(arm)
    gentle = {'kp': tuple(kp), 'kd': tuple(kd)}
    loads = [payload(mass) if mass else (0.0,) * 10 for mass in (declared, carried)]
    settings = Settings(target='mujoco', payload=loads[0], **gentle)
    loop = Loop(settings, description=arm, measures=measures)
    loop.arm.set_payload(Settings(payload=loads[1]).payload_inertia())
    loop.until(State.BRAKING, 3.0)
    return loop.controller.why


@pytest.mark.parametrize('measures', [True, False])
@pytest.mark.parametrize('declared', [0.5, 1.0])
def test_a_payload_that_is_not_there_is_named_where_it_moves_the_arm(declared, measures):
    # At 0.5 kg all torques are within their bounds.
    said = falls_by('fr3', declared, 0.0, measures=measures)
    assert ' moves at ' in said
    assert f': {declared:g} kg are declared that the motion does not show' in said


@pytest.mark.parametrize('measures', [True, False])
def test_a_load_that_nobody_declared_is_named_where_it_moves_the_arm(measures):
    said = falls_by('fer', 0.0, 1.0, measures=measures)
    found = re.search(r' moves at .*: about ([\d.]+) kg at the flange that nobody declared', said)
    # Within half of it: the arm has fallen for a moment only.
    assert abs(float(found[1]) - 1.0) <= 0.5


@pytest.mark.parametrize(('target', 'measures'), [('fci', True), ('mujoco', False)])
def test_a_load_named_in_motion_changes_no_torque(target, measures):
    simulation = CARRIED if target == 'fci' else {'friction': True}
    loop = Loop(Settings(target=target, **FIRM), measures=measures, **simulation).run(0.3)
    loop.arm.set_payload(Settings(payload=payload(0.7)).payload_inertia())
    loop.run(0.6)
    assert not loop.controller.disturbances.load_estimator.load_mass_text()  # at rest
    loop.follow(multisine(FER, 8.0, 0.3))
    loop.run(1.8)
    assert not loop.controller.disturbances.load_estimator.load_mass_text()  # not yet
    loop.run(2.4)
    assert loop.controller.state is State.RUNNING
    mass, deviation = map(float, SAID.search(loop.controller.status.why).groups())
    assert abs(mass - 0.7) < 3.0 * deviation < 0.3
    loop.controller.change(payload=payload(0.7))  # now it is declared
    loop.run(0.5)
    assert 'nobody' not in loop.controller.status.why
