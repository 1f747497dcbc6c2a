# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The five-bar of examples/."""

from ..scripts import example, loaded

with loaded(example('five_bar')) as five_bar:
    five_bar_axes = five_bar.five_bar_axes
    five_bar_meshes = five_bar.five_bar_meshes
    spherical_five_bar = five_bar.spherical_five_bar
