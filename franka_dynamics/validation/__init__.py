# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Checks arm descriptions, URDFs and torques by comparing independent models and sources."""
