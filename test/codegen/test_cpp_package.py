# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The generated C++ core, compiled by g++, against the Python node's own control path."""

import ctypes
from dataclasses import replace
import shutil
import subprocess

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.cli.main import main
from franka_dynamics.codegen.cpp_package import cpp_package
from franka_dynamics.control.limits import TorqueLimiter
from franka_dynamics.control.settings import Settings
from franka_dynamics.control.terms import TermModel
from franka_dynamics.errors import DescriptionError

COMPILER = shutil.which('g++') or shutil.which('c++')
STRICT = ('-std=c++17', '-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Wshadow', '-Werror')
DOUBLES = np.ctypeslib.ndpointer(dtype=float, flags='C_CONTIGUOUS')
STATES = 100_000
ATOL = 1e-12  # N m, of torques up to 100 N m; 1e-13 measured
PAYLOAD = (1.2, 0.01, -0.02, 0.06, 0.004, 0.0005, -0.0002, 0.005, 0.0003, 0.003)
INCLINED = (2.0, -3.0, -9.12)

needs_compiler = pytest.mark.skipif(COMPILER is None, reason='no C++ compiler on the path')

CALLER = """
#include "my_arm/feedforward.hpp"
#include <algorithm>
using namespace my_arm;
static Vector vector(const double * x) {Vector v; std::copy(x, x + kJoints, v.begin()); return v;}
static void out(const Vector & v, double * x) {std::copy(v.begin(), v.end(), x);}
static Settings settings(const double * s) {
  Settings r;
  r.target = s[0] != 0.0 ? kMujoco : kFci;
  std::copy(s + 1, s + 4, r.gravity_vector.begin());
  std::copy(s + 4, s + 14, r.payload.begin());
  r.payload_known_to_robot = s[14] != 0.0;
  r.scale = s[15]; r.ramp_time = s[16];
  r.kp.fill(s[17]); r.kd.fill(s[18]);
  return r;
}
extern "C" {
void terms(int n, const double * s, const double * q, const double * dq, const double * ddq,
           double * g, double * ours, double * c, double * m) {
  TermModel model; model.configure(settings(s));
  for (int i = 0; i < n; ++i) {
    const std::size_t k = static_cast<std::size_t>(i) * kJoints;
    const Vector x = vector(q + k); Vector gravity, tau;
    model.gravity(x, gravity); out(gravity, g + k);
    model.gravity_left_to_us(x, gravity, tau); out(tau, ours + k);
    model.coriolis(x, vector(dq + k), tau); out(tau, c + k);
    model.inertia(x, vector(ddq + k), tau); out(tau, m + k);
  }
}
void limits(int n, const double * desired, const double * previous, const double * elapsed,
            double * tau) {
  for (int i = 0; i < n; ++i) {
    const std::size_t k = static_cast<std::size_t>(i) * kJoints;
    out(TorqueLimiter::limit(vector(desired + k), vector(previous + k), elapsed[i]), tau + k);
  }
}
const char * refusal(const double * s) {Feedforward f; return f.configure(settings(s));}
/* A run: n states with references, then the stop sequence; returns how many steps were given. */
int run(int n, int most, const double * s, const double * t, const double * q, const double * dq,
        const double * rq, const double * rdq, const double * rddq, double * tau) {
  Feedforward f;
  if (f.configure(settings(s))) {return -1;}
  for (int i = 0; i < n; ++i) {
    const std::size_t k = static_cast<std::size_t>(i) * kJoints;
    const Reference r{vector(rq + k), vector(rdq + k), vector(rddq + k)};
    Vector x;
    if (f.update(t[i], vector(q + k), vector(dq + k), &r, x) != Outcome::command) {return -2;}
    out(x, tau + k);
  }
  f.stop();
  int steps = n; Vector x;
  while (steps < most && f.stop_step(1e-3, x)) {
    out(x, tau + static_cast<std::size_t>(steps) * kJoints); ++steps;
  }
  return steps;
}
int outcome(const double * q, const double * dq) {
  Feedforward f; Vector x;
  return static_cast<int>(f.update(0.0, vector(q), vector(dq), nullptr, x));
}
}
"""


@pytest.fixture(scope='module', params=['fer', 'fr3'])
def built(request, tmp_path_factory):
    """Generate a package by the command and compile a caller of its core."""
    folder = tmp_path_factory.mktemp('cpp')
    assert (
        main(['codegen', '--arm', request.param, '--package', 'my_arm', '--out', str(folder)]) == 0
    )
    caller = folder / 'caller.cpp'
    caller.write_text(CALLER)
    subprocess.run(
        [
            COMPILER,
            *STRICT,
            '-O2',
            '-fPIC',
            '-shared',
            '-I',
            str(folder / 'my_arm' / 'include'),
            '-o',
            str(folder / 'caller.so'),
            str(caller),
        ],
        check=True,
    )
    library = ctypes.CDLL(str(folder / 'caller.so'))
    library.refusal.restype = ctypes.c_char_p
    library.refusal.argtypes = [DOUBLES]
    library.outcome.argtypes = [DOUBLES, DOUBLES]
    library.limits.argtypes = [ctypes.c_int, *[DOUBLES] * 4]
    library.terms.argtypes = [ctypes.c_int, *[DOUBLES] * 8]
    library.run.argtypes = [ctypes.c_int, ctypes.c_int, *[DOUBLES] * 8]
    return load(request.param), library


def packed(settings):
    return np.array(
        [
            float(settings.target == 'mujoco'),
            *settings.gravity_vector,
            *settings.payload,
            float(settings.payload_known_to_robot),
            settings.scale,
            settings.ramp_time,
            settings.kp[0],
            settings.kd[0],
        ]
    )


SETTINGS = {
    'fci': Settings(),
    'fci_inclined_unknown_payload': Settings(
        gravity_vector=INCLINED, payload=PAYLOAD, payload_known_to_robot=False
    ),
    'fci_known_payload': Settings(payload=PAYLOAD),
    'mujoco_payload': Settings(target='mujoco', payload=PAYLOAD, gravity_vector=INCLINED),
}


@needs_compiler
@pytest.mark.parametrize('name', SETTINGS)
def test_given_random_states_when_compiled_then_terms_are_the_nodes(built, name):
    arm, library = built
    settings, count = SETTINGS[name], STATES // len(SETTINGS)
    states = sample_states(arm, count, seed=3)
    found = np.full((4, count, arm.n), np.nan)
    library.terms(count, packed(settings), *states, *found)
    model = TermModel(arm, settings)
    for i, (q, dq, ddq) in enumerate(zip(*states)):
        gravity = model.gravity(q)
        expected = np.stack(
            [
                gravity,
                model.gravity_left_to_us(q, gravity),
                model.coriolis(q, dq),
                model.inertia(q, ddq),
            ]
        )
        np.testing.assert_allclose(found[:, i], expected, rtol=0.0, atol=ATOL)


@needs_compiler
def test_given_random_torques_when_limited_then_bits_are_the_nodes(built):
    arm, library = built
    rng = np.random.default_rng(5)
    desired, previous = rng.uniform(-120.0, 120.0, (2, 20_000, arm.n))
    # Half of them near to what was before, so that none, one or both limits cut.
    desired[::2] = previous[::2] + rng.uniform(-2.0, 2.0, desired[::2].shape)
    elapsed = rng.choice([-1.0, 0.0, 1e-4, 1e-3, 0.5], 20_000)
    found = np.empty_like(desired)
    library.limits(len(desired), desired, previous, elapsed, found)
    limiter = TorqueLimiter(arm.limit('effort'), arm.limit('effort_rate'))
    expected = [limiter.limit(*row).torque for row in zip(desired, previous, elapsed)]
    np.testing.assert_array_equal(found, expected)


@needs_compiler
@pytest.mark.parametrize('target', ['fci', 'mujoco'])
def test_given_a_motion_when_run_then_torques_and_stop_are_right(built, target):
    # A slow swing with a measured state that lags behind the reference.
    arm, library = built
    settings = Settings(
        target=target,
        payload=PAYLOAD,
        gravity_vector=INCLINED,
        kp=(20.0,),
        kd=(2.0,),
        scale=0.7,
        payload_known_to_robot=False,
    )
    t = np.arange(1500) * 1e-3
    phase, rate = np.multiply.outer(t, 2.0 + 0.3 * np.arange(arm.n)), 2.0 + 0.3 * np.arange(arm.n)
    rq = arm.home + 0.1 * (1.0 - np.cos(phase))
    rdq, rddq = 0.1 * rate * np.sin(phase), 0.1 * rate**2 * np.cos(phase)
    q, dq = rq - 0.01 * rdq, rdq - 0.01 * rddq
    most = len(t) + 400
    tau = np.full((most, arm.n), np.nan)
    steps = library.run(len(t), most, packed(settings), t, q, dq, rq, rdq, rddq, tau)

    # The rule, written out with the node's terms and its limiter.
    model = TermModel(arm, settings)
    limiter = TorqueLimiter(arm.limit('effort'), arm.limit('effort_rate'))
    expected, last = [], None
    for i in range(len(t)):
        gravity = model.gravity(q[i])
        ours = model.gravity_left_to_us(q[i], gravity)
        desired = (
            ours
            + 0.7 * (model.coriolis(q[i], dq[i]) + model.inertia(q[i], rddq[i]))
            + 20.0 * (rq[i] - q[i])
            + 2.0 * (rdq[i] - dq[i])
        )
        if last is None:
            last = ours if target == 'mujoco' else np.zeros(arm.n)
            step = last - desired
        passed = t[i] / settings.ramp_time
        desired = desired + max(0.0, 1.0 - passed) * step
        last = limiter.limit(desired, last, 1e-3 if i else 0.0).torque
        expected.append(last)
    np.testing.assert_allclose(tau[: len(t)], expected, rtol=0.0, atol=ATOL)

    goal = ours if target == 'mujoco' else np.zeros(arm.n)
    assert len(t) < steps < most
    np.testing.assert_allclose(tau[steps - 1], goal, rtol=0.0, atol=ATOL)
    change = np.diff(tau[len(t) - 1 : steps], axis=0)
    assert np.abs(change).max() <= 1.0 + 1e-12
    assert np.abs(change[:, np.abs(tau[len(t) - 1] - goal).argmax()]).min() > 0.0


@needs_compiler
@pytest.mark.parametrize(
    ('joint', 'value', 'expected'), [(2, np.nan, 2), (0, np.inf, 2), (3, 0.5, 3), (None, 0.0, 0)]
)
def test_given_a_state_when_not_to_be_trusted_then_no_torque(built, joint, value, expected):
    arm, library = built
    q = arm.home.copy()
    if joint is not None:
        q[joint] = value
    # Outcome: command 0, silent 1, not_finite 2, out_of_range 3; joint 4 never gets to 0.5 rad.
    assert library.outcome(q, np.zeros(arm.n)) == expected


@needs_compiler
@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'scale': 1.5}, b'scale must be within 0 and 1'),
        ({'kp': (-1.0,)}, b'kp and kd must be'),
        ({'gravity_vector': (0.0, 0.0, -1.6)}, b'the target compensates gravity itself'),
        ({'payload': (-1.0, *[0.0] * 9)}, b'a mass cannot be negative'),
        ({'payload': (0.0, 0.1, *[0.0] * 8)}, b'payload has no mass'),
        ({'payload': (1.0, 0, 0, 0, 1.0, 0, 0, 0.1, 0, 0.1)}, b'belongs to no real body'),
        ({'payload': (float('nan'), *[0.0] * 9)}, b'ten finite numbers'),
        ({'ramp_time': 11.0}, b'ramp_time must be within'),
        ({'payload': PAYLOAD}, None),
    ],
)
def test_given_settings_when_impossible_then_one_sentence_says_so(built, change, message):
    _, library = built
    answer = library.refusal(packed(replace(Settings(), **change)))
    assert answer is None if message is None else message in answer


@pytest.mark.parametrize('name', ['My_arm', '9arm', 'a__b', 'arm-x', ''])
def test_given_no_name_of_a_package_when_asked_then_it_is_refused(name):
    with pytest.raises(DescriptionError, match='cannot be the name of a ROS package'):
        cpp_package(load('fer'), name)


def test_given_an_arm_without_torque_limits_when_packed_then_it_says_which():
    with pytest.raises(DescriptionError, match='joint1 has no torque limit'):
        cpp_package(load('scemi'), 'scemi')


def test_given_a_package_when_written_then_no_placeholder_is_left():
    files = cpp_package(load('fr3'), 'my_fr3')
    assert {
        'package.xml',
        'CMakeLists.txt',
        'README.md',
        'controller_plugins.xml',
        'include/my_fr3/feedforward.hpp',
        'include/my_fr3/arm.hpp',
        'src/feedforward_controller.cpp',
        'config/controllers.yaml',
    } <= set(files)
    for path, text in files.items():
        for word in ('@NAME@', '@GUARD@', '@PREFIX@', '@ARM@', '@SET@', '@JOINTS@'):
            assert word not in text, (path, word)
