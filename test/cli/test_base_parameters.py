# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What `franka-dynamics arm show --base-parameters` prints."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.arm_file_writer import save
from franka_dynamics.cli.main import main
from franka_dynamics.dynamics.regressor import parameter_vector
from franka_dynamics.identification.base_parameters import BaseParameters

from ..arms import with_row

COMMAND = 'arm show --base-parameters --arm'


@pytest.mark.parametrize('gravity, count', [('vertical', 43), ('tilted', 45), ('none', 39)])
def test_the_frankas_count_bound_and_rank_are_told_and_agree(gravity, count, answered):
    status, out = answered(f'arm show --arm fer --base-parameters {gravity}')
    assert status == 0
    for said in (f'{count} base parameters of 70', 'at most 45 by Gautier', f'regressor {count},'):
        assert said in out
    assert 'MISMATCH' not in out and 'note:' not in out


def test_a_twist_that_nearly_vanishes_gets_a_note(tmp_path, answered):
    save(with_row(load('fer'), 1, alpha=3.7e-6, a=0.2), tmp_path / 'arm.yaml')
    said = answered(COMMAND, tmp_path / 'arm.yaml')[1]
    assert 'note: the geometry is close to one with fewer base parameters' in said


def test_the_json_files_map_gives_its_values(figures):
    content = figures(f'{COMMAND} scemi')
    assert len(content['base_parameters']) == content['rank'] == 36
    np.testing.assert_allclose(
        [entry['value'] for entry in content['base_parameters']],
        np.array(content['matrix']) @ parameter_vector(load('scemi')),
        rtol=1e-14,
        atol=1e-14,
    )
    assert content['standard_parameters'][9] == 'm_1' and 'm_1' in content['no_effect']


@pytest.mark.parametrize('confirmed', [(42, 1e-14), (43, 1e-3)])
def test_what_other_states_do_not_confirm_exits_with_1(monkeypatch, answered, confirmed):
    # No arm is known that other states do not confirm, hence the stand-in.
    monkeypatch.setattr(BaseParameters, 'confirmed', lambda _: confirmed)
    status, said = answered(f'{COMMAND} fer')
    assert status == 1 and 'MISMATCH' in said


def test_symbols_give_the_papers_line_and_a_latex_file(capsys):
    assert main('arm show --arm scemi --symbolic'.split()) == 0
    assert 'XZR_2 = XZ_2 - D3*mZ_3\n' in capsys.readouterr().out
    # The RPR arm's standard rows are converted to modified ones first.
    assert main('arm show --arm rpr --symbolic latex'.split()) == 0
    assert capsys.readouterr().out.startswith('\\documentclass')
