# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Former place of `file_comments.operation_count` and `c_code.c_header`."""

from .. import former_names

__getattr__ = former_names.of_module(
    __name__,
    '0.3',
    operation_count='.file_comments.operation_count',
    c_header='.c_code.c_header',
)
