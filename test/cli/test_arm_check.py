# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`arm check`: tables, files and exit status."""

import pytest

from franka_dynamics.arm import load
from franka_dynamics.cli.main import main
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel
from franka_dynamics.urdf.writer import urdf_text
from franka_dynamics.validation import crosscheck

CHECK = 'arm check --states 5'


def test_a_faulty_formulation_is_named_and_exits_with_1(answered, monkeypatch):
    class Faulty(ExponentialsModel):
        def gravity(self, q):
            return 1.001 * super().gravity(q)

    monkeypatch.setitem(crosscheck.FORMULATIONS, 'exponentials', Faulty)
    status, out = answered(CHECK)
    assert status == 1 and 'MISMATCH' in out
    assert 'exponentials differs from Pinocchio in gravity (0.00' in out


def test_the_verdict_comes_first_and_tables_are_asked_for(capsys):
    assert main(f'{CHECK} --arm rpr'.split()) == 0
    brief = capsys.readouterr().out
    assert brief.startswith('pass: rpr, set ') and brief.count('\n') == 1
    assert main(f'{CHECK} --arm rpr --all'.split()) == 0
    whole = capsys.readouterr().out
    assert whole.startswith(brief) and 'coriolis_matrix' in whole


def test_a_urdf_is_checked_as_an_arm_file_is(tmp_path, answered):
    path = tmp_path / 'arm.urdf'
    text = urdf_text(load('fr3')).replace('xyz="0 0 1"', 'xyz="0 0 2"', 1)
    path.write_text(text, encoding='utf-8')
    status, said = answered(f'{CHECK} --arm', path)
    assert status == 0 and said.startswith(f'pass: {path}: fr3, set imported')
    assert 'note: joint' in said and 'axis of length 2' in said


def test_json_holds_the_figures_of_the_check(figures):
    data = figures(CHECK)
    assert data['passed'] is True and data['reference'] == 'Pinocchio'
    assert set(data['differences']['gravity']) == {'Newton-Euler', 'exponentials'}
    assert 0.0 < data['differences']['inverse_dynamics']['exponentials'] < data['tolerance']
    assert [link['physical'] for link in data['consistency']] == [True] * 7


@pytest.mark.parametrize(('hand', 'noted'), [('none', True), ('franka_hand', False)])
def test_an_almost_massless_wrist_is_noted(hand, noted, answered):
    status, said = answered(f'{CHECK} --arm fr3 --hand {hand}')
    assert status == 0
    assert ('fr3_joint7' in said and '16841' in said) == noted
