# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torque terms and their cross-check, against the independent recursion in DH frames."""

from contextlib import nullcontext

import numpy as np
import pytest

from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.control.control_law import ControlLaw
from franka_dynamics.control.reference import ReferencePoint
from franka_dynamics.control.running_crosscheck import RunningCrosscheck
from franka_dynamics.control.settings import Settings, StateSource, Terms
from franka_dynamics.control.terms import TermModel
from franka_dynamics.dynamics.model import GRAVITY
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.validation.crosscheck import TOLERANCE

from .closed_loop import FER, Loop

STATES = sample_states(FER, 50, seed=5)
LOAD = (1.5, 0.01, -0.02, 0.08, 4e-3, 1e-4, 0.0, 5e-3, 2e-4, 3e-3)
TILTED = (3.0, -1.0, -9.28)
# 25 times the largest difference seen, like the tolerance of the cross-check.
ATOL_NM = 1e-12


def models(**changes):
    settings = Settings(**changes)
    payload = settings.payload_inertia()
    loaded = FER.with_payload(payload) if payload.mass else FER
    return TermModel(FER, settings), NewtonEulerModel(loaded, settings.gravity_vector)


@pytest.mark.parametrize('payload', [{}, {'payload': LOAD}])
@pytest.mark.parametrize('gravity', [{}, {'gravity_vector': TILTED}])
def test_each_term_is_that_of_the_independent_model(payload, gravity):
    terms, independent = models(**payload, **gravity)
    weightless = NewtonEulerModel(independent.description, (0.0, 0.0, 0.0))
    q, dq, ddq = STATES
    for term, states, expected in (
        (terms.gravity, (q,), independent.gravity(q)),
        (terms.coriolis, (q, dq), independent.coriolis(q, dq)),
        (terms.inertia, (q, ddq), weightless.inverse_dynamics(q, 0.0 * dq, ddq)),
    ):
        actual = [term(*state) for state in zip(*states)]
        np.testing.assert_allclose(actual, expected, rtol=0, atol=ATOL_NM)


@pytest.mark.parametrize('source', StateSource)
def test_scale_leaves_gravity_whole_and_the_other_terms_are_at_the_chosen_state(source):
    settings = Settings('mujoco', payload=LOAD, scale=0.5, state_source=source)
    law, independent = ControlLaw(FER, settings), models(payload=LOAD)[1]
    weightless = NewtonEulerModel(independent.description, (0.0, 0.0, 0.0))
    (q, other), (dq, other_dq), (_, ddq) = (rows[:2] for rows in STATES)
    reference = ReferencePoint(other, other_dq, ddq)
    ours, desired, feedback = law.torque(law.terms.at(0.0, q, dq, ddq), reference)
    at, along = (other, other_dq) if source is StateSource.REFERENCE else (q, dq)
    rest = weightless.coriolis(at, along) + weightless.inverse_dynamics(at, 0.0 * at, ddq)
    assert feedback is None
    np.testing.assert_allclose(ours, independent.gravity(q), rtol=0, atol=ATOL_NM)
    np.testing.assert_allclose(desired - ours, 0.5 * rest, rtol=0, atol=ATOL_NM)


@pytest.mark.parametrize('target', ['fci', 'franka_gazebo'])
@pytest.mark.parametrize('payload', [(0.0,) * 10, LOAD])
def test_a_receiver_that_carries_the_arm_leaves_no_gravity_to_us(target, payload):
    terms, _ = models(target=target, payload=payload)
    for q in STATES.q:
        np.testing.assert_array_equal(terms.gravity_to_command(q, terms.gravity(q)), np.zeros(7))


def test_fci_on_a_tilted_base_leaves_true_minus_assumed_gravity():
    terms, independent = models(gravity_vector=TILTED)
    left = [terms.gravity_to_command(q, terms.gravity(q)) for q in STATES.q]
    carried = NewtonEulerModel(FER, GRAVITY)
    expected = independent.gravity(STATES.q) - carried.gravity(STATES.q)
    np.testing.assert_allclose(left, expected, rtol=0, atol=ATOL_NM)


def test_the_arm_files_friction_is_gazs_formula():
    terms, _ = models(target='mujoco', terms=Terms(friction=True))
    dq = STATES.dq[0]
    # Gaz et al. 2019, joint 1: A 0.54615, slope 5.1181, offset 0.039533.
    moving, still = (1.0 + np.exp(-5.1181 * (one + 0.039533)) for one in (dq[0], 0.0))
    expected = 0.54615 / moving - 0.54615 / still
    assert terms.friction.torque(dq)[0] == pytest.approx(expected, rel=1e-13)


# The running cross-check. -----------------------------------------------------------------------

TERMS = models(payload=LOAD, gravity_vector=TILTED)[0]


def check_at(check, k, error=0.0):
    dq = np.random.default_rng(k).uniform(-1, 1, 7)
    state = TERMS.at(10.0 + 1e-3 * k, FER.home, dq, None)
    check.offer(state._replace(gravity=state.gravity + error), TERMS)
    return check.run()


def test_models_that_agree_are_checked_once_per_period_and_quiet():
    check = RunningCrosscheck(0.1, TOLERANCE)
    assert [check_at(check, k) for k in range(1000)] == [''] * 1000
    assert check.checks == 10
    assert 0.0 < check.largest <= TOLERANCE


def test_a_torque_off_by_a_hair_is_told_with_its_pose():
    # An error of a hundred tolerances; joint 7's torque is below 1 N m, so it counts absolutely.
    check, error = RunningCrosscheck(1e-3, TOLERANCE), 100 * TOLERANCE * np.eye(7)[6]
    said = check_at(check, 1, error)
    assert 'differ by 1e-10 (N m, relative above 1 N m) at q = [0.0, -0.7854' in said
    assert check.largest == pytest.approx(100 * TOLERANCE, rel=0.5)


def test_a_running_arm_whose_models_differ_stops_until_it_is_configured_again():
    loop = Loop().run(0.3)
    # No two recursions agree to less than rounding.
    loop.controller.crosscheck = RunningCrosscheck(1e-3, 1e-20)
    loop.run(0.01)
    loop.controller.check_models(nullcontext())
    assert 'cross-check' in loop.controller.fault
    loop.controller.enable()
    cleared, said = loop.controller.clear_fault()
    assert not cleared and 'configure it again' in said
