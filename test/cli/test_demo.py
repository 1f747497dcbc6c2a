# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Options of the demonstration that cannot be run are refused before anything is started."""

import pytest

from franka_dynamics.cli.main import INPUT_AT_FAULT, main

pytest.importorskip('rclpy', reason='ROS 2 is not installed')


@pytest.mark.parametrize(
    ('options', 'sentence'),
    [
        (['--hold', '-1'], '--hold is -1.0; it must be above 0'),
        (['--motion', 'nan'], '--motion is nan; it must be above 0'),
        (['--amplitude', '100'], '--amplitude is 100.0; it must be above 0 and at most 3'),
    ],
)
def test_given_a_number_at_fault_when_asked_for_then_it_is_named_at_once(
    options, sentence, capsys, tmp_path
):
    assert main(['demo', '--output', str(tmp_path / 'out'), *options]) == INPUT_AT_FAULT
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / 'out').exists()


def test_given_a_file_as_output_when_asked_for_then_another_place_is_asked_for(capsys, tmp_path):
    taken = tmp_path / 'taken'
    taken.write_text('something')
    assert main(['demo', '--output', str(taken)]) == INPUT_AT_FAULT
    assert 'it is a file; give the name of a folder' in capsys.readouterr().err
    assert taken.read_text() == 'something'


def test_given_an_arm_it_does_not_run_when_asked_for_then_the_choices_are_told(capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(['demo', '--arm', 'rpr'])
    assert exit_info.value.code == INPUT_AT_FAULT
    assert 'invalid choice' in capsys.readouterr().err
