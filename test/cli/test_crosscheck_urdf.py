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


def test_given_a_sound_urdf_when_checked_then_it_passes_and_names_set_and_hand(tmp_path, capsys):
    assert run(tmp_path, write_urdf(load('fr3', hand='franka_hand'))) == 0
    out = capsys.readouterr().out
    assert out.startswith('pass: ')
    assert 'inertials of fr3 franka_description, franka_hand, exactly' in out


def test_given_a_missing_hand_when_checked_then_it_exits_one_with_one_line_each(tmp_path, capsys):
    assert run(tmp_path, write_urdf(load('fr3')), '--hand', 'franka_hand') == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith('MISMATCH: ')
    assert lines[1].startswith('- link fr3_link7: mass is 0.627143 kg, expected 1.33974 kg; ')
    assert len(lines) == 2


def test_given_a_text_at_fault_when_checked_then_it_exits_two_with_one_sentence(tmp_path, capsys):
    assert run(tmp_path, write_urdf(load('fr3'))[:900]) == 2
    captured = capsys.readouterr()
    assert captured.out == ''
    assert 'is not well-formed XML' in captured.err
    assert captured.err.count('\n') == 1


def test_given_no_such_file_or_a_set_when_checked_then_it_exits_two(tmp_path, capsys):
    assert main(['crosscheck', '--urdf', str(tmp_path / 'none.urdf')]) == 2
    assert run(tmp_path, write_urdf(load('fr3')), '--set', 'gaz2019') == 2
    assert '--set has no meaning with a URDF' in capsys.readouterr().err
