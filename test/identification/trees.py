# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Random trees whose joints lie along their frames' z, as rows of a geometry have them."""

import numpy as np

from franka_dynamics.arm import Convention, DHRow
from franka_dynamics.dynamics.body_tree import BASE, BodyTree

from ..arms import physical_link, TWISTS


def random_tree_of_rows(seed, *, special=0.6, branching=0.5):
    """
    Return a tree of 2 to 8 joints, a third of them slides.

    `special` is the probability of a zero length and of a turn from a short list, `branching`
    that a body hangs on any earlier one, or on the base, instead of on the last.
    """
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))

    def length():
        return 0.0 if rng.random() < special else rng.uniform(-0.5, 0.5)

    def angle():
        return rng.choice(TWISTS) if rng.random() < special else rng.uniform(-3.0, 3.0)

    parents = [BASE] + [
        int(rng.integers(BASE, i)) if rng.random() < branching else i - 1 for i in range(1, n)
    ]
    revolute = rng.random(n) < 0.65
    before = [DHRow(theta=angle(), d=length()).transform(Convention.MODIFIED) for _ in range(n)]
    rows = [
        DHRow(length(), angle(), length(), angle()).transform(Convention.MODIFIED)
        for _ in range(n)
    ]
    twists = np.where(revolute[:, None], [0, 0, 0, 0, 0, 1.0], [0, 0, 1.0, 0, 0, 0])
    return BodyTree(
        tuple(parents),
        np.array(before) @ np.array(rows),
        twists,
        [physical_link(rng) for _ in range(n)],
        rng.uniform(0.01, 0.1, n),
    )
