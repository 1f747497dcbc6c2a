# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics arm show`: tables, JSON, poses, and wrong input."""

import json

import pytest

from franka_dynamics.cli.main import main


def test_the_fers_rows_and_published_numbers_are_printed(answered):
    _, out = answered('arm', 'show', '--arm', 'fer')
    assert 'modified Denavit-Hartenberg rows' in out
    assert '-0.0825' in out and '-pi/2' in out
    assert '0.70337' in out  # Gaz's Ixx of link 1, about its centre of mass
    assert 'total mass of the moving links 16.0621 kg' in out


def test_a_pose_prints_the_origins_in_space(capsys):
    assert main(['arm', 'show', '--q', 'zero']) == 0
    out = capsys.readouterr().out
    assert 'origins in {S} at q = (0, 0, 0, 0, 0, 0, 0)' in out
    flange = next(line for line in out.splitlines() if 'flange' in line and '0.926' in line)
    assert '0.088000' in flange


def test_json_output_parses_and_holds_the_pose(capsys):
    assert main('arm show --arm rpr --json --q 0.5 -0.1 0.7'.split()) == 0
    data = json.loads(capsys.readouterr().out)
    assert data['q'] == [0.5, -0.1, 0.7]
    assert data['convention'] == 'standard'
    assert len(data['links']) == 3


def test_a_picture_of_the_frames_is_written_beside_the_tables(tmp_path, answered):
    path = tmp_path / 'new' / 'frames.png'
    status, out = answered('arm', 'show', '--arm', 'rpr', '--q', 'home', '--plot', path)
    assert status == 0 and 'Denavit-Hartenberg' in out
    assert path.read_bytes().startswith(b'\x89PNG')


def test_a_picture_format_that_is_unknown_is_refused(tmp_path, refused):
    assert 'not a picture format' in refused('arm', 'show', '--plot', tmp_path / 'frames.docx')


@pytest.mark.parametrize(
    ('q', 'sentence'),
    [
        ('up', '--q takes zero, home or 7 numbers; got up.'),
        ('1_0 0 0 0 0 0 0', '--q takes zero, home or 7 numbers; got 1_0'),
        ('1 2', '--q has shape (2,), expected (7,): one value per joint of fer'),
        ('nan 0 0 0 0 0 0', '--q of joint fer_joint1 is nan'),
    ],
)
def test_a_pose_at_fault_is_refused_in_one_sentence(q, sentence, refused):
    assert sentence in refused('arm', 'show', '--q', *q.split())
