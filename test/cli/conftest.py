# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Commands run in this process: what they answer, and the sentence by which they are refused."""

import pytest

from franka_dynamics.cli.main import INPUT_AT_FAULT, main


@pytest.fixture
def answered(capsys):
    """Return a function: a command's exit status, and what it prints without line breaks."""

    def run(*words):
        status = main([f'{word}' for word in words])
        return status, ' '.join(capsys.readouterr().out.split())

    return run


@pytest.fixture
def refused(capsys):
    """Return a function: the one sentence by which a command is refused, after what it says."""

    def run(*words, after=''):
        assert main([f'{word}' for word in words]) == INPUT_AT_FAULT
        out, said = capsys.readouterr()
        *progress, sentence = said.splitlines()  # of which a busy machine tells
        assert out.partition(':')[0] == after, out
        assert all(' of ' in line for line in progress), said
        return sentence

    return run
