# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The example of a Cartesian impedance in C++, compiled and run on a simulated arm."""

import ctypes
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import franka_dynamics as fd
from franka_dynamics.arm import ViscousCoulombFriction
from franka_dynamics.arm.payload import payload_from_array
from franka_dynamics.cpp_package.package import controller_arm_text
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings

from .test_my_controller import built
from ..cpp_package.cpp_core import needs_compiler, PACKAGE

pytestmark = needs_compiler
EXAMPLE = Path(__file__).parents[2] / 'examples/cartesian_impedance.cpp'
CALLER = """
#include <cmath>
extern "C" {
void * make(const char * file) {return new CartesianImpedance(file, core::kFci);}
void drop(void * made) {delete static_cast<CartesianImpedance *>(made);}
void set_goal(void * made, const double * q, double x)
{
  auto & own = *static_cast<CartesianImpedance *>(made);
  core::Vector at{};
  std::copy_n(q, 7, at.begin());
  core::Pose goal = own.flange(at);
  goal.position.x += x;
  own.set_goal(goal);
}
void flange(void * made, const double * q, double * p)
{
  core::Vector at{};
  std::copy_n(q, 7, at.begin());
  const core::Pose pose = static_cast<CartesianImpedance *>(made)->flange(at);
  p[0] = pose.position.x;
  p[1] = pose.position.y;
  p[2] = pose.position.z;
}
const char * why(void * made)
{
  static std::string text;
  text = static_cast<CartesianImpedance *>(made)->why();
  return text.c_str();
}
void torque(void * made, const double * q, const double * dq, const double * effort, double * tau)
{
  core::JointState state;
  core::Vector measured{}, x{};
  std::copy_n(q, 7, state.q.begin());
  std::copy_n(dq, 7, state.dq.begin());
  std::copy_n(effort, 7, measured.begin());
  static_cast<CartesianImpedance *>(made)->torque(state, &measured, 1e-3, x);
  std::copy_n(x.begin(), 7, tau);
}
}
"""
FRICTION = ViscousCoulombFriction(
    np.full(7, 0.3), np.array([1.1] * 4 + [0.7, 0.4, 0.25]), np.zeros(7), width=0.03
)
ARM = replace(fd.load('fr3'), friction=FRICTION)
ROW = np.ctypeslib.ndpointer(dtype=float, flags='C_CONTIGUOUS')


@pytest.fixture(scope='module')
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp('impedance')
    (folder / 'law.cpp').write_text(EXAMPLE.read_text('utf-8') + CALLER)
    found = built(folder / 'law.cpp', folder, '-std=c++17', '-I', PACKAGE / 'include')
    (folder / 'arm.yaml').write_text(controller_arm_text(ARM), encoding='utf-8')
    found.make.restype = ctypes.c_void_p
    found.why.restype = ctypes.c_char_p
    found.why.argtypes = found.drop.argtypes = [ctypes.c_void_p]
    found.set_goal.argtypes = [ctypes.c_void_p, ROW, ctypes.c_double]
    found.flange.argtypes = [ctypes.c_void_p, ROW, ROW]
    found.torque.argtypes = [ctypes.c_void_p, *[ROW] * 4]
    found.arm_file = str(folder / 'arm.yaml').encode()
    return found


class Loop:
    """The example in a loop with a simulated arm whose robot adds g(q)."""

    def __init__(self, library):
        self.library = library
        self.made = library.make(library.arm_file)
        settings = SimulationSettings(
            friction=True,
            armature=True,
            gravity_compensation=True,
            position_noise=1e-7,
            brake_release_after=0.05,
        )
        self.arm = ArmSimulation(ARM, settings)
        self.home = self.arm.position.copy()
        self.sent = []

    def run(self, steps):
        torque = np.zeros(7)
        for _ in range(steps):
            state = self.arm.read()
            rows = (np.ascontiguousarray(one) for one in (state.position, state.velocity))
            self.library.torque(self.made, *rows, np.ascontiguousarray(state.effort), torque)
            self.sent.append(torque.copy())
            self.arm.step(torque)

    @property
    def flange(self):
        found = np.empty(3)
        self.library.flange(self.made, self.arm.position, found)
        return found

    @property
    def why(self):
        return self.library.why(self.made).decode()


def test_the_flange_is_where_pinocchio_has_it(library):
    loop = Loop(library)
    for q in fd.sample_states(ARM, 5, seed=0).q:
        found = np.empty(3)
        library.flange(loop.made, q, found)
        np.testing.assert_allclose(found, fd.Model(ARM).flange_pose(q)[:3, 3], atol=1e-12)


def test_the_flange_goes_to_its_goal_and_the_null_space_comes_to_rest(library):
    loop = Loop(library)
    loop.run(300)
    assert loop.why == ''
    begin = loop.flange
    library.set_goal(loop.made, loop.home, 0.1)
    loop.run(2500)
    assert loop.why == ''
    goal = fd.Model(ARM).flange_pose(loop.home)[:3, 3] + (0.1, 0.0, 0.0)
    # Half of the friction is left to the spring.
    assert np.linalg.norm(loop.flange - goal) < 0.02 < np.linalg.norm(begin - goal)
    assert np.abs(loop.arm.read().velocity).max() < 0.02
    steps = np.diff(np.array(loop.sent), axis=0)
    assert np.abs(steps).max() <= 1.0 + 1e-9


def test_the_guard_ends_the_law_where_the_arm_carries_what_nobody_declared(library):
    loop = Loop(library)
    loop.run(300)
    loop.arm.set_payload(payload_from_array(np.array((6.0, 0, 0, 0.1, *[0.0] * 6))))
    loop.run(600)
    assert 'departs by' in loop.why and 'nobody declared' in loop.why
    assert np.abs(loop.arm.read().velocity).max() < 0.1
