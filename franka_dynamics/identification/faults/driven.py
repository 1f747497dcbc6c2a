# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A joint's Coulomb friction would drive it: its effort, nearly all friction, is reversed."""

from .fault import Fault


class Driven(Fault):
    """Joints whose fitted friction would drive them; its values are their friction [N m]."""

    kind, of_all = 'driven', False
    text = (
        'Friction would drive {joints} instead of braking. Its effort has the wrong sign, or is '
        'not of this joint: check its column.'
    )
