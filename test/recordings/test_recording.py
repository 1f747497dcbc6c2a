# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Bags of every format give the same recording, and faults of bags are named."""

import struct

import numpy as np
import pytest
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from rosbags.typesys import get_types_from_msg, get_typestore, Stores

from franka_dynamics.arm import load
from franka_dynamics.errors import RecordingError
from franka_dynamics.recordings.recording import read_recording, write_recording
from franka_dynamics.recordings.rosbag import closed_copy, joint_names_in_bag

from ..agreement import refuses

FER = load('fer')
FIELDS = ('position', 'velocity', 'effort')
GRIPPER = {'name': ['fer_finger_joint1'], **{field: [0.0] for field in FIELDS}}

TYPES = get_typestore(Stores.ROS2_JAZZY)
JOINT_STATE = TYPES.types['sensor_msgs/msg/JointState']
HEADER_STAMP = TYPES.types['std_msgs/msg/Header']
TIME = TYPES.types['builtin_interfaces/msg/Time']


@pytest.fixture
def messages(simulate):
    """Return messages as dictionaries of name, position, velocity, effort and stamp_ns."""
    one = simulate(FER, duration=2.0)
    columns = one.stamp_ns, one.q, one.dq, one.effort
    rows = [dict(zip(('stamp_ns', *FIELDS), row)) for row in zip(*columns)]
    return [{'name': one.joint_names, **row} for row in rows]


def write_joint_states(path, messages, *, topic='/joint_states', received_ns=None):
    """Write messages, sound or not, as a rosbag2; return its path."""
    with Writer(path, version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection(topic, JOINT_STATE.__msgtype__, typestore=TYPES)
        for i, message in enumerate(messages):
            stamp = int(message['stamp_ns'])
            columns = (np.array(message[field], dtype=float) for field in FIELDS)
            at = HEADER_STAMP(TIME(*divmod(stamp, 10**9)), '')
            state = JOINT_STATE(at, list(message['name']), *columns)
            data = TYPES.serialize_cdr(state, JOINT_STATE.__msgtype__)
            writer.write(connection, stamp if received_ns is None else received_ns[i], data)
    return path


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
        connection = writer.add_connection(topic.topic, topic.msgtype, typestore=TYPES)
        for _, stamp, data in reader.messages():
            writer.write(connection, stamp, data)
    return folder / 'bag'


@pytest.mark.parametrize(('storage', 'suffix'), [('mcap', 'mcap'), ('sqlite3', 'db3')])
@pytest.mark.parametrize('single_file', [False, True])
def test_a_written_bag_is_read_with_its_numbers(simulate, tmp_path, storage, suffix, single_file):
    recording = simulate(FER, duration=2.0)
    bag = written(recording, tmp_path, storage)
    actual = read_recording(bag / f'bag.{suffix}' if single_file else bag, FER.joint_names)
    assert_same_states(actual, recording)
    assert (actual.joint_names, actual.topic) == (FER.joint_names, '/joint_states')
    assert actual.remarks == ()


def test_messages_that_come_late_are_put_in_order_and_counted(messages, tmp_path):
    rng = np.random.default_rng(2)
    for one in messages[1:]:  # a busy computer's stamps are not even
        one['stamp_ns'] += int(rng.uniform(-8e6, 8e6))
    mixed = list(messages)
    for at, later in ((12, 1), (24, 40), (len(messages) - 3, 2)):
        mixed.insert(at + later, mixed.pop(at))
    late = write_joint_states(tmp_path / 'late', mixed, received_ns=range(len(mixed)))
    whole = read_recording(write_joint_states(tmp_path / 'bag', messages), FER)
    found = read_recording(late, FER)
    np.testing.assert_array_equal(found.q, whole.q)
    assert '3 of' in ' '.join(found.remarks)


@pytest.mark.parametrize('back_ns', [50_000_000, 95_000_000, 2_000_000_000])
def test_a_clock_that_is_set_back_is_not_taken_for_late_messages(messages, tmp_path, back_ns):
    half = len(messages) // 2
    set_back = [{**one, 'stamp_ns': one['stamp_ns'] - back_ns} for one in messages[half:]]
    both = [*messages[:half], *set_back]
    bag = write_joint_states(tmp_path / 'bag', both, received_ns=range(len(both)))
    with refuses(RecordingError, 'stamp', f'message {half + 1}'):
        read_recording(bag, FER)


def test_another_topic_whose_type_is_broken_does_not_matter(simulate, tmp_path, monkeypatch):
    begin = Writer.__enter__

    def with_a_broken_topic(writer):
        begin(writer)
        more = {'msgdef': 'what is no definition ][', 'rihs01': f'RIHS01_{0:064}'}
        writer.add_connection('/odd', 'odd_msgs/msg/Odd', **more)
        return writer

    monkeypatch.setattr(Writer, '__enter__', with_a_broken_topic)
    recording = simulate(FER, duration=2.0)
    write_recording(recording, tmp_path / 'bag')
    assert_same_states(read_recording(tmp_path / 'bag', FER.joint_names), recording)


def test_the_arms_joints_are_found_by_name(messages, tmp_path):
    rng = np.random.default_rng(0)
    mixed = []
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
    said = "61 of 122 messages on /joint_states name none of the arm's joints; passed over"
    assert actual.remarks == (said,)


def test_received_stamps_order_a_motion_whose_own_are_frozen(messages, tmp_path):
    frozen = [{**message, 'stamp_ns': 0} for message in messages]
    received = [10**9 + i * 10**7 for i in range(len(frozen))]
    bag = write_joint_states(tmp_path / 'bag', frozen, received_ns=received)
    with refuses(RecordingError, 'message 2', 'stamp 0', '--stamps received'):
        read_recording(bag, FER.joint_names)
    actual = read_recording(bag, FER.joint_names, stamps='received')
    np.testing.assert_array_equal(actual.stamp_ns, received)


ALL = ('name', *FIELDS)
FINGERS = ['fer_finger_joint1', 'fer_finger_joint2']


def in_third(edit, *fields):
    """Return a function that edits fields of the third of some messages."""

    def edited(sent):
        sent[2].update({field: edit(sent[2][field]) for field in fields})
        return sent

    return edited


def of_joints(names):
    """Return a function that gives messages other names, after a message of a gripper."""

    def renamed(sent):
        first = {**GRIPPER, 'stamp_ns': sent[0]['stamp_ns'] - 1}
        return [first, *({**message, 'name': names} for message in sent)]

    return renamed


@pytest.mark.parametrize(
    ('edit', 'names'),
    [
        (
            in_third(lambda x: x[:-1], *ALL),
            ('message 3', 'no joint fer_joint7', 'fer_joint1'),
        ),
        (in_third(lambda x: (*x, x[2]), *ALL), ('message 3', 'fer_joint3 twice')),
        (
            in_third(lambda q: [*q[:3], np.nan, *q[4:]], 'position'),
            ('message 3', 'joint4 is nan'),
        ),
        (
            in_third(lambda q: q[:6], 'position'),
            ('message 3', 'position has 6 of 7 values'),
        ),
        (
            in_third(lambda _: [], 'velocity'),
            ('message 3', 'velocity has 0 of 7 values'),
        ),
        (in_third(lambda _: [], 'effort'), ('message 3', 'effort has 0 of 7 values')),
        (
            in_third(lambda ns: ns - 33333334, 'stamp_ns'),
            ('message 3', 'message 2', '.033333333'),
        ),
        (lambda sent: [], ('no messages',)),
        (lambda sent: sent[:1], ('single state',)),
        *(
            (
                of_joints(names),
                ('62', 'fer_joint1', *names[:2], '--joint-names', '--topic'),
            )
            for names in ([f'panda_joint{k}' for k in range(1, 8)], FINGERS)
        ),
    ],
)
def test_messages_that_give_no_motion_are_refused_naming_them(messages, tmp_path, edit, names):
    # Bags are in the order of the recorder's clock, whatever the messages' stamps are.
    sent = edit(messages)
    bag = write_joint_states(tmp_path / 'bag', sent, received_ns=range(len(sent)))
    with refuses(RecordingError, bag, *names):
        read_recording(bag, FER.joint_names)


def test_a_bag_of_ros_1_is_read_as_one_of_ros_2(simulate, tmp_path):
    rosbag1 = pytest.importorskip('rosbags.rosbag1')
    types = get_typestore(Stores.ROS1_NOETIC)
    recording = simulate(FER, duration=2.0)
    kind = 'sensor_msgs/msg/JointState'
    stamp = types.types['builtin_interfaces/msg/Time']
    with rosbag1.Writer(tmp_path / 'old.bag') as writer:
        connection = writer.add_connection('/joint_states', kind, typestore=types)
        rows = zip(recording.stamp_ns.tolist(), recording.q, recording.dq, recording.effort)
        for i, (ns, *state) in enumerate(rows):
            at = stamp(sec=ns // 10**9, nanosec=ns % 10**9)
            header = types.types['std_msgs/msg/Header'](seq=i, stamp=at, frame_id='')
            message = types.types[kind](header, list(recording.joint_names), *state)
            writer.write(connection, ns, types.serialize_ros1(message, kind))
    assert_same_states(read_recording(tmp_path / 'old.bag', FER.joint_names), recording)


# franka_msgs/FrankaState of franka_ros 0.10 and of its Errors some, as a bag of ROS 1 holds them.
ROS1_STATE = """
std_msgs/Header header
float64[6] cartesian_collision
float64[6] cartesian_contact
float64[7] q
float64[7] q_d
float64[7] dq
float64[7] dq_d
float64[7] ddq_d
float64[7] theta
float64[7] dtheta
float64[7] tau_J
float64[7] dtau_J
float64[7] tau_J_d
float64[16] O_T_EE
float64 time
uint8 ROBOT_MODE_OTHER=0
uint8 robot_mode
franka_msgs/Errors current_errors
================================================================================
MSG: franka_msgs/Errors
bool joint_position_limits_violation
bool instability_detection
"""


def write_ros1_states(path, recording):
    """Write a recording as franka_state_controller of franka_ros publishes it."""
    rosbag1 = pytest.importorskip('rosbags.rosbag1')
    types = get_typestore(Stores.ROS1_NOETIC)
    kind = 'franka_msgs/msg/FrankaState'
    types.register(get_types_from_msg(ROS1_STATE, kind))
    whole = blank(types, kind)
    time_class = types.types['builtin_interfaces/msg/Time']
    with rosbag1.Writer(path) as writer:
        topic = '/franka_state_controller/franka_states'
        connection = writer.add_connection(topic, kind, typestore=types)
        states = recording.q, recording.dq, recording.effort
        for ns, *state in zip(recording.stamp_ns.tolist(), *states):
            whole.header.stamp = time_class(*divmod(ns, 10**9))
            whole.q, whole.dq, whole.tau_J = state
            # What was desired must not be taken for what was measured.
            whole.q_d = whole.dq_d = whole.tau_J_d = np.full(7, np.nan)
            writer.write(connection, ns, types.serialize_ros1(whole, kind))
    return path


@pytest.mark.parametrize('name', ['fer', 'panda', 'fr3'])
def test_states_of_franka_ros_are_those_of_the_arm_that_is_named(name, simulate, tmp_path):
    arm = load(name)
    recording = simulate(arm, duration=2.0)
    bag = write_ros1_states(tmp_path / 'old.bag', recording)
    assert_same_states(read_recording(bag, arm.joint_names), recording)
    assert joint_names_in_bag(bag) == list(load('panda').joint_names)


def test_states_of_franka_ros_are_of_no_arm_with_another_number_of_joints(simulate, tmp_path):
    bag = write_ros1_states(tmp_path / 'old.bag', simulate(FER, duration=2.0))
    with refuses(RecordingError, 'shoulder', 'panda_joint1'):
        read_recording(bag, ('shoulder', 'elbow'))


# franka_msgs/msg/FrankaRobotState of franka_ros2 (v1.0 to v2.4), comments left out.
ROBOT_STATE = """
std_msgs/Header header
CollisionIndicators collision_indicators
sensor_msgs/JointState measured_joint_state
sensor_msgs/JointState desired_joint_state
sensor_msgs/JointState measured_joint_motor_state
float64[7] ddq_d
float64[7] dtau_j
sensor_msgs/JointState tau_ext_hat_filtered
Elbow elbow
geometry_msgs/WrenchStamped k_f_ext_hat_k
geometry_msgs/WrenchStamped o_f_ext_hat_k
geometry_msgs/InertiaStamped inertia_ee
geometry_msgs/InertiaStamped inertia_load
geometry_msgs/InertiaStamped inertia_total
geometry_msgs/PoseStamped o_t_ee
geometry_msgs/PoseStamped o_t_ee_d
geometry_msgs/PoseStamped o_t_ee_c
geometry_msgs/PoseStamped f_t_ee
geometry_msgs/PoseStamped ee_t_k
geometry_msgs/TwistStamped o_dp_ee_d
geometry_msgs/TwistStamped o_dp_ee_c
geometry_msgs/AccelStamped o_ddp_ee_c
float64 time
float64 control_command_success_rate
uint8 ROBOT_MODE_OTHER=0
uint8 robot_mode
Errors current_errors
Errors last_motion_errors
"""
OF_FRANKA = {
    'FrankaRobotState': ROBOT_STATE,
    'CollisionIndicators': 'geometry_msgs/Vector3 is_cartesian_linear_collision\n'
    'float64[7] is_joint_collision\n',
    'Elbow': 'float64[2] position\nfloat64[2] desired_position\n',
    'Errors': 'bool joint_position_limits_violation\nbool instability_detected\n',
}


def blank(types, kind):
    """Return a message with zeros and empty lists."""
    from rosbags.interfaces import Nodetype

    def value(form):
        node, about = form
        if node == Nodetype.NAME:
            return blank(types, about)
        if node == Nodetype.BASE:
            return {'string': ''}.get(about[0], 0)
        _, count = about
        return np.zeros(count) if node == Nodetype.ARRAY else np.zeros(0)

    return types.types[kind](**{name: value(form) for name, form in types.fielddefs[kind][1]})


def write_robot_states(path, messages, storage=StoragePlugin.MCAP, beside=None):
    """Write messages as the broadcaster of franka_ros2 does, its own definition with them."""
    types = get_typestore(Stores.ROS2_JAZZY)
    kind = 'franka_msgs/msg/FrankaRobotState'
    for name, text in OF_FRANKA.items():
        types.register(get_types_from_msg(text, f'franka_msgs/msg/{name}'))
    whole = blank(types, kind)
    with Writer(path, version=9, storage_plugin=storage) as writer:
        topic = '/franka_robot_state_broadcaster/robot_state'
        connection = writer.add_connection(topic, kind, typestore=types)
        if beside is not None:
            writer.add_connection(beside, JOINT_STATE.__msgtype__, typestore=types)
        for message in messages:
            stamp = int(message['stamp_ns'])
            columns = (np.array(message[field], dtype=float) for field in FIELDS)
            whole.header.stamp = types.types['builtin_interfaces/msg/Time'](*divmod(stamp, 10**9))
            whole.measured_joint_state = types.types[JOINT_STATE.__msgtype__](
                blank(types, 'std_msgs/msg/Header'), list(message['name']), *columns
            )
            writer.write(connection, stamp, types.serialize_cdr(whole, kind))
    return path


def test_robot_states_of_franka_ros2_give_measured_joint_states(simulate, messages, tmp_path):
    bag = write_robot_states(tmp_path / 'bag', messages)
    actual = read_recording(bag, FER.joint_names)
    assert_same_states(actual, simulate(FER, duration=2.0))
    assert actual.topic == '/franka_robot_state_broadcaster/robot_state'
    assert joint_names_in_bag(bag) == list(FER.joint_names)


def test_joint_states_are_preferred_to_robot_states(simulate, messages, tmp_path):
    bag = write_robot_states(tmp_path / 'bag', messages, beside='/joint_states')
    with refuses(RecordingError, '/joint_states', 'no messages'):
        read_recording(bag, FER.joint_names)
    topic = 'franka_robot_state_broadcaster/robot_state'
    found = read_recording(bag, FER.joint_names, topic=topic)
    assert_same_states(found, simulate(FER, duration=2.0))


def test_a_topic_not_there_lists_those_with_joint_states(messages, tmp_path):
    bag = write_joint_states(tmp_path / 'bag', messages, topic='/left/joint_states')
    assert read_recording(bag, FER.joint_names).topic == '/left/joint_states'
    with refuses(RecordingError, 'on /other', 'on /left/joint_states'):
        read_recording(bag, FER.joint_names, topic='other')


@pytest.mark.parametrize(
    ('storage', 'file', 'edit', 'single_file', 'name'),
    [
        ('mcap', 'bag.mcap', lambda x: x[: len(x) // 2], False, 'cut short'),
        ('mcap', 'bag.mcap', lambda x: x[: len(x) // 20], True, 'no topics'),
        ('sqlite3', 'bag.db3', lambda x: x[: len(x) * 9 // 10], False, 'cut short'),
        ('sqlite3', 'bag.db3', lambda _: b'', True, 'is empty'),
        ('mcap', 'metadata.yaml', lambda _: b'\xff', False, 'record again'),
        ('mcap', 'metadata.yaml', lambda x: x.replace(b'301', b'302'), False, '302'),
        ('sqlite3', 'metadata.yaml', None, False, 'was not closed'),
    ],
)
def test_a_damaged_bag_says_so(simulate, tmp_path, storage, file, edit, single_file, name):
    bag = written(simulate(FER, duration=10.0), tmp_path, storage)
    data = (bag / file).read_bytes()
    (bag / file).unlink()
    if edit is not None:
        (bag / file).write_bytes(edit(data))
    with refuses(RecordingError, bag, name):
        read_recording(bag / file if single_file else bag, FER.joint_names)


@pytest.mark.parametrize(('kept', 'single_file'), [(0.4, True), (0.7, False), (1.0, False)])
def test_a_killed_recorders_bag_is_read_as_far_as_it_goes(simulate, tmp_path, kept, single_file):
    whole = simulate(FER, duration=12.0, rate=1000.0)
    bag = tmp_path / 'bag'
    write_recording(whole, bag)
    (bag / 'metadata.yaml').unlink()
    (file,) = bag.iterdir()
    data = file.read_bytes()
    file.write_bytes(data[: int(kept * len(data)) - 1])
    read = read_recording(file if single_file else bag, FER.joint_names)
    count = len(read)
    # At most one chunk of 1 MB is lost, of 3.5 MB.
    assert (kept - 0.35) * len(whole) < count <= len(whole)
    assert_same_states(read, whole.select(slice(0, count)))
    assert 'killed' in read.remarks[-1]
    assert [path.name for path in bag.iterdir()] == [file.name]


def test_a_closed_bag_without_metadata_is_complete(simulate, tmp_path):
    whole = simulate(FER, duration=2.0)
    bag = tmp_path / 'bag'
    write_recording(whole, bag)
    (bag / 'metadata.yaml').unlink()
    read = read_recording(bag, FER.joint_names)
    assert_same_states(read, whole)
    assert not any('killed' in remark for remark in read.remarks)


@pytest.mark.parametrize(('lost', 'kept'), [(0, 2), (1, 1)])
def test_a_last_record_that_ends_with_the_file_is_kept(tmp_path, lost, kept):
    magic = b'\x89MCAP0\r\n'
    record = struct.pack('<BQ', 5, 3) + b'abc'
    file = tmp_path / 'bag.mcap'
    file.write_bytes((magic + 2 * record)[: len(magic) + 2 * len(record) - lost])
    with closed_copy(file) as copy:
        assert copy.read_bytes().startswith(magic + kept * record)
        assert copy.read_bytes().count(record) == kept


@pytest.mark.parametrize('name', ['absent', 'notes.txt', 'folder'])
def test_a_path_that_is_no_bag_is_refused_by_name(tmp_path, name):
    (tmp_path / 'notes.txt').write_text('no bag')
    (tmp_path / 'folder').mkdir()
    with refuses(RecordingError, f'{name} is no bag'):
        read_recording(tmp_path / name, FER)
