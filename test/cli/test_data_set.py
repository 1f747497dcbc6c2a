# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`bag replay`, `bag import` and `identify arm` on data sets, from their options to the tables."""

import json

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.cli.main import EXIT_INTERRUPTED, main
from franka_dynamics.recordings.data_set import find_episodes
from franka_dynamics.recordings.recording import write_recording
from franka_dynamics.report.episode_replay import EpisodeReplay

from ..data_sets import write_droid, write_lerobot
from ..made_recordings import simulate

pandas = pytest.importorskip('pandas')
pytest.importorskip('pyarrow', reason='pyarrow is not installed')
FER = load('fer')
# The torque error of one set and hand; 4 s of motion are not judged, which takes seconds.
REPLAY = 'bag replay --arm fer --set gaz2019 --hand none'


@pytest.fixture(scope='module')
def recordings():
    """Return recordings of a FER, of which one joint's torque is off in the last."""
    found = [simulate(FER, duration=4.0, noise=0.05, seed=seed) for seed in range(3)]
    found[-1].effort[:, 3] += 5.0
    return found


@pytest.fixture
def bags(recordings, tmp_path, monkeypatch):
    """Return a folder with bags, of which one is cut short."""
    monkeypatch.chdir(tmp_path)
    for number, recording in enumerate(recordings):
        write_recording(recording, tmp_path / 'bags' / f'{number}')
    (tmp_path / 'bags' / 'broken.mcap').write_bytes(b'\x89MCAP0\r\n')
    return tmp_path / 'bags'


def rows_in(folder):
    """Return the rows of both files of a table, which are alike."""
    rows = pandas.read_parquet(folder / 'episodes.parquet')
    written = pandas.read_csv(folder / 'episodes.csv')
    np.testing.assert_allclose(rows['E'], written['E'])
    return rows.set_index('episode')


@pytest.mark.parametrize('workers', ['1', '2'])
def test_each_episode_is_a_row_the_broken_one_too(workers, bags, answered):
    status, said = answered(REPLAY, bags, '--workers', workers)
    assert status == 1 and '4 episodes: 3 read, 1 refused' in said and 'refused broken' in said
    rows = rows_in(bags.parent / 'bags_replay')
    assert list(rows.index) == ['0', '1', '2', 'broken.mcap']
    assert list(rows['status']) == ['read', 'read', 'read', 'refused']
    assert str(bags / 'broken.mcap') in rows['reason']['broken.mcap']
    # Of such fast motion the filter leaves 1 N m.
    assert rows['E'][['0', '1']].max() < 1.5
    assert rows['E']['2'] == pytest.approx(5.0, rel=0.1)
    assert rows['external_torque']['2'] > 5.0 and rows['external_joint']['2'] == 4
    assert set(rows['verdict'].dropna()) == {'not judged'}
    assert rows['lag_ms'].abs().max() < 10.0


def test_what_is_asked_about_an_episode_is_in_its_row(tmp_path, monkeypatch, answered):
    monkeypatch.chdir(tmp_path)
    for name, offset in (('plain', 0.0), ('off', 12.0)):
        recording = simulate(FER, duration=12.0, noise=0.05)
        recording.effort[:, 2] += offset
        write_recording(recording, tmp_path / 'bags' / name)
    status, said = answered(REPLAY, tmp_path / 'bags')
    rows = rows_in(tmp_path / 'bags_replay')
    assert rows['verdict']['plain'] == 'sound' and not rows['cause']['plain'], said
    assert rows['verdict']['off'] == 'sound, with a question'
    assert 'joint 3' in rows['cause']['off'] and rows['cause']['off'] in said
    assert status == 0 and '1 sound, 1 sound with a question, 0 NOT sound' in said


def test_an_interrupted_run_goes_on_where_it_was(bags, answered, refused, monkeypatch, capsys):
    done = []
    replay = EpisodeReplay.__call__

    def interrupted(self, task):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(task[0])
        return replay(self, task)

    monkeypatch.setattr(EpisodeReplay, '__call__', interrupted)
    assert main([*REPLAY.split(), str(bags)]) == EXIT_INTERRUPTED
    said = capsys.readouterr().err
    assert '2 of 4 episodes' in said and '--resume' in said and said.count('\n') == 1
    monkeypatch.setattr(EpisodeReplay, '__call__', replay)
    assert '--resume' in refused(REPLAY, bags)
    assert 'other' in refused(REPLAY, bags, '--resume', '--cutoff', '2')
    journal = bags.parent / 'bags_replay' / 'episodes.jsonl'
    with journal.open('a') as file:
        file.write('{"episode": "2", "sta')  # of a process that was killed
    status, said = answered(REPLAY, bags, '--resume')
    assert status == 1 and '2 of 4 episodes are done already' in said
    assert list(rows_in(bags.parent / 'bags_replay').index) == ['0', '1', '2', 'broken.mcap']
    assert '4 of 4 episodes are done already' in answered(REPLAY, bags, '--resume')[1]


def test_external_torques_are_columns_of_a_new_data_set(
    recordings, tmp_path, monkeypatch, answered, refused
):
    parquet = pytest.importorskip('pyarrow.parquet')
    monkeypatch.chdir(tmp_path)
    folder = write_lerobot(tmp_path / 'lerobot', recordings)
    assert '--external' in refused(REPLAY, folder, '--write')
    status, said = answered(REPLAY, folder, '--external', 'forces', '--write')
    assert status == 0 and 'NaN' in said, said
    table = parquet.read_table(tmp_path / 'forces' / 'data' / 'chunk-000' / 'file-000.parquet')
    last = table.filter(np.array(table['episode_index']) == 2)
    torque = np.array(last['observation.external_torque'].to_pylist())
    inside = np.isfinite(torque).all(axis=1)
    # 0.3 s are trimmed at each end; a motion begins with the first sample after it.
    assert inside.sum() == pytest.approx(len(inside) - 2 * 0.3 * 30.0, abs=3)
    np.testing.assert_allclose(torque[inside].mean(axis=0), 5.0 * np.eye(7)[3], atol=0.3)
    std = np.array(last['observation.external_torque_deviation'].to_pylist())
    assert (std[inside] > 0.0).all()
    features = json.loads((tmp_path / 'forces' / 'meta' / 'info.json').read_text())['features']
    assert features['observation.external_wrench']['shape'] == [6]
    assert 'exists' in refused(REPLAY, folder, '--resume', '--external', 'forces', '--write')


def test_external_torques_of_other_data_sets_are_tables(bags, answered, refused):
    said = refused(REPLAY, bags, '--external', 'forces', '--write')
    assert str(bags) in said and 'LeRobot' in said
    status, said = answered(REPLAY, bags, '--external', 'forces')
    assert status == 1 and '3 episodes' in said
    table = pandas.read_csv(bags.parent / 'forces' / '2.csv', comment='#')
    assert table['external_torque4'].mean() == pytest.approx(5.0, rel=0.05)


def test_episodes_become_bags(recordings, tmp_path, monkeypatch, answered, refused):
    monkeypatch.chdir(tmp_path)
    folder = write_droid(tmp_path / 'droid', recordings)
    (folder / 'failure').mkdir()
    (folder / 'failure' / 'trajectory.h5').write_bytes(b'broken')
    status, said = answered('bag import --arm fer --episodes all', folder)
    assert status == 1 and '4 episodes: 3 read, 1 refused' in said, said
    bags = find_episodes(tmp_path / 'droid_bags', FER.joint_names)
    assert len(bags) == 3
    for episode, recording in zip(bags, recordings):
        np.testing.assert_array_equal(episode.recording().effort, recording.effort)
    assert '--layout' in refused('bag import --episodes all --position q', folder)
    assert '--episodes' in refused('bag import --workers 2', folder)


def test_an_arm_is_identified_from_a_data_set(tmp_path, monkeypatch, answered):
    monkeypatch.chdir(tmp_path)
    long = [simulate(FER, duration=12.0, noise=0.2, seed=seed) for seed in range(2)]
    folder = write_lerobot(tmp_path / 'lerobot', [*long, simulate(FER, duration=0.5)])
    _, said = answered('identify arm', folder, '--hand', 'none')
    assert 'episode 2' in said
