# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Base parameters: which combinations of inertial parameters torques depend on.

    base_parameters      the base parameters, by a QR decomposition
    direct_method        base parameters by another method, for serial arms and trees
    relations            combinations as sums
    symbolic_parameters  base parameters in symbols
"""
