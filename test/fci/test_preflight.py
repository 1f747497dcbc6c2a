# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The check at rest: what the robot measures and was told of, against what the node believes.

The robot's side is computed by the Newton-Euler recursion in DH frames, the check's by Pinocchio.
"""

import re

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.control.settings import Settings
from franka_dynamics.control.terms import TermModel
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.fci.connection import FciReading
from franka_dynamics.fci.preflight import Preflight, PreflightVerdict, WINDOW

FR3 = load('fr3')
THRESHOLD = np.array([4.0, 4.0, 4.0, 4.0, 1.5, 1.5, 1.5])
BALL = (3.0, 0.0, 0.0, 0.0, 0.01, 0.0, 0.0, 0.01, 0.0, 0.01)
UNKNOWN_BALL = {'payload': BALL, 'payload_known_to_robot': False}
SIDEWAYS = (9.81, 0.0, 0.0)


def carried(q, payload=0.0, gravity=(0.0, 0.0, -9.81)):
    """Return what sensors measure at rest on an arm that carries a ball at its flange."""
    arm = FR3
    if payload:
        arm = FR3.with_payload(
            LinkInertia.from_center_of_mass(
                payload, np.zeros(3), np.array([0.01, 0.0, 0.0, 0.01, 0.0, 0.01])
            )
        )
    return NewtonEulerModel(arm, gravity).gravity(q)


def reading(effort, q=FR3.home, dq=0.0, **more):
    return FciReading(0.0, np.array(q), np.full(7, dq), np.array(effort), 1.0, 'Idle', '', **more)


AT_HOME = reading(carried(FR3.home))


def check(description=FR3, **settings):
    live = Settings(**settings)
    return Preflight(
        description,
        load('fr3', hand='none'),
        THRESHOLD,
        lambda: (live, TermModel(description, live)),
    )


def verdict(preflight, state, count=WINDOW):
    for _ in range(count):
        preflight.observe(state)
    return preflight.result


def test_the_arm_itself_then_it_passes():
    result = verdict(check(), AT_HOME)
    assert result.verdict is PreflightVerdict.PASSED
    assert result.largest < 1e-12  # two formulations of one g(q): 2e-14 measured


HANDED = load('fr3', hand='franka_hand')
UPRIGHT = np.zeros(7)  # but for the wrist's 88 mm the ball is above all joints
LIGHT = {'payload': (0.6, *BALL[1:]), 'payload_known_to_robot': False}


@pytest.mark.parametrize(
    ('preflight', 'state', 'sentence'),
    [
        (
            check(gravity_vector=(0.0, 0.0, 9.81)),
            AT_HOME,
            'gravity_vector would have this node command .* but tau_J shows 0% of it; check hand',
        ),
        (
            check(**UNKNOWN_BALL),
            AT_HOME,
            'payload would have this node command .* at fr3_joint4, but tau_J shows 0% of it',
        ),
        (
            check(payload=BALL),
            AT_HOME,
            r'was told of 0 kg .* a payload of 3 kg that the robot knows: g\(q\) differs',
        ),
        (
            check(),
            reading(carried(FR3.home, payload=3.0)),
            r'at rest tau_J differs from g\(q\) by .*hangs on it',
        ),
        (
            check(HANDED),
            reading(NewtonEulerModel(HANDED).gravity(HANDED.home)),
            'the robot was told of 0 kg.*hand franka_hand',
        ),
        (
            check(),
            reading(carried(FR3.home), base_gravity=np.array(SIDEWAYS)),
            r'the robot reports gravity \[9.81, 0.0, 0.0\]',
        ),
        (check(**LIGHT), reading(carried(UPRIGHT), UPRIGHT), 'at this pose it has no lever'),
    ],
)
def test_what_is_not_so_is_refused(preflight, state, sentence):
    result = verdict(preflight, state)
    assert result.verdict is PreflightVerdict.REFUSED
    assert re.search(sentence, result.sentence), result.sentence


@pytest.mark.parametrize(
    ('settings', 'world', 'told'),
    [
        (UNKNOWN_BALL, {'payload': 3.0}, {}),
        ({'payload': BALL}, {'payload': 3.0}, {'load_mass': 3.0}),
        ({'gravity_vector': SIDEWAYS}, {'gravity': SIDEWAYS}, {}),
    ],
)
def test_given_settings_that_are_so_when_checked_then_passed(settings, world, told):
    result = verdict(check(**settings), reading(carried(FR3.home, **world), **told))
    assert result.verdict is PreflightVerdict.PASSED, result.sentence


def test_a_model_the_robot_does_not_serve_then_refused():
    preflight = check()
    preflight.model_refusal = 'g differs by 9 N m'
    assert verdict(preflight, AT_HOME).sentence == 'g differs by 9 N m'


@pytest.mark.parametrize('effort', [np.zeros(7), np.full(7, 0.25)])
def test_tau_j_that_repeats_the_command_is_no_evidence(effort):
    state = reading(effort, effort_desired=effort)
    result = verdict(check(), state)
    assert result.verdict is PreflightVerdict.NO_EVIDENCE
    assert 'no measurement' in result.sentence
    # And where this node would add gravity, no evidence is not enough.
    refused = verdict(check(**UNKNOWN_BALL), state)
    assert (refused.verdict, 'nothing bears it out' in refused.sentence) == (
        PreflightVerdict.REFUSED,
        True,
    )


def test_an_arm_that_moves_then_it_waits_for_rest():
    preflight, effort = check(), carried(FR3.home)
    assert verdict(preflight, reading(effort), WINDOW - 1).verdict is PreflightVerdict.WAITING
    assert preflight.observe(reading(effort, dq=0.1)) is PreflightVerdict.WAITING
    assert 'waiting for rest: fr3_joint1 moves at 0.100 rad/s' in preflight.result.sentence
    assert verdict(preflight, reading(effort), WINDOW - 1).verdict is PreflightVerdict.WAITING
    assert preflight.observe(reading(effort)) is PreflightVerdict.PASSED


def test_a_verdict_of_a_second_ago_is_found_anew():
    preflight = check()
    assert verdict(preflight, AT_HOME).verdict is PreflightVerdict.PASSED
    loaded = reading(carried(FR3.home, payload=3.0))
    assert verdict(preflight, loaded, 2000).verdict is PreflightVerdict.REFUSED
    # A refusal stays until it is acknowledged.
    assert verdict(preflight, AT_HOME, 2000).verdict is PreflightVerdict.REFUSED
    preflight.restart()
    assert verdict(preflight, AT_HOME).verdict is PreflightVerdict.PASSED


def test_nan_in_a_velocity_then_no_verdict_is_given():
    state = reading(carried(FR3.home), dq=np.nan)
    assert verdict(check(), state, 3 * WINDOW).verdict is PreflightVerdict.WAITING


@pytest.mark.parametrize(
    ('said', 'settings', 'name'),
    [
        ({'effort': [0.0, 0.0, np.nan, 0.0, 0.0, 0.0, 0.0]}, {}, 'tau_J'),
        ({'effort': [0.0, 0.0, np.nan, 0.0, 0.0, 0.0, 0.0]}, UNKNOWN_BALL, 'tau_J'),
        ({'load_mass': np.nan}, {}, 'm_ee + m_load'),
        ({'load_mass': 1.0, 'load_center': np.full(3, np.inf)}, {}, 'its centre of mass'),
        ({'base_gravity': np.full(3, np.nan)}, {}, 'O_ddP_O'),
    ],
)
def test_what_is_no_number_is_refused_by_its_name(said, settings, name):
    state = reading(**{'effort': carried(FR3.home), **said})
    result = verdict(check(**settings), state)
    assert result.verdict is PreflightVerdict.REFUSED
    assert result.sentence.startswith(f'the robot reports {name} as no finite number')
