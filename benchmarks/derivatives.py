# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Cost of differential dynamics over the number of joints, as a table in Markdown.

Run `python benchmarks/derivatives.py`; it takes about a minute.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from timing import machine, measure

from franka_dynamics.arm import JointKind
from franka_dynamics.arm.sampling import random_arm
from franka_dynamics.dynamics.body_tree import BodyTree
from franka_dynamics.dynamics.closed_chain_derivatives import differentiate_by_parameters
from franka_dynamics.dynamics.derivatives import differentiate, tree_motion
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel

JOINTS = (2, 4, 7, 10, 20, 35, 50)
BATCH = 256
STEP = 1e-6


def finite_differences(
    tree: BodyTree,
    q: np.ndarray,
    dq: np.ndarray,
    ddq: np.ndarray,
) -> np.ndarray:
    """Return dtau/dlambda by central differences: 2 (9n + 6) inverse dynamics."""
    n = tree.n
    columns = []
    for k in range(9 * n + 6):
        pair = []
        for sign in (1.0, -1.0):
            change = np.zeros(9 * n + 6)
            change[k] = sign * STEP
            moved = (
                tree
                if k >= 6 * (n + 1)
                else tree.with_twist_corrections(change[: 6 * (n + 1)].reshape(n + 1, 6))
            )
            shifts = change[6 * (n + 1) :].reshape(3, n)
            pair.append(tree_motion(moved, q + shifts[0], dq + shifts[1], ddq + shifts[2]).tau)
        columns.append((pair[0] - pair[1]) / (2.0 * STEP))
    return np.stack(columns, axis=-1)


def row(n: int, rng: np.random.Generator) -> float:
    """Measure a random arm of n revolute joints, print its row, return the derivatives' cost."""
    arm = random_arm(rng, joints=n, kinds=(JointKind.REVOLUTE,))
    tree, backend = BodyTree.from_description(arm), PinocchioModel(arm)
    q, dq, ddq = rng.normal(size=(3, n))
    stack = rng.normal(size=(3, BATCH, n))
    timings = [
        measure(lambda: tree_motion(tree, q, dq, ddq)),
        measure(lambda: differentiate(tree, q, dq, ddq)),
        measure(lambda: differentiate(tree, *stack), 1.0),
        measure(lambda: differentiate_by_parameters(tree, q, dq, ddq)),
        measure(lambda: finite_differences(tree, q, dq, ddq), 0.1),
        measure(lambda: pin.computeRNEADerivatives(backend.model, backend.data, q, dq, ddq)),
    ]
    seconds = [timing.seconds for timing in timings]
    seconds[2] /= BATCH
    cells = ' | '.join(
        f'{1e6 * value:,.3g}' if value < 1e-3 else f'{1e6 * value:,.0f}' for value in seconds
    )
    print(f'| {n} | {cells} | {max(t.foreign for t in timings):.1f} |', flush=True)
    return seconds[1]


def main() -> None:
    """Measure and print."""
    rng = np.random.default_rng(0)
    print(machine())
    print()
    print(
        '| n | recursion [us] | derivatives [us] | per state of 256 [us] | by parameters [us] '
        '| finite differences [us] | Pinocchio RNEA derivatives [us] | others busy [cores] |'
    )
    print('|---|---|---|---|---|---|---|---|')
    costs = [(n, row(n, rng)) for n in JOINTS]
    large = np.log(np.array([(n, cost) for n, cost in costs if n >= 10]))
    print(f'\ngrowth of the derivatives from n = 10 to 50: n^{np.polyfit(*large.T, 1)[0]:.2f}')


if __name__ == '__main__':
    main()
