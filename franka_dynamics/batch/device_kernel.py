# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Evaluates equations of one quantity at many states on an NVIDIA GPU."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
import functools
from typing import Any

import numpy as np

from .kernel import cached_object_code
from ..codegen.cuda import BLOCK_SIZE, blocks_per_group, cuda_source, kernel_name
from ..codegen.equations import Equations
from ..errors import MissingDependencyError, require_extra


class DeviceKernel:
    """
    A callable that computes one quantity at N states in the memory of a GPU.

    The equations' CUDA code is compiled by NVRTC for the GPU of number `device`.

    Raises
    ------
    MissingDependencyError
        If cuda-core is not installed, or cannot use the GPU.

    """

    def __init__(self, equations: Equations, dtype: np.dtype[Any], device: int) -> None:
        with require_extra('Arrays on a GPU need cuda-core', 'gpu'):
            from cuda import core
        self.shape, self._cuda_core, self._device = equations.shape, core, device
        self._blocks = blocks_per_group(equations)
        self._stream = functools.lru_cache(maxsize=64)(core.Stream.from_handle)  # takes 10 us
        text = cuda_source([equations], precision='float' if dtype == np.float32 else 'double')

        def compiled() -> bytes:
            """Return the code that NVRTC makes of the CUDA text."""
            options = core.ProgramOptions(std='c++17', arch=arch)
            return bytes(core.Program(text, 'c++', options).compile('cubin').code)

        try:
            arch = f'sm_{core.Device(device).arch}'
            with self._current_device():
                code = cached_object_code(f'{text}{arch}, cuda-core {core.__version__}', compiled)
                self._kernel = core.ObjectCode.from_cubin(code).get_kernel(kernel_name(equations))
        except Exception as error:  # of cuda-core or its bindings, also where no driver is found
            raise MissingDependencyError(
                f'cuda-core cannot use GPU {device}: {error} The extra gpu needs the driver of '
                "CUDA 13; for one of CUDA 12 pip install 'cuda-core[cu12]'."
            ) from error

    @contextmanager
    def _current_device(self) -> Iterator[None]:
        """Make the kernel's GPU the current one of this thread."""
        before = self._cuda_core.Device()
        self._cuda_core.Device(self._device).set_current()
        try:
            yield
        finally:
            if before.device_id != self._device:
                before.set_current()

    def __call__(self, stream: int, count: int, rows: Sequence[tuple[int, int]], out: int) -> None:
        """
        Start the computation of the quantity at N states on a CUDA stream.

        Parameters
        ----------
        stream : int
            Address of a CUDA stream.
        count : int
            Number N of states.
        rows : sequence of tuple of int
            Of each input, in the kernel's precision, the address of its first state, and the
            number of values from one state to the next.
        out : int
            Address of the results: N rows that follow each other.

        """
        if count:
            inputs = [number for at, step in rows for number in (at, np.int64(step))]
            blocks = self._blocks * -(-count // BLOCK_SIZE)
            config = self._cuda_core.LaunchConfig(grid=blocks, block=BLOCK_SIZE)
            arguments = (np.int64(count), *inputs, out)
            with self._current_device():
                self._cuda_core.launch(self._stream(stream), config, self._kernel, *arguments)
