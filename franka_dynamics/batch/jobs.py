# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What is to be done with a batch, and doing it: from arrays of states to an array of results."""

from __future__ import annotations

from collections.abc import Sequence
import functools
import math
from typing import Any, NamedTuple

import numpy as np

from . import pieces
from .generated_kernels import kernel_source, load_kernel
from .results import empty
from ..arm import ArmDescription
from ..codegen.equations import customised_equations, Quantity
from ..dynamics.body_tree import BodyTree
from ..errors import JointVectorError

DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)


class Form(NamedTuple):
    """How many arguments a quantity has, and what each state's result looks like."""

    arguments: int
    result: tuple[int, ...]


class Job:
    """
    A kernel with what belongs to an arm, ready to be run on batches.

    Parameters
    ----------
    kernel : int
        Its address.
    inputs : int
        How many arrays of states it takes; zeros where fewer are given.
    n : int
        Columns of each.
    form : Form
        Of the quantity.
    dtype : dtype
        Of inputs and results, float64 or float32.
    fixed : int
        Address of what belongs to the arm.
    kept : object
        What has to live as long.

    """

    def __init__(
        self,
        kernel: int,
        inputs: int,
        n: int,
        form: Form,
        dtype: Any = DOUBLE,
        fixed: int = 0,
        kept: object = None,
    ) -> None:
        self.n, self.dtype, self.result = n, dtype, form.result
        self.given, self.size = form.arguments, math.prod(form.result)
        still = np.zeros(pieces.LARGEST_PIECE * n if inputs > self.given else 0)
        self._words = np.zeros(pieces.JOB, np.int64)
        self._words[[pieces.KERNEL, pieces.FIXED, pieces.INPUTS]] = kernel, fixed, inputs
        self._words[[pieces.GIVEN, pieces.ZEROS]] = self.given, still.ctypes.data
        self._words[[pieces.ITEM, pieces.WIDTH, pieces.OUT_WIDTH]] = dtype.itemsize, n, self.size
        self.address: int = self._words.ctypes.data
        self._kept = still, kept

    def run_rows(self, pool: int, rows: Sequence[Any], out: Any) -> Any:
        """
        Return results of arrays of shape (N, n), or None where they need more than one look.

        Nothing is done unless all are C-contiguous, of the job's type, and of one shape.
        """
        q = rows[0]
        for array in rows:
            if type(array) is not np.ndarray:
                return None
        flat_out = type(out) is np.ndarray and out.ndim == 2 and len(self.result) == 1
        if out is not None and not flat_out:
            return None
        flat = empty((len(q), self.size), self.dtype) if out is None else out
        try:
            done = pieces.enter(pool, self.address, q, rows[len(rows) // 2], rows[-1], flat)
        except TypeError:  # another layout or type
            return None
        if not done:
            return None
        if len(self.result) == 1:
            return flat
        return flat.reshape(len(q), *self.result)

    def run(self, pool: int, arrays: Sequence[np.ndarray], out: np.ndarray) -> None:
        """
        Fill `out` (N, *result), which is C-contiguous, from arrays (N, n) of any strides.

        Their type is the job's, and their shapes have been looked at.
        """
        words = [len(out)]
        for array in (*arrays, out.reshape(len(out), self.size)):
            words += [array.ctypes.data, *array.strides, array.shape[1]]
        words += [0] * (pieces.TABLE - pieces.ARRAYS + 1 - len(words))
        pieces.run_table(pool, self.address, np.array(words, np.int64))


def pool_for(count: int, most: int) -> int:
    """Return the pool that a batch of so many states may use with so many threads, or 0."""
    return pieces.pool(most - 1) if most > 1 and count >= pieces.STATES_PER_WORKER else 0


def checked_threads(given: int | None) -> int:
    """
    Return how many threads batches may use.

    Raises
    ------
    JointVectorError
        If it is below one.

    """
    if given is not None and given < 1:
        raise JointVectorError(
            f'threads is {given}; give at least 1, or None for one per processor.'
        )
    return pieces.available_threads() if given is None else given


@functools.lru_cache(maxsize=128)
def generated_job(
    arm: ArmDescription | BodyTree,
    quantity: Quantity,
    gravity: tuple[float, ...],
    form: Form,
    dtype: Any = DOUBLE,
) -> Job:
    """Return a job of code generated for an arm or a tree, compiled when it is first asked for."""
    program = customised_equations(arm, quantity, gravity).program
    kernel = load_kernel(kernel_source(program, arm.n, single=dtype == SINGLE)).run
    return Job(kernel.address, len(program.inputs), arm.n, form, dtype, kept=kernel)


def forms(n: int) -> dict[str, Form]:
    """Return the quantities of an arm of n joints, by the names of `BatchModel`'s methods."""
    return {
        'inverse_dynamics': Form(3, (n,)),
        'nonlinear_effects': Form(2, (n,)),
        'coriolis': Form(2, (n,)),
        'gravity': Form(1, (n,)),
        'mass_matrix': Form(1, (n, n)),
        'coriolis_matrix': Form(2, (n, n)),
        'forward_dynamics': Form(3, (n,)),
        'inverse_dynamics_derivatives': Form(3, (3, n, n)),
        'flange_pose': Form(1, (4, 4)),
        'jacobian': Form(1, (6, n)),
    }
