# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How a node ended is said in a sentence: its exit status and last words, or its signal."""

import subprocess
import sys

import pytest

from franka_dynamics.ros.node_group import end_of


@pytest.mark.parametrize(
    ('program', 'said'),
    [
        ('import os, signal; os.kill(os.getpid(), signal.SIGSEGV)', 'was ended by SIGSEGV; its '),
        ('import sys; sys.exit("first\\nlast")', 'ended with exit status 1: last'),
        ('raise SystemExit(3)', 'ended with exit status 3: it said nothing'),
    ],
    ids=['crash', 'sentence', 'silence'],
)
def test_the_end_of_a_process_is_said_with_its_reason(program, said, tmp_path):
    log = tmp_path / 'some_node.log'
    # The traceback of a crash, of which the last line is a list of modules.
    command = [sys.executable, '-X', 'faulthandler', '-c', program]
    with log.open('wb') as written:
        process = subprocess.Popen(command, stdout=written, stderr=subprocess.STDOUT)
        process.wait(60.0)
    assert end_of(process, log).startswith(said)
    assert (str(log) in end_of(process, log)) == (process.returncode < 0)
