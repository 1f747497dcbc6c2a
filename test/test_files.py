# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Output files appear complete or not at all; files of tests name their tests in short."""

import ast
import os
from pathlib import Path

import pytest

from franka_dynamics.errors import OutputError
from franka_dynamics.files import complete_or_absent, write_text

# In characters, with `test_`: what a failing test's name may take to say what broke.
LONGEST_NAME = 60


def too_long(text):
    """Return the names of a file's test functions, methods included, that exceed the limit."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, functions)
        and node.name.startswith('test_')
        and len(node.name) > LONGEST_NAME
    ]


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


def test_places_that_cannot_be_written_are_one_sentence_each(tmp_path):
    with pytest.raises(OutputError, match='is a folder; give the name of a file'):
        write_text(tmp_path, '')
    (tmp_path / 'file').write_text('')
    with pytest.raises(OutputError, match=r'file/below\.json cannot be written: '):
        write_text(tmp_path / 'file' / 'below.json', '')


def test_no_tests_name_is_too_long():
    paths = sorted(Path(__file__).parent.rglob('*.py'))
    assert Path(__file__) in paths
    found = {str(path): too_long(path.read_text('utf-8')) for path in paths}
    assert {path: names for path, names in found.items() if names} == {}


def test_a_name_too_long_by_one_is_found_in_methods_too():
    fits, long = 'test_'.ljust(LONGEST_NAME, 'x'), 'test_'.ljust(LONGEST_NAME + 1, 'x')
    text = f'def {fits}(): ...\nasync def {long}(): ...\nclass TestA:\n    def {long}(self): ...\n'
    assert too_long(text) == [long, long]
