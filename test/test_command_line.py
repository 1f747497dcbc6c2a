# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Every verb answers --help, and wrong input is one sentence with exit status 2."""

import subprocess
import sys

import pytest

from franka_dynamics.cli.main import INPUT_AT_FAULT, main, READER_GONE, verbs


@pytest.mark.parametrize('verb', sorted(verbs()))
def test_given_a_verb_when_asked_for_help_then_it_prints_usage_and_exits_zero(verb, capsys):
    with pytest.raises(SystemExit) as exit_info:
        main([verb, '--help'])
    assert exit_info.value.code == 0
    assert f'usage: franka-dynamics {verb}' in capsys.readouterr().out


def test_given_an_unknown_arm_when_crosschecked_then_one_sentence_lists_the_arms(capsys):
    assert main(['crosscheck', '--arm', 'ur5']) == INPUT_AT_FAULT
    captured = capsys.readouterr()
    assert captured.out == ''
    assert captured.err.startswith("franka-dynamics: There is no arm 'ur5'; shipped are fer, fr3")
    assert captured.err.count('\n') == 1


def test_given_a_reader_that_stops_when_a_verb_prints_then_no_traceback_follows():
    process = subprocess.Popen(
        [sys.executable, '-m', 'franka_dynamics', 'describe', '--arm', 'rpr', '--json'],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    assert process.stderr.read() == ''
    assert process.wait() == READER_GONE
    process.stderr.close()
