# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm show`: tables, JSON, pose words and what is refused."""

import json

import pytest

from franka_dynamics.cli.main import INPUT_AT_FAULT, main


def printed(capsys, *words):
    assert main(['arm', 'show', *words]) == 0
    return capsys.readouterr().out


def test_the_fers_rows_and_published_numbers_are_printed(capsys):
    out = printed(capsys, '--arm', 'fer', '--about', 'center_of_mass')
    assert 'modified Denavit-Hartenberg rows' in out
    assert '-0.0825' in out
    assert '-pi/2' in out
    assert '0.70337' in out  # Gaz's Ixx of link 1
    assert 'total mass of the moving links 16.0621 kg' in out


def test_frame_space_prints_the_origins_at_the_pose(capsys):
    out = printed(capsys, '--frame', 'space', '--q', 'zero')
    assert 'origins in {S} at q = (0, 0, 0, 0, 0, 0, 0)' in out
    flange = next(line for line in out.splitlines() if 'flange' in line and '0.926' in line)
    assert '0.088000' in flange


def test_json_output_parses_and_holds_the_pose(capsys):
    data = json.loads(
        printed(capsys, '--arm', 'rpr', '--frame', 'space', '--json', '--q', '0.5', '-0.1', '0.7')
    )
    assert data['q'] == [0.5, -0.1, 0.7]
    assert data['convention'] == 'standard'
    assert len(data['links']) == 3


@pytest.mark.parametrize(
    ('words', 'sentence'),
    [
        (['--q', 'up'], '--q takes zero, home or 7 numbers; got up.'),
        (['--q', '1', '2'], '--q has shape (2,), expected (7,): one value per joint of fer'),
        (['--q', 'nan', '0', '0', '0', '0', '0', '0'], '--q of joint fer_joint1 is nan'),
        (['--about', 'space_origin'], '--about space_origin needs --frame space'),
    ],
)
def test_input_at_fault_is_refused_in_one_sentence(words, sentence, capsys):
    assert main(['arm', 'show', *words]) == INPUT_AT_FAULT
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.count('\n') == 1
    assert captured.out == ''
