# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What compiled code does with addresses: memory as arrays, atomic words, calls, vector width."""

from __future__ import annotations

from collections.abc import Callable
import functools
from typing import Any

import numpy as np

from .simd import cgutils, host_features, intrinsic, ir, numba

LINE = 64  # bytes of a cache line, and of the widest vectors
WORD = 8  # bytes of a word; words are 64-bit integers
# A kernel of a batch: addresses of its arrays, of what belongs to the arm, number of states.
KERNEL_TYPE = numba.void(numba.intp, numba.intp, numba.intp)
_WORD = ir.IntType(64)

Emitted = tuple[Any, Callable[..., Any]]


@functools.cache
def host_has_wide_vectors() -> bool:
    """Return whether this processor has vectors of 512 bits (AVX-512)."""
    try:
        return bool(host_features().get('avx512vl'))
    except RuntimeError:  # of systems whose features LLVM does not know
        return False


def _word_pointer(builder: Any, address: Any) -> Any:
    return builder.inttoptr(address, _WORD.as_pointer())


def _memory(typing_context: Any, address: Any) -> Emitted:
    """Return an address as a pointer, for `numba.carray`."""
    del typing_context, address

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return numba.types.voidptr(numba.intp), emit


def _load_word(typing_context: Any, address: Any) -> Emitted:
    """Return the word at an address; what was written before it was written is seen after."""
    del typing_context, address

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_word_pointer(builder, arguments[0]), 'seq_cst', align=WORD)

    return numba.intp(numba.intp), emit


def _store_word(typing_context: Any, address: Any, value: Any) -> Emitted:
    """Write a word; who reads it sees all that was written before."""
    del typing_context, address, value

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, value = arguments
        builder.store_atomic(value, _word_pointer(builder, address), 'seq_cst', align=WORD)
        return context.get_dummy_value()

    return numba.void(numba.intp, numba.intp), emit


def _swap_word(typing_context: Any, address: Any, expected: Any, value: Any) -> Emitted:
    """Write a word if it is what is expected; return whether it was."""
    del typing_context, address, expected, value

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, expected, value = arguments
        pointer = _word_pointer(builder, address)
        found = builder.cmpxchg(pointer, expected, value, 'seq_cst', 'seq_cst')
        return builder.extract_value(found, 1)

    return numba.boolean(numba.intp, numba.intp, numba.intp), emit


def _add_word(typing_context: Any, address: Any, value: Any) -> Emitted:
    """Add to a word."""
    del typing_context, address, value

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address, value = arguments
        builder.atomic_rmw('add', _word_pointer(builder, address), value, 'seq_cst')
        return context.get_dummy_value()

    return numba.void(numba.intp, numba.intp), emit


def _call_kernel(
    typing_context: Any, kernel: Any, pointers: Any, fixed: Any, count: Any
) -> Emitted:
    """Call a kernel, given by its address, on `count` states."""
    del typing_context, kernel, pointers, fixed, count

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kernel, *others = arguments
        kind = ir.FunctionType(ir.VoidType(), [_WORD] * len(others))
        builder.call(builder.inttoptr(kernel, kind.as_pointer()), others)
        return context.get_dummy_value()

    return numba.void(*(numba.intp,) * 4), emit


def _wide_vectors(typing_context: Any) -> Emitted:
    """
    Let the function that calls this use vectors of 512 bits where the processor has them.

    LLVM takes 256 for many Intel processors, whose first generations with AVX-512 clocked down.
    The attribute belongs to the function, which therefore must not become part of another.
    """
    del typing_context

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if host_has_wide_vectors():
            # llvmlite knows no attributes with values; the set that it writes out takes any text.
            attributes = builder.function.attributes
            attributes.add('noinline')
            set.add(attributes, '"prefer-vector-width"="512"')
            set.add(attributes, '"min-legal-vector-width"="512"')
        return context.get_dummy_value()

    return numba.void(), emit


memory: Any = intrinsic(_memory)
load_word: Any = intrinsic(_load_word)
store_word: Any = intrinsic(_store_word)
swap_word: Any = intrinsic(_swap_word)
add_word: Any = intrinsic(_add_word)
call_kernel: Any = intrinsic(_call_kernel)
wide_vectors: Any = intrinsic(_wide_vectors)


@numba.njit(inline='always')
def doubles_at(address: int, shape: Any) -> Any:
    """Return the float64 array that lies at an address."""
    return numba.carray(memory(address), shape, np.float64)


@numba.njit(inline='always')
def first_line(array: Any) -> Any:
    """
    Return the address of the first cache line that begins in an array.

    numba's own arrays begin at any multiple of 32 bytes, and vectors may have 64.
    """
    address = array.ctypes.data
    return address + -address % LINE


@numba.njit(inline='always')
def singles_at(address: int, shape: Any) -> Any:
    """Return the float32 array that lies at an address."""
    return numba.carray(memory(address), shape, np.float32)


@numba.njit(inline='always')
def words_at(address: int, shape: Any) -> Any:
    """Return the words that lie at an address."""
    return numba.carray(memory(address), shape, np.int64)
