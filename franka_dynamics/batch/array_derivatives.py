# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Derivatives of the torques in many states of an arm that comes as numbers, over blocks.

As by Singh, Russell and Wensing (Efficient analytical derivatives of rigid-body dynamics using
spatial vector algebra, 2022) all is expressed in one frame that rests, that of joint 1 at zero,
and whatever a joint moves is taken together before it is differentiated. Links are sums over
their points: with W = ([omega], v) a velocity field, A = dW/dt + W W the field of accelerations
and J = (S, h; h, m) the second and first moments and the mass, a link takes the wrench of A J.
Turning joint e changes A of all links from e on by E + 2 D W, where D = [W, S_e] and
E = [dW/dt, S_e] + [W, D] with W of the link before e,
and its velocity by 2 (D + S_e W): sums of J and of W J from a joint on are all that is needed.
"""

# numba infers the types of kernels from their arguments; all are float64 arrays.
# mypy: disallow-untyped-defs=False

from __future__ import annotations

import numpy as np

from . import array_kernels as at
from .array_kernels import COMPILE, load, to_link
from .native import doubles_at, first_line, LINE, wide_vectors
from .simd import gather_tile, numba, sine_cosine, TILE

# Fewer than elsewhere, for the cache; below 16 LLVM makes no vectors of a loop.
LANES = L = 16

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
# Places in a pair's row of `found`: of the later joint's torque by the earlier one's position and
# velocity, of the earlier one's by the later one's, and M.
LATER_BY_Q, LATER_BY_DQ, EARLIER_BY_Q, EARLIER_BY_DQ, INERTIA, FOUND = (k * L for k in range(6))


@numba.njit(**COMPILE)
def derivatives(rows, gravity, masses, q, dq, ddq, out):
    """
    Fill out (N, 3 n n) with dtau/dq, dtau/d(dq) and dtau/d(ddq) = M, each by rows.

    `gravity` (3,) is in the axes of frame 1 at zero, `masses` (n,) what each joint carries.
    """
    wide_vectors()
    n = q.shape[1]
    pairs = n * (n + 1) // 2
    # Arrays at addresses: numba counts no references to them.
    memory = np.empty(SCRATCH + TERMS + SUMS + n * (KEPT + 2 * L) + pairs * FOUND + LINE // 8)
    place = first_line(memory)
    W, place = doubles_at(place, SCRATCH), place + 8 * SCRATCH
    V, place = doubles_at(place, TERMS), place + 8 * TERMS
    sums, place = doubles_at(place, SUMS), place + 8 * SUMS
    kept, place = doubles_at(place, (n, KEPT)), place + 8 * n * KEPT
    arms, place = doubles_at(place, (n, 2 * L)), place + 16 * n * L
    found = doubles_at(place, (pairs, FOUND))
    places, turns_first = _places(n), rows[0, at.PRISMATIC] == 0.0
    for j in range(n):
        for i in range(L):
            arms[j, i], arms[j, L + i] = rows[j, at.Y], rows[j, at.Z]
    for start in range(0, out.shape[0], LANES):
        left = min(LANES, out.shape[0] - start)
        load(kept, SINE, q, start, LANES)
        load(kept, RATE, dq, start, LANES)
        load(kept, PUSH, ddq, start, LANES)
        _rest(W, kept, gravity)
        for j in range(n):
            _enter_joint(rows, kept, arms, j)
            _advance(W, rows, kept, arms, j)
            _add_link(W, rows, kept, j)
        sums[:] = 0.0
        for j in range(n - 1, -1, -1):
            _gather(kept, sums, V, masses[j], j)
            first = j * (j + 1) // 2
            if turns_first:
                _meet_first(kept, V, found, first)
            for e in range(1 if turns_first else 0, j + 1):
                _meet(kept, V, found, first + e, e)
            for i in range(L):
                found[first + j, INERTIA + i] += rows[j, at.ROTOR]
        _store(found, places, out, start, left)
    memory[0] = 0.0  # it lives as long as it is used


@numba.njit(**COMPILE)
def _rest(W, kept, gravity):
    """Set frame and motion of the base; NaN, from which all follows, if a value is not finite."""
    for i in range(SCRATCH):
        W[i] = 0.0
    for j in range(kept.shape[0]):
        for i in range(L):
            unknown = 0.0 * (kept[j, SINE + i] + kept[j, RATE + i] + kept[j, PUSH + i])
            W[FRAME + i] += unknown
    for k in range(11, -1, -1):
        one = 1.0 if k % 4 == 0 and k < 9 else 0.0
        for i in range(L):
            W[FRAME + k * L + i] = W[FRAME + i] + one
    for k in range(3):
        for i in range(L):
            W[AHEAD + k * L + i] = -gravity[k]


@numba.njit(inline='always', **COMPILE)
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
def _vector(array, place, i):
    return array[place + i], array[place + L + i], array[place + 2 * L + i]


@numba.njit(inline='always', **COMPILE)
def _vector_of(kept, j, place, i):
    return kept[j, place + i], kept[j, place + L + i], kept[j, place + 2 * L + i]


@numba.njit(inline='always', **COMPILE)
def _put(array, place, i, a):
    array[place + i], array[place + L + i], array[place + 2 * L + i] = a


@numba.njit(inline='always', **COMPILE)
def _put_of(kept, j, place, i, a):
    kept[j, place + i], kept[j, place + L + i], kept[j, place + 2 * L + i] = a


@numba.njit(forceinline=True, **COMPILE)
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@numba.njit(forceinline=True, **COMPILE)
def _cross(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@numba.njit(forceinline=True, **COMPILE)
def _plus(a, b):
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@numba.njit(forceinline=True, **COMPILE)
def _more(a, factor, b):
    return a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]


@numba.njit(forceinline=True, **COMPILE)
def _times(factor, a):
    return factor * a[0], factor * a[1], factor * a[2]


@numba.njit(forceinline=True, **COMPILE)
def _bracket(w, v, a, b):
    """Return the commutator of two fields."""
    return _cross(w, a), _plus(_cross(w, b), _cross(v, a))


@numba.njit(inline='always', **COMPILE)
def _advance(W, rows, kept, arms, j):
    """Advance frame and motion through a joint; keep its axis, D and E."""
    ca, sa, px, slides = rows[j, at.COS], rows[j, at.SIN], rows[j, at.X], rows[j, at.PRISMATIC]
    turns = 1.0 - slides
    for i in range(L):
        s, c = kept[j, SINE + i], kept[j, COSINE + i]
        arm = (px, arms[j, i], arms[j, L + i])
        x, y = _vector(W, FRAME, i), _vector(W, FRAME + 3 * L, i)
        z, p = _vector(W, FRAME + 6 * L, i), _vector(W, FRAME + 9 * L, i)
        p = (p[0] + _dot(x, arm), p[1] + _dot(y, arm), p[2] + _dot(z, arm))
        x = to_link(s, c, ca, sa, x[0], x[1], x[2])
        y = to_link(s, c, ca, sa, y[0], y[1], y[2])
        z = to_link(s, c, ca, sa, z[0], z[1], z[2])
        _put(W, FRAME, i, x)
        _put(W, FRAME + 3 * L, i, y)
        _put(W, FRAME + 6 * L, i, z)
        _put(W, FRAME + 9 * L, i, p)
        axis = (x[2], y[2], z[2])
        a, b = _times(turns, axis), _more(_times(slides, axis), turns, _cross(p, axis))
        w, v = _vector(W, OMEGA, i), _vector(W, LINEAR, i)
        dw, dv = _vector(W, SPIN, i), _vector(W, AHEAD, i)
        c, d = _bracket(w, v, a, b)
        e, f = _bracket(dw, dv, a, b)
        g, h = _bracket(w, v, c, d)
        rate, push = kept[j, RATE + i], kept[j, PUSH + i]
        _put(W, OMEGA, i, _more(w, rate, a))
        _put(W, LINEAR, i, _more(v, rate, b))
        _put(W, SPIN, i, _more(_more(dw, push, a), rate, c))
        _put(W, AHEAD, i, _more(_more(dv, push, b), rate, d))
        _put_of(kept, j, AXIS, i, a)
        _put_of(kept, j, AXIS + 3 * L, i, b)
        _put_of(kept, j, RATE_OF_AXIS, i, c)
        _put_of(kept, j, RATE_OF_AXIS + 3 * L, i, d)
        _put_of(kept, j, PUSH_OF_AXIS, i, _plus(e, g))
        _put_of(kept, j, PUSH_OF_AXIS + 3 * L, i, _plus(f, h))


@numba.njit(forceinline=True, **COMPILE)
def _wrench(m, h, s, a, b):
    """Return moment and force of the field (a, b) times J: h x b + (tr S - S) a, a x h + m b."""
    moment = (
        (s[3] + s[5]) * a[0] - s[1] * a[1] - s[2] * a[2],
        (s[0] + s[5]) * a[1] - s[1] * a[0] - s[4] * a[2],
        (s[0] + s[3]) * a[2] - s[2] * a[0] - s[4] * a[1],
    )
    return _plus(_cross(h, b), moment), _more(_cross(a, h), m, b)


@numba.njit(forceinline=True, **COMPILE)
def _turned(x, y, z, momentum, a):
    """Return moment and force of [a] times W J = (x; y; z): (tr - W J) a, a x momentum."""
    moment = (
        (y[1] + z[2]) * a[0] - x[1] * a[1] - x[2] * a[2],
        (x[0] + z[2]) * a[1] - y[0] * a[0] - y[2] * a[2],
        (x[0] + y[1]) * a[2] - z[0] * a[0] - z[1] * a[1],
    )
    return moment, _cross(a, momentum)


@numba.njit(inline='always', **COMPILE)
def _add_link(W, rows, kept, j):
    """Keep a link's J, W J and wrench; a revolute joint's link has neither m, hz nor Szz."""
    m, own = rows[j, at.MASS], (rows[j, at.HX], rows[j, at.HY], rows[j, at.HZ])
    sx = (rows[j, at.SXX], rows[j, at.SXY], rows[j, at.SXZ])
    sy = (rows[j, at.SXY], rows[j, at.SYY], rows[j, at.SYZ])
    sz = (rows[j, at.SXZ], rows[j, at.SYZ])
    for i in range(L):
        x, y = _vector(W, FRAME, i), _vector(W, FRAME + 3 * L, i)
        z, p = _vector(W, FRAME + 6 * L, i), _vector(W, FRAME + 9 * L, i)
        # The first moment in resting axes; then R S, and R S R^T shifted to the resting origin.
        k = (_dot(x, own), _dot(y, own), _dot(z, own))
        h = _more(k, m, p)
        a = (_dot(x, sx), _dot(x, sy), x[0] * sz[0] + x[1] * sz[1])
        b = (_dot(y, sx), _dot(y, sy), y[0] * sz[0] + y[1] * sz[1])
        c = (_dot(z, sx), _dot(z, sy), z[0] * sz[0] + z[1] * sz[1])
        xx, xy = _dot(a, x) + k[0] * p[0] + p[0] * h[0], _dot(a, y) + k[0] * p[1] + p[0] * h[1]
        xz, yy = _dot(a, z) + k[0] * p[2] + p[0] * h[2], _dot(b, y) + k[1] * p[1] + p[1] * h[1]
        yz, zz = _dot(b, z) + k[1] * p[2] + p[1] * h[2], _dot(c, z) + k[2] * p[2] + p[2] * h[2]
        _put_of(kept, j, SECOND, i, (xx, xy, xz))
        _put_of(kept, j, SECOND + 3 * L, i, (yy, yz, zz))
        _put_of(kept, j, FIRST, i, h)
        # W J: [omega] S + v h^T by rows, and omega x h + m v.
        w, v = _vector(W, OMEGA, i), _vector(W, LINEAR, i)
        a, b, c = _cross(w, (xx, xy, xz)), _cross(w, (xy, yy, yz)), _cross(w, (xz, yz, zz))
        x = _more((a[0], b[0], c[0]), v[0], h)
        y = _more((a[1], b[1], c[1]), v[1], h)
        z = _more((a[2], b[2], c[2]), v[2], h)
        momentum = _more(_cross(w, h), m, v)
        _put_of(kept, j, STREAM, i, x)
        _put_of(kept, j, STREAM + 3 * L, i, y)
        _put_of(kept, j, STREAM + 6 * L, i, z)
        _put_of(kept, j, MOMENTUM, i, momentum)
        # The wrench of A J, of which A = dW/dt + [omega] W.
        second = (xx, xy, xz, yy, yz, zz)
        moment, force = _wrench(m, h, second, _vector(W, SPIN, i), _vector(W, AHEAD, i))
        more, other = _turned(x, y, z, momentum, w)
        _put_of(kept, j, FORCE, i, _plus(force, other))
        _put_of(kept, j, MOMENT, i, _plus(moment, more))


@numba.njit(inline='always', **COMPILE)
def _summed(kept, sums, j, place, i):
    """Add a vector of a link to the sum of those behind it, and return it."""
    total = _plus(_vector(sums, place - SUM, i), _vector_of(kept, j, place, i))
    _put(sums, place - SUM, i, total)
    return total


@numba.njit(inline='always', **COMPILE)
def _gather(kept, sums, V, m, j):
    """Add a link to those behind it; fill what the joint has to do with those before it."""
    for i in range(L):
        upper = _summed(kept, sums, j, SECOND, i)
        lower = _summed(kept, sums, j, SECOND + 3 * L, i)
        second = (upper[0], upper[1], upper[2], lower[0], lower[1], lower[2])
        h = _summed(kept, sums, j, FIRST, i)
        x, y = _summed(kept, sums, j, STREAM, i), _summed(kept, sums, j, STREAM + 3 * L, i)
        z = _summed(kept, sums, j, STREAM + 6 * L, i)
        momentum = _summed(kept, sums, j, MOMENTUM, i)
        force, moment = _summed(kept, sums, j, FORCE, i), _summed(kept, sums, j, MOMENT, i)
        a, b = _vector_of(kept, j, AXIS, i), _vector_of(kept, j, AXIS + 3 * L, i)
        c, d = _vector_of(kept, j, RATE_OF_AXIS, i), _vector_of(kept, j, RATE_OF_AXIS + 3 * L, i)
        e, f = _vector_of(kept, j, PUSH_OF_AXIS, i), _vector_of(kept, j, PUSH_OF_AXIS + 3 * L, i)

        still, pull = _wrench(m, h, second, a, b)
        _put(V, STILL, i, still)
        _put(V, STILL + 3 * L, i, pull)

        # What the axis feels of a field x W, twice, is x times this: W J transposed.
        turned, _ = _turned((x[0], y[0], z[0]), (x[1], y[1], z[1]), (x[2], y[2], z[2]), h, a)
        _put(V, MOVING, i, _times(2.0, _plus(_cross(momentum, b), turned)))

        still, pull = _wrench(m, h, second, c, d)
        turned, pushed = _turned(x, y, z, momentum, a)
        _put(V, BY_VELOCITY, i, _times(2.0, _plus(still, turned)))
        _put(V, BY_VELOCITY + 3 * L, i, _times(2.0, _plus(pull, pushed)))

        # The axis turns as well, in the wrench that it feels.
        still, pull = _wrench(m, h, second, e, f)
        turned, pushed = _turned(x, y, z, momentum, _times(2.0, c))
        still = _plus(_plus(still, turned), _plus(_cross(a, moment), _cross(b, force)))
        _put(V, BY_POSITION, i, still)
        _put(V, BY_POSITION + 3 * L, i, _plus(_plus(pull, pushed), _cross(a, force)))


@numba.njit(inline='always', **COMPILE)
def _meet(kept, V, found, pair, e):
    """Fill what a joint and one before it, e, feel of each other."""
    for i in range(L):
        a, b = _vector_of(kept, e, AXIS, i), _vector_of(kept, e, AXIS + 3 * L, i)
        c, d = _vector_of(kept, e, RATE_OF_AXIS, i), _vector_of(kept, e, RATE_OF_AXIS + 3 * L, i)
        still, pull = _vector(V, STILL, i), _vector(V, STILL + 3 * L, i)
        moving = _vector(V, MOVING, i)
        found[pair, INERTIA + i] = _dot(a, still) + _dot(b, pull)
        turned = _dot(c, still) + _dot(d, pull)
        found[pair, LATER_BY_DQ + i] = 2.0 * turned + _dot(a, moving)
        pushed = _dot(_vector_of(kept, e, PUSH_OF_AXIS, i), still)
        pushed += _dot(_vector_of(kept, e, PUSH_OF_AXIS + 3 * L, i), pull)
        found[pair, LATER_BY_Q + i] = pushed + _dot(c, moving)
        part = _dot(a, _vector(V, BY_POSITION, i))
        found[pair, EARLIER_BY_Q + i] = part + _dot(b, _vector(V, BY_POSITION + 3 * L, i))
        part = _dot(a, _vector(V, BY_VELOCITY, i))
        found[pair, EARLIER_BY_DQ + i] = part + _dot(b, _vector(V, BY_VELOCITY + 3 * L, i))


@numba.njit(inline='always', **COMPILE)
def _meet_first(kept, V, found, pair):
    """Do the same for joint 1, where it turns: about z, at rest, D = 0, E level and linear."""
    for i in range(L):
        found[pair, INERTIA + i] = V[STILL + 2 * L + i]
        found[pair, LATER_BY_DQ + i] = V[MOVING + 2 * L + i]
        x, y = kept[0, PUSH_OF_AXIS + 3 * L + i], kept[0, PUSH_OF_AXIS + 4 * L + i]
        found[pair, LATER_BY_Q + i] = x * V[STILL + 3 * L + i] + y * V[STILL + 4 * L + i]
        found[pair, EARLIER_BY_Q + i] = V[BY_POSITION + 2 * L + i]
        found[pair, EARLIER_BY_DQ + i] = V[BY_VELOCITY + 2 * L + i]


@numba.njit(**COMPILE)
def _places(n):
    """Return where each number of a state's result, by rows, lies in `found`, taken as flat."""
    places = np.empty((3, n, n), np.int64)
    for row in range(n):
        for column in range(n):
            later, earlier = max(row, column), min(row, column)
            pair = (later * (later + 1) // 2 + earlier) * FOUND
            below = row >= column
            places[0, row, column] = pair + (LATER_BY_Q if below else EARLIER_BY_Q)
            places[1, row, column] = pair + (LATER_BY_DQ if below else EARLIER_BY_DQ)
            places[2, row, column] = pair + INERTIA
    return places.reshape(3 * n * n)


@numba.njit(**COMPILE)
def _store(found, places, out, start, left):
    """Turn a block's results into rows."""
    size = len(places)
    if size < TILE or left < LANES:
        for i in range(left):
            for k in range(size):
                out[start + i, k] = found[places[k] // FOUND, places[k] % FOUND + i]
    else:
        for tile in range((size + TILE - 1) // TILE):
            k = min(tile * TILE, size - TILE)
            a, b, c, d = places[k], places[k + 1], places[k + 2], places[k + 3]
            for i in range(0, LANES, TILE):
                place = (start + i) * size + k
                gather_tile(found, a + i, b + i, c + i, d + i, out, place, size)
