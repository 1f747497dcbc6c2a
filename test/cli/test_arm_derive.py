# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm derive`: what is printed, written to a file, or refused."""

import functools
import math
import sys

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.cli.main import INPUT_AT_FAULT, main
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

pytest.importorskip('sympy', reason='the [symbolic] extra is not installed')


def test_a_report_is_printed_or_the_same_is_written(tmp_path, capsys):
    command, file = ['arm', 'derive', '--arm', 'rpr', '--steps'], tmp_path / 'new' / 'rpr.txt'
    assert main(command) == 0
    printed = capsys.readouterr().out
    sympy = pytest.importorskip('sympy')
    (entry,) = (line[6:] for line in printed.splitlines() if line.startswith('B33 = '))
    assert sympy.simplify(sympy.sympify(entry) - sympy.sympify('m3*(a3**2+h3**2/3+r3**2/4)')) == 0
    assert 'g = (0, 0, g*m3*(C3*a3 + S3*h3/2))' in printed
    assert main([*command, '--output', str(file)]) == 0
    assert file.read_text() == printed
    assert capsys.readouterr().out == f'{file}\n'


# Lengths [m] of the RPR arm in config/arms/rpr.yaml, and g [m/s^2].
RPR = {'d0': 0.3, 'a1': 0.2, 'a3': 0.4, 'd2bar': 0.3, 'g': 9.81}
RPR |= {'h1': 0.2, 'r1': 0.03, 'a2': 0.3, 'b2': 0.05, 'c2': 0.06, 'h3': 0.4, 'r3': 0.025}


@pytest.mark.parametrize('option', ['', '--steps', '--kinematics'])
def test_the_rprs_text_runs_and_gives_the_models_values(option, capsys):
    arm = load('rpr')
    assert main(['arm', 'derive', '--arm', 'rpr', *option.split()]) == 0
    q, dq = np.array([0.4, 0.05, 0.7]), np.array([0.8, -0.3, 1.1])
    model = NewtonEulerModel(arm)
    names = {name: getattr(math, name) for name in ('sin', 'cos', 'sqrt', 'atan2')}
    names |= {f'q{i}': q[i - 1] for i in (1, 2, 3)} | {f'dq{i}': dq[i - 1] for i in (1, 2, 3)}
    if option == '--steps':
        names |= RPR | dict(zip(('px', 'py', 'pz'), model.frames(q)[2, :3, 3]))
        names |= {f'{kind}{i}': 0.0 for kind in ('Fv', 'Fs') for i in (1, 2, 3)}
        names |= {f'm{i}': link.mass for i, link in enumerate(arm.links, 1)}
        names |= dict.fromkeys(('hx', 'hy', 'hz', 'hnx', 'hny', 'hnz', 'I2y', 'I2z'), 0.0)
        names['sign'] = np.sign
    if option == '--kinematics':
        names |= {
            f'{axis}c{i}': value
            for i, link in enumerate(arm.links, 1)
            for axis, value in zip('xyz', link.center_of_mass)
        }
    exec(capsys.readouterr().out, names)
    close = functools.partial(np.testing.assert_allclose, rtol=0.0, atol=1e-12)
    if option == '--kinematics':
        close(names['J_3'], model.jacobian(q, 3)[[3, 4, 5, 0, 1, 2]])
        return
    letter = 'B' if option else 'M'
    for i, j in ((1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)):
        close(names[f'{letter}{i}{j}'], model.mass_matrix(q)[i - 1, j - 1])
    if option:
        close(names['g'], model.gravity(q))
        close(names['C'], model.coriolis_matrix(q, dq))
        close(names['p_3'], model.frames(q)[2, :3, 3])
        close([names['theta1'], names['d2'], names['theta3']], q)
    else:
        close([names[f'g{i}'] for i in (1, 2, 3)], model.gravity(q))


def test_without_sympy_one_sentence_names_the_extra(monkeypatch, capsys):
    for name in list(sys.modules):
        if name.startswith('franka_dynamics.symbolic'):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, 'sympy', None)
    assert main(['arm', 'derive', '--arm', 'fer']) == INPUT_AT_FAULT
    assert capsys.readouterr().err == (
        'franka-dynamics: Derivations in letters need sympy: pip '
        "install 'franka_dynamics[symbolic]'.\n"
    )
