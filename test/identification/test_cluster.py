# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Identification over a Dask cluster of two worker processes."""

import os
import shutil
import signal

import numpy as np
import pytest

from franka_dynamics.arm import load, ViscousCoulombFriction
from franka_dynamics.cli.main import INPUT_AT_FAULT, main
from franka_dynamics.errors import ClusterError, IdentificationError, RecordingError
from franka_dynamics.identification.bag_job import BagJob
from franka_dynamics.identification.cluster import connect, identify_on_cluster
from franka_dynamics.identification.identify import identify
from franka_dynamics.identification.options import IdentificationOptions
from franka_dynamics.recordings.recording import write_recording

from ..arms import drawn_around

distributed = pytest.importorskip('distributed')

FER = load('fer')
DEFAULT = IdentificationOptions()
FRICTION = ViscousCoulombFriction(np.full(7, 0.2), np.full(7, 0.3), np.full(7, 0.1))
# Sums in another order: rounding times the condition number of some 100.
SAME = 1e-9


@pytest.fixture(scope='module')
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=':0', silence_logs=50
    ) as running:
        yield running


# Of what is fitted in one process and over workers alike, half takes finding slip elements.
SIMPLE = 'viscous_coulomb'


@pytest.fixture(scope='module')
def bags(simulate, tmp_path_factory):
    paths, folder = [], tmp_path_factory.mktemp('bags')
    for seed in range(4):
        paths.append(folder / f'bag{seed}')
        write_recording(
            simulate(drawn_around(FER, 0), duration=12.0, friction=FRICTION, noise=0.2, seed=seed),
            paths[-1],
        )
    return paths


def jobs_of(bags):
    return [BagJob(str(bag), FER.joint_names, other_cutoffs=(5.0,)) for bag in bags]


def in_this_process(bags, options=DEFAULT):
    model = options.torque_model(FER)
    prepared = [job.motions(job.recording(), model) for job in jobs_of(bags)]
    return identify(
        [motion for motion, _ in prepared],
        FER,
        [FER],
        options,
        other_cutoffs={5.0: [others[5.0] for _, others in prepared]},
    )


def assert_same(actual, expected):
    np.testing.assert_allclose(actual.base.theta, expected.base.theta, rtol=0.0, atol=SAME)
    np.testing.assert_allclose(
        actual.base.deviations, expected.base.deviations, rtol=0.0, atol=SAME
    )
    assert actual.base.regularization == expected.base.regularization
    for one, other in zip(actual.scores, expected.scores, strict=True):
        assert one.name == other.name
        # The solver of the consistent fit stops at 1e-8.
        tolerance = 1e-6 if one.name == 'consistent' else SAME
        assert one.test.whole == pytest.approx(other.test.whole, abs=tolerance)
        assert one.other_cutoffs[5.0].whole == pytest.approx(
            other.other_cutoffs[5.0].whole, abs=tolerance
        )


def test_a_worker_killed_in_mid_run_does_not_change_the_result(cluster, bags):
    killed = []

    def kill_once(done, total):
        if not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    with connect(cluster.scheduler_address) as client:
        result, notes, failures = identify_on_cluster(
            client, jobs_of(bags), FER, [FER], progress=kill_once
        )
    assert killed
    assert failures == []
    assert [note.bag for note in notes] == [str(bag) for bag in bags]
    assert_same(result, in_this_process(bags))


def test_a_bag_cut_short_is_named_and_skipped_only_if_asked(cluster, bags, tmp_path):
    options = IdentificationOptions(friction=SIMPLE)
    bags = [shutil.copytree(bag, tmp_path / bag.name) for bag in bags]
    file = bags[2] / 'bag2.mcap'
    file.write_bytes(file.read_bytes()[:-1000])
    with connect(cluster.scheduler_address) as client:
        with pytest.raises(RecordingError, match=r'bag2 cannot be read, so it is cut short'):
            identify_on_cluster(client, jobs_of(bags), FER, [FER], options)
        result, notes, failures = identify_on_cluster(
            client, jobs_of(bags), FER, [FER], options, skip_failures=True
        )
    assert len(notes) == 3
    assert len(failures) == 1 and 'bag2 cannot be read' in failures[0]
    left = [bag for bag in bags if bag.name != 'bag2']
    assert_same(result, in_this_process(left, options))


def test_identify_on_a_cluster_writes_the_same_arm(cluster, bags, tmp_path, capsys):
    names = [*(str(bag) for bag in bags[:2]), '--friction', SIMPLE]
    here, there = tmp_path / 'here.yaml', tmp_path / 'there.yaml'
    assert main(['identify', 'arm', *names, '--output', str(here)]) == 0
    assert (
        main(
            [
                'identify',
                'arm',
                *names,
                '--output',
                str(there),
                '--dask',
                cluster.scheduler_address,
                '--report',
                str(tmp_path / 'page.html'),
            ]
        )
        == 0
    )
    assert 'samples stayed on the cluster' in (tmp_path / 'page.html').read_text()
    for one, other in zip(load(here).links, load(there).links):
        np.testing.assert_allclose(one.parameters(), other.parameters(), rtol=0.0, atol=1e-5)


def test_options_that_need_samples_are_refused_on_a_cluster(cluster, bags):
    with (
        connect(cluster.scheduler_address) as client,
        pytest.raises(IdentificationError, match='need the samples themselves'),
    ):
        identify_on_cluster(
            client, jobs_of(bags), FER, options=IdentificationOptions(friction='sigmoid')
        )


def test_an_address_where_nobody_listens_is_refused_by_name(monkeypatch, capsys):
    monkeypatch.setattr('franka_dynamics.identification.cluster._CONNECT_S', 0.5)
    with (
        pytest.raises(ClusterError, match='No Dask scheduler answers at tcp://127'),
        connect('tcp://127.0.0.1:9'),
    ):
        pass
    assert main(['identify', 'arm', 'bag', '--dask', 'nonsense://x']) == INPUT_AT_FAULT
    assert 'No Dask scheduler answers at nonsense://x' in capsys.readouterr().err
