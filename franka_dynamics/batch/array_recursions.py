# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Torques, regressor and flange in many states of an arm that comes as numbers, over blocks.

Torques and regressor by the recursion of Newton and Euler; the steps that they share are in
`array_kernels`.
"""

# numba infers the types of kernels from their arguments; all are float64 arrays.
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np

from . import array_kernels as at
from .array_kernels import (
    COMPILE,
    init_joint,
    L,
    L2,
    LANES,
    load,
    mark_nonfinite,
    resting_arms,
    store_motion,
    take_block,
    tensor,
    to_link,
    vector_to_link,
)
from .simd import numba, TILE, transpose_tile


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
    n, left = out.shape[1], min(LANES, out.shape[0] - start)
    if n < TILE or left < LANES:
        for i in range(left):
            for j in range(n):
                out[start + i, j] = kept[j, at.TORQUE + i]
    else:
        for tile in range((n + TILE - 1) // TILE):
            j = min(tile * TILE, n - TILE)
            column = j * at.KEPT + at.TORQUE
            for i in range(0, LANES, TILE):
                transpose_tile(kept, column + i, at.KEPT, out, (start + i) * n + j, n)


@numba.njit(**COMPILE)
def regressor(rows, gravity, places, q, dq, ddq, out):
    """
    Fill out (N, n, b) with torques by XX, XY, XZ, YY, YZ, ZZ, mX, mY, mZ, m of each link.

    `places` (10 n,) says which column of the output each of these is, and is -1 for those that
    are not asked for.
    """
    n = q.shape[1]
    W, nan_mask = np.zeros(at.SCRATCH), np.zeros(LANES)
    kept, arms = np.zeros((n, at.KEPT)), resting_arms(rows)
    axes = np.zeros((n, 6 * LANES))  # linear and angular part of each joint's unit twist
    entries = np.zeros(10 * LANES)
    for start in range(0, out.shape[0], LANES):
        left = min(LANES, out.shape[0] - start)
        take_block(rows, gravity, q, dq, ddq, start, W, kept, arms, nan_mask)
        for j in range(n):
            _advance(W, rows, kept, arms, j)
            axes[j] = 0.0
            turning = 5 if rows[j, at.PRISMATIC] == 0.0 else 2
            for i in range(LANES):
                axes[j, turning * LANES + i] = 1.0
            for joint in range(j):
                _carry(rows, kept, arms, j, axes[joint])
            for joint in range(n):
                if joint <= j:
                    _entries(W, axes[joint], entries)
                else:
                    entries[:] = 0.0
                for k in range(10):
                    column = places[10 * j + k]
                    if column >= 0:
                        for i in range(left):
                            out[start + i, joint, column] = entries[k * LANES + i] + nan_mask[i]


@numba.njit(**COMPILE)
def _advance(W, rows, kept, arms, j):
    """Advance the motion through a joint of either type."""
    ca, sa, px, slides = rows[j, at.COS], rows[j, at.SIN], rows[j + 1, at.X], rows[j, at.PRISMATIC]
    turns = 1.0 - slides
    for i in range(LANES):
        s, c = kept[j, at.SINE + i], kept[j, at.COSINE + i]
        rate, push = kept[j, at.RATE + i], kept[j, at.PUSH + i]
        x, y, z = vector_to_link(s, c, ca, sa, W, at.OMEGA, i)
        dx, dy, dz = vector_to_link(s, c, ca, sa, W, at.SPIN, i)
        ax, ay, az = vector_to_link(s, c, ca, sa, W, at.AHEAD, i)
        turn, slide = turns * rate, 2.0 * slides * rate
        z, dx, dy, dz = z + turn, dx + y * turn, dy - x * turn, dz + turns * push
        ax, ay, az = ax + slide * y, ay - slide * x, az + slides * push
        W[at.ACCELERATION + i], W[at.ACCELERATION + L + i] = ax, ay
        W[at.ACCELERATION + L2 + i] = az
        arm = (px, arms[j + 1, at.ARM_Y + i], arms[j + 1, at.ARM_Z + i])
        store_motion(W, i, (x, y, z), (dx, dy, dz), (ax, ay, az), tensor(x, y, z, dx, dy, dz), arm)


@numba.njit(**COMPILE)
def _carry(rows, kept, arms, j, twist):
    """Express a unit twist, at the origin of the frame before, at and in this frame."""
    ca, sa, px = rows[j, at.COS], rows[j, at.SIN], rows[j, at.X]
    for i in range(LANES):
        s, c = kept[j, at.SINE + i], kept[j, at.COSINE + i]
        py, pz = arms[j, at.ARM_Y + i], arms[j, at.ARM_Z + i]
        x, y, z = twist[3 * L + i], twist[4 * L + i], twist[5 * L + i]
        vx, vy, vz = to_link(
            s,
            c,
            ca,
            sa,
            twist[i] + y * pz - z * py,
            twist[L + i] + z * px - x * pz,
            twist[L2 + i] + x * py - y * px,
        )
        x, y, z = to_link(s, c, ca, sa, x, y, z)
        twist[i], twist[L + i], twist[L2 + i] = vx, vy, vz
        twist[3 * L + i], twist[4 * L + i], twist[5 * L + i] = x, y, z


@numba.njit(**COMPILE)
def _entries(W, twist, entries):
    """Fill what one joint feels of unit parameters of the present link."""
    for i in range(LANES):
        ux, uy, uz = twist[i], twist[L + i], twist[L2 + i]
        wx, wy, wz = twist[3 * L + i], twist[4 * L + i], twist[5 * L + i]
        x, y, z = W[at.OMEGA + i], W[at.OMEGA + L + i], W[at.OMEGA + L2 + i]
        dx, dy, dz = W[at.SPIN + i], W[at.SPIN + L + i], W[at.SPIN + L2 + i]
        ax, ay = W[at.ACCELERATION + i], W[at.ACCELERATION + L + i]
        az = W[at.ACCELERATION + L2 + i]
        xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
        entries[i] = wx * dx + wy * xz - wz * xy
        entries[L + i] = wx * (dy - xz) + wy * (dx + yz) + wz * (xx - yy)
        entries[L2 + i] = wx * (dz + xy) + wy * (zz - xx) + wz * (dx - yz)
        entries[3 * L + i] = wy * dy + wz * xy - wx * yz
        entries[4 * L + i] = wx * (yy - zz) + wy * (dz - xy) + wz * (dy + xz)
        entries[5 * L + i] = wz * dz + wx * yz - wy * xz
        entries[6 * L + i] = uy * (xy + dz) - ux * (yy + zz) + uz * (xz - dy) + wz * ay - wy * az
        entries[7 * L + i] = ux * (xy - dz) - uy * (xx + zz) + uz * (yz + dx) + wx * az - wz * ax
        entries[8 * L + i] = ux * (xz + dy) + uy * (yz - dx) - uz * (xx + yy) + wy * ax - wx * ay
        entries[9 * L + i] = ux * ax + uy * ay + uz * az


@numba.njit(**COMPILE)
def flange_pose(rows, root, tip, q, out):
    """Fill out (N, 4, 4) with the flange's poses."""
    n = q.shape[1]
    pose, axes = np.zeros(12 * LANES), np.zeros((n, 6 * LANES))
    kept, arms, nan_mask = np.zeros((n, at.KEPT)), resting_arms(rows), np.zeros(LANES)
    for start in range(0, q.shape[0], LANES):
        _flange(rows, root, tip, q, start, pose, axes, kept, arms, nan_mask)
        for i in range(min(LANES, q.shape[0] - start)):
            for a in range(3):
                for b in range(3):
                    out[start + i, a, b] = pose[(3 * a + b) * LANES + i]
                out[start + i, a, 3] = pose[(9 + a) * LANES + i]
                out[start + i, 3, a] = 0.0
            out[start + i, 3, 3] = 1.0


@numba.njit(**COMPILE)
def jacobian(rows, root, tip, q, out):
    """Fill out (N, 6, n) with (v, omega) at the flange's origin, in axes of the space frame."""
    n = q.shape[1]
    pose, axes = np.zeros(12 * LANES), np.zeros((n, 6 * LANES))
    kept, arms, nan_mask = np.zeros((n, at.KEPT)), resting_arms(rows), np.zeros(LANES)
    for start in range(0, q.shape[0], LANES):
        _flange(rows, root, tip, q, start, pose, axes, kept, arms, nan_mask)
        _twists(rows, axes, pose, out[start : start + LANES])


@numba.njit(**COMPILE)
def _flange(rows, root, tip, q, start, pose, axes, kept, arms, nan_mask):
    """Find a block's poses (R by rows, then p), and z, then the origin, of each joint's frame."""
    load(kept, at.SINE, q, start)
    mark_nonfinite(kept, nan_mask)
    for a in range(3):
        for i in range(LANES):
            for b in range(3):
                pose[(3 * a + b) * LANES + i] = root[a, b] + nan_mask[i]
            pose[(9 + a) * LANES + i] = root[a, 3] + nan_mask[i]
    for j in range(q.shape[1]):
        init_joint(rows, kept, arms, j)
        _step(rows, kept, arms, j, pose)
        for a in range(3):
            for i in range(LANES):
                axes[j, a * LANES + i] = pose[(3 * a + 2) * LANES + i]
                axes[j, (3 + a) * LANES + i] = pose[(9 + a) * LANES + i]
    _place(tip, pose)


@numba.njit(**COMPILE)
def _step(rows, kept, arms, j, pose):
    """Advance R and p through a joint."""
    ca, sa, px = rows[j, at.COS], rows[j, at.SIN], rows[j, at.X]
    for a in range(3):
        x, y, z, p = 3 * a * L, (3 * a + 1) * L, (3 * a + 2) * L, (9 + a) * L
        for i in range(LANES):
            rx, ry, rz = pose[x + i], pose[y + i], pose[z + i]
            s, c = kept[j, at.SINE + i], kept[j, at.COSINE + i]
            pose[p + i] += rx * px + ry * arms[j, at.ARM_Y + i] + rz * arms[j, at.ARM_Z + i]
            pose[x + i], pose[y + i], pose[z + i] = to_link(s, c, ca, sa, rx, ry, rz)


@numba.njit(**COMPILE)
def _place(tip, pose):
    """Multiply R and p by a fixed transform."""
    for a in range(3):
        x, y, z, p = 3 * a * L, (3 * a + 1) * L, (3 * a + 2) * L, (9 + a) * L
        for i in range(LANES):
            rx, ry, rz = pose[x + i], pose[y + i], pose[z + i]
            pose[p + i] += rx * tip[0, 3] + ry * tip[1, 3] + rz * tip[2, 3]
            pose[x + i] = rx * tip[0, 0] + ry * tip[1, 0] + rz * tip[2, 0]
            pose[y + i] = rx * tip[0, 1] + ry * tip[1, 1] + rz * tip[2, 1]
            pose[z + i] = rx * tip[0, 2] + ry * tip[1, 2] + rz * tip[2, 2]


@numba.njit(**COMPILE)
def _twists(rows, axes, pose, jacobians):
    """Fill the Jacobians from the joints' axes and origins and the flange's."""
    for i in range(jacobians.shape[0]):
        for j in range(jacobians.shape[2]):
            x, y, z = axes[j, i], axes[j, L + i], axes[j, L2 + i]
            if rows[j, at.PRISMATIC] == 0.0:
                rx = pose[9 * L + i] - axes[j, 3 * L + i]
                ry = pose[10 * L + i] - axes[j, 4 * L + i]
                rz = pose[11 * L + i] - axes[j, 5 * L + i]
                jacobians[i, 0, j] = y * rz - z * ry
                jacobians[i, 1, j] = z * rx - x * rz
                jacobians[i, 2, j] = x * ry - y * rx
                jacobians[i, 3, j], jacobians[i, 4, j], jacobians[i, 5, j] = x, y, z
            else:
                jacobians[i, 0, j], jacobians[i, 1, j], jacobians[i, 2, j] = x, y, z
                jacobians[i, 3, j] = jacobians[i, 4, j] = jacobians[i, 5, j] = 0.0
