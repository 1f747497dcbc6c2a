# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Generated friction, compiled by a C compiler and run by Python, against the models."""

import ctypes
from dataclasses import replace

import numpy as np
import pytest

from franka_dynamics.arm import load, MaxwellSlipFriction, ViscousCoulombFriction
from franka_dynamics.arm.arm_file_writer import arm_file_text
from franka_dynamics.arm.friction import friction_along
from franka_dynamics.arm.slip_states import slip_states
from franka_dynamics.cli.main import main

from .c_core import needs_compiler, run_function

ROWS = np.ctypeslib.ndpointer(dtype=float, flags='C_CONTIGUOUS')
ATOL_NM = 1e-13  # a handful of roundings of torques near 3 N m
RNG = np.random.default_rng(0)
FRICTIONS = {
    'sigmoid': load('fer').friction,
    'viscous_coulomb': ViscousCoulombFriction(*RNG.uniform(-1.0, 1.0, (3, 7)), width=0.03),
    'maxwell_slip': MaxwellSlipFriction(
        *RNG.uniform(-1.0, 1.0, (4, 7)), RNG.uniform(0.0, 1.0, (2, 7)), [0.004, 0.3]
    ),
}
Q = RNG.normal(0.0, 0.01, (500, 7)).cumsum(axis=0)
DQ = RNG.uniform(-1.0, 1.0, (500, 7))


def expected(friction):
    if isinstance(friction, MaxwellSlipFriction):
        return friction.torque(DQ, slip_states(Q, friction.reach))
    return friction_along(friction, Q, DQ)


def generated(folder, friction, language):
    """Generate code by the command from an arm file with a friction; return its path."""
    arm_file = folder / 'arm.yaml'
    arm_file.write_text(arm_file_text(replace(load('fer'), friction=friction)))
    command = ['codegen', '--arm', str(arm_file), '--language', language, '--friction']
    options = ['--quantity', 'gravity', '--output', str(folder)]
    assert main([*command, *options]) == 0
    return folder / f'fer_dynamics.{"h" if language == "c" else "py"}'


@needs_compiler
@pytest.mark.parametrize('model', FRICTIONS)
def test_compiled_friction_is_the_models(model, tmp_path):
    remembers = model == 'maxwell_slip'
    generated(tmp_path, FRICTIONS[model], 'c')
    follow = (
        'if (i) { double step[7]; for (int j = 0; j < 7; ++j) '
        'step[j] = q[7*i + j] - q[7*i - 7 + j]; fer_friction_follow(step, z); }'
    )
    source = f"""
#include "fer_dynamics.h"
void run(int count, const double *q, const double *dq, double *tau)
{{
  {'double z[2][7] = {{0}};' if remembers else '(void)q;'}
  for (int i = 0; i < count; ++i) {{
    {follow if remembers else ''}
    fer_friction(dq + 7*i, {'z, ' if remembers else ''}tau + 7*i);
  }}
}}
"""
    run = run_function(tmp_path, source)
    run.argtypes = [ctypes.c_int, ROWS, ROWS, ROWS]
    tau = np.full_like(DQ, np.nan)
    run(len(Q), Q, DQ, tau)
    np.testing.assert_allclose(tau, expected(FRICTIONS[model]), rtol=0.0, atol=ATOL_NM)


@pytest.mark.parametrize('model', FRICTIONS)
def test_generated_python_friction_is_the_models(model, tmp_path):
    names = {}
    exec(generated(tmp_path, FRICTIONS[model], 'python').read_text(), names)
    z, tau = np.zeros((2, 7)), np.full_like(DQ, np.nan)
    for i, dq in enumerate(DQ):
        if model == 'maxwell_slip':
            names['friction_follow'](Q[i] - Q[max(0, i - 1)], z)
            names['friction'](dq, z, tau[i])
        else:
            names['friction'](dq, tau[i])
    np.testing.assert_allclose(tau, expected(FRICTIONS[model]), rtol=0.0, atol=ATOL_NM)


def test_an_arm_without_friction_is_refused_in_one_sentence(tmp_path, capsys):
    command = ['codegen', '--arm', 'fr3', '--friction', '--quantity', 'gravity']
    assert main([*command, '--output', str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert 'fr3.yaml has no friction model' in error
    assert error.count('\n') == 1
