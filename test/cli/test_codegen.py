# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics codegen` writes a file that runs."""

import runpy

import numpy as np

from franka_dynamics.arm import load
from franka_dynamics.cli.main import main
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel


def test_a_written_python_module_computes_gravity(tmp_path, capsys):
    command = ['codegen', '--arm', 'scemi', '--language', 'python', '--quantity', 'gravity']
    options = ['--gravity', '0', '1', '-9', '--output', str(tmp_path / 'new')]
    assert main([*command, *options]) == 0
    module = runpy.run_path(str(tmp_path / 'new' / 'scemi_dynamics.py'))
    q, tau = np.linspace(-1.0, 1.0, 6), np.empty(6)
    module['gravity'](q, tau)
    expected = PinocchioModel(load('scemi'), (0.0, 1.0, -9.0)).gravity(q)
    np.testing.assert_allclose(tau, expected, rtol=1e-12, atol=1e-12)
    assert 'scemi_dynamics.py' in capsys.readouterr().out
