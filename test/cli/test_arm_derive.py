# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm derive`: what is printed, written to a file, or refused."""

import sys

import pytest

from franka_dynamics.cli.main import INPUT_AT_FAULT, main

pytest.importorskip('sympy', reason='the [symbolic] extra is not installed')


def test_kinematics_print_origins_and_jacobians_with_their_numbers(capsys):
    assert main(['arm', 'derive', '--arm', 'rpr', '--kinematics']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert 'a1 = 0.2' in lines
    for frame in range(1, 4):
        assert any(line.startswith(f'J_{frame} = ') for line in lines)


def test_a_report_is_printed_or_the_same_is_written(tmp_path, capsys):
    command, file = ['arm', 'derive', '--arm', 'rpr'], tmp_path / 'new' / 'rpr.txt'
    assert main(command) == 0
    printed = capsys.readouterr().out
    sympy = pytest.importorskip('sympy')
    (entry,) = (line[6:] for line in printed.splitlines() if line.startswith('B33 = '))
    assert sympy.simplify(sympy.sympify(entry) - sympy.sympify('m3*(a3**2+h3**2/3+r3**2/4)')) == 0
    assert 'g = (0, 0, g*m3*(C3*a3 + S3*h3/2))' in printed
    assert main([*command, '--output', str(file)]) == 0
    assert file.read_text() == printed
    assert capsys.readouterr().out == f'{file}\n'


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
