# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Output for users: tables, JSON, plots and HTML pages."""
