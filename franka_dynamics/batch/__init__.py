# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Dynamics of many states at once, by generated machine code or in an array library's operations.

`torch_model.TorchModel` and `jax_model.JaxModel` are imported from their modules, which need
PyTorch and JAX.
"""
