# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A payload is found by gradients that JAX takes through the kernels."""

import pytest

from ..processes import printed
from ..scripts import example

pytest.importorskip('jax', reason='the [jax] extra is not installed')


def test_the_hidden_load_is_found_within_its_deviation():
    # The exit status says whether each of the four is within five standard deviations.
    said = printed(example('payload_by_gradient'), '--poses', '50')
    assert said.startswith('mass [kg]: 0.7')
