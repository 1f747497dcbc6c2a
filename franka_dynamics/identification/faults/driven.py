# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A joint's Coulomb friction would drive it: its effort, nearly all friction, is reversed."""

from .fault import Fault


class Driven(Fault):
    """Its values are the friction torques [N m]. It has no columns, but the model's friction."""

    kind, of_all = 'driven', False
    text = (
        'Friction would drive {joints} instead of braking. Its effort has the wrong sign, or is '
        'not of this joint: check its column.'
    )
