# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Random states lie within the limits, fill them, and come back from their seed."""

import pytest

from franka_dynamics.arm import load
from franka_dynamics.arm.sampling import sample_states


@pytest.mark.parametrize('arm', ['fer', 'fr3'])
def test_states_fill_an_arms_limits_and_stay_within(arm):
    description = load(arm)
    q, dq, ddq = sample_states(description, 2000, 0)
    lower, upper = description.limit('lower'), description.limit('upper')
    velocity, acceleration = description.limit('velocity'), description.limit('acceleration')
    for values, low, high in (
        (q, lower, upper),
        (dq, -velocity, velocity),
        (ddq, -acceleration, acceleration),
    ):
        assert values.shape == (2000, 7)
        assert (values >= low).all() and (values <= high).all()
        # Of 2,000 uniform draws the extremes miss the ends by 1 % with probability 2e-9.
        assert (values.min(axis=0) < low + 0.01 * (high - low)).all()
        assert (values.max(axis=0) > high - 0.01 * (high - low)).all()
