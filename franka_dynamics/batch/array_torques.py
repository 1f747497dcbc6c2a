# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torques of many states of an arm that comes as numbers: recursive Newton-Euler over blocks."""

# numba infers the types of kernels from their arguments; all are float64 arrays.
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np

from . import array_layout as at
from .array_kernels import COMPILE, resting_arms, store_motion, take_block, tensor, vector_to_link
from .array_layout import L, L2, LANES
from .compiler import numba
from .simd import TILE, transpose_tile


@numba.njit(**COMPILE)
def inverse_dynamics(rows, gravity, q, dq, ddq, out):
    """Fill out (N, n) with torques; gravity (3,) is in the axes of frame 1 at zero."""
    n = q.shape[1]
    W, nan_mask = np.zeros(at.SCRATCH), np.zeros(LANES)
    kept, arms = np.zeros((n, at.KEPT)), resting_arms(rows)
    for start in range(0, out.shape[0], LANES):
        take_block(rows, gravity, q, dq, ddq, start, W, kept, arms, nan_mask)
        for j in range(n):
            if rows[j, at.PRISMATIC] != 0.0:
                _slide(W, rows, kept, arms, j)
            elif j:
                _turn(W, rows, kept, arms, j)
            else:
                _first_turn(W, rows, kept, arms)
        for i in range(6 * LANES):
            W[at.FORCE + i] = 0.0
        for j in range(n - 1, -1, -1):
            _propagate(W, rows, kept, arms, j, nan_mask)
        _store(kept, out, start)


@numba.njit(**COMPILE)
def _turn(W, rows, kept, arms, j):
    """Advance the motion through a revolute joint; keep the wrench of its link."""
    ca, sa, px, link = rows[j, at.COS], rows[j, at.SIN], rows[j + 1, at.X], _link(rows, j)
    for i in range(LANES):
        s, c, rate = kept[j, at.SINE + i], kept[j, at.COSINE + i], kept[j, at.RATE + i]
        x, y, z = vector_to_link(s, c, ca, sa, W, at.OMEGA, i)
        dx, dy, dz = vector_to_link(s, c, ca, sa, W, at.SPIN, i)
        acceleration = vector_to_link(s, c, ca, sa, W, at.AHEAD, i)
        omega = (x, y, z + rate)
        spin = (dx + y * rate, dy - x * rate, dz + kept[j, at.PUSH + i])
        arm = (px, arms[j + 1, at.ARM_Y + i], arms[j + 1, at.ARM_Z + i])
        _revolute_link(W, kept, j, i, link, omega, spin, acceleration, arm)


@numba.njit(**COMPILE)
def _first_turn(W, rows, kept, arms):
    """Do the same where the base is: joint 1 turns about z and its origin rests."""
    px, link = rows[1, at.X], _link(rows, 0)
    for i in range(LANES):
        s, c = kept[0, at.SINE + i], kept[0, at.COSINE + i]
        ax, ay = W[at.AHEAD + i], W[at.AHEAD + L + i]
        acceleration = (c * ax + s * ay, c * ay - s * ax, W[at.AHEAD + L2 + i])
        omega, spin = (0.0, 0.0, kept[0, at.RATE + i]), (0.0, 0.0, kept[0, at.PUSH + i])
        arm = (px, arms[1, at.ARM_Y + i], arms[1, at.ARM_Z + i])
        _revolute_link(W, kept, 0, i, link, omega, spin, acceleration, arm)


@numba.njit(inline='always', **COMPILE)
def _link(rows, j):
    """Return what a revolute joint's link has: hx, hy and five second moments."""
    return (
        rows[j, at.HX],
        rows[j, at.HY],
        rows[j, at.SXX],
        rows[j, at.SXY],
        rows[j, at.SXZ],
        rows[j, at.SYY],
        rows[j, at.SYZ],
    )


@numba.njit(inline='always', **COMPILE)
def _revolute_link(W, kept, j, i, link, omega, spin, acceleration, arm):
    """Keep the force and the moment that a revolute joint's link takes."""
    hx, hy, sxx, sxy, sxz, syy, syz = link
    ax, ay, az = acceleration
    u = tensor(omega[0], omega[1], omega[2], spin[0], spin[1], spin[2])
    store_motion(W, i, omega, spin, acceleration, u, arm)
    uxx, uxy, uxz, uyx, uyy, uyz, uzx, uzy, uzz = u
    kept[j, at.LINK_FORCE + i] = uxx * hx + uxy * hy
    kept[j, at.LINK_FORCE + L + i] = uyx * hx + uyy * hy
    kept[j, at.LINK_FORCE + L2 + i] = uzx * hx + uzy * hy
    kept[j, at.LINK_MOMENT + i] = syy * uzy + sxy * uzx - sxz * uyx + syz * (uzz - uyy) + hy * az
    kept[j, at.LINK_MOMENT + L + i] = (
        syz * uxy - sxx * uzx - sxy * uzy + sxz * (uxx - uzz) - hx * az
    )
    kept[j, at.LINK_MOMENT + L2 + i] = (
        sxx * uyx - syy * uxy + sxz * uyz - syz * uxz + sxy * (uyy - uxx) + hx * ay - hy * ax
    )


@numba.njit(**COMPILE)
def _slide(W, rows, kept, arms, j):
    """Advance the motion through a prismatic joint; keep the wrench of its link with m and h."""
    ca, sa, px = rows[j, at.COS], rows[j, at.SIN], rows[j + 1, at.X]
    m, hx, hy, hz = rows[j, at.MASS], rows[j, at.HX], rows[j, at.HY], rows[j, at.HZ]
    for i in range(LANES):
        s, c, rate = kept[j, at.SINE + i], kept[j, at.COSINE + i], 2.0 * kept[j, at.RATE + i]
        omega = vector_to_link(s, c, ca, sa, W, at.OMEGA, i)
        spin = vector_to_link(s, c, ca, sa, W, at.SPIN, i)
        ax, ay, az = vector_to_link(s, c, ca, sa, W, at.AHEAD, i)
        ax, ay, az = ax + rate * omega[1], ay - rate * omega[0], az + kept[j, at.PUSH + i]
        u = tensor(omega[0], omega[1], omega[2], spin[0], spin[1], spin[2])
        arm = (px, arms[j + 1, at.ARM_Y + i], arms[j + 1, at.ARM_Z + i])
        store_motion(W, i, omega, spin, (ax, ay, az), u, arm)
        kept[j, at.LINK_FORCE + i] = m * ax + u[0] * hx + u[1] * hy + u[2] * hz
        kept[j, at.LINK_FORCE + L + i] = m * ay + u[3] * hx + u[4] * hy + u[5] * hz
        kept[j, at.LINK_FORCE + L2 + i] = m * az + u[6] * hx + u[7] * hy + u[8] * hz
        kept[j, at.LINK_MOMENT + i] = hy * az - hz * ay
        kept[j, at.LINK_MOMENT + L + i] = hz * ax - hx * az
        kept[j, at.LINK_MOMENT + L2 + i] = hx * ay - hy * ax


@numba.njit(**COMPILE)
def _propagate(W, rows, kept, arms, j, nan_mask):
    """Note a joint's torque; express force and moment in the frame before, about its origin."""
    ca, sa, px, rotor = rows[j, at.COS], rows[j, at.SIN], rows[j, at.X], rows[j, at.ROTOR]
    by_force = rows[j, at.PRISMATIC]
    by_moment = 1.0 - by_force
    for i in range(LANES):
        s, c = kept[j, at.SINE + i], kept[j, at.COSINE + i]
        py, pz = arms[j, at.ARM_Y + i], arms[j, at.ARM_Z + i]
        x = kept[j, at.LINK_FORCE + i] + W[at.FORCE + i]
        y = kept[j, at.LINK_FORCE + L + i] + W[at.FORCE + L + i]
        along = kept[j, at.LINK_FORCE + L2 + i] + W[at.FORCE + L2 + i]
        t = s * x + c * y
        fx, fy, fz = c * x - s * y, t * ca - along * sa, t * sa + along * ca
        x = kept[j, at.LINK_MOMENT + i] + W[at.MOMENT + i]
        y = kept[j, at.LINK_MOMENT + L + i] + W[at.MOMENT + L + i]
        about = kept[j, at.LINK_MOMENT + L2 + i] + W[at.MOMENT + L2 + i]
        t = s * x + c * y
        W[at.FORCE + i], W[at.FORCE + L + i], W[at.FORCE + L2 + i] = fx, fy, fz
        W[at.MOMENT + i] = c * x - s * y + py * fz - pz * fy
        W[at.MOMENT + L + i] = t * ca - about * sa + pz * fx - px * fz
        W[at.MOMENT + L2 + i] = t * sa + about * ca + px * fy - py * fx
        kept[j, at.TORQUE + i] = (
            by_moment * about + by_force * along + rotor * kept[j, at.PUSH + i] + nan_mask[i]
        )


@numba.njit(**COMPILE)
def _store(kept, out, start):
    """Turn a block's torques into rows."""
    n = out.shape[1]
    if n < TILE:
        for i in range(LANES):
            for j in range(n):
                out[start + i, j] = kept[j, at.TORQUE + i]
    else:
        for tile in range((n + TILE - 1) // TILE):
            j = min(tile * TILE, n - TILE)
            column = j * at.KEPT + at.TORQUE
            for i in range(0, LANES, TILE):
                transpose_tile(kept, column + i, at.KEPT, out, (start + i) * n + j, n)
