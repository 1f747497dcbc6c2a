# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
How well an arm follows, told beforehand, and its friction in other packages' forms.

    tracking         the error that a PD keeps
    law_tracking     the error that any law keeps, in closed loop
    laws             the published laws
    friction_export  friction for franky and crisp_controllers
"""
