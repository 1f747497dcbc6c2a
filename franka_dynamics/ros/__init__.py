# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes and their clients: messages, parameters, processes, time; the mathematics is elsewhere."""

import sys

from .start import end_at_once

if sys.argv[:1] == ['-m']:  # python -m franka_dynamics.ros.NAME, before NAME is imported
    end_at_once()
