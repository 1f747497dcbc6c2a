# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the reference player."""

from __future__ import annotations

from .arm_parameters import ARM_PARAMETERS
from .parameters import ParameterSpec

PLAYER_PARAMETERS = (
    *ARM_PARAMETERS,
    ParameterSpec(
        'duration',
        'double',
        12.0,
        'Length of the motion.',
        read_only=True,
        minimum=0.1,
        maximum=600.0,
        unit='s',
    ),
    ParameterSpec(
        'amplitude',
        'double',
        0.5,
        'Largest deflection of a joint; less where a limit demands it.',
        read_only=True,
        minimum=1e-3,
        maximum=3.0,
        unit='rad',
    ),
    ParameterSpec(
        'lead_in',
        'double',
        1.0,
        'Time to be led from where the arm stands to where the motion begins.',
        read_only=True,
        minimum=0.01,
        maximum=60.0,
        unit='s',
    ),
    ParameterSpec(
        'settle',
        'double',
        2.0,
        'Time after the end of the motion before the error is taken.',
        read_only=True,
        minimum=0.0,
        maximum=60.0,
        unit='s',
    ),
    ParameterSpec(
        'tolerance',
        'double',
        0.05,
        'Largest error of a joint at the end; beyond it the exit status is 1. 0 only reports it.',
        read_only=True,
        minimum=0.0,
        maximum=10.0,
        unit='rad',
    ),
    ParameterSpec(
        'wait',
        'double',
        20.0,
        'How long to wait for the arm, for a listener, and for joint states.',
        read_only=True,
        minimum=0.1,
        maximum=600.0,
        unit='s',
    ),
)
