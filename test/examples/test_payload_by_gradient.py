# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A payload is found by gradients that JAX takes through the kernels."""

import numpy as np
import pytest

from .. import scripts

pytest.importorskip('jax', reason='the [jax] extra is not installed')


def test_the_hidden_load_is_found_within_its_deviation():
    with scripts.loaded(scripts.example('payload_by_gradient')) as example:
        found, spread = example.fit(50, 0)
    assert (np.abs(found - example.LOAD) < 5.0 * spread).all()
    assert found[0] == pytest.approx(example.LOAD[0], abs=0.05)
