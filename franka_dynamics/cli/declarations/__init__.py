# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The declarations of all commands: their words, options and help, without their work."""
