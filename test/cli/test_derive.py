# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics derive`: what is printed, written to a file, or refused."""

import sys

import pytest

from franka_dynamics.cli.main import INPUT_AT_FAULT, main

pytest.importorskip('sympy', reason='the [symbolic] extra is not installed')


def test_given_the_fer_when_its_kinematics_are_derived_then_r_3_and_the_numbers_are_printed(
    capsys,
):
    assert main(['derive', '--arm', 'fer', '--kinematics']) == 0
    lines = capsys.readouterr().out.splitlines()
    assert 'r_3 = (-c1*s2*y3, -s1*s2*y3, -c2*y3 + z1)' in lines
    assert 'y3 = -0.316' in lines
    for frame in range(1, 9):
        assert any(line.startswith(f'J_{frame} = ') for line in lines)


def test_given_the_rpr_arm_when_derived_then_its_report_is_printed_with_section_4(capsys):
    assert main(['derive', '--arm', 'rpr']) == 0
    printed = capsys.readouterr().out
    assert 'B33 = m3*(a3**2 + h3**2/3 + r3**2/4)' in printed
    assert 'g = (0, 0, g*m3*(C3*a3 + S3*h3/2))' in printed
    assert '# 4 recursive Newton-Euler formulation, outward' in printed


def test_given_an_output_file_when_derived_then_it_holds_what_is_printed(tmp_path, capsys):
    main(['derive', '--arm', 'rpr', '--format', 'latex'])
    printed = capsys.readouterr().out
    file = tmp_path / 'new' / 'rpr.tex'
    assert main(['derive', '--arm', 'rpr', '--format', 'latex', '--output', str(file)]) == 0
    assert file.read_text() == printed
    assert capsys.readouterr().out == ''


def test_given_no_sympy_when_deriving_then_one_sentence_names_the_extra(monkeypatch, capsys):
    for name in list(sys.modules):
        if name.startswith('franka_dynamics.symbolic'):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, 'sympy', None)
    assert main(['derive', '--arm', 'fer']) == INPUT_AT_FAULT
    assert capsys.readouterr().err == (
        'franka-dynamics: Derivations in letters need sympy: pip '
        "install 'franka_dynamics[symbolic]'.\n"
    )


def test_given_steps_when_derived_then_the_count_is_told_and_a_page_written(tmp_path, capsys):
    file = tmp_path / 'rpr.html'
    assert (
        main(['derive', '--arm', 'rpr', '--steps', '--format', 'html', '--output', str(file)]) == 0
    )
    assert '55 formulas compared, largest difference' in capsys.readouterr().err
    assert file.read_text(encoding='utf-8').startswith('<!DOCTYPE html>')


def test_given_a_formula_that_is_wrong_when_derived_by_steps_then_the_status_is_1(
    monkeypatch, capsys
):
    from franka_dynamics.rpr import symbolic

    right = symbolic.analytical_jacobian()
    monkeypatch.setattr(symbolic, 'analytical_jacobian', lambda: 2 * right)
    assert main(['derive', '--arm', 'rpr', '--steps']) == 1
    assert 'MISMATCH' in capsys.readouterr().err


@pytest.mark.parametrize('reference', ['WORLD', 'LOCAL'])
def test_given_a_reference_frame_when_derived_then_the_header_names_it(reference, capsys):
    assert main(['derive', '--arm', 'rpr', '--kinematics', '--reference-frame', reference]) == 0
    printed = capsys.readouterr().out
    assert f'J_i are {reference} as Pinocchio names it' in printed.replace('#   ', '')
    assert 'a1 = 0.2' in printed


@pytest.mark.parametrize(
    'words, sentence',
    [
        (['--steps', '--kinematics'], 'leave out --kinematics'),
        (['--reference-frame', 'LOCAL'], 'is for the Jacobians of --kinematics'),
    ],
)
def test_given_options_that_clash_when_derived_then_one_sentence_refuses(words, sentence, capsys):
    assert main(['derive', *words]) == INPUT_AT_FAULT
    assert sentence in capsys.readouterr().err
