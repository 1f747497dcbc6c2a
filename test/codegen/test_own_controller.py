# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The ros2_control controller of the examples, compiled, against the model."""

import ctypes
from pathlib import Path
import shutil
import subprocess

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.cli.main import main
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.sampling import sample_states

pytestmark = pytest.mark.skipif(shutil.which('g++') is None, reason='there is no g++')
CODE = Path(__file__).parents[2] / 'examples' / 'hold_controller.cpp'
STAND_IN = Path(__file__).parent / 'ros2_control_stand_in.hpp'
# Activates the controller at q0 and calls it once at q, dq; a missing state is an error.
DRIVE = """
extern "C" int drive(const double * q0, const double * q, const double * dq, double * tau)
{
  HoldController controller;
  controller.command_interfaces_.resize(controller.command_interface_configuration().names.size());
  controller.state_interfaces_.resize(controller.state_interface_configuration().names.size());
  const auto & missing = controller_interface::return_type::ERROR;
  if (controller.update({}, {}) != missing) { return 1; }
  for (int i = 0; i < 7; ++i) { controller.state_interfaces_[i].value = q0[i]; }
  if (controller.on_activate({}) != controller_interface::CallbackReturn::SUCCESS) { return 2; }
  for (int i = 0; i < 7; ++i) {
    controller.state_interfaces_[i].value = q[i];
    controller.state_interfaces_[7 + i].value = dq[i];
  }
  if (controller.update({}, {}) != controller_interface::return_type::OK) { return 3; }
  for (int i = 0; i < 7; ++i) { tau[i] = *controller.command_interfaces_[i].value; }
  return 0;
}
"""


def test_the_controller_sends_the_models_torques(tmp_path):
    for header in ('controller_interface/controller_interface', 'pluginlib/class_list_macros'):
        path = tmp_path / f'{header}.hpp'
        path.parent.mkdir()
        shutil.copy(STAND_IN, path)
    (tmp_path / 'controller.cpp').write_text(CODE.read_text('utf-8') + DRIVE)
    assert main(['codegen', '--arm', 'fr3', '--output', str(tmp_path)]) == 0
    command = ['g++', '-std=c++17', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', '-I.']
    command += ['controller.cpp', '-o', 'controller.so']
    subprocess.run(command, check=True, cwd=tmp_path)
    drive = ctypes.CDLL(str(tmp_path / 'controller.so')).drive
    drive.argtypes = [np.ctypeslib.ndpointer(dtype=float, flags='C_CONTIGUOUS')] * 4
    arm = load('fr3')
    model = PinocchioModel(arm)
    (q0, q), (dq, _), _ = sample_states(arm, 2, seed=0)
    tau = np.full(7, np.nan)
    assert drive(q0.copy(), q.copy(), dq.copy(), tau) == 0
    expected = model.inverse_dynamics(q, dq, 100.0 * (q0 - q) - 20.0 * dq)
    np.testing.assert_allclose(tau, expected, rtol=1e-12, atol=1e-11)
