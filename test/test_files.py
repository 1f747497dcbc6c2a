# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Output files appear complete or not at all; installed files are found."""

import os

import numpy as np
import pytest

from franka_dynamics import files
from franka_dynamics.errors import DescriptionError
from franka_dynamics.files import atomic_write, write_text

from .agreement import refuses
from .processes import run_python

# The bytes that a file may have. It is like a full disk: a file can be made, not written.
FULL = 100
COLUMNS = '--position q{} --velocity q{} --effort q{}'


def test_a_file_written_to_a_new_folder_is_alone_there(tmp_path):
    target = tmp_path / 'a' / 'b.json'
    write_text(target, 'content')
    assert [path.name for path in target.parent.iterdir()] == ['b.json']
    assert target.read_text() == 'content'
    mask = os.umask(0)
    os.umask(mask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_writer_failing_halfway_leaves_the_older_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    target = tmp_path / '~arm.yaml'  # the name of a file, of no user's home
    write_text(target.name, 'older')
    with pytest.raises(ZeroDivisionError), atomic_write(target.name) as scratch:
        assert scratch.suffix == '.yaml'
        scratch.write_text('half')
        raise ZeroDivisionError
    assert [path.name for path in tmp_path.iterdir()] == ['~arm.yaml']
    assert target.read_text() == 'older'


def test_a_writer_that_fails_leaves_no_folder_that_it_made(tmp_path):
    kept = tmp_path / 'kept'
    kept.mkdir()
    target = kept / 'a' / 'b' / 'arm.yaml'
    for made in (lambda: None, lambda: (kept / 'a' / 'other').touch()):
        with pytest.raises(ZeroDivisionError), atomic_write(target):
            made()
            raise ZeroDivisionError
        left = [path.name for path in kept.rglob('*')]
        assert left == ([] if not (kept / 'a').exists() else ['a', 'other'])
    assert left == ['a', 'other']


def test_a_link_stays_and_what_it_points_to_is_written(tmp_path):
    (tmp_path / 'real').mkdir()
    link = tmp_path / 'arm.yaml'
    link.symlink_to(tmp_path / 'real' / 'fer.yaml')
    for text in ('first', 'second'):
        write_text(link, text)
        assert link.is_symlink() and link.read_text() == text
    assert [path.name for path in (tmp_path / 'real').iterdir()] == ['fer.yaml']


def test_a_pipe_is_written_to_and_stays(tmp_path):
    pipe = tmp_path / 'pipe'
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, 'content')
        assert pipe.is_fifo() and os.read(reader, 100) == b'content'
    finally:
        os.close(reader)


# The file that each command would write.
WRITERS = {
    'arm export --arm fr3 --output out/fr3.urdf': 'out/fr3.urdf',
    f'bag import log.csv --arm rpr --stamp t {COLUMNS}': 'log',
}


def test_on_a_full_disk_a_command_names_the_file_and_leaves_none(tmp_path):
    log = tmp_path / 'log.csv'
    np.savetxt(log, np.eye(100, 4), delimiter=',', header='t,q1,q2,q3', comments='')
    program = (
        'import resource\n'
        'from franka_dynamics.cli.main import main\n'
        f'resource.setrlimit(resource.RLIMIT_FSIZE, ({FULL}, resource.RLIM_INFINITY))\n'
        f'print(*[main(words.split()) for words in {[*WRITERS]!r}])'
    )
    _, output, errors = run_python('-B', '-c', program, cwd=tmp_path)
    assert output.splitlines()[-1].split() == ['2'] * len(WRITERS)
    # Matplotlib tells that it cannot keep its fonts.
    said = [line for line in errors.splitlines() if line.startswith('franka-dynamics: ')]
    for file, sentence in zip(WRITERS.values(), said, strict=True):
        assert file in sentence, sentence
    assert [path for path in tmp_path.rglob('*') if path.is_file()] == [log]


def test_data_files_lie_below_debians_prefix(monkeypatch, tmp_path):
    # Other places are those of test_installation.
    package = tmp_path / 'local/lib/python3.12/dist-packages/franka_dynamics'
    package.mkdir(parents=True)
    monkeypatch.setattr(files, '__file__', str(package / 'files.py'))
    with refuses(DescriptionError, 'colcon', 'pip'):
        files.share_directory()
    share = tmp_path / 'share/franka_dynamics'
    (share / 'config').mkdir(parents=True)
    (share / 'package.xml').touch()
    assert files.share_directory() == share
