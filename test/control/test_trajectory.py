# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Motions between states against SciPy's polynomials, and against the arms' limits."""

import numpy as np
import pytest
from scipy.interpolate import BPoly

from franka_dynamics.arm import load
from franka_dynamics.control.trajectory import Trajectory
from franka_dynamics.demo.multisine import multisine
from franka_dynamics.errors import ReferenceRefusedError

from .closed_loop import FER

FR3 = load('fr3')
# Polynomials of degree five with values of order one. The second derivative divides rounding
# errors by the square of a duration of 0.1 to 1 s.
ATOL = 1e-7


@pytest.fixture
def motion():
    """Return a motion through six drawn states that ends without velocity."""
    rng = np.random.default_rng(3)
    states = rng.uniform(-1.0, 1.0, (6, 3, 7))
    states[-1, 1] = 0.0
    return Trajectory(np.cumsum(rng.uniform(0.1, 1.0, 6)), states, 100.0)


def test_segments_are_the_quintics_of_their_ends(motion):
    polynomial = BPoly.from_derivatives(motion.times, motion.states)
    times = np.linspace(motion.times[0] + 1e-3, motion.times[-1] - 1e-3, 201)
    found = motion.at_times(times)
    single = np.array([motion.at(100.0 + time) for time in times])
    for order in range(3):
        expected = polynomial.derivative(order)(times)
        np.testing.assert_allclose(found[:, order], expected, rtol=0.0, atol=ATOL)
        np.testing.assert_allclose(single[:, order], expected, rtol=0.0, atol=ATOL)


def test_outside_its_times_a_motion_rests_at_its_ends(motion):
    for stamp, row in ((motion.begin - 1.0, 0), (motion.end + 1e-9, -1), (motion.end + 1.0, -1)):
        expected = motion.positions[row], np.zeros(7), np.zeros(7)
        np.testing.assert_array_equal(motion.at(stamp), expected)
    late = motion.at_times(motion.times[-1] + np.array([0.1, 9.0]))
    np.testing.assert_allclose(late[:, 0], motion.positions[[-1, -1]], rtol=0.0, atol=1e-12)
    assert not late[:, 1:].any()


@pytest.mark.parametrize(
    ('order', 'value', 'names'),
    [(0, 3.0, 'position of 3 '), (1, -2.2, 'velocity of -2.2 '), (2, 15.1, 'acceleration of 15')],
)
def test_a_state_beyond_a_limit_is_refused_with_joint_and_value(order, value, names):
    states = np.zeros((2, 3, 7))
    states[:, 0] = FER.home
    moment = np.array([0.0, 1e-3])
    Trajectory(moment, states).require_within(FER)
    states[:, order, 0] = value
    with pytest.raises(ReferenceRefusedError, match=f'fer_joint1 to an? {names}'):
        Trajectory(moment, states).require_within(FER)
    with pytest.raises(ReferenceRefusedError, match='nan'):
        Trajectory(np.zeros(1), np.full((1, 3, 7), np.nan)).require_within(FER)


def test_between_two_states_at_rest_the_highest_speed_is_found():
    # From rest to rest in 1 s the speed is 15/8 rad/s for 1 rad, the limit 2.175 rad/s.
    for away, allowed in ((1.15, True), (1.17, False)):
        states = np.zeros((2, 3, 7))
        states[:, 0] = FER.home
        states[1, 0, 0] += away
        motion = Trajectory(np.array([0.0, 1.0]), states)
        if allowed:
            assert motion.require_within(FER) is motion
        else:
            with pytest.raises(ReferenceRefusedError, match='fer_joint1 to a velocity'):
                motion.require_within(FER)


def test_an_fr3_near_its_stop_has_the_local_velocity_limit():
    # Joint 1 at 2.6 rad/s is within the constant limit of 2.62 rad/s, but 0.1 rad from its stop
    # an FR3 may go no faster than -0.6599 + sqrt(2 * 6 * 0.1) = 0.4356 rad/s.
    states = np.zeros((2, 3, 7))
    states[:, 0], states[:, 1, 0] = FR3.home, 2.6
    states[1, 0, 0] += 2.6e-3  # a millisecond later
    moment = np.array([0.0, 1e-3])
    Trajectory(moment, states).require_within(FR3)
    states[:, 0, 0] += FR3.limit('upper')[0] - 0.1 - FR3.home[0]
    with pytest.raises(ReferenceRefusedError, match=r'to 0\.4355'):
        Trajectory(moment, states).require_within(FR3)


@pytest.mark.parametrize('name', ['fer', 'fr3'])
@pytest.mark.parametrize(('duration', 'amplitude'), [(10.0, 0.5), (4.0, 3.0), (60.0, 3.0)])
def test_a_multisine_of_any_size_is_a_motion_the_arm_can_follow(name, duration, amplitude):
    arm = load(name)
    request = multisine(arm, duration, amplitude)
    states = (request.positions, request.velocities, request.accelerations)
    motion = Trajectory(request.times, np.stack(states, axis=1)).require_within(arm)
    np.testing.assert_allclose(motion.positions[[0, -1]], [arm.home, arm.home], rtol=0, atol=1e-12)
    np.testing.assert_allclose(motion.velocities[[0, -1]], 0.0, rtol=0, atol=1e-12)
    away = np.abs(motion.positions - arm.home)
    assert 0.1 < away.max() <= amplitude
    # The amplitude fades at both ends.
    assert away[motion.times < 0.02 * duration].max() < 0.01 * away.max()
    # Velocities and accelerations are the derivatives of the positions: the quintics between them
    # meet a finer motion.
    finer = multisine(arm, duration, amplitude)
    middle = 0.5 * (motion.times[1:] + motion.times[:-1])
    slope = np.diff(finer.positions, axis=0) / np.diff(finer.times)[:, None]
    np.testing.assert_allclose(
        motion.at_times(middle)[:, 1], slope, rtol=0.0, atol=0.02 * np.abs(slope).max()
    )
