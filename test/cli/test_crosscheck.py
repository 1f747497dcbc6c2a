# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`crosscheck`: tables, files and exit status, for formulations, descriptions and black boxes."""

import json

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states
from franka_dynamics.cli.main import main
from franka_dynamics.dynamics.lagrangian import LagrangianModel
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.validation import crosscheck


def words(text):
    """Return what was printed without the line breaks of a narrow terminal."""
    return ' '.join(text.split())


@pytest.fixture
def faulty_lagrange(monkeypatch):
    class Faulty(LagrangianModel):
        def gravity(self, q):
            return 1.001 * super().gravity(q)

    monkeypatch.setitem(crosscheck.FORMULATIONS, 'Lagrange', Faulty)


def test_a_faulty_formulation_is_named_and_exits_with_1(capsys, faulty_lagrange):
    assert main(['arm', 'check', '--states', '5']) == 1
    out = words(capsys.readouterr().out)
    assert 'MISMATCH' in out
    assert (
        'Lagrange: frames, twists and wrenches of all links agree; the difference arises '
        'where it assembles gravity, inverse_dynamics, forward_dynamics.'
    ) in out


def test_json_and_html_page_hold_the_figures_of_the_check(tmp_path, capsys):
    paths = tmp_path / 'out' / 'check.json', tmp_path / 'out' / 'check.html'
    assert (
        main(['arm', 'check', '--states', '5', '--json', str(paths[0]), '--report', str(paths[1])])
        == 0
    )
    data = json.loads(paths[0].read_text())
    assert data['passed'] is True
    assert data['formulations'] == ['Pinocchio', 'Newton-Euler', 'exponentials', 'Lagrange']
    assert 0.0 < data['from_median']['inverse_dynamics']['exponentials'] < data['tolerance']
    assert len(data['links']['Pinocchio']['wrenches']) == 7
    assert [link['physical'] for link in data['consistency']] == [True] * 7
    page = paths[1].read_text()
    assert 'data:image/png;base64,' in page
    assert 'All agree' in page and 'http' not in page
    assert sorted(path.name for path in (tmp_path / 'out').iterdir()) == [
        'check.html',
        'check.json',
    ]
    capsys.readouterr()


def test_against_another_set_exits_with_1_and_json_lists_all(tmp_path, capsys):
    path = tmp_path / 'differences.json'
    command = ['arm', 'compare', 'fer', '--set', 'franka_description']
    assert main([*command, '--json', str(path)]) == 1
    data = json.loads(path.read_text())
    masses = [one for one in data['differences'] if one['parameter'] == 'mass']
    assert {one['place'] for one in masses} == {f'fer_joint{i}' for i in range(1, 8)}
    effects = [one['torque_effect'] for one in data['differences']]
    assert effects == sorted(effects, reverse=True)
    assert effects[0] > 1.0
    out = words(capsys.readouterr().out)
    # Ten are printed, and what all of them do at once.
    assert out.count('torque changes by up to') == 10
    assert f'- and {len(effects) - 10} more with less effect' in out
    assert f'Together they change the torque by up to {data["together"]["largest"]:.3g} N m' in out


def torque_file(tmp_path, **changes):
    arm = load('rpr')
    states = sample_states(arm, 6, 0)
    model = PinocchioModel(arm, (0.0, 0.2, -9.81))
    tau = np.array([model.inverse_dynamics(*state) for state in zip(*states)])
    arrays = {'q': states.q, 'dq': states.dq, 'ddq': states.ddq, 'tau': tau, **changes}
    path = tmp_path / 'box.npz'
    np.savez(path, **{name: value for name, value in arrays.items() if value is not None})
    return str(path)


def test_torques_of_a_black_box_list_the_candidates(tmp_path, capsys):
    result = tmp_path / 'suspects.json'
    command = ['arm', 'explain', '--arm', 'rpr', torque_file(tmp_path)]
    assert main([*command, '--json', str(result)]) == 1
    out = words(capsys.readouterr().out)
    assert '1. arm: gravity y 0.2 m/s^2 instead of 0 m/s^2 leaves 0.00% of the difference.' in out
    assert json.loads(result.read_text())['candidates'][0]['parameter'] == 'gravity y'


@pytest.mark.parametrize(
    ('changes', 'sentence'),
    [
        ({'tau': None}, 'has no array tau; it needs q, dq, ddq and tau'),
        (
            {'tau': np.zeros((5, 3))},
            'must have one shape (count, n), at least one state; they have q (6, 3)',
        ),
        ({'tau': np.full((6, 3), np.nan)}, 'tau of joint rpr_joint1 is nan'),
    ],
)
def test_a_torque_file_at_fault_is_refused_in_one_sentence(tmp_path, capsys, changes, sentence):
    assert main(['arm', 'explain', '--arm', 'rpr', torque_file(tmp_path, **changes)]) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.count('\n') == 1
