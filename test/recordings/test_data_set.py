# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The same recordings in each form of a data set, and columns beside those of LeRobot's form."""

from dataclasses import replace
import json

import numpy as np
import pytest

from franka_dynamics.arm import load
from franka_dynamics.errors import OutputError, RecordingError
from franka_dynamics.recordings.data_set import find_episodes, is_data_set, robot_type_of
from franka_dynamics.recordings.lerobot import LeRobotDataset
from franka_dynamics.recordings.lerobot_columns import write_with_columns
from franka_dynamics.recordings.preprocessing import to_motion
from franka_dynamics.recordings.recording import write_recording
from franka_dynamics.recordings.replay import effort_lag, predict_torque

from ..agreement import refuses
from ..data_sets import write_droid, write_lerobot, write_robomimic
from ..made_recordings import simulate

FER = load('fer')
EFFORT_IN_ROBOMIMIC = {'effort': 'obs/robot0_joint_torque'}


@pytest.fixture(scope='module')
def recordings():
    """Return two recordings of different lengths."""
    return [simulate(FER, duration=2.0 + seed, seed=seed) for seed in range(2)]


def write_bags(folder, recordings):
    for number, recording in enumerate(recordings):
        write_recording(recording, folder / f'day_{number}' / 'bag')
    return folder


def write_anew(path, recordings):
    columns = {
        name: np.concatenate([getattr(one, name) for one in recordings])
        for name in ('time', 'q', 'dq', 'effort')
    }
    np.savez(path, **columns)
    return path


BY_ARRAYS = {'position': 'q', 'velocity': 'dq', 'effort': 'effort', 'stamp': 'time'}
FORMS = {
    'bags': (write_bags, {}),
    'droid': (write_droid, {}),
    'robomimic.hdf5': (write_robomimic, EFFORT_IN_ROBOMIMIC),
    'lerobot': (write_lerobot, {}),
    'lerobot_2': (lambda path, them: write_lerobot(path, them, 'v2.1'), {}),
    'anew.npz': (write_anew, BY_ARRAYS),
}


@pytest.mark.parametrize('form', FORMS)
def test_every_form_gives_the_same_episodes(form, recordings, tmp_path):
    write, layout = FORMS[form]
    path = write(tmp_path / form, recordings)
    assert is_data_set(path)
    episodes = find_episodes(path, FER.joint_names, layout)
    assert len(episodes) == 2 and len({(one.path, one.number) for one in episodes}) == 2
    for episode, recording in zip(episodes, recordings):
        found = episode.recording()
        for name in ('q', 'dq', 'effort'):  # as float32 in LeRobot's form
            expected = getattr(recording, name)
            np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-6, atol=1e-6)
        if form != 'robomimic.hdf5':  # which has a rate and no stamps
            np.testing.assert_allclose(found.time, recording.time, rtol=0.0, atol=1.1e-3)


def test_a_bag_is_no_data_set(recordings, tmp_path):
    write_recording(recordings[0], tmp_path / 'bag')
    assert not is_data_set(tmp_path / 'bag')
    (episode,) = find_episodes(tmp_path / 'bag', FER.joint_names)
    assert episode.path == str(tmp_path / 'bag')


def test_the_robot_is_known_where_a_data_set_names_it(recordings, tmp_path):
    assert robot_type_of(write_lerobot(tmp_path / 'lerobot', recordings)) == 'panda'
    assert robot_type_of(write_droid(tmp_path / 'droid', recordings)) == 'panda'
    assert robot_type_of(write_bags(tmp_path / 'bags', recordings)) == ''


def edit_info(folder, edit):
    path = folder / 'meta' / 'info.json'
    info = json.loads(path.read_text())
    edit(info)
    path.write_text(json.dumps(info))


@pytest.mark.parametrize(
    ('edit', 'names'),
    [
        (lambda info: info['features'].pop('observation.effort'), ('effort', '--layout')),
        (lambda info: info.update(codebase_version='v1.6'), ('v1.6', '2 and 3')),
        (lambda info: info.pop('features'), ('info.json', 'features')),
        (
            lambda info: info['features'].update(
                {'observation.torque': {'dtype': 'float32', 'shape': [7]}}
            ),
            ('observation.effort', 'observation.torque', '--layout'),
        ),
    ],
)
def test_columns_that_are_not_clear_are_asked_for(edit, names, recordings, tmp_path):
    folder = write_lerobot(tmp_path / 'lerobot', recordings)
    edit_info(folder, edit)
    with refuses(RecordingError, str(folder), *names):
        find_episodes(folder, FER.joint_names)


def test_an_external_torque_is_no_measured_one(recordings, tmp_path):
    folder = write_lerobot(tmp_path / 'lerobot', recordings)
    external = {'dtype': 'float32', 'shape': [7]}
    edit_info(folder, lambda info: info['features'].update({'observation.tau_ext': external}))
    episode, _ = find_episodes(folder, FER.joint_names)
    assert episode.columns.effort == 'observation.effort'


def test_folders_and_layouts_that_give_nothing_are_refused(recordings, tmp_path):
    (tmp_path / 'empty').mkdir()
    with refuses(RecordingError, str(tmp_path / 'empty'), 'no bag', '--layout'):
        find_episodes(tmp_path / 'empty', FER.joint_names)
    path = write_robomimic(tmp_path / 'robomimic.hdf5', recordings)
    with refuses(RecordingError, str(path), 'effort is missing', '--layout'):
        find_episodes(path, FER.joint_names)


@pytest.mark.parametrize('version', ['v2.1', 'v3.0'])
def test_columns_are_written_beside_those_that_are_there(version, recordings, tmp_path):
    parquet = pytest.importorskip('pyarrow.parquet')
    folder = write_lerobot(tmp_path / 'lerobot', recordings, version)
    (folder / 'videos').mkdir()
    (folder / 'videos' / 'wrist.mp4').write_bytes(b'pictures')
    before = {file: file.read_bytes() for file in folder.rglob('*') if file.is_file()}
    data_set = LeRobotDataset.open(folder)

    def columns_of(number, times):
        values = np.column_stack([times + number, -times]).astype(np.float32)
        values[0] = np.nan
        return {'observation.more': values}

    entries = {'observation.more': ['up', 'down']}
    target = tmp_path / 'new'
    missing = write_with_columns(data_set, target, entries, columns_of)
    rows = sum(map(len, recordings))
    assert missing == pytest.approx(2 / rows)
    assert {file: file.read_bytes() for file in before} == before
    written = LeRobotDataset.open(target)
    assert written.info['features']['observation.more']['names'] == ['up', 'down']
    added = []
    for file in sorted({file for _, file in data_set.episode_files()}):
        old = parquet.read_table(file)
        new = parquet.read_table(target / file.relative_to(folder))
        assert new.select(old.column_names).equals(old)
        added += new['observation.more'].to_pylist()
    times = np.concatenate([np.arange(len(one)) / 30.0 for one in recordings])
    numbers = np.repeat([0, 1], [len(one) for one in recordings])
    expected = np.column_stack([times + numbers, -times])
    expected[times == 0.0] = np.nan
    np.testing.assert_allclose(np.array(added, dtype=float), expected, atol=1e-5)
    stats = json.loads((target / 'meta' / 'stats.json').read_text())['observation.more']
    kept = expected[times > 0.0]
    for name, value in (('min', kept.min(0)), ('mean', kept.mean(0)), ('std', kept.std(0))):
        np.testing.assert_allclose(stats[name], value, rtol=1e-5)
    assert stats['count'] == [rows - 2]
    assert (target / 'videos' / 'wrist.mp4').read_bytes() == b'pictures'
    with refuses(OutputError, str(target), 'exists'):
        write_with_columns(data_set, target, entries, columns_of)
    with refuses(OutputError, 'observation.more', 'already'):
        write_with_columns(written, tmp_path / 'newer', entries, columns_of)


def test_efforts_that_come_late_are_found():
    recording = simulate(FER, duration=12.0, rate=100.0, seed=3)
    for delay in (0.0, 0.01, -0.02):
        late = [np.interp(recording.time - delay, recording.time, e) for e in recording.effort.T]
        motion = to_motion(replace(recording, effort=np.column_stack(late)))
        found = effort_lag(predict_torque(FER, motion), motion)
        assert found == pytest.approx(delay, abs=1e-3)
