# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Diagnostics in diagnostic_updater's conventions: 'node: subject', a level, key-value pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

OK, WARN, ERROR, STALE = (DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR,
                          DiagnosticStatus.STALE)


def status(node: str, subject: str, level: bytes, message: str, hardware_id: str,
           pairs: Mapping[str, Any]) -> DiagnosticStatus:
    """Return one status; numbers are written with six significant digits."""
    return DiagnosticStatus(
        level=level, name=f'{node}: {subject}', message=message, hardware_id=hardware_id,
        values=[KeyValue(key=key, value=f'{value:.6g}' if isinstance(value, float)
                         else str(value)) for key, value in pairs.items()])


def diagnostic_array(node: Any, statuses: list[DiagnosticStatus]) -> DiagnosticArray:
    """Return statuses stamped with the node's clock."""
    message = DiagnosticArray(status=statuses)
    message.header.stamp = node.get_clock().now().to_msg()
    return message
