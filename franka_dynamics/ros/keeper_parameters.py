# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the node that takes back the torque of one that was killed."""

from .parameters import ParameterSpec
from ..control.settings import DEFAULT_TARGET, TARGETS

KEEPER_PARAMETERS = (
    ParameterSpec(
        'target',
        'string',
        DEFAULT_TARGET,
        'As of the node that commands; it decides '
        'where the stop sequence ends: at zero, or at the gravity torque that the node '
        'published last.',
        read_only=True,
        choices=tuple(TARGETS),
    ),
    ParameterSpec(
        'silence',
        'double',
        0.1,
        'Silence of the commands after which a node whose '
        'process is still there, or cannot be seen from here, counts as stalled; at least 0.02. '
        '0 for never: where time is simulated it may stand still, and then silence says nothing.',
        read_only=True,
        minimum=0.0,
        maximum=10.0,
        unit='s',
    ),
)
