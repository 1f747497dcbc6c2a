# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Output files appear complete or not at all."""

import os

import pytest

from franka_dynamics.errors import OutputError
from franka_dynamics.files import complete_or_absent, write_text


def test_given_a_path_in_a_new_folder_when_written_then_only_the_file_is_there(tmp_path):
    target = tmp_path / 'a' / 'b.json'
    write_text(target, 'content')
    assert [path.name for path in target.parent.iterdir()] == ['b.json']
    assert target.read_text() == 'content'
    mask = os.umask(0)
    os.umask(mask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~mask


def test_given_a_writer_that_fails_when_half_done_then_the_older_file_is_as_it_was(tmp_path):
    target = tmp_path / 'arm.yaml'
    write_text(target, 'older')
    with pytest.raises(ZeroDivisionError), complete_or_absent(target) as scratch:
        assert scratch.suffix == '.yaml'
        scratch.write_text('half')
        raise ZeroDivisionError
    assert [path.name for path in tmp_path.iterdir()] == ['arm.yaml']
    assert target.read_text() == 'older'


def test_given_places_that_cannot_be_written_when_asked_then_each_is_one_sentence(tmp_path):
    with pytest.raises(OutputError, match='is a folder; give the name of a file'):
        write_text(tmp_path, '')
    (tmp_path / 'file').write_text('')
    with pytest.raises(OutputError, match=r'file/below\.json cannot be written: '):
        write_text(tmp_path / 'file' / 'below.json', '')
