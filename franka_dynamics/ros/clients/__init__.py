# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that talk to the nodes: requests, recordings, checks, the demonstration."""
