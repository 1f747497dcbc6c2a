# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics codegen` writes a file that runs, and prints the counts beside table 1."""

import runpy

import numpy as np

from franka_dynamics.arm import load
from franka_dynamics.cli.main import INPUT_AT_FAULT, main
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel


def test_a_written_python_module_computes_gravity(tmp_path, capsys):
    assert (
        main(
            [
                'codegen',
                '--arm',
                'scemi',
                '--language',
                'python',
                '--quantity',
                'gravity',
                '--gravity',
                '0',
                '1',
                '-9',
                '--output',
                str(tmp_path / 'new'),
            ]
        )
        == 0
    )
    module = runpy.run_path(str(tmp_path / 'new' / 'scemi_dynamics.py'))
    q, tau = np.linspace(-1.0, 1.0, 6), np.empty(6)
    module['gravity'](q, tau)
    expected = PinocchioModel(load('scemi'), (0.0, 1.0, -9.0)).gravity(q)
    np.testing.assert_allclose(tau, expected, rtol=1e-12, atol=1e-12)
    assert 'scemi_dynamics.py' in capsys.readouterr().out


def test_without_a_folder_counts_are_told_and_nothing_written(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert (
        main(['codegen', '--arm', 'stanford', '--search', '--quantity', 'inverse_dynamics']) == 0
    )
    out = capsys.readouterr().out
    for figure in ('193', '181', '291', '284', '232', '218'):
        assert figure in out
    assert list(tmp_path.iterdir()) == []


def test_an_output_folder_that_is_a_file_is_refused(tmp_path, capsys):
    (tmp_path / 'taken').write_text('')
    assert main(['codegen', '--arm', 'rpr', '--output', str(tmp_path / 'taken')]) == INPUT_AT_FAULT
    assert 'cannot be written' in capsys.readouterr().err


def test_a_gravity_that_is_no_number_is_refused(capsys):
    assert main(['codegen', '--arm', 'rpr', '--gravity', '0', '0', 'nan']) == INPUT_AT_FAULT
    assert 'three finite numbers' in capsys.readouterr().err


def test_counts_with_rotors_and_wrench_show_the_simplified_row(capsys, monkeypatch):
    monkeypatch.setenv('COLUMNS', '160')
    assert (
        main(
            [
                'codegen',
                '--arm',
                'scemi',
                '--set',
                'simplified',
                '--rotors',
                '--search',
                '--terminal-wrench',
                'last_frame',
            ]
        )
        == 0
    )
    out = capsys.readouterr().out
    # Ours, and the table's simplified SCEMI with minimum parameters: the same case.
    assert '123' in out and '96' in out
    assert 'scemi simplified, minimum parameters, with rotors and terminal wrench' in out
    assert '159' in out and '253' not in out


def test_a_terminal_wrench_is_refused_for_gravity_alone(capsys):
    assert main(['codegen', '--terminal-wrench', '--quantity', 'gravity']) == INPUT_AT_FAULT
    assert 'input of inverse_dynamics alone' in capsys.readouterr().err
