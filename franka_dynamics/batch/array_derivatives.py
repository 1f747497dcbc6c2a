# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Derivatives of the torques in many states of an arm that comes as numbers, over blocks.

As by Singh, Russell and Wensing (Efficient analytical derivatives of rigid-body dynamics using
spatial vector algebra, 2022) all is expressed in one frame that rests, that of joint 1 at zero,
and whatever a joint moves is taken together before it is differentiated. Links are sums over
their points: with W = ([omega], v) a velocity field, A = dW/dt + W W the field of accelerations
and J = (S, h; h, m) the second and first moments and the mass, a link takes the wrench of A J.
Turning joint e at a rate changes A of all links from e on by E + 2 D W, where

    D = [W, S_e] and E = [dW/dt, S_e] + [W, D], with W of the link before e,

and its velocity by 2 (D + S_e W). So sums of J and of W J from a joint on are all that two joints
have in common: 22 numbers.
"""

# numba infers the types of kernels from their arguments; all are float64 arrays.
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np

from . import array_kernels as at
from .array_kernels import COMPILE, to_link
from .native import wide_vectors
from .simd import numba, sine_cosine, TILE, transpose_tile

# Fewer than elsewhere: what seven joints keep of a block has to fit the first cache.
LANES = L = 8

# Places in a joint's row of `kept`: its axis as a field (angular, linear), D, E; then what its
# link adds to the sums: S (XX, XY, XZ, YY, YZ, ZZ), h, W J (by rows, then its last column), the
# force and the moment that the link takes.
AXIS, RATE_OF_AXIS, PUSH_OF_AXIS = 0, 6 * L, 12 * L
SECOND, FIRST, STREAM, MOMENTUM, FORCE, MOMENT = (k * L for k in (18, 24, 27, 36, 39, 42))
SINE, COSINE, RATE, PUSH, KEPT = (k * L for k in range(45, 50))
SUM, SUMS = SECOND, MOMENT + 3 * L - SECOND
# Places in W: the frame (R by rows, p), then omega, v and their rates.
FRAME, OMEGA, LINEAR, SPIN, AHEAD, SCRATCH = (k * L for k in (0, 12, 15, 18, 21, 24))
# Places in V, what a joint has to do with those before it: moment and force of its axis times J
# (by_acceleration), a moment of its axis times W J, doubled, and the wrenches of E + 2 D W, with
# what the axis itself turns, and of 2 (D + S W).
STILL, MOVING, BY_POSITION, BY_VELOCITY, TERMS = (k * L for k in (0, 6, 9, 15, 21))


@numba.njit(**COMPILE)
def derivatives(rows, gravity, masses, q, dq, ddq, out):
    """
    Fill out (N, 3 n n) with dtau/dq, dtau/d(dq) and dtau/d(ddq) = M, each by rows.

    `gravity` (3,) is in the axes of frame 1 at zero, `masses` (n,) what each joint carries.
    """
    n = q.shape[1]
    size = 3 * n * n
    W, V, kept = np.zeros(SCRATCH), np.zeros(TERMS), np.zeros((n, KEPT))
    arms, sums, found = np.zeros((n, 2 * L)), np.zeros(SUMS), np.zeros((size, L))
    for j in range(n):
        arms[j, :L], arms[j, L:] = rows[j, at.Y], rows[j, at.Z]
    for start in range(0, out.shape[0], LANES):
        left = min(LANES, out.shape[0] - start)
        _load(kept, SINE, q, start, left)
        _load(kept, RATE, dq, start, left)
        _load(kept, PUSH, ddq, start, left)
        _rest(W, kept, gravity)
        for j in range(n):
            _enter_joint(rows, kept, arms, j)
            _advance(W, rows, kept, arms, j)
            _add_link(W, rows, kept, j)
        sums[:] = 0.0
        for j in range(n - 1, -1, -1):
            _gather(kept, sums, V, masses[j], j)
            _fill(kept, V, found, rows[j, at.ROTOR], j, n)
        _store(found, out, start, left, size)


@numba.njit(**COMPILE)
def _load(kept, place, array, start, left):
    """Turn a block's rows into columns, zeros where the block has no states."""
    n = array.shape[1]
    if n < TILE or left < LANES:
        for j in range(n):
            for i in range(left):
                kept[j, place + i] = array[start + i, j]
            for i in range(left, LANES):
                kept[j, place + i] = 0.0
    else:
        for tile in range((n + TILE - 1) // TILE):
            j = min(tile * TILE, n - TILE)
            for i in range(0, LANES, TILE):
                transpose_tile(array, (start + i) * n + j, n, kept, j * KEPT + place + i, KEPT)


@numba.njit(**COMPILE)
def _store(found, out, start, left, size):
    """Turn a block's results into rows."""
    if size < TILE or left < LANES:
        for i in range(left):
            for k in range(size):
                out[start + i, k] = found[k, i]
    else:
        for tile in range((size + TILE - 1) // TILE):
            k = min(tile * TILE, size - TILE)
            for i in range(0, LANES, TILE):
                transpose_tile(found, k * L + i, L, out, (start + i) * size + k, size)


@numba.njit(**COMPILE)
def _rest(W, kept, gravity):
    """Set frame and motion of the base; NaN, from which all follows, if a value is not finite."""
    for i in range(SCRATCH):
        W[i] = 0.0
    for j in range(kept.shape[0]):
        for i in range(L):
            unknown = 0.0 * (kept[j, SINE + i] + kept[j, RATE + i] + kept[j, PUSH + i])
            W[FRAME + i] += unknown
    for i in range(L):
        unknown = W[FRAME + i]
        for k in range(1, 12):
            W[FRAME + k * L + i] = unknown
    for k in range(3):
        for i in range(L):
            W[FRAME + 4 * k * L + i] += 1.0
            W[AHEAD + k * L + i] = -gravity[k]


@numba.njit(**COMPILE)
def _enter_joint(rows, kept, arms, j):
    """Put a joint's sine and cosine in place of its position; a prismatic joint moves its arm."""
    theta = rows[j, at.THETA]
    if rows[j, at.PRISMATIC] == 0.0:
        for i in range(L):
            sine, cosine = sine_cosine(kept[j, SINE + i] + theta)
            kept[j, SINE + i], kept[j, COSINE + i] = sine, cosine
    else:
        y, z, c, s = rows[j, at.Y], rows[j, at.Z], rows[j, at.COS], rows[j, at.SIN]
        sine, cosine = sine_cosine(theta)
        for i in range(L):
            position = kept[j, SINE + i]
            arms[j, i], arms[j, L + i] = y - s * position, z + c * position
            kept[j, SINE + i], kept[j, COSINE + i] = sine, cosine


@numba.njit(inline='always', **COMPILE)
def _cross(ax, ay, az, bx, by, bz):
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@numba.njit(inline='always', **COMPILE)
def _vector(array, place, i):
    return array[place + i], array[place + L + i], array[place + 2 * L + i]


@numba.njit(inline='always', **COMPILE)
def _vector_of(kept, j, place, i):
    return kept[j, place + i], kept[j, place + L + i], kept[j, place + 2 * L + i]


@numba.njit(inline='always', **COMPILE)
def _bracket(wx, wy, wz, vx, vy, vz, ax, ay, az, bx, by, bz):
    """Return the commutator of two fields, (w, v) and (a, b)."""
    x, y, z = _cross(wx, wy, wz, ax, ay, az)
    px, py, pz = _cross(wx, wy, wz, bx, by, bz)
    rx, ry, rz = _cross(vx, vy, vz, ax, ay, az)
    return x, y, z, px + rx, py + ry, pz + rz


@numba.njit(**COMPILE)
def _advance(W, rows, kept, arms, j):
    """Advance frame and motion through a joint; keep its axis, D and E."""
    wide_vectors()
    ca, sa, px, slides = (rows[j, at.COS], rows[j, at.SIN], rows[j, at.X], rows[j, at.PRISMATIC])
    turns = 1.0 - slides
    for i in range(L):
        s, c, py, pz = kept[j, SINE + i], kept[j, COSINE + i], arms[j, i], arms[j, L + i]
        xx, xy, xz = _vector(W, FRAME, i)
        yx, yy, yz = _vector(W, FRAME + 3 * L, i)
        zx, zy, zz = _vector(W, FRAME + 6 * L, i)
        x, y, z = _vector(W, FRAME + 9 * L, i)
        x += xx * px + xy * py + xz * pz
        y += yx * px + yy * py + yz * pz
        z += zx * px + zy * py + zz * pz
        xx, xy, ax = to_link(s, c, ca, sa, xx, xy, xz)
        yx, yy, ay = to_link(s, c, ca, sa, yx, yy, yz)
        zx, zy, az = to_link(s, c, ca, sa, zx, zy, zz)
        W[FRAME + i], W[FRAME + L + i], W[FRAME + 2 * L + i] = xx, xy, ax
        W[FRAME + 3 * L + i], W[FRAME + 4 * L + i], W[FRAME + 5 * L + i] = yx, yy, ay
        W[FRAME + 6 * L + i], W[FRAME + 7 * L + i], W[FRAME + 8 * L + i] = zx, zy, az
        W[FRAME + 9 * L + i], W[FRAME + 10 * L + i], W[FRAME + 11 * L + i] = x, y, z
        bx, by, bz = _cross(x, y, z, ax, ay, az)
        bx, by, bz = turns * bx + slides * ax, turns * by + slides * ay, turns * bz + slides * az
        ax, ay, az = turns * ax, turns * ay, turns * az
        wx, wy, wz = _vector(W, OMEGA, i)
        vx, vy, vz = _vector(W, LINEAR, i)
        px_, py_, pz_ = _vector(W, SPIN, i)
        rx, ry, rz = _vector(W, AHEAD, i)
        dx, dy, dz, ex, ey, ez = _bracket(wx, wy, wz, vx, vy, vz, ax, ay, az, bx, by, bz)
        fx, fy, fz, gx, gy, gz = _bracket(px_, py_, pz_, rx, ry, rz, ax, ay, az, bx, by, bz)
        hx, hy, hz, kx, ky, kz = _bracket(wx, wy, wz, vx, vy, vz, dx, dy, dz, ex, ey, ez)
        rate, push = kept[j, RATE + i], kept[j, PUSH + i]
        W[OMEGA + i], W[OMEGA + L + i] = wx + ax * rate, wy + ay * rate
        W[OMEGA + 2 * L + i] = wz + az * rate
        W[LINEAR + i], W[LINEAR + L + i] = vx + bx * rate, vy + by * rate
        W[LINEAR + 2 * L + i] = vz + bz * rate
        W[SPIN + i] = px_ + ax * push + dx * rate
        W[SPIN + L + i] = py_ + ay * push + dy * rate
        W[SPIN + 2 * L + i] = pz_ + az * push + dz * rate
        W[AHEAD + i] = rx + bx * push + ex * rate
        W[AHEAD + L + i] = ry + by * push + ey * rate
        W[AHEAD + 2 * L + i] = rz + bz * push + ez * rate
        _keep(kept, j, AXIS, i, ax, ay, az, bx, by, bz)
        _keep(kept, j, RATE_OF_AXIS, i, dx, dy, dz, ex, ey, ez)
        _keep(kept, j, PUSH_OF_AXIS, i, fx + hx, fy + hy, fz + hz, gx + kx, gy + ky, gz + kz)


@numba.njit(inline='always', **COMPILE)
def _keep(kept, j, place, i, ax, ay, az, bx, by, bz):
    kept[j, place + i], kept[j, place + L + i], kept[j, place + 2 * L + i] = ax, ay, az
    kept[j, place + 3 * L + i], kept[j, place + 4 * L + i] = bx, by
    kept[j, place + 5 * L + i] = bz


@numba.njit(**COMPILE)
def _add_link(W, rows, kept, j):
    """Keep a link's J, W J and wrench; a revolute joint's link has neither m, hz nor Szz."""
    wide_vectors()
    m, hx, hy, hz = rows[j, at.MASS], rows[j, at.HX], rows[j, at.HY], rows[j, at.HZ]
    sxx, sxy, sxz = rows[j, at.SXX], rows[j, at.SXY], rows[j, at.SXZ]
    syy, syz = rows[j, at.SYY], rows[j, at.SYZ]
    for i in range(L):
        xx, xy, xz = _vector(W, FRAME, i)
        yx, yy, yz = _vector(W, FRAME + 3 * L, i)
        zx, zy, zz = _vector(W, FRAME + 6 * L, i)
        x, y, z = _vector(W, FRAME + 9 * L, i)
        # First moment about the frame's origin, in resting axes; then R S.
        kx = xx * hx + xy * hy + xz * hz
        ky = yx * hx + yy * hy + yz * hz
        kz = zx * hx + zy * hy + zz * hz
        ax, ay = xx * sxx + xy * sxy + xz * sxz, xx * sxy + xy * syy + xz * syz
        az = xx * sxz + xy * syz
        bx, by = yx * sxx + yy * sxy + yz * sxz, yx * sxy + yy * syy + yz * syz
        bz = yx * sxz + yy * syz
        cx, cy = zx * sxx + zy * sxy + zz * sxz, zx * sxy + zy * syy + zz * syz
        cz = zx * sxz + zy * syz
        # (R S) R^T, shifted to the resting origin.
        hx_, hy_, hz_ = kx + m * x, ky + m * y, kz + m * z
        txx = ax * xx + ay * xy + az * xz + kx * x + x * hx_
        txy = ax * yx + ay * yy + az * yz + kx * y + x * hy_
        txz = ax * zx + ay * zy + az * zz + kx * z + x * hz_
        tyy = bx * yx + by * yy + bz * yz + ky * y + y * hy_
        tyz = bx * zx + by * zy + bz * zz + ky * z + y * hz_
        tzz = cx * zx + cy * zy + cz * zz + kz * z + z * hz_
        kept[j, SECOND + i], kept[j, SECOND + L + i], kept[j, SECOND + 2 * L + i] = txx, txy, txz
        kept[j, SECOND + 3 * L + i], kept[j, SECOND + 4 * L + i] = tyy, tyz
        kept[j, SECOND + 5 * L + i] = tzz
        kept[j, FIRST + i], kept[j, FIRST + L + i], kept[j, FIRST + 2 * L + i] = hx_, hy_, hz_
        wx, wy, wz = _vector(W, OMEGA, i)
        vx, vy, vz = _vector(W, LINEAR, i)
        # W J: [omega] S + v h^T by rows, and omega x h + m v.
        qxx, qxy = wy * txz - wz * txy + vx * hx_, wy * tyz - wz * tyy + vx * hy_
        qxz = wy * tzz - wz * tyz + vx * hz_
        qyx, qyy = wz * txx - wx * txz + vy * hx_, wz * txy - wx * tyz + vy * hy_
        qyz = wz * txz - wx * tzz + vy * hz_
        qzx, qzy = wx * txy - wy * txx + vz * hx_, wx * tyy - wy * txy + vz * hy_
        qzz = wx * tyz - wy * txz + vz * hz_
        ux, uy, uz = _cross(wx, wy, wz, hx_, hy_, hz_)
        ux, uy, uz = ux + m * vx, uy + m * vy, uz + m * vz
        kept[j, STREAM + i], kept[j, STREAM + L + i], kept[j, STREAM + 2 * L + i] = qxx, qxy, qxz
        kept[j, STREAM + 3 * L + i], kept[j, STREAM + 4 * L + i] = qyx, qyy
        kept[j, STREAM + 5 * L + i], kept[j, STREAM + 6 * L + i] = qyz, qzx
        kept[j, STREAM + 7 * L + i], kept[j, STREAM + 8 * L + i] = qzy, qzz
        kept[j, MOMENTUM + i], kept[j, MOMENTUM + L + i] = ux, uy
        kept[j, MOMENTUM + 2 * L + i] = uz
        # The wrench of A J.
        dx, dy, dz = _vector(W, SPIN, i)
        rx, ry, rz = _vector(W, AHEAD, i)
        fx, fy, fz = _cross(dx, dy, dz, hx_, hy_, hz_)
        gx, gy, gz = _cross(wx, wy, wz, ux, uy, uz)
        kept[j, FORCE + i] = fx + gx + m * rx
        kept[j, FORCE + L + i] = fy + gy + m * ry
        kept[j, FORCE + 2 * L + i] = fz + gz + m * rz
        px, py, pz = _cross(hx_, hy_, hz_, rx, ry, rz)
        kept[j, MOMENT + i] = (
            px + (tyy + tzz) * dx - txy * dy - txz * dz + (qyy + qzz) * wx - qxy * wy - qxz * wz
        )
        kept[j, MOMENT + L + i] = (
            py + (txx + tzz) * dy - txy * dx - tyz * dz + (qxx + qzz) * wy - qyx * wx - qyz * wz
        )
        kept[j, MOMENT + 2 * L + i] = (
            pz + (txx + tyy) * dz - txz * dx - tyz * dy + (qxx + qyy) * wz - qzx * wx - qzy * wy
        )


@numba.njit(inline='always', **COMPILE)
def _summed(kept, sums, j, place, i):
    """Add a link's number to the sum of those behind it, and return it."""
    total = sums[place - SUM + i] + kept[j, place + i]
    sums[place - SUM + i] = total
    return total


@numba.njit(**COMPILE)
def _gather(kept, sums, V, m, j):
    """Add a link to those behind it; fill what the joint has to do with those before it."""
    wide_vectors()
    for i in range(L):
        sxx = _summed(kept, sums, j, SECOND, i)
        sxy = _summed(kept, sums, j, SECOND + L, i)
        sxz = _summed(kept, sums, j, SECOND + 2 * L, i)
        syy = _summed(kept, sums, j, SECOND + 3 * L, i)
        syz = _summed(kept, sums, j, SECOND + 4 * L, i)
        szz = _summed(kept, sums, j, SECOND + 5 * L, i)
        hx = _summed(kept, sums, j, FIRST, i)
        hy = _summed(kept, sums, j, FIRST + L, i)
        hz = _summed(kept, sums, j, FIRST + 2 * L, i)
        qxx = _summed(kept, sums, j, STREAM, i)
        qxy = _summed(kept, sums, j, STREAM + L, i)
        qxz = _summed(kept, sums, j, STREAM + 2 * L, i)
        qyx = _summed(kept, sums, j, STREAM + 3 * L, i)
        qyy = _summed(kept, sums, j, STREAM + 4 * L, i)
        qyz = _summed(kept, sums, j, STREAM + 5 * L, i)
        qzx = _summed(kept, sums, j, STREAM + 6 * L, i)
        qzy = _summed(kept, sums, j, STREAM + 7 * L, i)
        qzz = _summed(kept, sums, j, STREAM + 8 * L, i)
        ux = _summed(kept, sums, j, MOMENTUM, i)
        uy = _summed(kept, sums, j, MOMENTUM + L, i)
        uz = _summed(kept, sums, j, MOMENTUM + 2 * L, i)
        fx = _summed(kept, sums, j, FORCE, i)
        fy = _summed(kept, sums, j, FORCE + L, i)
        fz = _summed(kept, sums, j, FORCE + 2 * L, i)
        nx = _summed(kept, sums, j, MOMENT, i)
        ny = _summed(kept, sums, j, MOMENT + L, i)
        nz = _summed(kept, sums, j, MOMENT + 2 * L, i)
        ixx, iyy, izz = syy + szz, sxx + szz, sxx + syy
        kxx, kyy, kzz = qyy + qzz, qxx + qzz, qxx + qyy

        # The axis (a, b) times J: its wrench, which the axis of another joint does work on.
        ax, ay, az = _vector_of(kept, j, AXIS, i)
        bx, by, bz = _vector_of(kept, j, AXIS + 3 * L, i)
        x, y, z = _cross(hx, hy, hz, bx, by, bz)
        V[STILL + i] = x + ixx * ax - sxy * ay - sxz * az
        V[STILL + L + i] = y + iyy * ay - sxy * ax - syz * az
        V[STILL + 2 * L + i] = z + izz * az - sxz * ax - syz * ay
        x, y, z = _cross(ax, ay, az, hx, hy, hz)
        V[STILL + 3 * L + i], V[STILL + 4 * L + i] = x + m * bx, y + m * by
        V[STILL + 5 * L + i] = z + m * bz
        # What the axis feels of a field x W, twice: x times this.
        x, y, z = _cross(ux, uy, uz, bx, by, bz)
        V[MOVING + i] = 2.0 * (x + kxx * ax - qyx * ay - qzx * az)
        V[MOVING + L + i] = 2.0 * (y + kyy * ay - qxy * ax - qzy * az)
        V[MOVING + 2 * L + i] = 2.0 * (z + kzz * az - qxz * ax - qyz * ay)

        # 2 (D + S W), of which D = (c, d).
        cx, cy, cz = _vector_of(kept, j, RATE_OF_AXIS, i)
        dx, dy, dz = _vector_of(kept, j, RATE_OF_AXIS + 3 * L, i)
        x, y, z = _cross(hx, hy, hz, dx, dy, dz)
        x += ixx * cx - sxy * cy - sxz * cz + kxx * ax - qxy * ay - qxz * az
        y += iyy * cy - sxy * cx - syz * cz + kyy * ay - qyx * ax - qyz * az
        z += izz * cz - sxz * cx - syz * cy + kzz * az - qzx * ax - qzy * ay
        V[BY_VELOCITY + i], V[BY_VELOCITY + L + i] = 2.0 * x, 2.0 * y
        V[BY_VELOCITY + 2 * L + i] = 2.0 * z
        x, y, z = _cross(cx, cy, cz, hx, hy, hz)
        px, py, pz = _cross(ax, ay, az, ux, uy, uz)
        V[BY_VELOCITY + 3 * L + i] = 2.0 * (x + px + m * dx)
        V[BY_VELOCITY + 4 * L + i] = 2.0 * (y + py + m * dy)
        V[BY_VELOCITY + 5 * L + i] = 2.0 * (z + pz + m * dz)

        # E + 2 D W, of which E = (r, t), and how the axis, that turns with it, sees the wrench.
        rx, ry, rz = _vector_of(kept, j, PUSH_OF_AXIS, i)
        tx, ty, tz = _vector_of(kept, j, PUSH_OF_AXIS + 3 * L, i)
        cx, cy, cz = 2.0 * cx, 2.0 * cy, 2.0 * cz
        x, y, z = _cross(hx, hy, hz, tx, ty, tz)
        px, py, pz = _cross(ax, ay, az, nx, ny, nz)
        x, y, z = x + px, y + py, z + pz
        px, py, pz = _cross(bx, by, bz, fx, fy, fz)
        x += px + ixx * rx - sxy * ry - sxz * rz + kxx * cx - qxy * cy - qxz * cz
        y += py + iyy * ry - sxy * rx - syz * rz + kyy * cy - qyx * cx - qyz * cz
        z += pz + izz * rz - sxz * rx - syz * ry + kzz * cz - qzx * cx - qzy * cy
        V[BY_POSITION + i], V[BY_POSITION + L + i], V[BY_POSITION + 2 * L + i] = x, y, z
        x, y, z = _cross(rx, ry, rz, hx, hy, hz)
        px, py, pz = _cross(cx, cy, cz, ux, uy, uz)
        x, y, z = x + px, y + py, z + pz
        px, py, pz = _cross(ax, ay, az, fx, fy, fz)
        V[BY_POSITION + 3 * L + i] = x + px + m * tx
        V[BY_POSITION + 4 * L + i] = y + py + m * ty
        V[BY_POSITION + 5 * L + i] = z + pz + m * tz


@numba.njit(**COMPILE)
def _fill(kept, V, found, rotor, d, n):
    """Fill what joint d and those before it feel of each other."""
    wide_vectors()
    size = n * n
    for e in range(d):
        deep, up = d * n + e, e * n + d
        for i in range(L):
            ax, ay, az = _vector_of(kept, e, AXIS, i)
            bx, by, bz = _vector_of(kept, e, AXIS + 3 * L, i)
            cx, cy, cz = _vector_of(kept, e, RATE_OF_AXIS, i)
            dx, dy, dz = _vector_of(kept, e, RATE_OF_AXIS + 3 * L, i)
            rx, ry, rz = _vector_of(kept, e, PUSH_OF_AXIS, i)
            tx, ty, tz = _vector_of(kept, e, PUSH_OF_AXIS + 3 * L, i)
            nx, ny, nz = _vector(V, STILL, i)
            fx, fy, fz = _vector(V, STILL + 3 * L, i)
            mx, my, mz = _vector(V, MOVING, i)
            inertia = ax * nx + ay * ny + az * nz + bx * fx + by * fy + bz * fz
            still = cx * nx + cy * ny + cz * nz + dx * fx + dy * fy + dz * fz
            pushed = rx * nx + ry * ny + rz * nz + tx * fx + ty * fy + tz * fz
            moved = ax * mx + ay * my + az * mz
            turned = cx * mx + cy * my + cz * mz
            px, py, pz = _vector(V, BY_POSITION, i)
            ux, uy, uz = _vector(V, BY_POSITION + 3 * L, i)
            by_position = ax * px + ay * py + az * pz + bx * ux + by * uy + bz * uz
            px, py, pz = _vector(V, BY_VELOCITY, i)
            ux, uy, uz = _vector(V, BY_VELOCITY + 3 * L, i)
            by_velocity = ax * px + ay * py + az * pz + bx * ux + by * uy + bz * uz
            found[deep, i], found[up, i] = pushed + turned, by_position
            found[size + deep, i], found[size + up, i] = 2.0 * still + moved, by_velocity
            found[2 * size + deep, i], found[2 * size + up, i] = inertia, inertia
    own = d * n + d
    for i in range(L):
        ax, ay, az = _vector_of(kept, d, AXIS, i)
        bx, by, bz = _vector_of(kept, d, AXIS + 3 * L, i)
        nx, ny, nz = _vector(V, STILL, i)
        fx, fy, fz = _vector(V, STILL + 3 * L, i)
        inertia = ax * nx + ay * ny + az * nz + bx * fx + by * fy + bz * fz
        px, py, pz = _vector(V, BY_POSITION, i)
        ux, uy, uz = _vector(V, BY_POSITION + 3 * L, i)
        by_position = ax * px + ay * py + az * pz + bx * ux + by * uy + bz * uz
        px, py, pz = _vector(V, BY_VELOCITY, i)
        ux, uy, uz = _vector(V, BY_VELOCITY + 3 * L, i)
        by_velocity = ax * px + ay * py + az * pz + bx * ux + by * uy + bz * uz
        found[own, i], found[size + own, i] = by_position, by_velocity
        found[2 * size + own, i] = inertia + rotor
