# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Formats results for users as text, tables, JSON, plots and HTML pages."""
