# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Torques and regressor in many states of an arm that comes as numbers, over blocks.

Both by the recursion of Newton and Euler; the steps that they share are in `array_kernels`.
"""

# numba infers the types of kernels from their arguments; all are float64 arrays.
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np

from . import array_kernels as at
from .array_kernels import (
    block_width,
    COMPILE,
    L,
    L2,
    LANES,
    rest_arms,
    resting_arms,
    store_motion,
    take_block,
    tensor,
    to_link,
    vector_down,
    vector_to_link,
    vector_up,
)
from .native import doubles_at, first_line, LINE
from .simd import numba, TILE, transpose_tile


@numba.njit(**COMPILE)
def inverse_dynamics(rows, gravity, q, dq, ddq, out):
    """Fill out (N, n) with torques; gravity (3,) is in the axes of frame 1 at zero."""
    n = q.shape[1]
    # Arrays at addresses: numba counts no references to them, which takes an eighth of the time.
    memory = np.empty(at.SCRATCH + LANES + n * at.KEPT + (n + 1) * at.ARMS + LINE // 8)
    place = first_line(memory)
    W, place = doubles_at(place, at.SCRATCH), place + 8 * at.SCRATCH
    nan_mask, place = doubles_at(place, LANES), place + 8 * LANES
    kept, place = doubles_at(place, (n, at.KEPT)), place + 8 * n * at.KEPT
    arms = doubles_at(place, (n + 1, at.ARMS))
    rest_arms(rows, arms)
    for start in range(0, out.shape[0], LANES):
        width = block_width(LANES, out.shape[0] - start)
        take_block(rows, gravity, q, dq, ddq, start, width, W, kept, arms, nan_mask)
        for j in range(n):
            if rows[j, at.PRISMATIC] != 0.0:
                _slide(W, rows, kept, arms, j, width)
            elif j == 0:
                _first_turn(W, rows, kept, arms, width)
            elif rows[j, at.COS] != 0.0:
                _turn(W, rows, kept, arms, j, width)
            elif rows[j, at.SIN] > 0.0:
                _turn_up(W, rows, kept, arms, j, width)
            else:
                _turn_down(W, rows, kept, arms, j, width)
        W[at.FORCE :] = 0.0
        for j in range(n - 1, -1, -1):
            if rows[j, at.PRISMATIC] != 0.0 or (j and rows[j, at.COS] != 0.0):
                _propagate(W, rows, kept, arms, j, width)
            elif j == 0:
                _feel(W, rows, kept, width)
            elif rows[j, at.SIN] > 0.0:
                _propagate_up(W, rows, kept, arms, j, width)
            else:
                _propagate_down(W, rows, kept, arms, j, width)
        _store(kept, out, start, width)
    memory[0] = 0.0  # it lives as long as it is used


@numba.njit(inline='always', **COMPILE)
def _turn(W, rows, kept, arms, j, width):
    """Advance the motion through a revolute joint; keep the wrench of its link."""
    ca, sa, px, link = rows[j, at.COS], rows[j, at.SIN], rows[j + 1, at.X], _link(rows, j)
    for i in range(width):
        s, c, rate = kept[j, at.SINE + i], kept[j, at.COSINE + i], kept[j, at.RATE + i]
        x, y, z = vector_to_link(s, c, ca, sa, W, at.OMEGA, i)
        dx, dy, dz = vector_to_link(s, c, ca, sa, W, at.SPIN, i)
        acceleration = vector_to_link(s, c, ca, sa, W, at.AHEAD, i)
        omega = (x, y, z + rate)
        spin = (dx + y * rate, dy - x * rate, dz + kept[j, at.PUSH + i])
        arm = (px, arms[j + 1, at.ARM_Y + i], arms[j + 1, at.ARM_Z + i])
        _revolute_link(W, kept, j, i, link, omega, spin, acceleration, arm)


# The same at right angles, as most joints of most arms have: a quarter of the products are of
# zeros and ones there. Written twice, because the compiler may not leave out products of zeros.


@numba.njit(inline='always', **COMPILE)
def _turn_up(W, rows, kept, arms, j, width):
    px, link = rows[j + 1, at.X], _link(rows, j)
    for i in range(width):
        s, c, rate = kept[j, at.SINE + i], kept[j, at.COSINE + i], kept[j, at.RATE + i]
        x, y, z = vector_up(s, c, W, at.OMEGA, i)
        dx, dy, dz = vector_up(s, c, W, at.SPIN, i)
        acceleration = vector_up(s, c, W, at.AHEAD, i)
        omega = (x, y, z + rate)
        spin = (dx + y * rate, dy - x * rate, dz + kept[j, at.PUSH + i])
        arm = (px, arms[j + 1, at.ARM_Y + i], arms[j + 1, at.ARM_Z + i])
        _revolute_link(W, kept, j, i, link, omega, spin, acceleration, arm)


@numba.njit(inline='always', **COMPILE)
def _turn_down(W, rows, kept, arms, j, width):
    px, link = rows[j + 1, at.X], _link(rows, j)
    for i in range(width):
        s, c, rate = kept[j, at.SINE + i], kept[j, at.COSINE + i], kept[j, at.RATE + i]
        x, y, z = vector_down(s, c, W, at.OMEGA, i)
        dx, dy, dz = vector_down(s, c, W, at.SPIN, i)
        acceleration = vector_down(s, c, W, at.AHEAD, i)
        omega = (x, y, z + rate)
        spin = (dx + y * rate, dy - x * rate, dz + kept[j, at.PUSH + i])
        arm = (px, arms[j + 1, at.ARM_Y + i], arms[j + 1, at.ARM_Z + i])
        _revolute_link(W, kept, j, i, link, omega, spin, acceleration, arm)


@numba.njit(inline='always', **COMPILE)
def _first_turn(W, rows, kept, arms, width):
    """Do the same where the base is: joint 1 turns about z, and of its link only that is felt."""
    px, hx, hy = rows[1, at.X], rows[0, at.HX], rows[0, at.HY]
    about = rows[0, at.SXX] + rows[0, at.SYY]
    for i in range(width):
        s, c = kept[0, at.SINE + i], kept[0, at.COSINE + i]
        rate, push, py = kept[0, at.RATE + i], kept[0, at.PUSH + i], arms[1, at.ARM_Y + i]
        x, y = W[at.AHEAD + i], W[at.AHEAD + L + i]
        ax, ay = c * x + s * y, c * y - s * x
        W[at.OMEGA + L2 + i], W[at.SPIN + L2 + i] = rate, push
        W[at.AHEAD + i] = ax - rate * rate * px - push * py
        W[at.AHEAD + L + i] = ay + push * px - rate * rate * py
        kept[0, at.LINK_MOMENT + L2 + i] = about * push + hx * ay - hy * ax


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


@numba.njit(forceinline=True, **COMPILE)
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


@numba.njit(inline='always', **COMPILE)
def _slide(W, rows, kept, arms, j, width):
    """Advance the motion through a prismatic joint; keep the wrench of its link with m and h."""
    ca, sa, px = rows[j, at.COS], rows[j, at.SIN], rows[j + 1, at.X]
    m, hx, hy, hz = rows[j, at.MASS], rows[j, at.HX], rows[j, at.HY], rows[j, at.HZ]
    for i in range(width):
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


@numba.njit(inline='always', **COMPILE)
def _propagate(W, rows, kept, arms, j, width):
    """Note a joint's torque; express force and moment in the frame before, about its origin."""
    ca, sa, px, rotor = rows[j, at.COS], rows[j, at.SIN], rows[j, at.X], rows[j, at.ROTOR]
    by_force = rows[j, at.PRISMATIC]
    by_moment = 1.0 - by_force
    for i in range(width):
        s, c = kept[j, at.SINE + i], kept[j, at.COSINE + i]
        x, y, along = _plus_link(W, kept, j, at.FORCE, at.LINK_FORCE, i)
        t = s * x + c * y
        force = (c * x - s * y, t * ca - along * sa, t * sa + along * ca)
        x, y, about = _plus_link(W, kept, j, at.MOMENT, at.LINK_MOMENT, i)
        t = s * x + c * y
        moment = (c * x - s * y, t * ca - about * sa, t * sa + about * ca)
        _shift(W, i, force, moment, (px, arms[j, at.ARM_Y + i], arms[j, at.ARM_Z + i]))
        torque = by_moment * about + by_force * along
        kept[j, at.TORQUE + i] = torque + rotor * kept[j, at.PUSH + i]


@numba.njit(inline='always', **COMPILE)
def _propagate_up(W, rows, kept, arms, j, width):
    px, rotor = rows[j, at.X], rows[j, at.ROTOR]
    for i in range(width):
        s, c = kept[j, at.SINE + i], kept[j, at.COSINE + i]
        x, y, along = _plus_link(W, kept, j, at.FORCE, at.LINK_FORCE, i)
        force = (c * x - s * y, -along, s * x + c * y)
        x, y, about = _plus_link(W, kept, j, at.MOMENT, at.LINK_MOMENT, i)
        moment = (c * x - s * y, -about, s * x + c * y)
        _shift(W, i, force, moment, (px, arms[j, at.ARM_Y + i], arms[j, at.ARM_Z + i]))
        kept[j, at.TORQUE + i] = about + rotor * kept[j, at.PUSH + i]


@numba.njit(inline='always', **COMPILE)
def _propagate_down(W, rows, kept, arms, j, width):
    px, rotor = rows[j, at.X], rows[j, at.ROTOR]
    for i in range(width):
        s, c = kept[j, at.SINE + i], kept[j, at.COSINE + i]
        x, y, along = _plus_link(W, kept, j, at.FORCE, at.LINK_FORCE, i)
        force = (c * x - s * y, along, -(s * x + c * y))
        x, y, about = _plus_link(W, kept, j, at.MOMENT, at.LINK_MOMENT, i)
        moment = (c * x - s * y, about, -(s * x + c * y))
        _shift(W, i, force, moment, (px, arms[j, at.ARM_Y + i], arms[j, at.ARM_Z + i]))
        kept[j, at.TORQUE + i] = about + rotor * kept[j, at.PUSH + i]


@numba.njit(inline='always', **COMPILE)
def _plus_link(W, kept, j, place, own, i):
    """Return what comes from the joints behind, with what the link itself takes."""
    return (
        kept[j, own + i] + W[place + i],
        kept[j, own + L + i] + W[place + L + i],
        kept[j, own + L2 + i] + W[place + L2 + i],
    )


@numba.njit(inline='always', **COMPILE)
def _shift(W, i, force, moment, arm):
    """Store a force at an arm, and the moment with what the force adds to it."""
    fx, fy, fz = force
    px, py, pz = arm
    W[at.FORCE + i], W[at.FORCE + L + i], W[at.FORCE + L2 + i] = fx, fy, fz
    W[at.MOMENT + i] = moment[0] + py * fz - pz * fy
    W[at.MOMENT + L + i] = moment[1] + pz * fx - px * fz
    W[at.MOMENT + L2 + i] = moment[2] + px * fy - py * fx


@numba.njit(inline='always', **COMPILE)
def _feel(W, rows, kept, width):
    """Note the torque of joint 1, where it turns."""
    rotor = rows[0, at.ROTOR]
    for i in range(width):
        about = kept[0, at.LINK_MOMENT + L2 + i] + W[at.MOMENT + L2 + i]
        kept[0, at.TORQUE + i] = about + rotor * kept[0, at.PUSH + i]


@numba.njit(**COMPILE)
def _store(kept, out, start, width):
    """Turn a block's torques into rows."""
    n, left = out.shape[1], min(width, out.shape[0] - start)
    whole = left - left % TILE if n >= TILE else 0
    for tile in range((n + TILE - 1) // TILE if whole else 0):
        j = min(tile * TILE, n - TILE)
        column = j * at.KEPT + at.TORQUE
        for i in range(0, whole, TILE):
            transpose_tile(kept, column + i, at.KEPT, out, (start + i) * n + j, n)
    for i in range(whole, left):
        for j in range(n):
            out[start + i, j] = kept[j, at.TORQUE + i]


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
        take_block(rows, gravity, q, dq, ddq, start, LANES, W, kept, arms, nan_mask)
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
