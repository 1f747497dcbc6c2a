# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A generated C++ core behind ctypes, for the tests that compare it with the Python node's."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from franka_dynamics.control.feedforward import RAMP_S

COMPILER = shutil.which('g++') or shutil.which('c++')
STRICT = ('-std=c++17', '-Wall', '-Wextra', '-Wpedantic', '-Wconversion', '-Wshadow', '-Werror')
DOUBLES = np.ctypeslib.ndpointer(dtype=float, flags='C_CONTIGUOUS')
INTEGERS = np.ctypeslib.ndpointer(dtype=np.int32, flags='C_CONTIGUOUS')
# Enumerators of receiver.hpp, in the same order.
COMMANDS = ('motion', 'torque', 'total_torque')
ANSWERS = ('heard', 'other_publisher', 'wrong_size', 'not_finite', 'out_of_bounds')
STATES = ('waiting', 'following', 'braking', 'holding', 'stopped', 'fault')
ATOL = 1e-12  # N m, of torques up to 100 N m; 1e-13 measured
PAYLOAD = (1.2, 0.01, -0.02, 0.06, 0.004, 0.0005, -0.0002, 0.005, 0.0003, 0.003)
# Flags for `run` at a state; several are added.
WITH_REFERENCE, BRAKE, STOP, STOP_TO_ZERO = 1, 2, 4, 8

needs_compiler = pytest.mark.skipif(COMPILER is None, reason='no C++ compiler on the path')

CALLER = """
#include "my_arm/receiver.hpp"
#include <algorithm>
#include <limits>
using namespace my_arm;
static Vector vector(const double * x) {Vector v; std::copy(x, x + kJoints, v.begin()); return v;}
static void out(const Vector & v, double * x) {std::copy(v.begin(), v.end(), x);}
static Settings settings(const double * s) {
  Settings r;
  const Target targets[] = {kFci, kFrankaGazebo, kGzRos2Control, kMujoco};
  r.target = targets[static_cast<int>(s[0])];
  std::copy(s + 1, s + 4, r.gravity_vector.begin());
  std::copy(s + 4, s + 14, r.payload.begin());
  r.payload_known_to_robot = s[14] != 0.0;
  r.scale = s[15]; r.ramp_time = s[16];
  r.friction = s[17] != 0.0; r.at_reference = s[18] != 0.0;
  r.max_tracking_error.fill(s[19]); r.max_payload = s[20];
  std::copy(s + 21, s + 21 + kJoints, r.kp.begin());
  std::copy(s + 21 + kJoints, s + 21 + 2 * kJoints, r.kd.begin());
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
    model.gravity_to_command(x, gravity, tau); out(tau, ours + k);
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
void friction(int n, const double * t, const double * q, const double * dq, double * tau,
              double * steady) {
  Friction f; Vector x;
  for (int i = 0; i < n; ++i) {
    const std::size_t k = static_cast<std::size_t>(i) * kJoints;
    f.follow(t[i], vector(q + k));
    f.feedforward(vector(dq + k), x); out(x, tau + k);
    Friction::steady(vector(dq + k), x); out(x, steady + k);
  }
}
const char * refusal(const double * s) {Feedforward f; return f.configure(settings(s));}
/* One run; tau is NaN where no torque is given. Returns the fault with which it ended, or null. */
const char * run(int n, const double * s, const int * what, const double * t, const double * q,
        const double * dq, const double * rq, const double * rdq, const double * rddq,
        double * tau) {
  Feedforward f;
  if (const char * reason = f.configure(settings(s))) {return reason;}
  for (int i = 0; i < n; ++i) {
    const std::size_t k = static_cast<std::size_t>(i) * kJoints;
    if (what[i] & 2) {f.brake();}
    if (what[i] & 4) {f.stop();}
    if (what[i] & 8) {f.stop(true);}
    const Reference r{vector(rq + k), vector(rdq + k), vector(rddq + k)};
    Vector x, y;
    x.fill(std::numeric_limits<double>::quiet_NaN());
    if (f.update(t[i], vector(q + k), vector(dq + k), what[i] & 1 ? &r : nullptr, y) ==
      Outcome::command || f.stop_step(1e-3, y)) {x = y;}
    out(x, tau + k);
  }
  return f.fault();
}
Receiver * receiver(const double * s, int command, double timeout) {
  auto * made = new Receiver;
  if (made->configure(settings(s), static_cast<Command>(command), timeout)) {
    delete made; return nullptr;
  }
  made->restart();
  return made;
}
void end_receiver(Receiver * r) {delete r;}
void restart(Receiver * r) {r->restart();}
int receive(Receiver * r, int from, int count, const double * values) {
  Inbox::Publisher gid{}; gid[0] = static_cast<std::uint8_t>(from);
  return static_cast<int>(r->inbox.receive(gid, values, static_cast<std::size_t>(count)));
}
/* State after a cycle; tau is NaN before the first command. */
int cycle(Receiver * r, double elapsed, const double * q, const double * dq, double * tau) {
  const Vector position = vector(q), velocity = vector(dq); Vector x;
  if (!r->cycle(elapsed, &position, &velocity, r->inbox.current(elapsed), x)) {
    x.fill(std::numeric_limits<double>::quiet_NaN());
  }
  out(x, tau);
  return static_cast<int>(r->state());
}
}
"""


def compiled_program(files, source, folder, *, sanitizers=None):
    """Compile a C++ file beside an arm's generated files; return the program."""
    write(files, folder)
    program = folder / source.stem
    options = [*STRICT, '-pthread', '-I', str(folder / 'include')]
    if sanitizers:
        options += [f'-fsanitize={sanitizers}', '-fno-sanitize-recover=all']
    subprocess.run([COMPILER, *options, '-o', str(program), str(source)], check=True)
    return program


def compiled(files, folder):
    """Compile the caller of the core among an arm's generated files; return the library."""
    write(files, folder)
    caller, built = folder / 'caller.cpp', folder / 'caller.so'
    caller.write_text(CALLER)
    options = (*STRICT, '-O0', '-fPIC', '-shared', '-I', str(folder / 'include'))
    subprocess.run([COMPILER, *options, '-o', str(built), str(caller)], check=True)
    library, number, made = ctypes.CDLL(str(built)), ctypes.c_int, ctypes.c_void_p
    library.refusal.restype = library.run.restype = ctypes.c_char_p
    library.receiver.restype = made
    for name, types in {
        'refusal': [DOUBLES],
        'limits': [number, *[DOUBLES] * 4],
        'friction': [number, *[DOUBLES] * 5],
        'terms': [number, *[DOUBLES] * 8],
        'run': [number, DOUBLES, INTEGERS, *[DOUBLES] * 7],
        'receiver': [DOUBLES, number, ctypes.c_double],
        'receive': [made, number, number, DOUBLES],
        'cycle': [made, ctypes.c_double, *[DOUBLES] * 3],
        'end_receiver': [made],
        'restart': [made],
    }.items():
        getattr(library, name).argtypes = types
    return library


def write(files, folder):
    """Write texts by their paths into a folder."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


_JOINTS = 7  # of each arm in these tests


def packed(settings):
    """Return settings as the array that the C++ caller reads."""
    targets = ('fci', 'franka_gazebo', 'gz_ros2_control', 'mujoco')
    return np.array(
        [
            float(targets.index(settings.target)),
            *settings.gravity_vector,
            *settings.payload,
            float(settings.payload_known_to_robot),
            settings.scale,
            RAMP_S,
            float(settings.terms.friction),
            0.0,  # terms at the measured state
            0.2,  # max_tracking_error [rad]
            0.0,  # max_payload: the rated load
            *np.resize(settings.kp, _JOINTS),
            *np.resize(settings.kd, _JOINTS),
        ]
    )


def run(library, settings, what, times, *rows):
    """
    Run a compiled controller at rows of q, dq, and a reference's q, dq, ddq, with flags `what`.

    Return the torques, NaN where there is none, and the fault with which the run ended, or None.
    """
    rows = [np.ascontiguousarray(each, dtype=float) for each in rows]
    found = np.full_like(rows[0], np.nan)
    fault = library.run(len(found), packed(settings), what.astype(np.int32), times, *rows, found)
    return found, fault


class Receiver:
    """The receiver of a compiled core: `receive` what a publisher sent, then `cycle`."""

    def __init__(self, library, settings, command='total_torque', timeout=0.05):
        self._library = library
        self._made = library.receiver(packed(settings), COMMANDS.index(command), timeout)
        assert self._made, 'the settings were refused'

    def __del__(self):
        self._library.end_receiver(self._made)

    def restart(self):
        self._library.restart(self._made)

    def receive(self, values, publisher=1):
        """Pass on a message of a publisher; return one of ANSWERS."""
        return ANSWERS[self._library.receive(self._made, publisher, len(values), values)]

    def cycle(self, q, dq, elapsed=1e-3):
        """Return the torque of a cycle, NaN before the first command, and the state after it."""
        torque = np.empty(len(q))
        state = self._library.cycle(self._made, elapsed, q, dq, torque)
        return torque, STATES[state]
