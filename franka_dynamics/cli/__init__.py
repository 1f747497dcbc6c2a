# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The command line `franka-dynamics`; most of its actions have a file of their own."""
