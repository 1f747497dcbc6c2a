# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Former place of `dynamics.external_torque`."""

from .. import former_names

__getattr__ = former_names.of_module(
    __name__,
    '0.3',
    WrenchEstimator='..dynamics.external_torque.WrenchEstimator',
    ExternalWrench='..dynamics.external_torque.ExternalWrench',
)
