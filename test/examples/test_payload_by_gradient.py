# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A payload is found by gradients that JAX takes through the kernels."""

import subprocess
import sys

import pytest

from ..scripts import example

pytest.importorskip('jax', reason='the [jax] extra is not installed')

EXAMPLE = example('payload_by_gradient')


def test_the_hidden_load_is_found_within_its_deviation():
    # The exit status says whether each of the four is within five standard deviations.
    done = subprocess.run(
        [sys.executable, EXAMPLE, '--poses', '50'], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith('mass [kg]: 0.7')
