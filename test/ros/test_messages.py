# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Messages, and what a node publishes: terms, external torque and wrench, the status Command."""

from contextlib import closing
from functools import partial
import importlib
from itertools import combinations, product
import math
import struct
from unittest.mock import Mock

from builtin_interfaces.msg import Duration, Time
import numpy as np
import pytest
from rclpy.serialization import deserialize_message, serialize_message
from rosbags.typesys import get_typestore, Stores
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header, MultiArrayDimension
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import franka_dynamics as fd
from franka_dynamics import errors
from franka_dynamics.arm.payload import payload_from_array
from franka_dynamics.control.ending import ReasonCode
from franka_dynamics.control.feedforward import Feedforward, StateLimits
from franka_dynamics.control.settings import Settings
from franka_dynamics.dynamics.external_torque import WrenchEstimator
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.motion.planning import MAX_POINT_COUNT
from franka_dynamics.motion.reference import ReferenceEvent, ReferenceState, REPLACED_REASON
from franka_dynamics.ros import messages, NODE_MODULES, status, trajectory_messages
from franka_dynamics.ros.joint_states import JointStateReader, NoArmJointsError
from franka_dynamics.ros.node import status_log
from franka_dynamics.ros.node.controller_factory import arm_and_urdf_from_parameters
from franka_dynamics.ros.node.diagnostics import FeedforwardDiagnostics
from franka_dynamics.ros.node.term_publishers import TERM_TOPICS, TermPublishers
from franka_dynamics.ros.parameter_tables import parameter_specs
from franka_dynamics.ros.status import DIAGNOSTIC_LEVELS, DiagnosticSubject, NodeStatus
from franka_dynamics.ros.topic_listener import full_name
from franka_dynamics.ros.trajectory_messages import parse_request, read_trajectory_file

from .conftest import FER, FER_GRAVITY, Probe
from ..agreement import refuses
from ..control.closed_loop import Loop, payload

WANTED = ('a_joint1', 'a_joint2', 'a_joint3')


def joint_state(names=WANTED, values=range(9), **changes):
    """Return the bytes of a joint state; of each joint positions first, then velocities."""
    values = np.array(values, dtype=float).reshape(3, len(names))
    rows = dict(zip(('position', 'velocity', 'effort'), values.tolist()))
    message = JointState(**{'name': list(names), **rows, **changes})
    message.header.stamp.sec = 1
    message.header.stamp.nanosec = 2
    return bytes(serialize_message(message))


GOOD = joint_state()


def test_joints_are_found_by_name_in_any_order_and_among_others():
    reader = JointStateReader(WANTED)
    for names in (
        WANTED,
        WANTED[::-1],
        ['b_joint1', WANTED[2], '', *WANTED[:2]],
        WANTED,
    ):
        values = np.arange(3.0 * len(names)).reshape(3, -1)
        reading = reader.read(joint_state(names, values))
        assert (reading.stamp_message.sec, reading.stamp_message.nanosec) == (1, 2)
        expected = values[:, [list(names).index(name) for name in WANTED]]
        actual = [reading.position, reading.velocity, reading.effort]
        np.testing.assert_array_equal(actual, expected)


def test_messages_end_where_their_last_number_does():
    # rosbags refuses bytes after the end, which Fast DDS leaves where arrays are empty.
    store = get_typestore(Stores.ROS2_JAZZY)
    row = messages.MessageTemplate.placeholder_row(3)
    for rows in ({'effort': row}, dict.fromkeys(('position', 'velocity', 'effort'), row)):
        for frame in ('', 'a', 'fr3_link0'):
            message = JointState(header=Header(frame_id=frame), name=list(WANTED), **rows)
            numbers = [np.array([1.0, 2.0, 3.0])] * len(rows)
            data = messages.MessageTemplate(message).serialize(Time(sec=4), *numbers)
            read = store.deserialize_cdr(data, 'sensor_msgs/msg/JointState')
            assert read.header.stamp.sec == 4 and read.header.frame_id == frame
            np.testing.assert_array_equal([getattr(read, name) for name in rows], numbers)
            assert deserialize_message(data, JointState).effort.tolist() == [1.0, 2.0, 3.0]


def test_states_like_the_one_before_are_read_as_rclpy_reads_them():
    reader = JointStateReader(WANTED)
    rng = np.random.default_rng(1)
    kinds = [joint_state(names, rng.normal(size=9)) for names in (WANTED, WANTED[::-1])]
    writer = messages.joint_state_template(WANTED)
    kinds += [writer.serialize(messages.seconds_to_stamp(7.5), *rng.normal(size=(3, 3)))]
    kinds += [
        joint_state((*WANTED, 'finger'), rng.normal(size=12)),
        joint_state(effort=[]),
    ]
    for kind in rng.integers(0, len(kinds), size=60):
        data = bytearray(kinds[kind])
        if kind < 4:  # the last effort
            data[-8:] = rng.normal(size=1).tobytes()
        message = deserialize_message(bytes(data), JointState)
        reading = reader.read(bytes(data))
        assert reading.stamp == messages.stamp_to_seconds(message.header.stamp)
        order = [message.name.index(name) for name in WANTED]
        for field in ('position', 'velocity', 'effort'):
            row = np.asarray(getattr(message, field))
            value = getattr(reading, field)
            assert value is None if not len(row) else np.array_equal(value, row[order])


def test_torques_are_read_as_rclpy_reads_them():
    rng = np.random.default_rng(2)
    head = messages.float64_message_prefix(7)
    for count in (7, 6, 8, 0):
        message = Float64MultiArray(data=rng.normal(size=count).tolist())
        for dim in ([], [MultiArrayDimension(label='joint', size=count)]):
            message.layout.dim = dim
            found = messages.read_float64_message(bytes(serialize_message(message)), head)
            np.testing.assert_array_equal(found, message.data)
    torque = rng.normal(size=7)
    sent = deserialize_message(head + torque.tobytes(), Float64MultiArray)
    np.testing.assert_array_equal(sent.data, torque)
    with refuses(errors.SettingsError, 'torque cannot be read'):
        messages.read_float64_message(head, head)


@pytest.mark.parametrize('missing', [[], [np.nan] * 3])  # and as joint_state_broadcaster has them
def test_missing_velocities_are_derived_on_request(missing):
    q = np.array([[0.0, 0.1, 0.2], [0.01, 0.1, 0.1], [0.01, 0.1, 0.1], [0.0, 0.3, 0.2]])
    stamps = [1.0, 1.01, 1.01, 1.05]  # one is repeated

    def bare(position, stamp):
        message = JointState(name=list(WANTED), position=list(position), velocity=missing)
        message.header.stamp = messages.seconds_to_stamp(stamp)
        return bytes(serialize_message(message))

    reader = JointStateReader(WANTED, derive_velocity=True)
    found = [reader.read(bare(*one)).velocity for one in zip(q, stamps)]
    expected = [np.zeros(3), [1.0, 0.0, -10.0], [1.0, 0.0, -10.0], [-0.25, 5.0, 2.5]]
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-9)
    # After a reset of the clock there is no state before it; measured velocities come first.
    assert not reader.read(bare(q[0], 0.5)).velocity.any()
    np.testing.assert_array_equal(reader.read(GOOD).velocity, [3.0, 4.0, 5.0])
    with refuses(errors.JointStateError, 'velocit', 'franka/joint_states'):
        JointStateReader(WANTED).read(bare(q[0], 1.0))
    half = joint_state(velocity=[np.nan, 1.0, 1.0])  # a faulty sensor, which the core refuses
    assert np.isnan(reader.read(half).velocity[0])


@pytest.mark.parametrize(
    ('effort', 'measured'),
    [
        ([], False),
        ([0.0, 0.0, 0.0], False),
        ([0.0, 0.0, 1e-9], True),
        ([np.nan] * 3, False),  # joint_state_broadcaster without an effort interface
        ([np.nan, 1.0, 1.0], True),  # a faulty sensor; the controller refuses the state
    ],
)
def test_efforts_all_zero_or_not_finite_are_not_measured(effort, measured):
    reading = JointStateReader(WANTED).read(joint_state(effort=effort))
    assert (reading.effort is not None) is measured


FIELDS = ('positions', 'velocities', 'accelerations', 'effort')


def reference(data):
    """Return the trajectory in bytes, as the node reads it."""
    return messages.parse_message(JointTrajectory, data, 'reference', errors.ReferenceRefusedError)


def trajectory(joints, count, fields):
    rng = np.random.default_rng(joints)
    made = JointTrajectory(joint_names=[f'joint{k}' for k in range(joints)])
    made.header.stamp.sec = 3
    made.header.stamp.nanosec = 4
    made.header.frame_id = 'x' * joints
    for k in range(count):
        rows = {name: list(rng.normal(size=joints)) for name in fields}
        since = Duration(sec=k, nanosec=7 * k)
        made.points.append(JointTrajectoryPoint(time_from_start=since, **rows))
    return made


@pytest.mark.parametrize(
    'fields',
    [chosen for k in range(4) for chosen in combinations(FIELDS[1:], k)],
    ids=str,
)
@pytest.mark.parametrize(('joints', 'count'), [(1, 1), (2, 6), (7, 2), (8, 3), (9, 5)])
def test_a_trajectory_is_taken_point_by_point(joints, count, fields):
    original = trajectory(joints, count, {'positions', *fields})
    request = parse_request(reference(bytes(serialize_message(original))))
    assert request.joint_names == tuple(original.joint_names)
    assert request.start_time == 3 + 4e-9
    np.testing.assert_array_equal(request.times, [k + 1e-9 * (7 * k) for k in range(count)])
    for name in FIELDS[:3]:
        value = getattr(request, name)
        assert (value is not None) == (name in ('positions', *fields))
        if value is not None:
            rows = [getattr(point, name) for point in original.points]
            np.testing.assert_array_equal(value, rows)


def test_infinite_tolerances_of_both_signs_are_numbers():
    # Like a JointTolerance, whose package control_msgs need not be installed.
    given = Mock(position=math.inf, velocity=-math.inf, acceleration=0.0)
    given.name = 'a'
    found = trajectory_messages.MotionTolerances.from_messages([given], ['a'])
    assert found.position[0] == found.velocity[0] == math.inf


def test_a_stamp_of_zero_means_on_arrival():
    point = JointTrajectoryPoint(positions=[0.0])
    assert parse_request(JointTrajectory(joint_names=['a'], points=[point])).start_time is None
    assert len(trajectory_messages.parse_reference(JointTrajectory(joint_names=['a'])).times) == 0


def test_a_files_times_are_read_to_the_nanosecond(tmp_path):
    point = '- {{positions: [0.0], time_from_start: {{sec: {}, nanosec: 250000007}}}}'
    points = '\n'.join(map(point.format, (1, 2)))
    (tmp_path / 'a.yaml').write_text(f'joint_names: [a]\npoints:\n{points}\n')
    read = read_trajectory_file(tmp_path / 'a.yaml')
    stamps = [point.time_from_start for point in read.points]
    assert stamps == [
        Duration(sec=1, nanosec=250000007),
        Duration(sec=2, nanosec=250000007),
    ]


@pytest.mark.parametrize('field', ['position', 'velocity', 'effort'])
def test_a_signalling_nan_is_refused_without_a_warning(field):
    rows = {'position': list(FER.home), 'velocity': [0.0] * 7, 'effort': [1.0] * 7}
    state = JointState(name=FER.joint_names, **rows | {field: [np.pi, *[0.0] * 6]})
    data = bytes(serialize_message(state))
    data = data.replace(struct.pack('<d', np.pi), struct.pack('<Q', 0x7FF15A0000000000))
    reading = JointStateReader(FER.joint_names).read(data)
    controller = Feedforward(FER)
    state = reading.position, reading.velocity, reading.stamp
    torque = controller.step(*state, effort=reading.effort)
    if field == 'effort':
        assert controller.latest is not None and not controller.disturbances.has_effort
    else:
        assert controller.latest is None
        problem = controller.states.problem
        assert problem.code is ReasonCode.VALUE_NOT_FINITE
        named = problem.text_values['what'], problem.text_values['joint']
        assert named == (field, 'fer_joint1')
    assert np.isfinite(torque).all()


READER = JointStateReader(WANTED)
UNREADABLE = 'cannot be read: failed to deserialize'
FORM = 'a trajectory needs joint_names and points'
LEFT = '/sim/left/feedforward'
RIGHT = '/sim/right/feedforward'


def points(count, joints=2, **fields):
    """Take a trajectory whose points are alike."""
    names = [f'joint{k}' for k in range(joints)]
    points = [JointTrajectoryPoint(**fields)] * count
    parse_request(JointTrajectory(joint_names=names, points=points))


def uneven():
    rows = ([0.1, 0.2], [1.0])
    made = [JointTrajectoryPoint(positions=[0.0, 0.0], velocities=row) for row in rows]
    parse_request(JointTrajectory(joint_names=['a', 'b'], points=made))


def motion(text, folder):
    (folder / 'motion.yaml').write_text(text)
    read_trajectory_file(folder / 'motion.yaml')


def model(node=None, **changes):
    values = {spec.name: spec.default for spec in parameter_specs('feedforward')}
    values['model_source'] = 'robot_description'
    arm_and_urdf_from_parameters(node, values | changes, lambda: False)


def late_description():
    with closing(Probe()) as node:
        model(node)


# What is read, and what the sentence names.
STATES = {
    errors.JointStateError: [
        (joint_state(position=[1.0, 2.0]), '3 names but 2 values of position'),
        (joint_state(velocity=[]), '3 values of position, 0 of velocity'),
        (joint_state(effort=[1.0]), '1 of effort'),
        (joint_state(['b_joint1', *WANTED[1:]]), 'lacks a_joint1; it has b_joint1'),
        (joint_state([*WANTED, WANTED[0]], range(12)), 'repeats a_joint1'),
        *((data, UNREADABLE) for data in (b'', GOOD[:60])),
        (GOOD[:20] + b'\xff\xff\xff\x7f' + GOOD[24:], UNREADABLE),
        (GOOD[:8] + b'\xff\xff\xff\xff' + GOOD[12:], '4294967295 nanoseconds'),
        (joint_state(('x' * 40000, *WANTED[1:])), '... (40000 characters)'),
    ],
    # A gripper's messages on the arm's topic are no fault.
    NoArmJointsError: [
        (joint_state([], []), 'no joints', 'robot_type, arm_prefix or joint_names'),
        (
            joint_state(['finger'], range(3)),
            'lacks a_joint1, a_joint2, a_joint3',
            'finger',
        ),
        (
            joint_state([f'j{k}' for k in range(1000)], range(3000)),
            'j11, ... (1000 in all)',
        ),
    ],
}
REFUSED = {
    **{
        error: [(partial(READER.read, data), *names) for data, *names in rows]
        for error, rows in STATES.items()
    },
    errors.ReferenceRefusedError: [
        (lambda: points(0), 'no points', f'{MAX_POINT_COUNT}'),
        (lambda: points(1, velocities=[0.0, 0.0]), 'no positions'),
        (
            lambda: points(MAX_POINT_COUNT + 1, 1, positions=[0.0]),
            f'{MAX_POINT_COUNT + 1} points',
        ),
        (uneven, 'velocities', '[1, 2] values', '2 joints'),
    ],
    errors.SettingsError: [
        (lambda: full_name('feedforward', {LEFT, RIGHT}, 'node'), LEFT, RIGHT),
        (
            lambda: model(inertial_set='gaz2019'),
            'inertial_set is gaz2019',
            'of the URDF',
        ),
    ],
    errors.UrdfError: [(lambda: model(model_source='/no.urdf'), '/no.urdf cannot be read')],
    errors.UnknownArmError: [
        (lambda: model(model_source='description', robot_type='ur5'), "'ur5'", 'fr3v2'),
        (lambda: model(model_source='description', inertial_set='gaz'), "'gaz'"),
        (
            lambda: model(model_source='description', hand='claw'),
            "'claw'",
            'franka_hand',
        ),
    ],
    errors.DescriptionError: [(late_description, '/robot_description', '0.5 s')],
}
FILES = [
    ('hello', FORM),
    ('points: [{}]\njoint_names: [a]', FORM),
    ('joints: [{name: a}]\nname: arm', 'motion.yaml is an arm file'),
    ('points: []\njoint_names: [a]', 'no points'),
    (
        'points: [{positions: [0], time_from_start: {sec: .inf}}]\njoint_names: [a]',
        FORM,
    ),
    (
        'points: [{positions: [0.0], time_from_start: {sec: 1}}]\njoint_names: [a, b]',
        'positions have [1]',
        '2 joints',
    ),
]
ROWS = [(error, call, names) for error, rows in REFUSED.items() for call, *names in rows]


# Numbers as ids: the padding of messages is random, and test workers must agree on ids.
@pytest.mark.parametrize(('error', 'call', 'names'), ROWS, ids=map(str, range(len(ROWS))))
def test_what_is_at_fault_is_refused_and_what_follows_is_taken(error, call, names, monkeypatch):
    waiting = 'franka_dynamics.ros.node.robot_description'
    monkeypatch.setattr(f'{waiting}.ROBOT_DESCRIPTION_TIMEOUT_S', 0.5)
    READER.read(GOOD)
    for _ in range(2):
        with refuses(error, *names) as refusal:
            call()
        assert refusal.type is error
    np.testing.assert_array_equal(READER.read(GOOD).position, [0.0, 1.0, 2.0])


@pytest.mark.parametrize(('text', 'names'), [(text, names) for text, *names in FILES])
def test_a_file_of_no_trajectory_is_refused_by_what_it_lacks(text, names, tmp_path):
    with refuses(errors.SettingsError, 'motion.yaml', *names):
        motion(text, tmp_path)


@pytest.mark.parametrize('node', ['feedforward', 'simulator', 'gazebo_direct'])
@pytest.mark.parametrize(
    'words',
    [['-p', 'scale:=0.5'], ['--params-file', 'f.yaml'], ['help'], ['--ros_args']],
)
def test_words_outside_those_for_ros_are_refused_with_the_usage(node, words, capsys):
    main = importlib.import_module(NODE_MODULES[f'{node}_node']).main
    assert main(['node', *words, '--ros-args', '-r', '__node:=never', '--']) == 2
    said = capsys.readouterr().err
    assert ', '.join(words) in said and 'usage: node ' in said


@pytest.mark.parametrize('node', ['feedforward', 'simulator', 'gazebo_direct'])
@pytest.mark.parametrize(
    'words',
    [
        ['-p', 'scale=0.5'],
        ['-p', 'scale:='],
        ['-p'],
        ['--log-level', 'loud'],
        ['-r', 'x'],
        ['--params-file'],
        ['--params-file', '/no/such/file'],
        ['--not-of-ros'],
    ],
)
def test_ros_arguments_that_ros_cannot_read_are_refused(node, words, capsys):
    main = importlib.import_module(NODE_MODULES[f'{node}_node']).main
    assert main(['node', '--ros-args', *words]) == 2
    said = capsys.readouterr().err
    assert words[-1] in said and 'usage: node ' in said
    assert 'Traceback' not in said and 'rcl' not in said.partition('\n')[0]


@pytest.mark.parametrize('node', ['feedforward', 'simulator', 'gazebo_direct'])
@pytest.mark.parametrize(
    'words',
    [['--help'], ['-h'], ['--help', '--ros-args', '-p', 'a:=1'], ['--ros-args', '--help']],
)
def test_help_prints_the_usage_of_a_node(node, words, capsys):
    main = importlib.import_module(NODE_MODULES[f'{node}_node']).main
    assert main(['node', *words]) == 0
    said = capsys.readouterr()
    assert said.out.startswith('usage: node ') and not said.err


def test_numbers_that_differ_are_shown_with_enough_digits():
    assert errors.distinct_texts(0.5, 0.25) == ('0.5', '0.25')
    assert errors.distinct_texts(1.5704, 1.57) == ('1.5704', '1.57')
    assert errors.distinct_texts(0.1, np.nextafter(0.1, 0.0)) != ('0.1', '0.1')
    assert errors.distinct_texts(0.1, 0.1) == ('0.1', '0.1')


ZERO = np.zeros(7)
FORCE = np.array([0.0, 6.0, -8.0])  # 10 N at the flange
PUSHED = FER_GRAVITY - NewtonEulerModel(FER).jacobian(FER.home)[:3].T @ FORCE


class Publishers:
    """The publishers of a controller's terms, all of whose topics are subscribed."""

    def __init__(self, controller):
        self.node = Mock(active=False)
        self.by_topic = {}
        self.node.create_lifecycle_publisher = self.node.create_publisher = self._publisher
        self.node.get_fully_qualified_name.return_value = '/feedforward'
        self.node.get_publishers_info_by_topic.return_value = []
        self.controller, self.terms = controller, TermPublishers(self.node)
        self.terms.set_controller(controller)
        receivers = {
            'receivers_text': 'none',
            'delivery_problem': '',
            'topic': '/command',
        }
        self.node.receivers = Mock(**receivers)
        self.diagnostics = FeedforwardDiagnostics(self.node, '/states', self.terms)
        self.diagnostics.set_controller(controller, 0.0)

    def _publisher(self, _, topic, *__):
        self.by_topic[topic] = Mock()
        self.by_topic[topic].get_subscription_count.return_value = 1
        return self.by_topic[topic]

    def messages(self, name):
        """Return the messages of a topic so far."""
        kind = TERM_TOPICS[name].message_type
        sent = (call.args[0] for call in self.by_topic[f'~/{name}'].publish.call_args_list)
        return [deserialize_message(one, kind) for one in sent]

    def take(self, k, effort=ZERO):
        """Take state k of a resting arm."""
        self.torque = self.controller.step(FER.home, ZERO, 1.0 + 1e-3 * k, effort=effort)

    def cycle(self, k, effort=ZERO):
        """Take state k of a resting arm, and publish its terms."""
        self.take(k, effort)
        self.terms.publish_terms(self.controller.latest, self.torque, Time(nanosec=k))

    def diagnostic_rows(self):
        """Publish diagnostics, and return their rows by subject."""
        self.diagnostics.next_publication_time = 0.0  # they are due
        self.diagnostics.report_status_changes()
        message = self.by_topic['/diagnostics'].publish.call_args.args[0]
        return {row.subject: row for row in map(NodeStatus.from_message, message.status)}

    def command(self):
        """Return level, message and state that ~/status and the row Command have."""
        row = self.diagnostic_rows()[DiagnosticSubject.COMMAND]
        status = NodeStatus.from_message(self.by_topic['~/status'].publish.call_args.args[0])
        found, other = ((one.level, one.message, one.values['state']) for one in (status, row))
        assert found == other
        return found


@pytest.fixture
def told():
    limits = StateLimits(max_state_age=0.0)
    return Publishers(Feedforward(FER, limits=limits, applied_when_silent=False))


def test_limits_have_the_unit_of_their_joint():
    arm = fd.load('rpr')
    row = Publishers(Feedforward(arm)).diagnostic_rows()[DiagnosticSubject.ARM]
    snapshot = status.NodeSnapshot('feedforward')
    snapshot.store_status(row, 0.0)
    assert snapshot.slides
    assert snapshot.torque_limits == dict(zip(arm.joint_names, arm.limit('effort')))
    assert 'torque limit, rpr_joint2 [N]' in row.values
    assert 'torque limit, rpr_joint1 [N m]' in row.values
    assert 'torque limit, rpr_joint1 [N]' not in row.values
    assert 'torque limit, rpr_joint2 [N m]' not in row.values


def test_a_push_is_told_as_torques_and_wrench(told):
    for k in range(1499):
        told.take(k, PUSHED)
    told.cycle(1499, PUSHED)
    command = told.messages('feedforward')[-1]
    assert (tuple(command.name), command.header.frame_id) == (
        FER.joint_names,
        'fer_link0',
    )
    assert command.header.stamp.nanosec == 1499 and list(command.effort) == told.torque.tolist()
    # The arm exerts the opposite of the force that acts on it, in the axes of its base.
    torque = told.messages('external_torque')[-1].effort
    np.testing.assert_allclose(torque, PUSHED - FER_GRAVITY, rtol=0, atol=0.02)
    message = told.messages('external_wrench')[-1]
    assert message.header.frame_id == 'fer_link0'
    force = message.wrench.force
    moment = message.wrench.torque
    np.testing.assert_allclose([force.x, force.y, force.z], -FORCE, rtol=0, atol=0.1)
    np.testing.assert_allclose([moment.x, moment.y, moment.z], 0.0, rtol=0, atol=0.05)
    message = told.messages('external_wrench_covariance')[-1]
    assert message.name[:2] == ['fx/fx', 'fx/fy']
    covariance = np.reshape(message.effort, (6, 6))
    np.testing.assert_allclose(covariance, covariance.T, rtol=1e-12, atol=1e-15)
    assert (np.linalg.eigvalsh(covariance) > 0.0).all()
    values = told.diagnostic_rows()[DiagnosticSubject.EXTERNAL_WRENCH].values
    assert values['singular'] == 'False' and float(values['fz [N]']) > 7.0
    count = len(told.messages('external_torque'))
    told.cycle(1500, None)
    for name in ('external_torque', 'external_wrench', 'external_wrench_covariance'):
        assert len(told.messages(name)) == count
    assert not told.diagnostic_rows()[DiagnosticSubject.EXTERNAL_WRENCH].values


@pytest.mark.parametrize(('target', 'subtracted'), [('fci', True), ('mujoco', False)])
def test_a_change_of_target_takes_model_and_friction_along(told, target, subtracted):
    load = payload(1.0)
    told.controller.change(target=target, payload=load)
    disturbances = told.controller.disturbances
    disturbances.start_bound = disturbances.running_bound = np.full(7, np.inf)
    gravity = NewtonEulerModel(FER.with_payload(payload_from_array(np.array(load)))).gravity
    dq = np.full(7, 0.05)
    friction = FER.friction.torque(dq)
    for k in range(1500):
        q = FER.home + 1e-3 * k * dq
        told.torque = told.controller.step(q, dq, 1.0 + 1e-3 * k, effort=gravity(q) + friction)
    told.terms.publish_terms(told.controller.latest, told.torque, Time())
    expected = ZERO if subtracted else friction
    torque = told.messages('external_torque')[-1].effort
    np.testing.assert_allclose(torque, expected, rtol=0.0, atol=0.02)


def fails(*_, **__):
    raise ValueError('attempt to get argmax of an empty sequence' + 'x' * 10**6)


def test_a_term_that_fails_is_given_up_and_the_others_come(told, monkeypatch):
    monkeypatch.setattr(WrenchEstimator, 'estimate', fails)
    for k in range(50):
        told.cycle(k, np.full(7, 0.1 * (k + 1)))
    assert len(told.messages('gravity')) == len(told.messages('mass_matrix')) == 50
    assert len(told.messages('external_torque')) > 20 and not told.messages('external_wrench')
    # Each topic that needs the failing function is logged once, in a sentence of bounded length.
    errors = [call.args[0] for call in told.node.get_logger().error.call_args_list]
    assert len(errors) == 2
    assert all('argmax' in text and len(text) < 400 for text in errors)


def test_replaced_points_are_published_and_logged_once_a_second(told, monkeypatch):
    clock = Mock()
    log = told.node.get_logger()
    monkeypatch.setattr(status_log, 'time', clock)
    told.diagnostics.next_publication_time = math.inf
    count = 50 * len(ReferenceState)
    for second in (1, 2):
        clock.monotonic.return_value = float(second)
        told.diagnostics.report_status_changes()
        for number, state in product(range(50), ReferenceState):
            event = ReferenceEvent(number, '', 0.0, 0.1, None, state=state)
            told.controller.reference.events.append(event)
        log.reset_mock()
        told.by_topic['/diagnostics'].reset_mock()
        told.diagnostics.report_status_changes()
        assert told.by_topic['/diagnostics'].publish.call_count == count
        logged = [call.args[0] for call in log.info.call_args_list + log.warning.call_args_list]
        assert sum(text.startswith('reference') for text in logged) == len(ReferenceState)


@pytest.mark.parametrize(('reason', 'level'), [(REPLACED_REASON, 'OK'), ('stopped', 'WARN')])
def test_a_chunk_that_replaces_the_last_is_no_warning(told, reason, level):
    log = told.node.get_logger()
    log.reset_mock()
    event = ReferenceEvent(42, '', 0.0, 0.1, FER.home, False, ReferenceState.INTERRUPTED)
    told.controller.reference.events.append(event._replace(reason=reason))
    told.diagnostics.report_status_changes()
    warned = [call for call in log.warning.call_args_list if 'reference 42' in call.args[0]]
    informed = [call for call in log.info.call_args_list if 'reference 42' in call.args[0]]
    assert (len(warned), len(informed)) == ((0, 1) if level == 'OK' else (1, 0))
    published = told.by_topic['/diagnostics'].publish.call_args_list
    rows = [row for call in published for row in call.args[0].status]
    (row,) = {(one.name, one.level) for one in rows if one.name.endswith('Reference')}
    assert DIAGNOSTIC_LEVELS[row[1][0]] == level


def test_torques_that_fit_are_ok_and_none_is_a_warning():
    loop = Loop()
    told = Publishers(loop.controller)
    assert told.command() == ('STALE', loop.controller.status.why, 'silent')
    loop.run(1.5)
    assert told.command()[::2] == ('OK', 'running')
    loop.controller.disturbances.max_bound_ratios[3] = 0.9
    level, said, _ = told.command()
    assert level == 'WARN' and 'joint4' in said
    assert told.command()[0] == 'OK'  # one warning
    loop.controller.stop('deactivated')
    assert told.command() == ('WARN', 'deactivated', 'braking')
    held = Loop(Settings(target='fci'), measures=False, brake_release_after=0.0).run(0.6)
    assert held.controller.faulty
    told = Publishers(held.controller)
    assert told.command()[0] == 'ERROR'
