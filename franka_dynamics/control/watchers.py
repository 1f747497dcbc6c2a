# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Former place of `speed_watcher` and `repeated_positions`."""

from .. import former_names

__getattr__ = former_names.of_module(
    __name__,
    '0.3',
    MAX_SPEED_TO_LIMIT='.speed_watcher.MAX_SPEED_TO_LIMIT',
    MAX_FOLLOW_SPEED_TO_LIMIT='.speed_watcher.MAX_FOLLOW_SPEED_TO_LIMIT',
    MAX_OVERSPEED_TIME_S='.speed_watcher.MAX_OVERSPEED_TIME_S',
    SpeedWatcher='.speed_watcher.SpeedWatcher',
    RepeatedPositions='.repeated_positions.RepeatedPositions',
    is_reference_moving='.terms.is_reference_moving',
)
