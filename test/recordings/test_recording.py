# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Bags of every format give the same recording, and faults of bags are named."""

import numpy as np
import pytest
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from rosbags.typesys import get_typestore, Stores

from franka_dynamics.arm import load
from franka_dynamics.errors import RecordingError
from franka_dynamics.recordings.recording import read_pieces, read_recording, write_recording

FER = load('fer')
FIELDS = ('position', 'velocity', 'effort')


@pytest.fixture
def messages(simulate, as_messages):
    return as_messages(simulate(FER, duration=2.0))


def assert_same_states(actual, expected):
    np.testing.assert_array_equal(actual.stamp_ns, expected.stamp_ns)
    np.testing.assert_array_equal(actual.q, expected.q)
    np.testing.assert_array_equal(actual.dq, expected.dq)
    np.testing.assert_array_equal(actual.effort, expected.effort)


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
    gripper = {'name': ['fer_finger_joint1'], **{key: [0.0] for key in FIELDS}}
    last = {**gripper, 'stamp_ns': messages[-1]['stamp_ns'] + 1}
    bag = write_joint_states(tmp_path / 'bag', [*messages, last])
    whole = read_recording(bag, FER)
    first, *others = read_pieces(bag, FER, most)
    ends = [end for _, end in (first, *others)]
    assert ends == sorted(ends) and ends[-1] == 1.0
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


def shuffled(message, number):
    """Return a message with its joints in another order, a gripper's among them."""
    order = np.random.default_rng(number).permutation(9)
    names = (*message['name'], 'fer_finger_joint1', 'fer_finger_joint2')
    columns = {field: np.append(message[field], [np.nan, 0.01])[order] for field in FIELDS}
    return [{**message, **columns, 'name': [names[i] for i in order]}]


def after_a_grippers(message, number):
    gripper = {'name': ['fer_finger_joint1'], **{key: [0.0] for key in FIELDS}}
    return [{**gripper, 'stamp_ns': message['stamp_ns']}, message]


@pytest.mark.parametrize(
    ('change', 'remarks'),
    [
        (shuffled, ()),
        (
            after_a_grippers,
            (
                "61 of 122 messages on /joint_states name none of the arm's joints and were "
                'passed over',
            ),
        ),
    ],
)
def test_the_arms_joints_are_found_by_name(
    simulate, as_messages, write_joint_states, tmp_path, change, remarks
):
    recording = simulate(FER, duration=2.0)
    messages = [
        one for k, message in enumerate(as_messages(recording)) for one in change(message, k)
    ]
    actual = read_recording(write_joint_states(tmp_path / 'bag', messages), FER.joint_names)
    assert_same_states(actual, recording)
    assert actual.remarks == remarks


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


def without_joint(message):
    return {
        **message,
        **{field: message[field][:-1] for field in ('name', *FIELDS)},
    }


def with_duplicate(message):
    return {
        **message,
        'name': (*message['name'], 'fer_joint3'),
        **{field: np.append(message[field], 0.0) for field in FIELDS},
    }


def with_nan(message):
    position = message['position'].copy()
    position[3] = np.nan
    return {**message, 'position': position}


def with_field(field, values):
    return lambda message: {**message, field: values}


FAULTS = {
    'missing joint': (without_joint, 'message 5 has no joint fer_joint7; it names fer_joint1'),
    'duplicate joint': (with_duplicate, 'message 5 names the joint fer_joint3 more than once'),
    'NaN position': (with_nan, 'message 5: position of fer_joint4 is nan; every value'),
    'no velocity': (
        with_field('velocity', []),
        'message 5: velocity has 0 values for 7 joint names; record a topic that carries velocity',
    ),
    'no effort': (
        with_field('effort', []),
        'message 5: effort has 0 values for 7 joint names; '
        'without measured torques nothing can be compared',
    ),
    'short position': (
        with_field('position', [0.0] * 6),
        'position has 6 values for 7 joint names; the message is malformed',
    ),
    'repeated stamp': (
        with_field('stamp_ns', 1_700_000_000_100_000_000),
        'message 5: the stamp 1700000000.100000000 s does not come after '
        '1700000000.100000000 s of message 4',
    ),
}


@pytest.mark.parametrize('fault', FAULTS)
def test_a_faulty_message_is_named_with_its_value(messages, write_joint_states, tmp_path, fault):
    change, sentence = FAULTS[fault]
    messages[4] = change(messages[4])
    # Bags are in the order of the recorder's clock, whatever the messages' stamps are.
    bag = write_joint_states(tmp_path / 'bag', messages, received_ns=range(len(messages)))
    with pytest.raises(RecordingError) as raised:
        read_recording(bag, FER.joint_names)
    assert sentence in str(raised.value)
    assert str(bag) in str(raised.value)


def test_a_bag_of_ros_1_is_read_as_one_of_ros_2(simulate, tmp_path):
    rosbag1 = pytest.importorskip('rosbags.rosbag1')
    from rosbags.typesys import get_typestore, Stores

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
    with pytest.raises(
        RecordingError,
        match=r'has no sensor_msgs/msg/JointState on /other; '
        r'joint states are on /left/joint_states\.',
    ):
        read_recording(bag, FER.joint_names, topic='other')


def with_prefix(prefix):
    return [f'{prefix}{name}' for name in FER.joint_names]


@pytest.mark.parametrize(
    ('names', 'prefix', 'fix'),
    [
        (['shoulder', 'elbow', 'a', 'b', 'c', 'd', 'e'], '', 'with --joint-names, or'),
        ([f'panda_joint{k}' for k in range(1, 8)], '', 'with --joint-names, or'),
        (['fer_finger_joint1', 'fer_finger_joint2'], '', 'gripper: choose the topic'),
        (with_prefix(''), 'left', 'Leave the prefix left of --arm-prefix out.'),
        (with_prefix('left_'), '', 'Give --arm-prefix left_.'),
        (with_prefix('left_'), 'left', 'Give --arm-prefix left_.'),
        ([*with_prefix('left_'), *with_prefix('right_')], 'right', 'Give --arm-prefix right_.'),
    ],
)
def test_another_arms_bag_lists_the_names_found_there(
    names, prefix, fix, messages, write_joint_states, tmp_path
):
    bag = write_joint_states(tmp_path / 'bag', [{**m, 'name': names} for m in messages])
    with pytest.raises(RecordingError) as raised:
        read_recording(bag, with_prefix(prefix))
    said = str(raised.value)
    assert f'none of the 61 messages has the joints {prefix}fer_joint1' in said
    assert f'names {names[0]}, {names[1]}' in said
    assert fix in said


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
    ('storage', 'kept', 'single_file'),
    [
        ('mcap', 0.5, False),
        ('mcap', 0.05, True),
        ('sqlite3', 0.0, True),
        ('sqlite3', 0.9, False),
    ],
)
def test_a_bag_cut_short_says_so(simulate, tmp_path, storage, kept, single_file):
    bag = written(simulate(FER, duration=10.0), tmp_path, storage)
    file = next(path for path in bag.iterdir() if path.suffix != '.yaml')
    data = file.read_bytes()
    file.write_bytes(data[: int(kept * len(data))])
    with pytest.raises(RecordingError, match=r'cut short|holds no t' if kept else 'is empty: its'):
        read_recording(file if single_file else bag, FER.joint_names)


@pytest.mark.parametrize('metadata', [b'', b'\xff\xfe'])
def test_given_broken_metadata_when_read_then_it_says_so(simulate, tmp_path, metadata):
    bag = tmp_path / 'bag'
    write_recording(simulate(FER, duration=2.0), bag)
    (bag / 'metadata.yaml').write_bytes(metadata)
    with pytest.raises(RecordingError, match=r'leaves such a file: .*record again\.$'):
        read_recording(bag, FER.joint_names)


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


def test_paths_that_are_no_bags_are_refused_each_by_its_reason(tmp_path):
    with pytest.raises(RecordingError, match=r"string 'fer'; give the arm"):
        read_recording(tmp_path, 'fer')
    with pytest.raises(RecordingError, match='does not exist; give the folder of a rosbag2'):
        read_recording(tmp_path / 'absent', FER.joint_names)
    (tmp_path / 'notes.txt').write_text('no bag')
    with pytest.raises(RecordingError, match=r'is none of \.mcap, \.db3'):
        read_recording(tmp_path / 'notes.txt', FER.joint_names)
    (tmp_path / 'folder').mkdir()
    with pytest.raises(RecordingError, match='is a folder without a bag') as refused:
        read_recording(tmp_path / 'folder', FER.joint_names)
    assert 'killed' not in str(refused.value)
