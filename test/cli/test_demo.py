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
def test_a_number_at_fault_is_named_before_anything_is_written(
    options, sentence, capsys, tmp_path
):
    assert main(['demo', '--output', str(tmp_path / 'out'), *options]) == INPUT_AT_FAULT
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / 'out').exists()


def test_an_output_that_is_a_file_is_refused_and_left_alone(capsys, tmp_path):
    taken = tmp_path / 'taken'
    taken.write_text('something')
    assert main(['demo', '--output', str(taken)]) == INPUT_AT_FAULT
    assert 'it is a file; give the name of a folder' in capsys.readouterr().err
    assert taken.read_text() == 'something'


def test_an_arm_the_demo_does_not_run_is_refused_with_choices(capsys):
    with pytest.raises(SystemExit) as exit_info:
        main(['demo', '--arm', 'rpr'])
    assert exit_info.value.code == INPUT_AT_FAULT
    assert 'invalid choice' in capsys.readouterr().err
