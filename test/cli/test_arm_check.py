# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`arm check` and `arm explain`: tables, files and exit status."""

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.cli.main import main
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel
from franka_dynamics.urdf.writer import write_urdf
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
    text = write_urdf(load('fr3')).replace('xyz="0 0 1"', 'xyz="0 0 2"', 1)
    path.write_text(text, encoding='utf-8')
    status, said = answered(f'{CHECK} --arm', path)
    assert status == 0 and said.startswith('pass: fr3, set imported')
    assert 'note: joint' in said and 'axis of length 2' in said


def test_json_and_html_page_hold_the_figures_of_the_check(tmp_path, figures):
    data = figures(CHECK, '--report', tmp_path / 'out' / 'check.html')
    assert data['passed'] is True and data['reference'] == 'Pinocchio'
    assert set(data['differences']['gravity']) == {'Newton-Euler', 'exponentials'}
    assert 0.0 < data['differences']['inverse_dynamics']['exponentials'] < data['tolerance']
    assert [link['physical'] for link in data['consistency']] == [True] * 7
    (path,) = (tmp_path / 'out').iterdir()
    page = path.read_text()
    assert '<p class="good">All agree' in page and 'http' not in page


def torque_file(tmp_path, **changes):
    """Write torques of an RPR arm on a tilted base."""
    arm = load('rpr')
    states = sample_states(arm, 6, 0)
    model = PinocchioModel(arm, (0.0, 0.2, -9.81))
    tau = np.array([model.inverse_dynamics(*state) for state in zip(*states)])
    arrays = {'q': states.q, 'dq': states.dq, 'ddq': states.ddq, 'tau': tau, **changes}
    path = tmp_path / 'box.npz'
    np.savez(path, **{name: value for name, value in arrays.items() if value is not None})
    return path


def test_torques_of_a_black_box_list_the_candidates(tmp_path, answered, figures):
    command = 'arm explain --arm rpr', torque_file(tmp_path)
    said = answered(*command)[1]
    assert '1. arm: gravity y 0.2 m/s^2 instead of 0 m/s^2 leaves 0.00% of the difference.' in said
    assert figures(*command, status=1)['candidates'][0]['parameter'] == 'gravity y'


@pytest.mark.parametrize(
    ('changes', 'sentence'),
    [
        ({'tau': None}, 'of shape (count, n), as numpy.savez(FILE, q=q, '),
        ({'tau': np.zeros((5, 3))}, 'must have one shape (count, n); they have q (6, 3)'),
        (dict.fromkeys(('q', 'dq', 'ddq', 'tau'), np.zeros((0, 3))), 'holds no columns of'),
        ({'tau': np.full((6, 3), np.nan)}, 'tau of joint rpr_joint1 is nan'),
    ],
)
def test_a_torque_file_at_fault_is_refused_in_one_sentence(tmp_path, refused, changes, sentence):
    assert sentence in refused('arm explain --arm rpr', torque_file(tmp_path, **changes))
