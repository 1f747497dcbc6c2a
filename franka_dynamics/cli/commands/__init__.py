# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The commands: a typed function each, which imports what does its work when it is called."""
