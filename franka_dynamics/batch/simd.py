# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
numba, and four by four numbers turned over in vector registers for its kernels.

Arrays of states come by rows, kernels compute by columns. Copied number by number, that takes a
quarter of the time of a batch of torques; neither numba nor LLVM makes shuffles of such loops.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..errors import MissingDependencyError

try:
    from llvmlite import ir
    from llvmlite.binding import get_host_cpu_features as host_features
    import numba
    from numba.core import cgutils
    from numba.extending import intrinsic
except ImportError as error:
    raise MissingDependencyError(
        "Batches need numba: pip install 'franka_dynamics[batch]'"
    ) from error

__all__ = ['cgutils', 'host_features', 'intrinsic', 'ir', 'numba']


TILE = 4


def tile_columns(n: int) -> list[int]:
    """Return where tiles begin that cover n >= TILE columns; the last two may overlap."""
    return [*range(0, n - TILE, TILE), n - TILE]


def _transpose_tile(
    typing_context: Any, source: Any, first: Any, step: Any, target: Any, place: Any, stride: Any
) -> tuple[Any, Callable[..., Any]]:
    """
    Set target[place + stride*j + i] = source[first + step*i + j] for i, j = 0 .. TILE - 1.

    Called from a kernel with all but the first argument. Both arrays are C-contiguous, of float64
    or of float32 and of any shape, addressed as if flat; nothing checks that the places lie
    within them. All is read before anything is written.
    """
    del typing_context
    signature = numba.void(source, numba.intp, numba.intp, target, numba.intp, numba.intp)
    return signature, _generate


def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Emit the loads, two rounds of shuffles and the stores."""
    source, first, step, target, place, stride = arguments
    rows = _pointers(context, builder, signature.args[0], source, first, step)
    columns = _pointers(context, builder, signature.args[3], target, place, stride)
    return _turn_over(context, builder, signature.args[0], rows, columns)


def _gather_tile(
    typing_context: Any,
    source: Any,
    a: Any,
    b: Any,
    c: Any,
    d: Any,
    target: Any,
    place: Any,
    stride: Any,
) -> tuple[Any, Callable[..., Any]]:
    """
    Set target[place + stride*j + i] = source[start_i + j] for the starts a, b, c, d.

    As `_transpose_tile`, of rows that lie anywhere.
    """
    del typing_context, a, b, c, d

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source, *starts, target, place, stride = arguments
        rows = [
            _pointers(context, builder, signature.args[0], source, start, start)[0]
            for start in starts
        ]
        columns = _pointers(context, builder, signature.args[5], target, place, stride)
        return _turn_over(context, builder, signature.args[0], rows, columns)

    whole = (numba.intp,) * TILE
    signature = numba.void(source, *whole, target, numba.intp, numba.intp)
    return signature, generate


def _turn_over(context: Any, builder: Any, kind: Any, sources: Any, targets: Any) -> Any:
    size = kind.dtype.bitwidth // 8
    rows = [builder.load(at, align=size) for at in sources]

    def mix(a: Any, b: Any, *order: int) -> Any:
        mask = ir.Constant(ir.VectorType(ir.IntType(32), TILE), order)
        return builder.shuffle_vector(a, b, mask)

    # a0 a1 a2 a3 and b0 b1 b2 b3 give a0 b0 a2 b2 and a1 b1 a3 b3; then halves are joined.
    even = [mix(a, b, 0, 4, 2, 6) for a, b in (rows[:2], rows[2:])]
    odd = [mix(a, b, 1, 5, 3, 7) for a, b in (rows[:2], rows[2:])]
    columns = [
        mix(*pair, *order) for order in ((0, 1, 4, 5), (2, 3, 6, 7)) for pair in (even, odd)
    ]
    for column, at in zip(columns, targets):
        builder.store(column, at, align=size)
    return context.get_dummy_value()


def _pointers(
    context: Any, builder: Any, kind: Any, array: Any, start: Any, step: Any
) -> list[Any]:
    """Return pointers to TILE vectors, `step` numbers apart."""
    data = context.make_array(kind)(context, builder, array).data
    vector = ir.VectorType(context.get_data_type(kind.dtype), TILE)
    indices = [
        builder.add(start, builder.mul(step, ir.Constant(step.type, k))) for k in range(TILE)
    ]
    return [
        builder.bitcast(cgutils.gep_inbounds(builder, data, index), vector.as_pointer())
        for index in indices
    ]


transpose_tile: Any = intrinsic(_transpose_tile)
gather_tile: Any = intrinsic(_gather_tile)


# Adding 1.5 * 2^52 rounds to the nearest integer, which then stands in the last bits.
_ROUND = 6755399441055744.0
_TWO_OVER_PI = 0.6366197723675814
_HALF_PI_HIGH = 1.5707963267341256  # 33 bits, so that k * high is exact up to k = 2^20
_HALF_PI_LOW = 6.077100506506192e-11
_SIGN = np.int64(-(2**63))


@numba.njit(fastmath={'contract'}, inline='always')
def sine_cosine(x: float) -> tuple[float, float]:
    """Return sin(x) and cos(x)."""
    rounded = x * _TWO_OVER_PI + _ROUND
    k = rounded - _ROUND
    y = (x - k * _HALF_PI_HIGH) - k * _HALF_PI_LOW
    z = y * y
    sine = y + z * y * (
        -1.66666666666666324348e-01
        + z
        * (
            8.33333333332248946124e-03
            + z
            * (
                -1.98412698298579493134e-04
                + z
                * (
                    2.75573137070700676789e-06
                    + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)
                )
            )
        )
    )
    cosine = 1.0 + z * (
        -0.5
        + z
        * (
            4.16666666666666019037e-02
            + z
            * (
                -1.38888888888741095749e-03
                + z
                * (
                    2.48015872894767294178e-05
                    + z
                    * (
                        -2.75573143513906633035e-07
                        + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)
                    )
                )
            )
        )
    )
    # The last bit of k says whether the two change places; the one before it, moved to where the
    # sign is, whether the sine is negative, and that of k + 1 whether the cosine is.
    quarter = np.float64(rounded).view(np.int64)
    odd = (quarter & 1) != 0
    return (
        _signed(cosine if odd else sine, np.int64(quarter << 62)),
        _signed(sine if odd else cosine, np.int64(np.int64(quarter + 1) << 62)),
    )


# The same for code with a call per joint: numba compiles it once, and LLVM puts it in each place.
turn: Any = numba.njit(fastmath={'contract'}, forceinline=True)(sine_cosine.py_func)


# The same in single precision: 1.5 * 2^23, and pi/2 in three parts of few bits (Cody and Waite
# 1980). The polynomials are those of sinf.c of Moshier's Cephes library.
_ROUND_SINGLE = np.float32(12582912.0)
_TWO_OVER_PI_SINGLE = np.float32(0.6366197723675814)
_HALF_PI_SINGLE = tuple(
    np.float32(part) for part in (1.5703125, 4.837512969970703125e-4, 7.54978995489188e-8)
)
_SINE_SINGLE = tuple(
    np.float32(part) for part in (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4)
)
_COSINE_SINGLE = tuple(
    np.float32(part)
    for part in (1.0, -0.5, 4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5)
)
_SIGN_SINGLE = np.int32(-(2**31))


@numba.njit(fastmath={'contract'}, forceinline=True)
def turn_single(x: np.float32) -> tuple[np.float32, np.float32]:
    """Return sin(x) and cos(x) of a float32."""
    rounded = x * _TWO_OVER_PI_SINGLE + _ROUND_SINGLE
    k = rounded - _ROUND_SINGLE
    y = x - k * _HALF_PI_SINGLE[0] - k * _HALF_PI_SINGLE[1] - k * _HALF_PI_SINGLE[2]
    z = y * y
    sine = y + z * y * (_SINE_SINGLE[0] + z * (_SINE_SINGLE[1] + z * _SINE_SINGLE[2]))
    cosine = _COSINE_SINGLE[0] + z * (
        _COSINE_SINGLE[1]
        + z * (_COSINE_SINGLE[2] + z * (_COSINE_SINGLE[3] + z * _COSINE_SINGLE[4]))
    )
    quarter = np.float32(rounded).view(np.int32)
    odd = np.int32(quarter & np.int32(1)) != np.int32(0)
    ahead = np.int32(quarter + np.int32(1))
    return (
        _signed_single(cosine if odd else sine, np.int32(quarter << np.int32(30))),
        _signed_single(sine if odd else cosine, np.int32(ahead << np.int32(30))),
    )


@numba.njit(inline='always')
def _signed(value: float, flips: np.int64) -> float:
    """Return a value with its sign bit flipped where `flips` has it."""
    flipped = np.int64(np.float64(value).view(np.int64) ^ np.int64(flips & _SIGN))
    return flipped.view(np.float64)


@numba.njit(inline='always')
def _signed_single(value: np.float32, flips: np.int32) -> np.float32:
    """Return a float32 with its sign bit flipped where `flips` has it."""
    flipped = np.int32(np.float32(value).view(np.int32) ^ np.int32(flips & _SIGN_SINGLE))
    return flipped.view(np.float32)
