# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Bags of every format give the same recording, and faults of bags are named."""

import struct

import numpy as np
import pytest
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from rosbags.typesys import get_typestore, Stores

from franka_dynamics.arm import load
from franka_dynamics.errors import RecordingError
from franka_dynamics.recordings.recording import read_pieces, read_recording, write_recording
from franka_dynamics.recordings.unclosed import closed_copy

FER = load('fer')
FIELDS = ('position', 'velocity', 'effort')
GRIPPER = {'name': ['fer_finger_joint1'], **{field: [0.0] for field in FIELDS}}


@pytest.fixture
def messages(simulate, as_messages):
    return as_messages(simulate(FER, duration=2.0))


def assert_same_states(actual, expected):
    for name in ('stamp_ns', 'q', 'dq', 'effort'):
        np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name))


def written(recording, folder, storage):
    """Return the folder of a bag in a storage format; the package itself writes MCAP only."""
    write_recording(recording, folder / 'mcap' / 'bag')
    with (
        Reader(folder / 'mcap' / 'bag') as reader,
        Writer(folder / 'bag', version=9, storage_plugin=StoragePlugin[storage.upper()]) as writer,
    ):
        (topic,) = reader.connections
        kind, types = topic.msgtype, get_typestore(Stores.ROS2_JAZZY)
        connection = writer.add_connection(topic.topic, kind, typestore=types)
        for _, stamp, data in reader.messages():
            writer.write(connection, stamp, data)
    return folder / 'bag'


@pytest.mark.parametrize(('storage', 'suffix'), [('mcap', 'mcap'), ('sqlite3', 'db3')])
@pytest.mark.parametrize('single_file', [False, True])
def test_a_written_bag_is_read_with_every_number_the_same(
    simulate, tmp_path, storage, suffix, single_file
):
    recording = simulate(FER, duration=2.0)
    bag = written(recording, tmp_path, storage)
    path = bag / f'bag.{suffix}' if single_file else bag
    actual = read_recording(path, FER.joint_names)
    assert_same_states(actual, recording)
    assert (actual.joint_names, actual.topic) == (FER.joint_names, '/joint_states')
    assert actual.remarks == ()


@pytest.mark.parametrize('most', [2, 7, 61, 1000])
def test_pieces_of_a_bag_joined_are_the_bag(messages, write_joint_states, tmp_path, most):
    last = {**GRIPPER, 'stamp_ns': messages[-1]['stamp_ns'] + 1}
    bag = write_joint_states(tmp_path / 'bag', [*messages, last])
    whole = read_recording(bag, FER)
    first, *others = read_pieces(bag, FER, most)
    ends = [end for _, end in (first, *others)]
    assert ends == sorted(set(ends)) and ends[-1] == 1.0
    # Each piece begins with the last message of the previous piece, so that no interval is lost.
    rows = [first[0].q, *(piece.q[1:] for piece, _ in others)]
    np.testing.assert_array_equal(np.concatenate(rows), whole.q)
    assert max(map(len, rows)) <= most
    assert [one.remarks for one, _ in (first, *others)][-1] == whole.remarks


def test_another_topic_whose_type_is_broken_does_not_matter(simulate, tmp_path, monkeypatch):
    begin = Writer.__enter__

    def with_a_broken_topic(writer):
        begin(writer)
        writer.add_connection(
            '/odd', 'odd_msgs/msg/Odd', msgdef='what is no definition ][', rihs01=f'RIHS01_{0:064}'
        )
        return writer

    monkeypatch.setattr(Writer, '__enter__', with_a_broken_topic)
    recording = simulate(FER, duration=2.0)
    write_recording(recording, tmp_path / 'bag')
    assert_same_states(read_recording(tmp_path / 'bag', FER.joint_names), recording)


def test_the_arms_joints_are_found_by_name(messages, write_joint_states, tmp_path):
    rng, mixed = np.random.default_rng(0), []
    for message in messages:
        # In another order, among a gripper's joints, which have messages of their own too.
        order = rng.permutation(9)
        names = np.array([*message['name'], 'fer_finger_joint1', 'fer_finger_joint2'])[order]
        states = {field: np.append(message[field], [np.nan, 0.01])[order] for field in FIELDS}
        mixed.append({**GRIPPER, 'stamp_ns': message['stamp_ns']})
        mixed.append({**message, **states, 'name': names.tolist()})
    actual = read_recording(write_joint_states(tmp_path / 'bag', mixed), FER.joint_names)
    for name, field in zip(('stamp_ns', 'q', 'dq', 'effort'), ('stamp_ns', *FIELDS)):
        np.testing.assert_array_equal(getattr(actual, name), [one[field] for one in messages])
    said = "61 of 122 messages on /joint_states name none of the arm's joints and were passed over"
    assert actual.remarks == (said,)


def test_received_stamps_order_a_motion_whose_own_are_frozen(
    messages, write_joint_states, tmp_path
):
    frozen = [{**message, 'stamp_ns': 0} for message in messages]
    received = [10**9 + i * 10**7 for i in range(len(frozen))]
    bag = write_joint_states(tmp_path / 'bag', frozen, received_ns=received)
    with pytest.raises(RecordingError, match=r'message 2: the stamp 0.* --stamps received'):
        read_recording(bag, FER.joint_names)
    actual = read_recording(bag, FER.joint_names, stamps='received')
    np.testing.assert_array_equal(actual.stamp_ns, received)


ALL = ('name', *FIELDS)
STAMP = ': the stamp {0} does not come after {0} of message 2'.format('1700000000.033333333 s')


@pytest.mark.parametrize(
    ('fields', 'edit', 'sentence'),
    [
        (ALL, lambda x: x[:-1], ' has no joint fer_joint7; it names fer_joint1'),
        (ALL, lambda x: (*x, x[2]), ' names the joint fer_joint3 more than once'),
        (['position'], lambda q: [*q[:3], np.nan, *q[4:]], ': position of fer_joint4 is nan;'),
        (['position'], lambda q: q[:6], ': position has 6 values for 7 joint names; the message'),
        (['velocity'], lambda _: [], ': velocity has 0 values for 7 joint names; record a topic'),
        (['effort'], lambda _: [], ': effort has 0 values for 7 joint names; without measured'),
        (['stamp_ns'], lambda ns: ns - 33_333_334, STAMP),
    ],
)
def test_a_faulty_message_is_named_with_its_value(
    messages, write_joint_states, tmp_path, fields, edit, sentence
):
    messages[2].update({field: edit(messages[2][field]) for field in fields})
    # Bags are in the order of the recorder's clock, whatever the messages' stamps are.
    bag = write_joint_states(tmp_path / 'bag', messages, received_ns=range(len(messages)))
    with pytest.raises(RecordingError) as raised:
        read_recording(bag, FER.joint_names)
    assert f'message 3{sentence}' in str(raised.value)
    assert str(bag) in str(raised.value)


def test_a_bag_of_ros_1_is_read_as_one_of_ros_2(simulate, tmp_path):
    rosbag1 = pytest.importorskip('rosbags.rosbag1')
    types = get_typestore(Stores.ROS1_NOETIC)
    recording = simulate(FER, duration=2.0)
    kind, stamp = 'sensor_msgs/msg/JointState', types.types['builtin_interfaces/msg/Time']
    with rosbag1.Writer(tmp_path / 'old.bag') as writer:
        connection = writer.add_connection('/joint_states', kind, typestore=types)
        for i, (ns, *state) in enumerate(
            zip(recording.stamp_ns.tolist(), recording.q, recording.dq, recording.effort)
        ):
            header = types.types['std_msgs/msg/Header'](
                seq=i, stamp=stamp(sec=ns // 10**9, nanosec=ns % 10**9), frame_id=''
            )
            message = types.types[kind](header, list(recording.joint_names), *state)
            writer.write(connection, ns, types.serialize_ros1(message, kind))
    assert_same_states(read_recording(tmp_path / 'old.bag', FER.joint_names), recording)


def test_a_topic_not_there_lists_those_with_joint_states(messages, write_joint_states, tmp_path):
    bag = write_joint_states(tmp_path / 'bag', messages, topic='/left/joint_states')
    assert read_recording(bag, FER.joint_names).topic == '/left/joint_states'
    said = r'has no sensor_msgs/msg/JointState on /other; joint states are on /left/joint_states\.'
    with pytest.raises(RecordingError, match=said):
        read_recording(bag, FER.joint_names, topic='other')


@pytest.mark.parametrize(
    'names', [[f'panda_joint{k}' for k in range(1, 8)], ['fer_finger_joint1', 'fer_finger_joint2']]
)
def test_another_arms_bag_lists_the_names_found_there(
    names, messages, write_joint_states, tmp_path
):
    first = {**GRIPPER, 'stamp_ns': messages[0]['stamp_ns'] - 1}
    others = [{**message, 'name': names} for message in messages]
    bag = write_joint_states(tmp_path / 'bag', [first, *others])
    with pytest.raises(RecordingError) as raised:
        read_recording(bag, FER.joint_names)
    said = str(raised.value)
    assert 'none of the 62 messages has the joints fer_joint1' in said
    assert f'names {names[0]}, {names[1]}' in said
    assert '--joint-names' in said and '--topic' in said


@pytest.mark.parametrize(
    ('count', 'sentence'), [(0, 'holds no messages'), (1, 'holds a single state of the arm')]
)
def test_a_bag_of_too_few_messages_says_so(
    messages, write_joint_states, tmp_path, count, sentence
):
    bag = write_joint_states(tmp_path / 'bag', messages[:count])
    with pytest.raises(RecordingError, match=sentence):
        read_recording(bag, FER.joint_names)


@pytest.mark.parametrize(
    ('storage', 'file', 'edit', 'single_file', 'sentence'),
    [
        ('mcap', 'bag.mcap', lambda x: x[: len(x) // 2], False, r'cut short|holds no t'),
        ('mcap', 'bag.mcap', lambda x: x[: len(x) // 20], True, r'cut short|holds no t'),
        ('sqlite3', 'bag.db3', lambda x: x[: len(x) * 9 // 10], False, r'cut short|holds no t'),
        ('sqlite3', 'bag.db3', lambda _: b'', True, 'is empty'),
        ('mcap', 'metadata.yaml', lambda _: b'', False, r'leaves such a file: .*record again\.$'),
        ('mcap', 'metadata.yaml', lambda _: b'\xff', False, r'such a file: .*record again\.$'),
        (
            'mcap',
            'metadata.yaml',
            lambda x: x.replace(b'301', b'302'),
            False,
            'index promises 302',
        ),
        ('sqlite3', 'metadata.yaml', None, False, 'was not closed'),
    ],
)
def test_a_damaged_bag_says_so(simulate, tmp_path, storage, file, edit, single_file, sentence):
    bag = written(simulate(FER, duration=10.0), tmp_path, storage)
    data = (bag / file).read_bytes()
    (bag / file).unlink()
    if edit is not None:
        (bag / file).write_bytes(edit(data))
    with pytest.raises(RecordingError, match=sentence):
        read_recording(bag / file if single_file else bag, FER.joint_names)


@pytest.mark.parametrize(('kept', 'single_file'), [(0.4, True), (0.7, False), (1.0, False)])
def test_a_bag_of_a_killed_recorder_is_read_as_far_as_it_goes(
    simulate, tmp_path, kept, single_file
):
    whole, bag = simulate(FER, duration=12.0, rate=1000.0), tmp_path / 'bag'
    write_recording(whole, bag)
    (bag / 'metadata.yaml').unlink()
    (file,) = bag.iterdir()
    data = file.read_bytes()
    file.write_bytes(data[: int(kept * len(data)) - 1])
    read = read_recording(file if single_file else bag, FER.joint_names)
    count = len(read)
    # At most one chunk of 1 MB is lost, of 3.5 MB.
    assert (kept - 0.35) * len(whole) < count <= len(whole)
    assert_same_states(read, whole.part(slice(0, count)))
    assert 'the recorder was killed' in read.remarks[-1]
    assert [path.name for path in bag.iterdir()] == [file.name]


@pytest.mark.parametrize(('lost', 'kept'), [(0, 2), (1, 1)])
def test_a_last_record_that_ends_with_the_file_is_kept(tmp_path, lost, kept):
    magic, record = b'\x89MCAP0\r\n', struct.pack('<BQ', 5, 3) + b'abc'
    file = tmp_path / 'bag.mcap'
    file.write_bytes((magic + 2 * record)[: len(magic) + 2 * len(record) - lost])
    with closed_copy(file) as copy:
        assert copy.read_bytes().startswith(magic + kept * record)
        assert copy.read_bytes().count(record) == kept


@pytest.mark.parametrize('name', ['absent', 'notes.txt', 'folder'])
def test_a_path_that_is_no_bag_is_refused_by_name(tmp_path, name):
    (tmp_path / 'notes.txt').write_text('no bag')
    (tmp_path / 'folder').mkdir()
    with pytest.raises(RecordingError, match=rf'{name} is no bag(?!.*killed)'):
        read_recording(tmp_path / name, FER)
