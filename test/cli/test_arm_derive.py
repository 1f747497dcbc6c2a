# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm derive`: what is printed, written to a file, or refused."""

import math
import sys

import numpy as np
import pytest

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.cli.main import main
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel

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


# The text of an RPR arm's --steps is run in test/rpr/test_report_formulas.py.
@pytest.mark.parametrize(
    ('name', 'options', 'load_kg'),
    [
        *((name, '', 0.0) for name in ('rpr', 'scemi')),
        *((name, '--kinematics', 0.0) for name in ('rpr', 'stanford', 'scemi', 'fer')),
        ('scemi', '--kinematics --payload 2,0,0.1,0.2', 2.0),
        ('stanford', '--steps', 0.0),
    ],
)
def test_the_text_runs_from_joint_states_and_gives_the_models_values(
    name, options, load_kg, capsys
):
    assert main(['arm', 'derive', '--arm', name, *options.split()]) == 0
    arm = load(name)
    arm = arm.with_payload(LinkInertia.from_center_of_mass(load_kg, (0, 0.1, 0.2), np.zeros(6)))
    n, q = arm.n, np.linspace(0.05, 0.7, arm.n)
    # The names that docs/theory/derive.md lists; the DH rows of --steps have pi.
    names = {'sin': math.sin, 'cos': math.cos, 'pi': math.pi}
    names |= {f'q{i + 1}': q[i] for i in range(n)} | {f'dq{i + 1}': 1.0 for i in range(n)}
    exec(capsys.readouterr().out, names)
    exchanged = [3, 4, 5, 0, 1, 2]
    if options:
        found = [names[f'J_{i + 1}'] for i in range(n)] + [names[f'J_m{i + 1}'] for i in range(n)]
        expected = [NewtonEulerModel(arm).jacobian(q, i + 1) for i in range(n)]
        expected += [*ExponentialsModel(arm).center_of_mass_jacobians(q)]
        np.testing.assert_allclose(found, np.array(expected)[:, exchanged], rtol=0.0, atol=1e-12)
    if '--kinematics' not in options:
        found = [[names[f'M{i + 1}{j + 1}'] for j in range(n)] for i in range(n)]
        expected = NewtonEulerModel(arm).mass_matrix(q)
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)


def test_without_sympy_one_sentence_names_the_extra(monkeypatch, refused):
    for name in list(sys.modules):
        if name.startswith('franka_dynamics.symbolic'):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, 'sympy', None)
    said = refused('arm derive --arm fer')
    assert "need sympy: pip install 'franka_dynamics[symbolic]'" in said
