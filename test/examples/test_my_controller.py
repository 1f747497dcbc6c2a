# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The code of the page on one's own controller, compiled and run on a simulated arm."""

import ctypes
from dataclasses import replace
from pathlib import Path
import re
import shlex
import subprocess
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import yaml

import franka_dynamics as fd
from franka_dynamics.arm import ViscousCoulombFriction
from franka_dynamics.cli.main import main
from franka_dynamics.cpp_package.package import controller_arm_text
from franka_dynamics.simulation.arm_simulation import ArmSimulation, SimulationSettings
from franka_dynamics.tracking.friction_export import crisp_text, franky_text

from ..cpp_package.cpp_core import COMPILER, needs_compiler, PACKAGE

PAGE = (Path(__file__).parents[2] / 'docs/howto/my-controller.md').read_text('utf-8')
STILL = np.zeros(7)
VISCOUS = np.full(7, 0.3)
COULOMB = np.array([1.1, 1.1, 1.1, 1.1, 0.7, 0.4, 0.25])
ARM = replace(fd.load('fr3'), friction=ViscousCoulombFriction(VISCOUS, COULOMB, STILL, width=0.03))
# Soft gains of a law, so that friction matters [N m/rad, N m s/rad].
KP = np.array([80.0] * 4 + [25.0] * 3)
KD = np.array([10.0] * 4 + [2.5] * 3)
LIMIT = ARM.limit('effort')
STEP = 1.0


def block(language, containing):
    """Return the page's block of code in a language that contains a text."""
    found = re.findall(rf'```{language}\n(.*?)```', PAGE, re.DOTALL)
    (text,) = (one for one in found if containing in one)
    return text


class Robot:
    """A simulated arm with friction whose robot adds g(q), and the torques that it got."""

    def __init__(self, seconds=2.0):
        settings = SimulationSettings(
            friction=True, armature=True, gravity_compensation=True, position_noise=1e-7
        )
        self.arm = ArmSimulation(ARM, settings)
        self.seconds = seconds
        self.sent = []
        self.errors = []
        self.home = self.arm.position.copy()

    def desired(self, time):
        """Return q, dq, ddq of a motion from rest."""
        rate = 2.0
        amplitude = 0.2 * np.resize([1.0, -0.7], 7)
        parts = (
            1.0 - np.cos(rate * time),
            rate * np.sin(rate * time),
            rate**2 * np.cos(rate * time),
        )
        return [self.home * (k == 0) + amplitude * one for k, one in enumerate(parts)]

    def law(self, q, dq):
        """Return the torque of a PD without the reference's velocity."""
        q_d, _, _ = self.desired(self.arm.time)
        return KP * (q_d - q) - KD * dq

    def read(self):
        reading = self.arm.read()
        q_d, _, _ = self.desired(reading.time)
        self.errors.append(q_d - reading.position)
        return reading

    def write(self, torque):
        self.sent.append(np.array(torque, dtype=float))
        self.arm.step(self.sent[-1])

    def error(self):
        """Return the rms error in motion [mrad]; fail if limits were exceeded."""
        sent = np.array(self.sent)
        assert np.isfinite(sent).all() and (np.abs(sent) <= LIMIT).all()
        assert np.abs(np.diff(sent, axis=0, prepend=sent[:1] * 0.0)).max() <= STEP + 1e-9
        return 1e3 * np.sqrt(np.mean(np.square(self.errors[600:])))

    # As pylibfranka.
    def start_torque_control(self):
        return self

    def readOnce(self):
        reading = self.read()
        time = SimpleNamespace(to_sec=lambda: reading.time)
        return SimpleNamespace(
            q=reading.position, dq=reading.velocity, tau_J=reading.effort, time=time
        ), None

    def writeOnce(self, torque):
        self.write(torque)


@pytest.fixture
def page():
    """Return the names that the page's Python code defines."""
    names = {}
    for text in re.findall(r'```python\n(.*?)```', PAGE, re.DOTALL):
        exec(compile(text, 'my-controller.md', 'exec'), names)
    return names


def built(source, folder, *options, compiler=COMPILER):
    library = folder / 'built.so'
    options = '-Wall', '-Wextra', '-Werror', '-O2', '-fPIC', '-shared', *options
    subprocess.run([compiler, *map(str, options), '-o', library, source, '-lm'], check=True)
    return ctypes.CDLL(str(library))


CALLER = """
extern "C" {
void * make(const char * file) {return new WithFriction(file);}
void torque(
  void * made, const double * q, const double * dq, const double * measured, const double * law,
  double * tau)
{
  const auto seven = [](const double * x) {Seven v; std::copy_n(x, 7, v.begin()); return v;};
  WithFriction & own = *static_cast<WithFriction *>(made);
  const Seven sent = own.torque(seven(q), seven(dq), seven(measured), seven(law), 1e-3);
  std::copy(sent.begin(), sent.end(), tau);
}
}
"""


def law_in_cpp(folder, with_friction):
    """Return the error [mrad] of a law in the page's C++ code, on a simulated arm."""
    folder.mkdir()
    text = block('cpp', 'class WithFriction')
    arm = ARM if with_friction else replace(ARM, friction=None)
    (folder / 'arm.yaml').write_text(controller_arm_text(arm), encoding='utf-8')
    (folder / 'own.cpp').write_text(text + '#include <algorithm>\n' + CALLER)
    library = built(folder / 'own.cpp', folder, '-std=c++17', '-I', PACKAGE / 'include')
    library.make.restype = ctypes.c_void_p
    row = np.ctypeslib.ndpointer(dtype=float, flags='C_CONTIGUOUS')
    library.torque.argtypes = [ctypes.c_void_p, *[row] * 5]
    made = library.make(str(folder / 'arm.yaml').encode())
    robot = Robot()
    tau = np.zeros(7)
    for _ in range(1500):
        state = robot.read()
        q = state.position
        dq = state.velocity
        library.torque(made, q, dq, state.effort, np.array(robot.law(q, dq)), tau)
        robot.write(tau)
    return robot.error()


@needs_compiler
def test_a_law_in_cpp_follows_better_with_friction(tmp_path):
    # The page's class commands half of the friction.
    without, friction = (law_in_cpp(tmp_path / f'{one}', one) for one in (False, True))
    assert friction < 0.9 * without


@needs_compiler
def test_the_loop_in_c_has_the_terms_and_friction(tmp_path, monkeypatch):
    # The header comes from the page's own command, so that its name is the included one.
    monkeypatch.chdir(tmp_path)
    assert main(shlex.split(block('sh', 'codegen --arm'))[1:]) == 0
    text = block('c', 'void feedforward')
    (tmp_path / 'own.c').write_text(text)
    library = built(tmp_path / 'own.c', tmp_path, '-I', tmp_path, compiler='cc')
    lists = re.findall(r'\[7\] = {(.*?)}', text)
    viscous, coulomb = (np.array([float(one) for one in each.split(',')]) for each in lists)
    row = np.ctypeslib.ndpointer(dtype=float, flags='C_CONTIGUOUS')
    library.feedforward.argtypes = [row] * 4
    model = fd.NewtonEulerModel(ARM)
    tau = np.zeros(7)
    for q, dq, ddq in zip(*fd.sample_states(ARM, 10, seed=1)):
        library.feedforward(q, dq, ddq, tau)
        expected = model.inverse_dynamics(q, dq, ddq) - model.gravity(q)
        expected += viscous * dq + coulomb * np.tanh(dq / 0.03)
        np.testing.assert_allclose(tau, expected, rtol=0.0, atol=1e-11)


def test_the_python_loop_follows_points(page):
    robot = Robot()
    end = robot.home + 0.2
    page['follow'](robot, ARM, [robot.home, end], [0.5, 2.5], np.array)
    assert len(robot.sent) > 2400
    np.testing.assert_allclose(robot.arm.position, end, rtol=0.0, atol=5e-3)
    np.testing.assert_array_equal(robot.sent[-1], STILL)
    robot.error()


def test_a_law_in_python_follows_better_with_friction(page):
    errors = []
    for arm in (ARM, replace(ARM, friction=ViscousCoulombFriction(STILL, STILL, STILL))):
        robot = Robot()
        page['with_my_law'](robot, arm, robot.law, 2.0, np.array)
        errors.append(robot.error())
    assert errors[0] < 0.75 * errors[1]


class Tracker:
    """franky's JointImpedanceTracker on a simulated arm: PD, C dq, friction, target's torque."""

    def __init__(self, robot, stiffness, damping, friction, constant_torque_offset, period):
        self.robot = robot
        self.gains = (np.array(stiffness), np.array(damping))
        self.friction = friction
        self.offset = np.array(constant_torque_offset)
        self.model = fd.NewtonEulerModel(ARM)
        self.target = None
        self.state = robot.read()
        assert period == 1e-3

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def set_target(self, q_d, dq_d, torque):
        self.target = q_d, dq_d, torque

    def tick(self):
        q = self.state.position
        dq = self.state.velocity
        torque = STILL
        if self.target is not None:
            q_d, dq_d, torque = self.target
            kp, kd = self.gains
            torque = torque + kp * (q_d - q) + kd * (dq_d - dq) + self.model.coriolis(q, dq)
            one = self.friction
            rubs = np.array(one['coulomb']) * np.tanh(dq / one['velocity_epsilon'])
            torque = torque + rubs + np.array(one['viscous']) * dq + self.offset
        last = self.robot.sent[-1] if self.robot.sent else STILL
        self.robot.write(np.clip(torque, last - STEP, last + STEP))
        self.state = self.robot.read()
        return True


def exported_to_franky(monkeypatch, arm):
    """Return what the exported file for franky defines."""
    module = ModuleType('franky')
    module.FrictionCompensationParams = dict
    module.JointImpedanceTracker = Tracker
    monkeypatch.setitem(sys.modules, 'franky', module)
    names = {}
    exec(franky_text(arm), names)
    return module, names['FRICTION'], names['CONSTANT_TORQUE_OFFSET']


def test_franky_follows_better_with_the_exported_friction(page, monkeypatch):
    franky, friction, offset = exported_to_franky(monkeypatch, ARM)
    none = {**friction, 'coulomb': STILL, 'viscous': STILL}
    page['KP'] = KP
    page['KD'] = KD
    errors = []
    for one in (friction, none):
        robot = Robot()
        monkeypatch.setattr('time.monotonic', lambda robot=robot: robot.arm.time)
        page['track'](franky, robot, fd.Model(ARM), robot.desired, one, offset, 2.0)
        assert len(robot.sent) > 1900
        errors.append(robot.error())
    assert errors[0] < 0.75 * errors[1]


def test_crisps_friction_helps_a_law_of_its_kind():
    fp = yaml.safe_load(crisp_text(ARM))['/**']['ros__parameters']['friction']
    amplitude, slope, offset = (np.array(fp[name]) for name in ('fp1', 'fp2', 'fp3'))
    errors = []
    for share in (1.0, 0.0):
        robot = Robot()
        model = fd.NewtonEulerModel(ARM)
        last = STILL
        for _ in range(1500):
            state = robot.read()
            q = state.position
            dq = state.velocity
            # crisp_controllers' friction (Gaz et al. 2019), at the measured velocity.
            rubs = amplitude / (1.0 + np.exp(-slope * (dq + offset)))
            rubs = rubs - amplitude / (1.0 + np.exp(-slope * offset))
            torque = robot.law(q, dq) + model.coriolis(q, dq) + share * rubs
            last = np.clip(torque, last - STEP, last + STEP)
            robot.write(last)
        errors.append(robot.error())
    assert errors[0] < 0.8 * errors[1]
