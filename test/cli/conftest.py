# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures that run commands in this process and return what they print."""

import pytest

from franka_dynamics.cli.main import INPUT_AT_FAULT, main


@pytest.fixture
def answered(capsys):
    """Return a function that runs a command and returns exit status and output on one line."""

    def run(*words):
        status = main([f'{word}' for word in words])
        return status, ' '.join(capsys.readouterr().out.split())

    return run


@pytest.fixture
def refused(capsys):
    """Return a function that runs a command with wrong input and returns its error sentence."""

    def run(*words, after=''):
        assert main([f'{word}' for word in words]) == INPUT_AT_FAULT
        out, said = capsys.readouterr()
        *progress, sentence = said.splitlines()  # lines of progress, on a busy machine
        assert out.partition(':')[0] == after, out
        assert all(' of ' in line for line in progress), said
        return sentence

    return run
