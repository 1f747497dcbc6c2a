# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Fixtures that run commands in this process and return what they print or write."""

import json

import pytest

from franka_dynamics.cli.main import EXIT_INVALID_INPUT, main


def run(command, *words):
    return main([*command.split(), *map(str, words)])


@pytest.fixture
def answered(capsys):
    """Return a function that runs a command and returns exit status and output on one line."""
    return lambda *words: (run(*words), ' '.join(capsys.readouterr().out.split()))


@pytest.fixture
def told(answered, tmp_path_factory):
    """Return a function that runs a command: exit status, output, and what --json writes."""

    def read(*words):
        path = tmp_path_factory.mktemp('json') / 'figures.json'
        status, said = answered(*words, '--json', path)
        # NaN and Infinity are no JSON.
        return status, said, json.loads(path.read_text(), parse_constant=pytest.fail)

    return read


@pytest.fixture
def figures(told):
    """Return a function that runs a command with --json and returns the file's content."""

    def read(*words):
        status, said, data = told(*words)
        assert status == 0, said
        return data

    return read


@pytest.fixture
def refused(capsys):
    """Return a function that runs a command with wrong input and returns its error sentence."""

    def sentence(*words):
        assert run(*words) == EXIT_INVALID_INPUT
        out, said = capsys.readouterr()
        *progress, last = said.splitlines()  # lines of progress, on a busy machine
        assert out.partition(':')[0] in ('', 'planning', 'unit'), out
        assert all(' of ' in line for line in progress), said
        return last

    return sentence
