# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Numba kernels over many states that read the arm from arrays: compiled once, for every arm.

As in generated kernels, 32 states lie side by side in one flat scratch array W at places that are
constants, and every loop over `i` becomes vector instructions. What belongs to one joint and has
to wait lies in that joint's row of `kept`.

An arm comes as `rows`, one of ROW numbers a joint (see `batch_arm`). Its links hold base
parameters, regrouped: a revolute joint's link has neither m, nor hz, nor Szz, a prismatic
joint's no second moment.
"""

# numba infers the types of kernels from their arguments; all are float64 arrays.
# mypy: disallow-untyped-defs=False

from __future__ import annotations

from typing import Any

import numpy as np

from .batch_code import LANES
from .sine_cosine import numba, sine_cosine

# Columns of `rows`.
PRISMATIC, COS, SIN, X, Y, Z, THETA, ROTOR = range(8)
MASS, HX, HY, HZ, SXX, SXY, SXZ, SYY, SYZ = range(8, 17)
ROW = 17

_L, _L2 = LANES, 2 * LANES
# Places in W. Vectors take three times LANES, U nine times, by rows.
_OMEGA, _SPIN, _ACC, _FORCE, _MOMENT, _U = (k * LANES for k in (0, 3, 6, 9, 12, 15))
_SCRATCH = 24 * LANES
# Places in a joint's row of `kept`; the link's force and moment take three times LANES.
_SINE, _COSINE, _RATE, _PUSH, _ARM_Y, _ARM_Z, _LINK_FORCE = (k * LANES for k in range(7))
_LINK_MOMENT, _KEPT = 9 * LANES, 12 * LANES

_COMPILE: dict[str, Any] = {
    'fastmath': {'contract'}, 'error_model': 'numpy', 'nogil': True, 'cache': True}


@numba.njit(**_COMPILE)
def inverse_dynamics(rows, gravity, q, dq, ddq, out):
    """Fill out (N, n) with torques; gravity (3,) is in the axes of frame 1 at zero."""
    n = rows.shape[0]
    W = np.zeros(_SCRATCH)
    kept = _scratch(rows)
    spoiled = np.zeros(LANES)  # 0, or NaN for a state that is not finite
    for start in range(0, out.shape[0], LANES):
        count = min(LANES, out.shape[0] - start)
        _load(kept, spoiled, start, count, q, dq, ddq)
        _stand_still(W, gravity)
        for j in range(n):
            _enter(rows[j], kept[j])
            if rows[j, PRISMATIC] == 0.0:
                if j:
                    _turn(W, rows[j], kept[j])
                else:
                    _first_turn(W, kept[j])
                _revolute_wrench(W, rows[j], kept[j])
            else:
                _slide(W, rows[j], kept[j])
                _prismatic_wrench(W, rows[j], kept[j])
        for i in range(6 * LANES):
            W[_FORCE + i] = 0.0
        for j in range(n - 1, -1, -1):
            for i in range(6 * LANES):
                kept[j, _LINK_FORCE + i] += W[_FORCE + i]
            if j:
                _hand_down(W, rows[j], kept[j])
        for j in range(n):
            load = _LINK_MOMENT if rows[j, PRISMATIC] == 0.0 else _LINK_FORCE
            rotor = rows[j, ROTOR]
            for i in range(LANES):
                kept[j, i] = (kept[j, load + _L2 + i] + rotor * kept[j, _PUSH + i]
                              + spoiled[i])
        for i in range(count):
            for j in range(n):
                out[start + i, j] = kept[j, i]


@numba.njit(**_COMPILE)
def regressor(rows, gravity, q, dq, ddq, out):
    """Fill out (N, n, 10 n): torques by XX, XY, XZ, YY, YZ, ZZ, mX, mY, mZ, m of each link."""
    n = rows.shape[0]
    W = np.zeros(_SCRATCH)
    kept = _scratch(rows)
    axes = np.zeros((n, 6 * LANES))  # linear and angular part of each joint's unit twist
    entries = np.zeros(10 * LANES)
    spoiled = np.zeros(LANES)
    for start in range(0, out.shape[0], LANES):
        count = min(LANES, out.shape[0] - start)
        _load(kept, spoiled, start, count, q, dq, ddq)
        _stand_still(W, gravity)
        for j in range(n):
            _enter(rows[j], kept[j])
            if rows[j, PRISMATIC] == 0.0:
                _turn(W, rows[j], kept[j])
            else:
                _slide(W, rows[j], kept[j])
            axes[j] = 0.0
            turning = 5 if rows[j, PRISMATIC] == 0.0 else 2
            for i in range(LANES):
                axes[j, turning * LANES + i] = 1.0
            for joint in range(j):
                _carry(rows[j], kept[j], axes[joint])
            for joint in range(n):
                if joint <= j:
                    _entries(W, axes[joint], entries)
                else:
                    entries[:] = 0.0
                for i in range(count):
                    for k in range(10):
                        out[start + i, joint, 10 * j + k] = entries[k * LANES + i] + spoiled[i]


@numba.njit(**_COMPILE)
def flange(rows, root, tip, with_jacobians, q, poses, jacobians):
    """
    Fill poses (N, 4, 4) and, if wanted, jacobians (N, 6, n).

    Jacobians hold (v, omega) at the flange's origin in the axes of the space frame.
    """
    n = rows.shape[0]
    pose = np.zeros(12 * LANES)  # R by rows, then p
    kept = _scratch(rows)
    spoiled = np.zeros(LANES)
    axes = np.zeros((n, 6 * LANES))  # z, then origin, of each joint's frame
    for start in range(0, q.shape[0], LANES):
        count = min(LANES, q.shape[0] - start)
        _load(kept, spoiled, start, count, q, q, q)
        for a in range(3):
            for i in range(LANES):
                for b in range(3):
                    pose[(3 * a + b) * LANES + i] = root[a, b] + spoiled[i]
                pose[(9 + a) * LANES + i] = root[a, 3] + spoiled[i]
        for j in range(n):
            _enter(rows[j], kept[j])
            _step(rows[j], kept[j], pose)
            for a in range(3):
                for i in range(LANES):
                    axes[j, a * LANES + i] = pose[(3 * a + 2) * LANES + i]
                    axes[j, (3 + a) * LANES + i] = pose[(9 + a) * LANES + i]
        _place(tip, pose)
        for i in range(count):
            for a in range(3):
                for b in range(3):
                    poses[start + i, a, b] = pose[(3 * a + b) * LANES + i]
                poses[start + i, a, 3] = pose[(9 + a) * LANES + i]
                poses[start + i, 3, a] = 0.0
            poses[start + i, 3, 3] = 1.0
        if with_jacobians:
            _twists(rows, axes, pose, jacobians[start:start + count])


@numba.njit(**_COMPILE)
def _load(kept, spoiled, start, count, q, dq, ddq):
    """Turn rows into columns; positions go where their sines will be."""
    n = q.shape[1]
    for i in range(count):
        for j in range(n):
            kept[j, _SINE + i] = q[start + i, j]
            kept[j, _RATE + i] = dq[start + i, j]
            kept[j, _PUSH + i] = ddq[start + i, j]
    spoiled[:] = 0.0
    for j in range(n):
        for i in range(LANES):
            spoiled[i] += 0.0 * (kept[j, _SINE + i] + kept[j, _RATE + i] + kept[j, _PUSH + i])


@numba.njit(**_COMPILE)
def _scratch(rows):
    """Return `kept` with the arms that stay."""
    kept = np.zeros((rows.shape[0], _KEPT))
    for j in range(rows.shape[0]):
        kept[j, _ARM_Y:_ARM_Z], kept[j, _ARM_Z:_LINK_FORCE] = rows[j, Y], rows[j, Z]
    return kept


@numba.njit(**_COMPILE)
def _stand_still(W, gravity):
    """Set the motion of the base: a frame that accelerates upwards feels like gravity."""
    for i in range(6 * LANES):
        W[_OMEGA + i] = 0.0
    for i in range(9 * LANES):
        W[_U + i] = 0.0
    gx, gy, gz = gravity[0], gravity[1], gravity[2]
    for i in range(LANES):
        W[_ACC + i], W[_ACC + _L + i], W[_ACC + _L2 + i] = -gx, -gy, -gz


@numba.njit(**_COMPILE)
def _enter(row, kept):
    """Put a joint's sine and cosine in place of its position; a prismatic joint moves its arm."""
    theta, y, z, c, s = row[THETA], row[Y], row[Z], row[COS], row[SIN]
    if row[PRISMATIC] == 0.0:
        for i in range(LANES):
            kept[_SINE + i], kept[_COSINE + i] = sine_cosine(kept[_SINE + i] + theta)
    else:
        sine, cosine = sine_cosine(theta)
        for i in range(LANES):
            kept[_ARM_Y + i] = y - s * kept[_SINE + i]
            kept[_ARM_Z + i] = z + c * kept[_SINE + i]
        for i in range(LANES):
            kept[_SINE + i], kept[_COSINE + i] = sine, cosine


@numba.njit(inline='always', **_COMPILE)
def _to_link(s, c, ca, sa, x, y, z):
    """Return a vector of the frame before in this frame."""
    t = y * ca + z * sa
    return c * x + s * t, c * t - s * x, z * ca - y * sa


@numba.njit(inline='always', **_COMPILE)
def _at_joint(W, i, px, py, pz):
    """Return the acceleration of the next joint's origin, in the present frame."""
    return (W[_ACC + i] + W[_U + i] * px + W[_U + _L + i] * py + W[_U + _L2 + i] * pz,
            W[_ACC + _L + i] + W[_U + 3 * _L + i] * px + W[_U + 4 * _L + i] * py
            + W[_U + 5 * _L + i] * pz,
            W[_ACC + _L2 + i] + W[_U + 6 * _L + i] * px + W[_U + 7 * _L + i] * py
            + W[_U + 8 * _L + i] * pz)


@numba.njit(inline='always', **_COMPILE)
def _set_motion(W, i, x, y, z, dx, dy, dz):
    """Store omega, domega and U = [domega] + [omega][omega]."""
    W[_OMEGA + i], W[_OMEGA + _L + i], W[_OMEGA + _L2 + i] = x, y, z
    W[_SPIN + i], W[_SPIN + _L + i], W[_SPIN + _L2 + i] = dx, dy, dz
    xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
    W[_U + i], W[_U + _L + i], W[_U + _L2 + i] = -(yy + zz), xy - dz, xz + dy
    W[_U + 3 * _L + i], W[_U + 4 * _L + i], W[_U + 5 * _L + i] = xy + dz, -(xx + zz), yz - dx
    W[_U + 6 * _L + i], W[_U + 7 * _L + i], W[_U + 8 * _L + i] = xz - dy, yz + dx, -(xx + yy)


@numba.njit(**_COMPILE)
def _turn(W, row, kept):
    """Advance the motion through a revolute joint."""
    ca, sa, px, py, pz = row[COS], row[SIN], row[X], row[Y], row[Z]
    for i in range(LANES):
        s, c, rate = kept[_SINE + i], kept[_COSINE + i], kept[_RATE + i]
        ax, ay, az = _at_joint(W, i, px, py, pz)
        ax, ay, az = _to_link(s, c, ca, sa, ax, ay, az)
        W[_ACC + i], W[_ACC + _L + i], W[_ACC + _L2 + i] = ax, ay, az
        x, y, z = _to_link(
            s, c, ca, sa, W[_OMEGA + i], W[_OMEGA + _L + i], W[_OMEGA + _L2 + i])
        dx, dy, dz = _to_link(s, c, ca, sa, W[_SPIN + i], W[_SPIN + _L + i], W[_SPIN + _L2 + i])
        _set_motion(W, i, x, y, z + rate, dx + y * rate, dy - x * rate, dz + kept[_PUSH + i])


@numba.njit(**_COMPILE)
def _first_turn(W, kept):
    """Advance the motion of the base through a revolute joint 1: about z, at the origin."""
    for i in range(LANES):
        s, c = kept[_SINE + i], kept[_COSINE + i]
        ax, ay = W[_ACC + i], W[_ACC + _L + i]
        W[_ACC + i], W[_ACC + _L + i] = c * ax + s * ay, c * ay - s * ax
        _set_motion(W, i, 0.0, 0.0, kept[_RATE + i], 0.0, 0.0, kept[_PUSH + i])


@numba.njit(**_COMPILE)
def _slide(W, row, kept):
    """Advance the motion through a prismatic joint."""
    ca, sa, px = row[COS], row[SIN], row[X]
    for i in range(LANES):
        s, c, rate = kept[_SINE + i], kept[_COSINE + i], 2.0 * kept[_RATE + i]
        ax, ay, az = _at_joint(W, i, px, kept[_ARM_Y + i], kept[_ARM_Z + i])
        ax, ay, az = _to_link(s, c, ca, sa, ax, ay, az)
        x, y, z = _to_link(
            s, c, ca, sa, W[_OMEGA + i], W[_OMEGA + _L + i], W[_OMEGA + _L2 + i])
        W[_ACC + i], W[_ACC + _L + i] = ax + rate * y, ay - rate * x
        W[_ACC + _L2 + i] = az + kept[_PUSH + i]
        dx, dy, dz = _to_link(s, c, ca, sa, W[_SPIN + i], W[_SPIN + _L + i], W[_SPIN + _L2 + i])
        _set_motion(W, i, x, y, z, dx, dy, dz)


@numba.njit(**_COMPILE)
def _revolute_wrench(W, row, kept):
    """Keep force and moment of a link with hx, hy and five second moments."""
    hx, hy = row[HX], row[HY]
    sxx, sxy, sxz, syy, syz = row[SXX], row[SXY], row[SXZ], row[SYY], row[SYZ]
    for i in range(LANES):
        uxx, uxy, uxz = W[_U + i], W[_U + _L + i], W[_U + _L2 + i]
        uyx, uyy, uyz = W[_U + 3 * _L + i], W[_U + 4 * _L + i], W[_U + 5 * _L + i]
        uzx, uzy, uzz = W[_U + 6 * _L + i], W[_U + 7 * _L + i], W[_U + 8 * _L + i]
        ax, ay, az = W[_ACC + i], W[_ACC + _L + i], W[_ACC + _L2 + i]
        kept[_LINK_FORCE + i] = uxx * hx + uxy * hy
        kept[_LINK_FORCE + _L + i] = uyx * hx + uyy * hy
        kept[_LINK_FORCE + _L2 + i] = uzx * hx + uzy * hy
        kept[_LINK_MOMENT + i] = (
            syy * uzy + sxy * uzx - sxz * uyx + syz * (uzz - uyy) + hy * az)
        kept[_LINK_MOMENT + _L + i] = (
            syz * uxy - sxx * uzx - sxy * uzy + sxz * (uxx - uzz) - hx * az)
        kept[_LINK_MOMENT + _L2 + i] = (
            sxx * uyx - syy * uxy + sxz * uyz - syz * uxz + sxy * (uyy - uxx)
            + hx * ay - hy * ax)


@numba.njit(**_COMPILE)
def _prismatic_wrench(W, row, kept):
    """Keep force and moment of a link with m and h."""
    m, hx, hy, hz = row[MASS], row[HX], row[HY], row[HZ]
    for i in range(LANES):
        ax, ay, az = W[_ACC + i], W[_ACC + _L + i], W[_ACC + _L2 + i]
        kept[_LINK_FORCE + i] = (
            m * ax + W[_U + i] * hx + W[_U + _L + i] * hy + W[_U + _L2 + i] * hz)
        kept[_LINK_FORCE + _L + i] = (
            m * ay + W[_U + 3 * _L + i] * hx + W[_U + 4 * _L + i] * hy + W[_U + 5 * _L + i] * hz)
        kept[_LINK_FORCE + _L2 + i] = (
            m * az + W[_U + 6 * _L + i] * hx + W[_U + 7 * _L + i] * hy + W[_U + 8 * _L + i] * hz)
        kept[_LINK_MOMENT + i] = hy * az - hz * ay
        kept[_LINK_MOMENT + _L + i] = hz * ax - hx * az
        kept[_LINK_MOMENT + _L2 + i] = hx * ay - hy * ax


@numba.njit(**_COMPILE)
def _hand_down(W, row, kept):
    """Express force and moment in the frame before, about its origin."""
    ca, sa, px = row[COS], row[SIN], row[X]
    for i in range(LANES):
        s, c = kept[_SINE + i], kept[_COSINE + i]
        py, pz = kept[_ARM_Y + i], kept[_ARM_Z + i]
        x, y = kept[_LINK_FORCE + i], kept[_LINK_FORCE + _L + i]
        z = kept[_LINK_FORCE + _L2 + i]
        t = s * x + c * y
        fx, fy, fz = c * x - s * y, t * ca - z * sa, t * sa + z * ca
        W[_FORCE + i], W[_FORCE + _L + i], W[_FORCE + _L2 + i] = fx, fy, fz
        x, y = kept[_LINK_MOMENT + i], kept[_LINK_MOMENT + _L + i]
        z = kept[_LINK_MOMENT + _L2 + i]
        t = s * x + c * y
        W[_MOMENT + i] = c * x - s * y + py * fz - pz * fy
        W[_MOMENT + _L + i] = t * ca - z * sa + pz * fx - px * fz
        W[_MOMENT + _L2 + i] = t * sa + z * ca + px * fy - py * fx


@numba.njit(**_COMPILE)
def _carry(row, kept, twist):
    """Express a unit twist, at the origin of the frame before, at and in this frame."""
    ca, sa, px = row[COS], row[SIN], row[X]
    for i in range(LANES):
        s, c = kept[_SINE + i], kept[_COSINE + i]
        py, pz = kept[_ARM_Y + i], kept[_ARM_Z + i]
        x, y, z = twist[3 * _L + i], twist[4 * _L + i], twist[5 * _L + i]
        vx, vy, vz = _to_link(s, c, ca, sa, twist[i] + y * pz - z * py,
                              twist[_L + i] + z * px - x * pz, twist[_L2 + i] + x * py - y * px)
        x, y, z = _to_link(s, c, ca, sa, x, y, z)
        twist[i], twist[_L + i], twist[_L2 + i] = vx, vy, vz
        twist[3 * _L + i], twist[4 * _L + i], twist[5 * _L + i] = x, y, z


@numba.njit(**_COMPILE)
def _entries(W, twist, entries):
    """Fill what one joint feels of unit parameters of the present link."""
    for i in range(LANES):
        ux, uy, uz = twist[i], twist[_L + i], twist[_L2 + i]
        wx, wy, wz = twist[3 * _L + i], twist[4 * _L + i], twist[5 * _L + i]
        x, y, z = W[_OMEGA + i], W[_OMEGA + _L + i], W[_OMEGA + _L2 + i]
        dx, dy, dz = W[_SPIN + i], W[_SPIN + _L + i], W[_SPIN + _L2 + i]
        ax, ay, az = W[_ACC + i], W[_ACC + _L + i], W[_ACC + _L2 + i]
        xx, yy, zz, xy, xz, yz = x * x, y * y, z * z, x * y, x * z, y * z
        entries[i] = wx * dx + wy * xz - wz * xy
        entries[_L + i] = wx * (dy - xz) + wy * (dx + yz) + wz * (xx - yy)
        entries[_L2 + i] = wx * (dz + xy) + wy * (zz - xx) + wz * (dx - yz)
        entries[3 * _L + i] = wy * dy + wz * xy - wx * yz
        entries[4 * _L + i] = wx * (yy - zz) + wy * (dz - xy) + wz * (dy + xz)
        entries[5 * _L + i] = wz * dz + wx * yz - wy * xz
        entries[6 * _L + i] = (uy * (xy + dz) - ux * (yy + zz) + uz * (xz - dy)
                               + wz * ay - wy * az)
        entries[7 * _L + i] = (ux * (xy - dz) - uy * (xx + zz) + uz * (yz + dx)
                               + wx * az - wz * ax)
        entries[8 * _L + i] = (ux * (xz + dy) + uy * (yz - dx) - uz * (xx + yy)
                               + wy * ax - wx * ay)
        entries[9 * _L + i] = ux * ax + uy * ay + uz * az


@numba.njit(**_COMPILE)
def _step(row, kept, pose):
    """Advance R and p through a joint."""
    ca, sa, px = row[COS], row[SIN], row[X]
    for a in range(3):
        x, y, z, p = 3 * a * _L, (3 * a + 1) * _L, (3 * a + 2) * _L, (9 + a) * _L
        for i in range(LANES):
            rx, ry, rz = pose[x + i], pose[y + i], pose[z + i]
            s, c = kept[_SINE + i], kept[_COSINE + i]
            pose[p + i] += rx * px + ry * kept[_ARM_Y + i] + rz * kept[_ARM_Z + i]
            pose[x + i], pose[y + i], pose[z + i] = _to_link(s, c, ca, sa, rx, ry, rz)


@numba.njit(**_COMPILE)
def _place(tip, pose):
    """Multiply R and p by a fixed transform."""
    for a in range(3):
        x, y, z, p = 3 * a * _L, (3 * a + 1) * _L, (3 * a + 2) * _L, (9 + a) * _L
        for i in range(LANES):
            rx, ry, rz = pose[x + i], pose[y + i], pose[z + i]
            pose[p + i] += rx * tip[0, 3] + ry * tip[1, 3] + rz * tip[2, 3]
            pose[x + i] = rx * tip[0, 0] + ry * tip[1, 0] + rz * tip[2, 0]
            pose[y + i] = rx * tip[0, 1] + ry * tip[1, 1] + rz * tip[2, 1]
            pose[z + i] = rx * tip[0, 2] + ry * tip[1, 2] + rz * tip[2, 2]


@numba.njit(**_COMPILE)
def _twists(rows, axes, pose, jacobians):
    """Fill the Jacobians from the joints' axes and origins and the flange's."""
    for i in range(jacobians.shape[0]):
        for j in range(rows.shape[0]):
            x, y, z = axes[j, i], axes[j, _L + i], axes[j, _L2 + i]
            if rows[j, PRISMATIC] == 0.0:
                rx = pose[9 * _L + i] - axes[j, 3 * _L + i]
                ry = pose[10 * _L + i] - axes[j, 4 * _L + i]
                rz = pose[11 * _L + i] - axes[j, 5 * _L + i]
                jacobians[i, 0, j] = y * rz - z * ry
                jacobians[i, 1, j] = z * rx - x * rz
                jacobians[i, 2, j] = x * ry - y * rx
                jacobians[i, 3, j], jacobians[i, 4, j], jacobians[i, 5, j] = x, y, z
            else:
                jacobians[i, 0, j], jacobians[i, 1, j], jacobians[i, 2, j] = x, y, z
                jacobians[i, 3, j] = jacobians[i, 4, j] = jacobians[i, 5, j] = 0.0
