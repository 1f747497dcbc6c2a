# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Dynamics of many states at once, by generated machine code or in another library's operations.

`torch_model.TorchModel` and `jax_model.JaxModel` are imported from their modules, which need
PyTorch and JAX.
"""

from typing import TYPE_CHECKING

from .._lazy import lazy_exports

if TYPE_CHECKING:  # for editors and type checkers
    from .batch_model import BatchModel as BatchModel
    from .traced_model import TracedModel as TracedModel

__getattr__, __dir__, __all__ = lazy_exports(__name__)
