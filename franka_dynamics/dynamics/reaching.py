# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Point-to-point motions of a closed chain, and how far integration opens its loops."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .closed_chain import ChainMotion, ClosedChain

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Reaching:
    """
    A point-to-point motion: times (N,) [s], the chain's motion, the motors' torques (N, a).

    `closure` (N,) is the largest opening of the loops with positions from `assemble` [rad or m],
    `drift` (N,) with passive positions integrated from dq_p = J_p dq_a instead.
    """

    times: Array
    motion: ChainMotion
    torques: Array
    closure: Array
    drift: Array


def quintic(start: ArrayLike, end: ArrayLike, duration: float, times: ArrayLike,
            ) -> tuple[Array, Array, Array]:
    """
    Return position, velocity and acceleration of the minimum-jerk motion, each (N, a).

    s = 10 r^3 - 15 r^4 + 6 r^5 with r = t / duration: at rest, and without acceleration, at both
    ends.
    """
    first, last = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    r = (np.asarray(times, dtype=float) / duration)[:, None]
    s = r**3 * (10.0 - 15.0 * r + 6.0 * r**2)
    ds = 30.0 * r**2 * (1.0 - r)**2 / duration
    dds = 60.0 * r * (1.0 - r) * (1.0 - 2.0 * r) / duration**2
    return first + s * (last - first), ds * (last - first), dds * (last - first)


def reach(chain: ClosedChain, start: ArrayLike, end: ArrayLike, duration: float, samples: int,
          guess: ArrayLike) -> Reaching:
    """
    Move a chain's motors from one point to another and return what that takes.

    Parameters
    ----------
    chain : ClosedChain
        The mechanism.
    start, end : array_like, shape (a,)
        Motor positions [rad or m].
    duration : float
        [s]
    samples : int
        Number of instants, both ends included.
    guess : array_like, shape (n,)
        A position of all joints near `start`, by which the assembly is chosen.

    Raises
    ------
    LoopError
        If the path leaves the workspace or meets a singular position.

    """
    times = np.linspace(0.0, duration, samples)
    q_a, dq_a, ddq_a = quintic(start, end, duration, times)
    motion = chain.motion(chain.follow(q_a, guess), dq_a, ddq_a)
    integrated = _integrate(chain, start, end, duration, times, motion.q[0])
    return Reaching(times, motion, chain.inverse_dynamics(motion),
                    np.abs(chain.closure_error(motion.q)).max(axis=-1),
                    np.abs(chain.closure_error(integrated)).max(axis=-1))


def _integrate(chain: ClosedChain, start: ArrayLike, end: ArrayLike, duration: float,
               times: Array, q: Array) -> Array:
    """Return joint positions with the passive ones integrated by Runge and Kutta's rule."""
    def rate(time: float, passive: Array) -> Array:
        motors, speed, _ = quintic(start, end, duration, [time])
        here = np.empty(chain.tree.n)
        here[chain.active], here[chain.passive] = motors[0], passive
        return chain.passive_jacobian(here) @ speed[0]

    path = [q]
    passive = q[chain.passive]
    for before, after in pairwise(times):
        h = after - before
        k1 = rate(before, passive)
        k2 = rate(before + 0.5 * h, passive + 0.5 * h * k1)
        k3 = rate(before + 0.5 * h, passive + 0.5 * h * k2)
        k4 = rate(after, passive + h * k3)
        passive = passive + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        here = np.empty(chain.tree.n)
        here[chain.active] = quintic(start, end, duration, [after])[0][0]
        here[chain.passive] = passive
        path.append(here)
    return np.array(path)
