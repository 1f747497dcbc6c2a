# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm derive`: what is printed, written to a file, or refused."""

import math
import sys

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.cli.main import main
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel

sympy = pytest.importorskip('sympy', reason='the [symbolic] extra is not installed')
DERIVE = 'arm derive --arm rpr'.split()


def test_a_report_is_printed_or_the_same_is_written(tmp_path, capsys):
    command, file = [*DERIVE, '--steps'], tmp_path / 'new' / 'rpr.txt'
    assert main(command) == 0
    printed = capsys.readouterr().out
    (entry,) = (line[6:] for line in printed.splitlines() if line.startswith('B33 = '))
    assert sympy.simplify(sympy.sympify(entry) - sympy.sympify('m3*(a3**2+h3**2/3+r3**2/4)')) == 0
    assert 'g = (0, 0, g*m3*(C3*a3 + S3*h3/2))' in printed
    assert main([*command, '--output', str(file)]) == 0
    assert file.read_text() == printed
    assert capsys.readouterr().out == f'{file}\n'


# The text of --steps is run in test/rpr/test_report_formulas.py.
@pytest.mark.parametrize('option', [[], ['--kinematics']])
def test_the_rprs_text_runs_and_gives_the_models_values(option, capsys):
    assert main([*DERIVE, *option]) == 0
    q, model = np.array([0.4, 0.05, 0.7]), NewtonEulerModel(load('rpr'))
    names = {name: getattr(math, name) for name in ('sin', 'cos', 'sqrt', 'atan2')}
    names |= {f'q{i}': q[i - 1] for i in (1, 2, 3)} | {f'dq{i}': 1.0 for i in (1, 2, 3)}
    for i, link in enumerate(load('rpr').links, 1):
        names |= {f'{axis}c{i}': part for axis, part in zip('xyz', link.center_of_mass)}
    exec(capsys.readouterr().out, names)
    if option:
        found, expected = names['J_3'], model.jacobian(q, 3)[[3, 4, 5, 0, 1, 2]]
    else:
        found = [[names[f'M{i}{j}'] for j in (1, 2, 3)] for i in (1, 2, 3)]
        expected = model.mass_matrix(q)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)


def test_without_sympy_one_sentence_names_the_extra(monkeypatch, refused):
    for name in list(sys.modules):
        if name.startswith('franka_dynamics.symbolic'):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, 'sympy', None)
    said = refused('arm derive --arm fer')
    assert "need sympy: pip install 'franka_dynamics[symbolic]'" in said
