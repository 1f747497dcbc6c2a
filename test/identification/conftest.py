# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Regressors of motions, which are computed once: most tests change the efforts alone."""

import numpy as np
import pytest

from franka_dynamics.identification import base_parameters

_MAX_REMEMBERED = 100  # two motions with every fault of their states, about 1.5 MB each


@pytest.fixture(scope='package', autouse=True)
def regressors_of_the_same_states_are_computed_once():
    """Replace the function by one that remembers what it returned, which nobody may change."""
    compute, remembered = base_parameters.torque_regressor, {}

    def regressor(tree, *states, **options):
        key = (
            repr(options),
            *(x.tobytes() for x in (tree.placements, tree.twists, *map(np.asarray, states))),
        )
        found = remembered.pop(key, None)
        if found is None:
            found = compute(tree, *states, **options)
            found.setflags(write=False)
        remembered[key] = found
        if len(remembered) > _MAX_REMEMBERED:
            del remembered[next(iter(remembered))]
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base_parameters, 'torque_regressor', regressor)
        yield
