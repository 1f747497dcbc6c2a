# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A policy's targets are followed with feedforward, one by one and in chunks."""

import re

import pytest

pytest.importorskip('mujoco')


def test_feedforward_halves_the_error_of_both_kinds_of_targets(example, capsys, monkeypatch):
    monkeypatch.setattr(example, 'DURATION_S', 5.0)
    assert example.main([]) == 0
    late = [int(ms) for ms in re.findall(r'(\d+) ms late', capsys.readouterr().out)]
    # By design a stream is followed three periods of 33 ms late; a chunk has the coming targets.
    _, stream, chunks = late
    assert chunks < 66 < 99 < stream
