# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The same identification in this process, in two processes, and on a Dask cluster."""

from dataclasses import replace
import functools
import os
import shutil
import signal

import numpy as np
import pytest

from franka_dynamics.arm import load, ViscousCoulombFriction
from franka_dynamics.arm.arm_file_writer import arm_file_text
from franka_dynamics.cli.main import INPUT_AT_FAULT, main
from franka_dynamics.errors import RecordingError
from franka_dynamics.identification.identify import identify
from franka_dynamics.identification.options import IdentificationOptions
from franka_dynamics.identification.sources import Bag, summarise
from franka_dynamics.recordings.recording import read_recording, write_recording

from ..arms import drawn_around, first_joints

FER = load('fer')
# The first joints of the FER only: the test is about where the work runs, not about its result.
ARM = first_joints(FER, 3)
FRICTION = ViscousCoulombFriction(np.full(3, 0.2), np.full(3, 0.3), np.full(3, 0.1))
SIMPLE = IdentificationOptions(friction='viscous_coulomb')
REAL = drawn_around(ARM, 0)


@pytest.fixture(scope='module')
def cluster():
    distributed = pytest.importorskip('distributed')
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=':0', silence_logs=50
    ) as running:
        yield running


@pytest.fixture(scope='module')
def paths(simulate, tmp_path_factory):
    found = [tmp_path_factory.mktemp('bags') / f'bag{seed}' for seed in range(3)]
    for seed, path in enumerate(found):
        recording = simulate(REAL, duration=12.0, friction=FRICTION, noise=0.2, seed=seed)
        write_recording(recording, path)
    return found


def identified(paths, executor=None, **kwargs):
    bags = [Bag(str(path), ARM.joint_names) for path in paths]
    return identify(bags, ARM, [ARM], SIMPLE, executor=executor, **kwargs)


@pytest.fixture(scope='module')
def here(paths):
    return identified(paths)


def numbers(result):
    errors = [one.test.E for one in result.scores]
    found = result.base, result.deviations, result.theta, errors
    return np.concatenate(found)


def assert_same(one, other):
    """Require equal results to the last bit: sums have the same order everywhere."""
    np.testing.assert_array_equal(numbers(one), numbers(other))
    assert [own.name for own in one.scores] == [theirs.name for theirs in other.scores]
    assert one.errors == other.errors
    assert one.notes == other.notes


def test_a_long_bag_is_summarised_piece_by_piece(paths, tmp_path):
    recording = read_recording(paths[0], ARM)
    quarter, idle = len(recording) // 4, recording.effort.copy()
    idle[quarter - 10 : 2 * quarter + 10] = 0.0
    write_recording(replace(recording, effort=idle), tmp_path / 'bag')
    model = SIMPLE.torque_model(ARM)
    read = functools.partial(summarise, (model, ARM, SIMPLE))
    whole = read(Bag(str(paths[0]), ARM.joint_names), 'bag')
    for path, left_out in ((paths[0], 0), (tmp_path / 'bag', 1)):
        pieces = read(Bag(str(path), ARM.joint_names, at_once=quarter + 5), 'bag')
        assert pieces.failure is None
        one, other = whole.note, pieces.note
        assert (other.messages, other.duration) == (one.messages, one.duration)
        assert 'This piece was left out' * left_out in ' '.join(other.remarks)
        # Each of four pieces is trimmed separately; a piece without effort is left out.
        assert (0.8 - 0.3 * left_out) * one.samples < other.samples < one.samples
        friction = np.stack([FRICTION.viscous, FRICTION.coulomb, FRICTION.offset], axis=1)
        theta = np.concatenate([model.base.values(REAL), friction.ravel()])
        for own, alone in zip(pieces.sums.samples, whole.sums.samples, strict=True):
            assert left_out or own == pytest.approx(alone, rel=0.3)
        size, alone = (
            one.sums.squares(theta).sum() / one.sums.samples.sum() for one in (pieces, whole)
        )
        assert size < 1.5 * alone


def test_a_cluster_whose_worker_is_killed_finds_the_same_digits(cluster, here, paths):
    from distributed import Client

    killed = []

    def kill_once(done, total):
        if not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    with Client(cluster.scheduler_address) as client:
        found = identified(paths, client.get_executor(pure=False), progress=kill_once)
    assert killed
    assert_same(found, here)


def test_a_bag_cut_short_is_named_and_skipped_only_if_asked(paths, tmp_path):
    bags = [shutil.copytree(path, tmp_path / path.name) for path in paths]
    file = bags[2] / 'bag2.mcap'
    file.write_bytes(file.read_bytes()[:-1000])
    with pytest.raises(RecordingError, match=r'bag2 cannot be read, so it is cut short'):
        identified(bags)
    found = identified(bags, skip_failures=True)
    assert len(found.notes) == 2
    (failure,) = found.failures
    assert 'bag2 cannot be read' in failure


def test_the_verb_writes_the_same_arm_from_two_processes_and_a_cluster(cluster, paths, tmp_path):
    here, there, page = (tmp_path / name for name in ('here.yaml', 'there.yaml', 'page.html'))
    start = tmp_path / 'start.yaml'
    start.write_text(arm_file_text(ARM))
    names = [str(paths[0]), '--test', str(paths[1]), '--arm', str(start)]
    command = ['identify', 'arm', *names, '--friction', 'viscous_coulomb', '--output']
    assert main([*command, str(here), '--processes', '2']) == 0
    options = ['--dask', cluster.scheduler_address, '--report', str(page)]
    assert main([*command, str(there), *options]) == 0
    assert here.read_text() == there.read_text()
    assert page.read_text().count('measured and predicted torques of') == 2


def test_an_address_where_nobody_listens_is_refused_by_name(paths, monkeypatch, capsys):
    pytest.importorskip('distributed')
    monkeypatch.setattr('franka_dynamics.cli.identify_arm._CONNECT_S', 0.5)
    for address in ('tcp://127.0.0.1:9', 'nonsense://x'):
        assert main(['identify', 'arm', str(paths[0]), '--dask', address]) == INPUT_AT_FAULT
        assert f'No Dask scheduler answers at {address}' in capsys.readouterr().err
