# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The same identification in this process, in two processes, and on a Dask cluster."""

import shutil

import numpy as np
import pytest

from franka_dynamics.arm import load, ViscousCoulombFriction
from franka_dynamics.arm.arm_file import arm_file_text
from franka_dynamics.cli.main import EXIT_INVALID_INPUT, main
from franka_dynamics.errors import RecordingError
from franka_dynamics.identification.identify import identify
from franka_dynamics.identification.options import IdentificationOptions
from franka_dynamics.identification.summary import Bag
from franka_dynamics.recordings.recording import write_recording

from ..agreement import refuses
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
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, silence_logs=50
    ) as running:
        yield running


@pytest.fixture(scope='module')
def paths(simulate, tmp_path_factory):
    found = [tmp_path_factory.mktemp('bags') / f'bag{seed}' for seed in range(3)]
    for seed, path in enumerate(found):
        recording = simulate(REAL, duration=12.0, friction=FRICTION, noise=0.2, seed=seed)
        write_recording(recording, path)
    return found


def identified(paths, **kwargs):
    bags = [Bag(str(path), ARM.joint_names) for path in paths]
    return identify(bags, ARM, [ARM], SIMPLE, **kwargs)


def test_a_bag_cut_short_is_named_and_skipped_only_if_asked(paths, tmp_path):
    bags = [shutil.copytree(path, tmp_path / path.name) for path in paths]
    file = bags[2] / 'bag2.mcap'
    file.write_bytes(file.read_bytes()[:-1000])
    with refuses(RecordingError, 'bag2'):
        identified(bags)
    found = identified(bags, skip_failures=True)
    assert len(found.recordings.notes) == 2
    (failure,) = found.recordings.failures
    assert 'bag2 cannot be read' in failure


def test_the_verb_writes_one_arm_from_this_process_two_and_a_cluster(cluster, paths, tmp_path):
    start, page, files = tmp_path / 'start.yaml', tmp_path / 'page.html', []
    start.write_text(arm_file_text(ARM))
    names = [str(paths[0]), '--test', str(paths[1]), '--arm', str(start)]
    command = ['identify', 'arm', *names, '--friction', 'viscous_coulomb', '--output']
    cluster_options = ['--workers', cluster.scheduler_address, '--report', str(page)]
    for options in ([], ['--workers', '2'], cluster_options):
        files.append(tmp_path / f'{len(files)}.yaml')
        assert main([*command, str(files[-1]), *options]) == 0
    # To the last digit, because sums have the same order everywhere.
    assert len({file.read_text() for file in files}) == 1
    assert page.read_text().count('measured and predicted torques of') == 2


def test_an_address_where_nobody_listens_is_refused_by_name(paths, monkeypatch, capsys):
    pytest.importorskip('distributed')
    monkeypatch.setattr('franka_dynamics.cli.identify_arm._DASK_TIMEOUT_S', 0.5)
    for address in ('tcp://127.0.0.1:9', 'nonsense://x'):
        assert main(['identify', 'arm', str(paths[0]), '--workers', address]) == EXIT_INVALID_INPUT
        assert f'No Dask scheduler answers at {address}' in capsys.readouterr().err
