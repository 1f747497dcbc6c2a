# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Parameter files of the nodes, and the policies of their security."""

import dataclasses
from fnmatch import fnmatchcase
from importlib.util import find_spec
from xml.etree import ElementTree

import pytest
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import Float64MultiArray, String
import yaml

from franka_dynamics.arm import load
from franka_dynamics.control.feedforward import StateLimits
from franka_dynamics.control.settings import RECEIVER_PROFILES, Settings
from franka_dynamics.errors import FrankaDynamicsError, SettingsError
from franka_dynamics.files import share_directory
from franka_dynamics.ros import parameter_tables
from franka_dynamics.ros.parameter_tables import NODE_NAMES
from franka_dynamics.ros.parameter_tables import NODE_NAMES as NAMES
from franka_dynamics.ros.parameters import declare_parameters, parameter_values
from franka_dynamics.ros.simulators.simulator_node import SimulatorNode
from franka_dynamics.ros.topics import DESCRIPTION_QOS

from .conftest import ArmStream
from ..agreement import refuses
from ..processes import run_python

FILES = parameter_tables.generated_parameter_files()
PARAMETER_FILES = sorted(
    path.relative_to(share_directory()).as_posix()
    for name in NAMES
    for path in (share_directory() / 'config' / name).iterdir()
)


@pytest.fixture
def declared(make_node):
    """Return a function that declares the parameters of a node on a node with ROS arguments."""

    def make(name, *arguments):
        node = make_node(Node, *arguments, node_name=name)
        declare_parameters(node, parameter_tables.parameter_specs(name))
        return node

    return make


@pytest.mark.parametrize('name', sorted(FILES))
def test_committed_files_are_what_is_generated(name):
    text = (share_directory() / name).read_text(encoding='utf-8')
    assert text == FILES[name], 'run: make generated'


def test_defaults_and_choices_are_those_of_what_they_stand_for():
    given = {spec.name: spec.default for spec in parameter_tables.parameter_specs('feedforward')}
    for made, own in (
        (parameter_tables.settings_from_parameters(given), Settings()),
        (parameter_tables.dataclass_from_parameters(StateLimits, given), StateLimits()),
    ):
        assert dataclasses.asdict(made) == dataclasses.asdict(own)
    choices = {spec.name: spec.choices for spec in parameter_tables.parameter_specs('feedforward')}
    assert choices['target'] == tuple(RECEIVER_PROFILES)


def flat(parameters, prefix=''):
    """Return parameters by their names, a group's as group.name."""
    found = {}
    for name, value in parameters.items():
        inner = flat(value, f'{prefix}{name}.') if isinstance(value, dict) else None
        found |= {f'{prefix}{name}': value} if inner is None else inner
    return found


def dump(node):
    """Return the output of `ros2 param dump`, with ROS's own parameters."""
    found = node.get_parameters(node.list_parameters([], depth=0).names)
    return {one.name: getattr(one.value, 'tolist', lambda o=one: o.value)() for one in found}


@pytest.mark.parametrize('file', PARAMETER_FILES)
def test_a_node_takes_a_shipped_file_and_another_its_dump(file, declared, tmp_path):
    path = share_directory() / file
    name = path.parent.name
    first = dump(declared(name, '--params-file', path))
    given = flat(yaml.safe_load(path.read_text('utf-8'))['/**']['ros__parameters'])
    assert {parameter: first[parameter] for parameter in given} == given
    assert 'use_sim_time' in first
    copy = tmp_path / 'dump.yaml'
    copy.write_text(yaml.safe_dump({f'/{name}': {'ros__parameters': first}}))
    assert dump(declared(name, '--params-file', copy)) == first


@pytest.mark.parametrize('name', sorted(NAMES))
def test_nodes_declare_type_text_and_changeability_of_the_table(name, declared):
    node = declared(name)
    for spec in parameter_tables.parameter_specs(name):
        parameter = node.get_parameter(spec.name)
        descriptor = node.describe_parameter(spec.name)
        assert parameter.type_ is Parameter.Type[spec.type_name.upper()]
        assert (descriptor.description, descriptor.read_only) == (
            spec.description,
            spec.read_only,
        )
        for bound in spec.bounds or ():
            assert f'{bound:g}' in descriptor.additional_constraints
        assert all(choice in descriptor.additional_constraints for choice in spec.choices)
        if spec.bounds:
            (ends,) = descriptor.floating_point_range
            assert (ends.from_value, ends.to_value) == spec.bounds
    specs = parameter_tables.parameter_specs(name)
    assert parameter_values(node, specs).keys() == {spec.name for spec in specs}


# Names of sections of a parameter file that reach a node called mine, and whether by its name.
SECTIONS = [
    ('/**', False),
    ('/*', False),
    ('/mine', True),
    ('mine', True),
    ('/**/mine', True),
]


@pytest.mark.parametrize(
    ('given', 'names'),
    [
        (
            {'use_sim_time': 'true', 'publish_clock': 'true'},
            ('use_sim_time', 'publish_clock'),
        ),
        ({'use_sim_time': '5'}, ('use_sim_time', '5', 'true or false')),
        *(
            ({f'qos_overrides./joint_states.publisher.{policy}': value}, (policy, value, allowed))
            for policy, value, allowed in (
                ('depth', 'x', 'integer'),
                ('reliability', 'sometimes', 'best_effort'),
                ('history', 'long', 'keep_last'),
            )
        ),
        ({'lockstep_rat': '100.0'}, ('lockstep_rat:', 'but lockstep_rate')),
        ({'robot_description': '<robot/>'}, ('robot_description:', 'model_source')),
        ({'lockstep_rate': 'fast'}, ('lockstep_rate', 'double', '0.0')),
        ({'lockstep_rate': '-1.0'}, ('lockstep_rate', '-1')),
        ({'noise': '[0.0,.inf,0.0]'}, ('noise', 'inf')),
        ({'nonsense': '1.0'}, ('nonsense: no such parameter',)),
        ({'gravity_vector': '[0.0,0.0,-9.81,0.0]'}, ('gravity_vector', '(3,)')),
    ],
)
def test_a_wrong_parameter_is_refused_by_its_name_at_start(given, names, make_node):
    words = [word for name, value in given.items() for word in ('-p', f'{name}:={value}')]
    with refuses(FrankaDynamicsError, *names):
        make_node(SimulatorNode, *words, '-r', '__node:=refused')


def test_a_step_log_may_lie_in_the_home_folder(make_node, tmp_path, monkeypatch):
    monkeypatch.setenv('HOME', str(tmp_path))
    make_node(SimulatorNode, '-p', 'step_log:=~/steps', '-r', '__node:=with_a_log')
    assert (tmp_path / 'steps').is_file()


@pytest.mark.parametrize('content', [b'a: [', b'\xff\xfe\x00', b'a: \xff'])
def test_a_parameter_file_that_cannot_be_read_is_named(content, tmp_path):
    path = tmp_path / 'params.yaml'
    path.write_bytes(content)
    with refuses(SettingsError, 'params.yaml'):
        parameter_tables.read_parameter_file(path)


@pytest.mark.parametrize(('section', 'is_own'), SECTIONS)
def test_what_is_no_parameter_is_refused_in_a_nodes_own_section(
    section, is_own, make_node, tmp_path, capfd
):
    shared = {
        'robot_type': 'fer',
        'update_rate': 1000,
        'controller': {'type': 'effort'},
    }
    # As of other nodes, and like one of ours.
    shared |= {'joint_name': 'gripper', 'frames': ['base'], 'robot_typ': 'fr3'}
    file = tmp_path / 'shared.yaml'
    words = '--params-file', file, '-r', '__node:=mine', '-r', '__ns:=/'
    file.write_text(yaml.safe_dump({section: {'ros__parameters': shared}}))
    if is_own:
        with refuses(
            SettingsError,
            'robot_typ',
            'but robot_type',
            'update_rate',
            'controller.type',
        ):
            make_node(SimulatorNode, *words)
        return
    assert make_node(SimulatorNode, *words).get_parameter('robot_type').value == 'fer'
    said = capfd.readouterr().err
    for name in ('controller.type', 'update_rate', 'frames', 'joint_name', 'robot_typ'):
        assert name in said


def test_what_is_for_another_node_alone_is_said(make_node, tmp_path, capfd):
    file = tmp_path / 'other.yaml'
    other = yaml.safe_dump({'/feed_forward': {'ros__parameters': {'robot_type': 'fer'}}})
    file.write_text(other, 'utf-16')  # which ROS reads, too
    words = '--params-file', file, '-p', 'feedforward:scale:=0.5'
    node = make_node(SimulatorNode, *words, '-r', '__ns:=/a')
    said = capfd.readouterr().err
    assert said.count(' /a/simulator') == 2
    assert f'--params-file {file} has' in said and 'feedforward:scale:=0.5 has' in said
    # An unknown parameter is named as at the start.
    result = node.set_parameters_atomically([Parameter('nonsense', value=1.0)])
    assert not result.successful and 'nonsense' in result.reason
    with refuses(SettingsError, 'lockstep_rate'):  # its own is taken
        make_node(SimulatorNode, '-p', 'simulator:lockstep_rate:=-1.0', '-r', '__ns:=/')


def test_a_word_for_another_node_refuses_no_shared_file(make_node, tmp_path):
    file = tmp_path / 'shared.yaml'
    file.write_text(yaml.safe_dump({'/**': {'ros__parameters': {'rate': 5}}}))
    words = '--params-file', file, '-p', 'lockstep_rate:=100.0', '-p', 'other:rate:=6'
    node = make_node(SimulatorNode, *words, '-r', '__ns:=/')
    assert node.get_parameter('lockstep_rate').value == 100.0
    with refuses(SettingsError, 'rate: no such parameter'):
        make_node(SimulatorNode, *words, '-p', 'rate:=5', '-r', '__ns:=/')


def test_one_file_may_nest_nodes_of_which_each_takes_its_own(make_node, tmp_path):
    file = tmp_path / 'both.yaml'
    mine, other = ({'ros__parameters': {'robot_type': one}} for one in ('fer', 'fr3v2'))
    file.write_text(yaml.safe_dump({'left': {'mine': mine}, 'right': {'mine': other}}))
    words = '--params-file', file, '-r', '__node:=mine', '-r'
    node = make_node(SimulatorNode, *words, '__ns:=/left')
    assert node.get_parameter('robot_type').value == 'fer'
    other = make_node(SimulatorNode, *words, '__ns:=/right')
    assert other.get_parameter('robot_type').value == 'fr3v2'


def test_the_quality_of_service_of_a_topic_may_be_given_too(declared):
    declared('simulator', '-p', 'qos_overrides./joint_states.subscription.depth:=5')


POLICIES = share_directory() / 'security' / 'policies'
# Parameters with which a node has all its topics.
CLOCKED = {'use_sim_time': True}
OWN_CLOCK = {'publish_clock': True}
FOLLOWING = CLOCKED | {'max_state_age': 0.0, 'model_source': 'robot_description'}
PARAMETERS = {
    'feedforward': FOLLOWING,
    'gazebo_direct': CLOCKED,
    'simulator': OWN_CLOCK,
}
# The end points behind each rule of a policy; those of an action are in
# https://design.ros2.org/articles/actions.html.
_FEEDBACK = [f'/_action/{name}' for name in ('feedback', 'status')]
_GOALS = [f'/_action/{name}' for name in ('send_goal', 'cancel_goal', 'get_result')]
END_POINTS = {
    'publish': {'publisher': ['']},
    'subscribe': {'subscriber': ['']},
    'reply': {'service': ['']},
    'request': {'client': ['']},
    'execute': {'publisher': _FEEDBACK, 'service': _GOALS},
}


def allowed(enclave, node=None):
    """Return the end points that a policy allows a node: kind and resolved name."""
    node = node or enclave
    policy = ElementTree.parse(POLICIES / f'{enclave}.policy.xml').getroot()
    profile = policy.find(f"enclaves/enclave[@path='/{enclave}']/profiles/profile[@node='{node}']")
    space = profile.get('ns').rstrip('/')
    found = set()
    for group in profile:
        ((rule, verdict),) = group.attrib.items()
        assert verdict == 'ALLOW'
        for entry in group:
            name = entry.text.replace('~', node) if entry.text[0] == '~' else entry.text
            name = name if name.startswith('/') else f'{space}/{name}'
            for kind, parts in END_POINTS[rule].items():
                found |= {(kind, name + part) for part in parts}
    return found


def seen(probe, node, space='/'):
    """Return the end points that the graph shows for a node; none while the node is absent."""
    if (node, space) not in probe.get_node_names_and_namespaces():
        return set()
    return {
        (kind, name)
        for kind in ('publisher', 'subscriber', 'service', 'client')
        for name, _ in getattr(probe, f'get_{kind}_names_and_types_by_node')(node, space)
    }


def be_a_controller_manager(probe):
    """Take torques, and offer a controller manager's service; False without its messages."""
    probe.create_subscription(Float64MultiArray, 'feedforward/command', print, 1)
    try:
        from controller_manager_msgs.srv import ListControllers
    except ImportError:
        return False
    name = 'controller_manager/list_controllers'
    probe.create_service(ListControllers, name, lambda _, answer: answer)
    return True


@pytest.mark.parametrize('node', sorted([*NODE_NAMES, 'gazebo_direct']))
def test_a_policy_allows_exactly_what_the_node_has(node, launch, probe):
    description = probe.create_publisher(String, 'robot_description', DESCRIPTION_QOS)
    description.publish(String(data=(share_directory() / 'urdf' / 'fr3.urdf').read_text()))
    # With a second publisher, the feedforward node subscribes to its own command topic.
    probe.create_publisher(Float64MultiArray, 'feedforward/command', 1)
    policy = allowed(node)
    found = set()
    if not be_a_controller_manager(probe):  # then no node asks one
        policy = {one for one in policy if 'list_controllers' not in one[1]}
    if find_spec('control_msgs') is None:  # then no node has an action
        policy = {one for one in policy if '/_action/' not in one[1]}
    space = '/simulation' if node in ('simulator', 'gazebo_direct') else '/'

    def differences():
        """Return what the node has not shown of the policy, and what the policy lacks."""
        found.update(seen(probe, node, space))
        alike = {
            (one, pattern)
            for one in found
            for pattern in policy
            if one[0] == pattern[0] and fnmatchcase(one[1], pattern[1])
        }
        shown, named = zip(*alike) if alike else ((), ())
        return policy - set(named), found - set(shown)

    launch(f'{node}_node', **PARAMETERS[node])
    # A node asks who receives its torques once states have come.
    states = ArmStream(probe, load('fr3').joint_names, load('fr3').home)
    states.until(lambda: not differences()[0], f'all of {policy}')
    for _ in range(100):  # time for further end points
        probe.spin()
    assert differences() == (set(), set())


# The files that rcl looks for; only the middleware reads their contents.
KEYS = ['identity_ca.cert.pem', 'cert.pem', 'permissions_ca.cert.pem', 'key.pem']
KEYS += ['governance.p7s', 'permissions.p7s']


def test_enforced_security_that_cannot_be_had_is_one_sentence(tmp_path):
    for enclave in ('enclaves', 'enclaves/feedforward'):
        (tmp_path / enclave).mkdir()
        for name in KEYS:
            (tmp_path / enclave / name).write_text('none\n')
    words = ('-m', 'franka_dynamics.ros.node.feedforward_node', '--ros-args')
    status, _, errors = run_python(
        *words,
        *('--enclave', '/feedforward'),
        ROS_SECURITY_ENABLE='true',
        ROS_SECURITY_STRATEGY='Enforce',
        ROS_SECURITY_KEYSTORE=str(tmp_path),
    )
    assert (status, 'Traceback' in errors) == (2, False), errors
    assert errors.count('ROS starts no node: ') == 1
