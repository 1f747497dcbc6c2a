# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Output files appear complete or not at all."""

import os

import pytest

from franka_dynamics.files import complete_or_absent, write_text


def test_a_file_written_to_a_new_folder_is_alone_there(tmp_path):
    target = tmp_path / 'a' / 'b.json'
    write_text(target, 'content')
    assert [path.name for path in target.parent.iterdir()] == ['b.json']
    assert target.read_text() == 'content'
    mask = os.umask(0)
    os.umask(mask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_writer_failing_halfway_leaves_the_older_file(tmp_path):
    target = tmp_path / 'arm.yaml'
    write_text(target, 'older')
    with pytest.raises(ZeroDivisionError), complete_or_absent(target) as scratch:
        assert scratch.suffix == '.yaml'
        scratch.write_text('half')
        raise ZeroDivisionError
    assert [path.name for path in tmp_path.iterdir()] == ['arm.yaml']
    assert target.read_text() == 'older'
