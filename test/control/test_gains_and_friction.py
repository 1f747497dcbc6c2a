# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Default gains, predicted tracking errors, and friction fed forward in closed loops."""

from dataclasses import replace
import functools
import re
import sys
from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest
from scipy.linalg import expm
import yaml

from franka_dynamics.arm import LinkInertia, load, MaxwellSlipFriction, ViscousCoulombFriction
from franka_dynamics.arm.friction import friction_torque, slip_state_bounds
from franka_dynamics.arm_io import load_arm, write_urdf
from franka_dynamics.control import terms
from franka_dynamics.control.control_law import ControlLaw
from franka_dynamics.control.default_gains import default_gains, low_gains
from franka_dynamics.control.feedforward import Feedforward, State
from franka_dynamics.control.settings import Settings, Terms
from franka_dynamics.dynamics.body_tree import BodyTree
from franka_dynamics.dynamics.derivatives import linearize
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.errors import FrictionError, InertiaError, SettingsError
from franka_dynamics.files import share_directory
from franka_dynamics.identification.identify import identify
from franka_dynamics.ros.node.controller_factory import STATE_TIMEOUT_PERIOD_COUNT
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings
from franka_dynamics.tracking import friction_export, tracking
from franka_dynamics.urdf.writer import urdf_text

from ..agreement import refuses
from ..arms import random_covariance, slip_states
from ..scripts import loaded, ROOT

N = 3
REACH = np.array([0.004, 0.3])
ROUNDING_NM = 1e-12


def maxwell(coefficients, covariance=None):
    return MaxwellSlipFriction(*coefficients[:3], coefficients[3:], REACH, covariance=covariance)


def random_friction(rng, least=-0.1):
    """Return an identified friction: no coefficient is certain, some are not identifiable."""
    return maxwell(rng.uniform(least, 1.0, (5, N)), random_covariance(rng, N, 5))


def path(rng, count=400):
    """Return a random motion with turns, large and small, shape (count, N)."""
    return 0.004 * rng.uniform(0.1, 5.0, N) * rng.normal(0.0, 1.0, (count, N)).cumsum(axis=0)


def commanded(known, q, dq):
    """Return the friction feedforward at each state of a motion, (k, n)."""
    feedforward = terms.FrictionFeedforward(known)
    torques = []
    for step, (position, velocity) in enumerate(zip(q, dq)):
        feedforward.update(1e-3 * step, position)
        torques.append(feedforward.torque(velocity))
    return np.array(torques)


@pytest.mark.parametrize('uncertain', [False, True])
@pytest.mark.parametrize('seed', range(3))
def test_no_arm_within_two_deviations_is_overcompensated(seed, uncertain):
    # Given an identified friction, and a true one anywhere within two deviations of it.
    rng = np.random.default_rng(seed)
    known = random_friction(rng)
    errors = rng.normal(size=(N, 5, 1))
    errors *= 2.0 * uncertain / np.linalg.norm(errors, axis=1, keepdims=True)
    errors = (np.linalg.cholesky(known.covariance) @ errors)[..., 0].T
    true = maxwell(known.coefficients + errors)
    # When a motion is followed from an unknown state of the slip elements.
    q = (1 + 9 * uncertain) * path(rng)
    dq = rng.uniform(-1.0, 1.0, (400, N))
    z = slip_states(q, REACH, rng.uniform(-1.0, 1.0, (2, N)))
    found = commanded(known if uncertain else true, q, dq)
    # Then the command acts along the motion, and never exceeds the friction without its offset.
    along = np.sign(dq) * found
    taken = np.sign(dq) * ([true.torque(*state) for state in zip(dq, z)] - true.offset)
    # The margin is that of a state of the elements that is known.
    lower, upper = slip_state_bounds(q, REACH)
    judged = (lower == upper).all(axis=1) if uncertain else True
    over = along > np.maximum(taken, 0.0) + ROUNDING_NM
    assert (along >= -ROUNDING_NM).all() and not (over & judged).any()
    assert np.count_nonzero((along > 0.01) & judged) > 100  # it is not always zero


def test_all_but_two_deviations_of_the_sum_is_commanded():
    # Coefficients that are uncertain alone, and certain in the sum of a sliding joint.
    tight = 0.01 * np.eye(3)
    tight[1, 2] = tight[2, 1] = -0.01
    spread = np.zeros((1, 5, 5))
    spread[0][np.ix_([1, 3, 4], [1, 3, 4])] = tight
    known = maxwell([[0.0], [0.3], [0.05], [0.2], [0.1]], spread)
    q = 1e-3 * np.arange(1000)[:, None]  # all elements slip forwards
    found = commanded(known, q, np.full_like(q, 0.5))[-1, 0]  # tanh is 1 to the last bit
    assert found == pytest.approx(0.6 - 2.0 * 0.1, abs=ROUNDING_NM)


FRICTION_MODELS = [
    load('fer').friction,
    ViscousCoulombFriction(np.ones(7), np.ones(7), np.full(7, 0.5)),
    MaxwellSlipFriction(*np.ones((3, 7)), np.ones((2, 7)), REACH),
]


@pytest.mark.parametrize('friction', FRICTION_MODELS)
def test_at_rest_nothing_is_pushed_by_noise(friction):
    rng = np.random.default_rng(0)
    q = rng.normal(0.0, 1e-4, (500, 7))  # ten times a resting arm's encoder noise
    dq = rng.uniform(-terms.MIN_FRICTION_SPEED_RAD_S, terms.MIN_FRICTION_SPEED_RAD_S, (500, 7))
    q[-1] += 1.0  # all elements slip forwards
    dq[-1] = terms.MAX_REST_SPEED_RAD_S
    found = commanded(friction, q, dq)
    np.testing.assert_array_equal(found[:-1], 0.0)
    assert (found[-1] > 0.0).any()


def test_after_a_turn_the_elements_are_followed():
    # Coulomb friction changes sign at once; a slip element takes twice its reach.
    q = np.concatenate([np.linspace(0.0, 0.02, 100), np.linspace(0.02, 0.008, 100)])
    dq = np.repeat([0.5, -0.5], 100)
    slip = MaxwellSlipFriction(*np.zeros((3, 1)), [[1.0]], [0.004])
    torque = commanded(slip, q[:, None], dq[:, None])[:, 0]
    # After the turn the slip element still pulls along the motion: no friction is to be overcome.
    half = 100 + np.flatnonzero(q[100:] < 0.02 - 0.004)[0]
    np.testing.assert_array_equal(torque[101 : half - 1], 0.0)
    assert torque[[99, -1]] == pytest.approx([1.0, -1.0])


def test_along_a_trajectory_is_what_the_cycles_give():
    rng = np.random.default_rng(3)
    friction = random_friction(rng)
    q = path(rng)
    dq = rng.uniform(-1.0, 1.0, (400, N))
    along = terms.FrictionFeedforward(friction).torque_along(q, dq)
    np.testing.assert_allclose(along, commanded(friction, q, dq), rtol=0.0, atol=ROUNDING_NM)


FER = load('fer')
ONES = np.ones(7)
DQ = np.linspace(-1.0, 1.0, 401)[:, None] * ONES


def franky_torque(text, dq, monkeypatch):
    """Return the torque of computeFrictionCompensation and constant_torque_offset (2.0)."""
    names = {}
    made = SimpleNamespace(FrictionCompensationParams=lambda **given: SimpleNamespace(**given))
    monkeypatch.setitem(sys.modules, 'franky', made)
    exec(text, names)  # the text is Python
    p = names['FRICTION']
    raw = p.coulomb * np.tanh(dq / p.velocity_epsilon) + np.multiply(p.viscous, dq)
    return np.clip(raw, np.negative(p.max_torque), p.max_torque) + names['CONSTANT_TORQUE_OFFSET']


def crisp_torque(text, dq):
    """Return the torque of get_friction, with the parameters of a parameter file."""
    parameters = yaml.safe_load(text)['/**']['ros__parameters']
    fp1, fp2, fp3 = (np.array(parameters['friction'][f'fp{k}']) for k in (1, 2, 3))
    assert parameters['use_friction'] is True
    return fp1 / (1.0 + np.exp(-fp2 * (dq + fp3))) - fp1 / (1.0 + np.exp(-fp2 * fp3))


def test_gazs_friction_is_crisps_default():
    found = crisp_torque(friction_export.crisp_text(FER), DQ)
    np.testing.assert_allclose(found, FER.friction.torque(DQ), rtol=0.0, atol=3e-3)


def test_coulomb_and_viscous_friction_with_offset_are_frankys(monkeypatch):
    friction = ViscousCoulombFriction(0.2 * ONES, 0.5 * ONES, -0.1 * ONES, width=0.03)
    text = friction_export.franky_text(replace(FER, friction=friction))
    found = franky_torque(text, DQ, monkeypatch)
    moving = np.abs(DQ) > 0.05
    np.testing.assert_allclose(found[moving], friction.torque(DQ)[moving], rtol=0.0, atol=5e-3)


@pytest.mark.parametrize('written', [friction_export.franky_text, friction_export.crisp_text])
def test_the_error_is_stated_and_the_margin_kept(written, monkeypatch):
    rubbing = MaxwellSlipFriction(
        *(x * ONES for x in (0.1, 0.2, 0.05)),
        np.outer((0.2, 0.1), ONES),
        reach=(0.004, 0.3),
        covariance=np.tile(np.diag([0.0, 0.03**2, 0.0, 0.0, 0.0]), (7, 1, 1)),
    )
    text = written(replace(FER, friction=rubbing))
    rows = re.findall(r'\[([^]]*)\] N m', text)
    error, size = (np.array(one.split(','), dtype=float) for one in rows)
    assert (0.02 < error).all() and (error < 0.4 * size).all()
    crisp = written is friction_export.crisp_text
    sliding = rubbing.torque(DQ)
    found = crisp_torque(text, DQ) if crisp else franky_torque(text, DQ, monkeypatch)
    assert (np.abs(found[[0, -1]]) < np.abs(sliding[[0, -1]]) - 0.04).all()


def test_friction_that_nobody_commands_is_told_in_each_joints_unit():
    arm = load('rpr')  # its second joint slides
    kp = (10.0, 20.0, 30.0)
    law = ControlLaw(arm, Settings(target='mujoco', kp=kp, kd=(1.0,)))
    turning, sliding, last = friction_torque(arm.friction, np.full(3, 0.5), None)
    low, high = sorted((turning, last))
    error = max(turning / kp[0], last / kp[2])
    note = law.unused_friction_note()
    assert f'{low:.2g} to {high:.2g} N m at 0.5 rad/s' in note
    assert f'{sliding:.2g} N at 0.5 m/s' in note
    assert f'{1e3 * error:.2g} mrad and {1e3 * sliding / kp[1]:.2g} mm' in note


def test_an_arm_without_friction_is_refused():
    with refuses(FrictionError, 'fr3', 'identify'):
        friction_export.franky_text(load('fr3'))


with loaded(ROOT / 'benchmarks/other_plant.py') as other_plant:
    pass
ARM = load('fr3')
TRUE = ARM.simulated_friction
GAINS = {
    'none': {},
    'gentle': {
        'kp': (60.0,) * 4 + (15.0, 15.0, 5.0),
        'kd': (6.0,) * 4 + (1.0, 1.0, 0.3),
    },
    'firm': {
        'kp': (600.0,) * 4 + (250.0, 100.0, 20.0),
        'kd': (50.0,) * 4 + (6.0, 3.0, 1.0),
    },
}


def friction(factor, wrong=None):
    """Return a multiple of the true friction, with the wrong sign at one joint."""
    factors = np.where(np.arange(7) == wrong, -factor, factor)
    return ViscousCoulombFriction(factors * TRUE.viscous, factors * TRUE.coulomb, np.zeros(7))


def plant(make):
    settings = SimulationSettings(
        start_position=np.array(ARM.home),
        gravity_compensation=True,
        friction=True,
        armature=True,
        brake_release_after=0.0,
        position_noise=1e-6,
        velocity_noise=4e-3,
        effort_noise=0.15,
    )
    if make == 'own':
        return ArmSimulation(ARM, settings)
    return other_plant.OtherPlant(ARM.home_position, settings)


def swing(core, step):
    """All joints to and fro, with reversals, then rest."""
    if step == 300:
        times = np.linspace(0.0, 2.0, 101)
        way = 0.15 * np.sin(2.0 * np.pi * times) * np.sin(0.5 * np.pi * times) ** 2
        core.follow(ARM.home + np.outer(way, np.ones(7)), times)


def stream(core, step):
    """Set-points at 100 Hz that jump by 0.06 rad."""
    if 300 <= step < 1300 and step % 10 == 0:
        core.follow(ARM.home + 0.03 * (-1.0) ** (step // 500) * np.ones(7))


FASTEST = {swing: 0.98, stream: 0.68}  # the reference [rad/s]
DURATION_S = {swing: 3.3, stream: 2.6}


@functools.cache
def run(make, gains, factor, wrong=None, moves=swing):
    """Return largest speed, largest speed and step in the last half second, rms error, state."""
    arm = plant(make)
    known = replace(ARM, friction=friction(factor, wrong))
    core = Feedforward(known, terms=Terms(friction=factor > 0.0), **GAINS[gains])
    speeds = []
    places = []
    errors = []
    for step in range(round(1000 * DURATION_S[moves])):
        reading = arm.read()
        torque = core.step(reading.position, reading.velocity, reading.time, effort=reading.effort)
        if core.state is State.RUNNING:
            moves(core, step)
        arm.step(torque)
        speeds.append(np.abs(arm.data.qvel[:7]).max())
        places.append(arm.position)
        if core.reference.motion is not None:
            errors.append(core.reference.motion.at(reading.time).q - places[-1])
    rest = np.ptp(places[-500:], axis=0).max()
    return (
        max(speeds),
        max(speeds[-500:]),
        rest,
        np.sqrt(np.mean(np.square(errors))),
        core.state,
    )


@pytest.mark.parametrize(
    ('make', 'gains', 'moves'),
    [('own', 'gentle', swing), ('other', 'firm', swing), ('other', 'gentle', stream)],
)
def test_too_much_friction_neither_drives_nor_shakes_the_arm(make, gains, moves):
    without, slow, rest, error, _ = run(make, gains, 0.0, moves=moves)
    fastest, end, shaken, better, state = run(make, gains, 1.3, moves=moves)
    assert state is State.RUNNING and fastest < max(without, FASTEST[moves]) + 0.05
    assert end < slow + 0.01 and shaken < rest + 3e-3  # no limit cycle
    assert better < 0.9 * error


def test_too_much_friction_without_gains_makes_no_joint_faster():
    fastest, end, *_ = run('other', 'none', 1.3)
    assert fastest < FASTEST[swing] + 0.05 and end < 0.02


@pytest.mark.parametrize('make, gains', [('other', 'none'), ('other', 'firm')])
def test_friction_of_the_wrong_sign_at_one_joint_does_not_drive(make, gains):
    without, slow, *_ = run(make, gains, 0.0)
    fastest, end, *_, state = run(make, gains, 1.0, wrong=1)
    assert state is State.RUNNING
    assert fastest < max(without, FASTEST[swing]) + 0.05 and end < slow + 0.02


@pytest.mark.parametrize('gains', ['none', 'gentle'])
def test_at_rest_and_led_by_hand_nothing_is_added(gains):
    """Without a motion and without kp there is no reference; a held arm's stands still."""
    arm = replace(ARM, friction=friction(1.3))
    options = GAINS[gains]
    cores = [Feedforward(arm, terms=one, **options) for one in (Terms(), Terms(friction=True))]
    rng = np.random.default_rng(0)
    q = np.array(ARM.home)
    for step in range(400):
        led = 0.3 * np.sin(0.02 * step) * (gains == 'none') * (step > 200)
        q = q + 1e-3 * led
        state = (
            q + 1e-6 * rng.normal(size=7),
            led + 4e-3 * rng.normal(size=7),
            1e-3 * step,
        )
        one, other = (core.step(*state) for core in cores)
        np.testing.assert_array_equal(one, other)
    assert cores[1].state is State.RUNNING


ARMS = [('fer', 'none'), ('fr3', 'none'), ('fr3', 'franka_hand'), ('fr3v2', 'none')]


def hold_radius(linear, kp, kd, period, age=0.0):
    """
    Return the spectral radius when torques are held for a period and act late [s]; stable below 1.

    Of tau = g(q) - kp (q - q0) - kd dq at rest: states come once per period and are `age` old
    then. One step takes the state from one sample to the next, through the torque before last and
    the last one (Astrom, Wittenmark 1997, Computer-Controlled Systems, section 2.3).
    """
    n = len(linear.ddq)
    by_q = linear.A[n:, :n]
    per_torque = linear.B[n:]
    # g(q) is part of the feedback, and A_qq = -M^-1 dg/dq at rest.
    gain = np.hstack((np.diag(kp) + np.linalg.solve(per_torque, by_q), np.diag(kd)))

    def flow(time):
        """Return the effect of a state and of a constant feedback after a time."""
        rates = np.zeros((4 * n, 4 * n))
        rates[: 2 * n, : 2 * n] = linear.A
        rates[n : 2 * n, 2 * n :] = -per_torque @ gain
        whole = expm(rates * time)
        return whole[: 2 * n, : 2 * n], whole[: 2 * n, 2 * n :]

    # Between two samples, the torque of the sample `whole` + 1 before acts first, for the time
    # `rest`, then the torque of the sample `whole` before.
    whole = int(age / period)
    rest = age - whole * period
    (free, _), (then, late), (_, early) = flow(period), flow(period - rest), flow(rest)
    size = len(free)
    closed = np.eye(size * (whole + 2), k=-size)
    closed[:size] = 0.0
    closed[:size, :size] = free
    closed[:size, size * whole : size * (whole + 1)] += late
    closed[:size, size * (whole + 1) :] += then @ early
    return float(np.abs(np.linalg.eigvals(closed)).max())


def limits(target):
    """Return what a target's parameter file allows states and silence to be [s]."""
    path = share_directory() / 'config' / 'feedforward' / f'{target}.yaml'
    given = yaml.safe_load(path.read_text(encoding='utf-8'))['/**']['ros__parameters']
    assert given['kp'] == [-1.0]
    return given['max_state_age'], STATE_TIMEOUT_PERIOD_COUNT * given['period']


@pytest.mark.parametrize(('name', 'hand'), ARMS)
def test_states_of_any_age_held_as_long_as_allowed_are_stable(name, hand):
    oldest, silent = limits('gz_ros2_control')
    assert 0.0 < oldest < silent and limits('franka_gazebo') == (oldest, silent)
    arm = load(name, hand=hand)
    model = NewtonEulerModel(arm)
    home = arm.home_position
    gains = default_gains(arm)
    linear = linearize(BodyTree.from_description(arm), home, np.zeros(arm.n), model.gravity(home))
    for age in oldest * np.linspace(0.0, 0.8, 5):
        for period in (silent * (1.0 - age / oldest)) * np.linspace(0.125, 1.0, 4):
            assert hold_radius(linear, *gains, period, age) < 1.0
    # The oldest age and the longest silence together are unstable.
    assert hold_radius(linear, *gains, silent, oldest) > 1.0


def test_default_gains_decay_one_joint_alone_at_the_stated_rate():
    arm = load('fer')
    kd = default_gains(arm)[1]
    model = NewtonEulerModel(arm, (0.0, 0.0, 0.0))
    # The torque of each joint alone at 1 rad/s
    ddq = [model.forward_dynamics(arm.home, np.zeros(7), torque) for torque in -np.diag(kd)]
    np.testing.assert_allclose(np.diag(ddq), -4.0, rtol=1e-12)


@pytest.mark.parametrize('gains', [default_gains, lambda arm: low_gains(arm, 100.0)])
def test_a_joint_that_moves_no_mass_gets_no_gains(gains):
    arm = load('fer', hand='none')
    joints = (*arm.joints[:-1], replace(arm.joints[-1], rotor_inertia=0.0))
    with refuses(InertiaError, 'singular'):
        gains(replace(arm, joints=joints, links=(*arm.links[:-1], LinkInertia.zero())))


@pytest.mark.parametrize('held', [0.0, -0.1, 1e-5, np.nan])
def test_a_time_for_which_no_torque_is_held_is_refused(held):
    with refuses(SettingsError, 'hold_time', f'{held}'):
        default_gains(load('fr3'), held)


@pytest.mark.parametrize(('name', 'hand'), ARMS)
@pytest.mark.parametrize('held', [0.05, 0.1])
def test_firmer_gains_bear_torques_held_as_long_as_stated(held, name, hand):
    arm = load(name, hand=hand)
    model = NewtonEulerModel(arm)
    home = arm.home_position
    gains = default_gains(arm, held)
    linear = linearize(BodyTree.from_description(arm), home, np.zeros(arm.n), model.gravity(home))
    for share in (0.1, 0.5, 1.0):
        assert hold_radius(linear, *gains, share * held) < 1.0
    assert hold_radius(linear, *gains, 0.1 * held, 0.4 * held) < 1.0
    assert hold_radius(linear, *gains, 1.5 * held) > 1.0


@pytest.mark.parametrize('arm', ['fer', 'fr3', 'fr3v2'])
def test_gains_scaled_by_the_inertia_suit_every_arm(arm):
    # With fixed gains joint 7's velocity changed by 4.4 times itself in 1 ms; over 2 is unstable.
    description = load(arm)
    kp, kd = low_gains(description, 100.0)
    inverse = np.linalg.inv(NewtonEulerModel(description).mass_matrix(description.home))
    assert np.linalg.eigvals(inverse * kd).real.max() * 1e-3 < 0.5 and (kp > 0.0).all()


KP = np.array([600.0] * 4 + [250.0, 150.0, 50.0])
KD = np.array([30.0] * 4 + [10.0, 10.0, 5.0])


def halves(recording):
    middle = recording.time[-1] / 2.0
    return recording.select(recording.time < middle), recording.select(recording.time >= middle)


def independent(recording, arm):
    """Return rms errors (3, 7) without and with velocity reference, and with C dq + M ddq."""
    from scipy.signal import butter, filtfilt

    rate = 200.0 if np.median(np.diff(recording.time)) < 0.005 else 30.0
    grid = np.arange(0.0, recording.time[-1], 1.0 / rate)
    low = butter(2, 5.0 / (0.5 * rate))
    q, dq, effort = (
        filtfilt(*low, np.stack([np.interp(grid, recording.time, c) for c in x.T], 1), axis=0)
        for x in (recording.q, recording.dq, recording.effort)
    )
    ddq = np.gradient(dq, 1.0 / rate, axis=0)
    inner = slice(round(0.3 * rate), -round(0.3 * rate))
    # The robot adds the gravity torque of the published arm.
    model, robot = (pin.buildModelFromXML(urdf_text(one)) for one in (arm, FER))
    data = model.createData()
    robot_data = robot.createData()
    rests = []
    for state in zip(q[inner], dq[inner], ddq[inner], effort[inner]):
        left = state[3] - pin.computeGeneralizedGravity(robot, robot_data, state[0])
        own_gravity = pin.computeGeneralizedGravity(model, data, state[0])
        moving = pin.rnea(model, data, *state[:3]) - own_gravity
        rests.append([left + KD * state[1], left, left - moving])
    return np.sqrt(np.mean((np.array(rests) / KP) ** 2, axis=0))


@pytest.mark.parametrize('fixture', ['fer_recording', 'fer_1khz_recording'])
def test_on_a_real_arm_friction_takes_a_third_of_what_is_left(fixture, request):
    learnt, left_out = halves(request.getfixturevalue(fixture))
    arm = replace(identify([learnt], FER).arm, file='identified.yaml', inertial_set='identified')
    found = tracking.predict_tracking(left_out, arm, 'franka_ros2')
    rows = dict(zip(found.feedforward_names, found.errors))
    expected = independent(left_out, arm)
    names = (
        'PD that damps to rest',
        'PD with velocity reference',
        '+ C dq + M ddq, identified',
    )
    np.testing.assert_allclose([rows[name] for name in names], expected, rtol=0.02)
    total = dict(zip(found.feedforward_names, found.total_errors))
    assert total['+ C dq + M ddq, identified'] > 3.0 * total['+ friction, identified']
    assert total['+ friction, published'] > total['+ friction, identified']


def test_with_the_true_model_and_friction_nothing_is_left(simulate):
    true = replace(FER, friction=ViscousCoulombFriction(*np.full((3, 7), 0.5)))
    log = simulate(true, friction=true.friction, rate=100.0)
    found = tracking.predict_tracking(log, replace(true, file='own.yaml'), 100.0, 0.0)
    *_, without, whole = found.total_errors
    assert whole < 0.02 * without  # 0.005; of filtered states 0.08, as they blur reversals
    assert found.feedforward_names[-1].startswith('+ friction')


def test_a_set_named_published_is_compared_with_the_published(simulate):
    own = replace(FER, file='own.yaml', inertial_set='published')
    found = tracking.predict_tracking(simulate(FER, rate=100.0), own, 100.0, 0.0)
    inertia = [row for row in found.feedforward_names if 'M ddq' in row]
    assert inertia == ['+ C dq + M ddq, published', '+ C dq + M ddq, this arm']


def test_the_published_arm_carries_the_load_of_the_arm(simulate):
    own = replace(FER, file='own.yaml', inertial_set='own')
    loaded = own.with_payload([2.0, 0.0, 0.0, 0.1])
    found = tracking.predict_tracking(simulate(loaded, rate=100.0), loaded, 100.0, 0.0)
    rows = dict(zip(found.feedforward_names, found.errors))
    # Nothing but the file's name tells the two arms apart.
    expected = rows['+ C dq + M ddq, own']
    np.testing.assert_allclose(rows['+ C dq + M ddq, published'], expected, rtol=1e-9)


def test_the_robot_of_a_urdf_carries_the_hand_of_the_urdf(simulate, tmp_path):
    path = tmp_path / 'fer.urdf'
    write_urdf(load('fer', hand='franka_hand'), path)
    arm = load_arm(path)
    found = tracking.predict_tracking(simulate(arm, rate=100.0), arm, 600.0)
    rows = dict(zip(found.feedforward_names, found.errors))
    own = [name for name in rows if 'M ddq' in name and 'published' not in name]
    assert len(own) == 1 and (rows[own[0]] < 1e-4).all()  # rad; 2e-3 without the hand


@pytest.mark.parametrize(
    ('gains', 'words'),
    [
        ((0.0,), ['kp above zero']),
        ((KP, -1.0), ['kd']),
        (('600,firm',), ['600,firm', 'franka_ros2']),
        (([1.0, 2.0],), ['kp', '7']),
    ],
)
def test_gains_at_fault_are_named(gains, words, simulate):
    with refuses(SettingsError, *words):
        tracking.predict_tracking(simulate(FER), FER, *gains)
