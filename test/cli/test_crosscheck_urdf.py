# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`crosscheck --urdf`: the verdict, one line each, and the exit status."""

from franka_dynamics.arm import load
from franka_dynamics.cli.main import main
from franka_dynamics.urdf.writer import write_urdf


def run(tmp_path, text, *options):
    path = tmp_path / 'robot.urdf'
    path.write_text(text, encoding='utf-8')
    return main(['crosscheck', '--urdf', str(path), *options])


def test_a_sound_urdf_passes_with_its_set_and_hand_named(tmp_path, capsys):
    assert run(tmp_path, write_urdf(load('fr3', hand='franka_hand'))) == 0
    out = capsys.readouterr().out
    assert out.startswith('pass: ')
    assert 'inertials of fr3 franka_description, franka_hand, exactly' in out


def test_a_missing_hand_exits_with_1_and_names_link_7(tmp_path, capsys):
    assert run(tmp_path, write_urdf(load('fr3')), '--hand', 'franka_hand') == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith('MISMATCH: ')
    assert lines[1].startswith('- link fr3_link7: mass is 0.627143 kg, expected 1.33974 kg; ')
    assert len(lines) == 2


def test_a_urdf_text_at_fault_exits_with_2_and_one_sentence(tmp_path, capsys):
    assert run(tmp_path, write_urdf(load('fr3'))[:900]) == 2
    captured = capsys.readouterr()
    assert captured.out == ''
    assert 'is not well-formed XML' in captured.err
    assert captured.err.count('\n') == 1


def test_a_missing_urdf_file_or_a_set_with_a_urdf_exits_with_2(tmp_path, capsys):
    assert main(['crosscheck', '--urdf', str(tmp_path / 'none.urdf')]) == 2
    assert run(tmp_path, write_urdf(load('fr3')), '--set', 'gaz2019') == 2
    assert '--set has no meaning with a URDF' in capsys.readouterr().err
