# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Each line of `doctor`, good and bad, about made-up machines and made-up systems."""

import os
from pathlib import Path
import platform
import resource
import time
from types import SimpleNamespace

import pytest

from franka_dynamics.cli import doctor as machine
from franka_dynamics.cli.doctor import Level
from franka_dynamics.cli.main import main
from franka_dynamics.ros import system_checks as system
from franka_dynamics.ros.statuses import Status
from franka_dynamics.ros.system_checks import BAD, GOOD, NOTE

JOINT_STATES, COMMAND = '/joint_states', '/effort_controller/commands'


class Graph:
    """Who publishes what, as a node would tell."""

    def __init__(self, listeners=0, **publishers):
        self.publishers = {f'/{topic}': names for topic, names in publishers.items()}
        self.listeners = listeners

    def get_publishers_info_by_topic(self, topic):
        return [
            SimpleNamespace(node_namespace='/', node_name=name)
            for name in self.publishers.get(topic, ())
        ]

    def get_topic_names_and_types(self):
        return [(topic, [system._JOINT_STATE]) for topic in self.publishers]

    def count_publishers(self, topic):
        return len(self.publishers.get(topic, ()))

    def count_subscribers(self, _topic):
        return self.listeners


def heard(count=300, rate=1000.0, start=None, effort=True):
    """Return joint states a millisecond old, or stamped from a start on."""
    now = time.time()
    age = 1e-3 if start is None else now - start
    stamps = [now - age + k / rate for k in range(count)]
    return system._Heard(
        count, 0.0, (count - 1) / rate, [age] * count, stamps, ('fer_joint1',), effort
    )


def lines(found, subject):
    return [(level, text) for name, level, text in found if name == subject]


def only(found, subject):
    (line,) = lines(found, subject)
    return line


@pytest.mark.parametrize(
    'what, graph, level, sentence',
    [
        (heard(), Graph(joint_states=['driver']), GOOD, '1000 Hz on /joint_states from /driver'),
        (heard(0), Graph(), BAD, 'none came on /joint_states, which has 0 publishers; start'),
        (heard(0), Graph(franka=['driver']), BAD, 'are on /franka: choose one with --topic'),
        (heard(9, 30.0), Graph(joint_states=['driver']), BAD, 'a command needs 200 Hz'),
    ],
)
def test_joint_states_are_judged_by_rate_and_topic(what, graph, level, sentence):
    found = list(system._joint_states(graph, JOINT_STATES, what, []))
    said = only(found, 'joint states')
    assert said[0] == level and sentence in said[1]


def test_two_publishers_of_joint_states_are_to_do():
    graph = Graph(joint_states=['driver', 'other'])
    found = list(system._joint_states(graph, JOINT_STATES, heard(), []))
    assert (BAD, '2 nodes publish on one topic; stop all but the driver') in lines(
        found, 'joint states'
    )


@pytest.mark.parametrize(
    'effort, level, text', [(True, GOOD, 'effort is there'), (False, NOTE, 'missing or zero')]
)
def test_the_measured_torque_is_there_or_not(effort, level, text):
    graph = Graph(joint_states=['driver'])
    found = list(system._joint_states(graph, JOINT_STATES, heard(effort=effort), []))
    said = only(found, 'measured torque')
    assert said[0] == level and text in said[1]


@pytest.mark.parametrize(
    'what, graph, simulator, level, text',
    [
        (heard(), Graph(), [], GOOD, 'stamps are'),
        (heard(start=time.time() - 60.0), Graph(), [], BAD, "off this machine's clock"),
        (heard(start=5.0), Graph(), [], BAD, 'set max_state_age to 0'),
        (heard(start=5.0), Graph(), ['simulator'], GOOD, 'from zero by now, in lockstep'),
        (
            heard(start=time.time() - 2.86),
            Graph(),
            ['simulator'],
            GOOD,
            'of simulator, which runs at 1.00 of real time: 2.86 s behind the clock',
        ),
        (heard(start=5.0), Graph(clock=['gazebo']), [], NOTE, '/clock comes from /gazebo'),
    ],
)
def test_the_clock_is_judged_by_the_stamps(what, graph, simulator, level, text):
    said = only(system._clock(graph, what, simulator), 'clock')
    assert said[0] == level and text in said[1]


def test_an_arm_in_slow_lockstep_is_judged_by_its_stamps():
    slow = heard(count=50, start=3.0)
    slow.last = 1.0  # 50 a second, each a millisecond of its own time
    graph = Graph(joint_states=['simulator'])
    (line, _) = system._joint_states(graph, JOINT_STATES, slow, ['simulator'])
    assert line[1] == GOOD and '49 Hz' in line[2] and '1000 Hz of simulated time' in line[2]
    assert system._joint_states(graph, JOINT_STATES, slow, []).__next__()[1] == BAD


def statuses(*told):
    return {one.name: one for one in told}


def test_simulated_arms_are_known_by_their_diagnostics():
    simulated = Status('left/simulator', 'Simulated arm', 'OK', '', {})
    assert system.simulators(statuses(simulated, Status('x', 'Joint states', 'OK', '', {}))) == [
        'left/simulator'
    ]


def test_two_nodes_of_one_name_are_two():
    graph = Graph(joint_states=['simulator', 'simulator'])
    found = list(system._joint_states(graph, JOINT_STATES, heard(), ['simulator']))
    said = [text for level, text in lines(found, 'joint states') if level == BAD]
    assert said == [
        '2 nodes publish on one topic; end all but one simulated arm, or give another a '
        'ROS_DOMAIN_ID of its own'
    ]


@pytest.mark.parametrize(
    'names, listeners, level, text',
    [
        ([], 0, NOTE, 'nobody publishes'),
        (['feedforward'], 1, GOOD, '/feedforward publishes on'),
        (['feedforward'], 0, NOTE, '0 listen'),
        (['a', 'b'], 1, BAD, '/a, /b all publish'),
    ],
)
def test_an_arm_takes_torques_from_one(names, listeners, level, text):
    graph = Graph(listeners)
    graph.publishers[COMMAND] = names
    said = only(system._commands(graph, COMMAND), 'commands')
    assert said[0] == level and text in said[1]


def test_gravity_and_errors_come_from_diagnostics():
    carried = statuses(Status('ff', 'Gravity compensation', 'OK', 'compensated', {}))
    assert only(system._nodes(carried), 'gravity') == (GOOD, 'ff: compensated')
    doubled = statuses(Status('ff', 'Gravity compensation', 'ERROR', 'twice', {}))
    found = list(system._nodes(doubled))
    assert only(found, 'gravity') == (BAD, 'ff: twice')
    assert only(found, 'diagnostics') == (BAD, 'ff: Gravity compensation: twice')
    assert only(system._nodes({}), 'gravity')[0] == NOTE


def test_python_is_one_that_is_tested(monkeypatch):
    monkeypatch.setattr(platform, 'python_version_tuple', lambda: ('3', '12', '1'))
    assert machine._python().level is Level.GOOD
    monkeypatch.setattr(platform, 'python_version_tuple', lambda: ('3', '14', '0'))
    assert machine._python().level is Level.NOTE


def test_libraries_that_are_missing_name_their_extra(monkeypatch):
    def version(name):
        if name == 'viser':
            raise machine.PackageNotFoundError
        return '1.0'

    monkeypatch.setattr(machine, 'version', version)
    first, *missing = machine._libraries()
    assert first.level is Level.GOOD and 'numpy 1.0' in first.text
    assert [(one.subject, one.level) for one in missing] == [('viser', Level.NOTE)]
    assert "'franka_dynamics[view]'" in missing[0].text


@pytest.mark.parametrize('soft, level', [(0, Level.BAD), (49, Level.BAD), (50, Level.GOOD)])
def test_real_time_priority_is_allowed_or_not(soft, level, monkeypatch):
    monkeypatch.setattr(os, 'geteuid', lambda: 1000)
    monkeypatch.setattr(resource, 'getrlimit', lambda _: (soft, soft))
    assert machine._realtime().level is level


@pytest.mark.parametrize(
    'version, level', [('#1 SMP PREEMPT_RT', Level.GOOD), ('#1 SMP PREEMPT_DYNAMIC', Level.NOTE)]
)
def test_the_kernel_is_real_time_or_not(version, level, monkeypatch):
    monkeypatch.setattr(Path, 'exists', lambda _: False)
    monkeypatch.setattr(platform, 'version', lambda: version)
    assert machine._kernel().level is level


@pytest.mark.parametrize('load, level', [(0.5, Level.GOOD), (7.9, Level.NOTE)])
def test_a_busy_processor_and_a_saving_one_are_told(load, level, monkeypatch):
    monkeypatch.setattr(os, 'cpu_count', lambda: 8)
    monkeypatch.setattr(os, 'getloadavg', lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(Path, 'glob', lambda *_: [Path('governor')])
    for governor, count in (('performance', 1), ('powersave', 2)):
        monkeypatch.setattr(Path, 'read_text', lambda _, said=governor: said)
        found = list(machine._processor())
        assert found[0].level is level and len(found) == count
    assert found[1].level is Level.NOTE and 'powersave' in found[1].text


@pytest.mark.parametrize(
    'size, level', [('212992', Level.NOTE), (str(2 * 1024**2), Level.GOOD), ('', Level.NOTE)]
)
def test_the_receive_buffer_is_large_enough_or_not(size, level, monkeypatch):
    monkeypatch.setattr(Path, 'read_text', lambda _: size)
    assert machine._buffers().level is level


@pytest.mark.parametrize(
    'variables, level, text',
    [
        ({}, Level.GOOD, 'domain 0, discovery SUBNET (sim: LOCALHOST; heard here)'),
        ({}, Level.NOTE, 'rmw_fastrtps_cpp, the default, is known for overruns'),
        ({'ROS_LOCALHOST_ONLY': '1'}, Level.NOTE, 'overrules the discovery range'),
        ({'ROS_DOMAIN_ID': '102'}, Level.BAD, 'choose one from 0 to 101'),
        ({'ROS_DOMAIN_ID': 'x'}, Level.BAD, 'choose one from 0 to 101'),
        ({'FASTDDS_DEFAULT_PROFILES_FILE': '/no'}, Level.BAD, 'which does not exist; unset it'),
    ],
)
def test_settings_of_the_network_are_told(variables, level, text):
    assert any(one.level is level and text in one.text for one in machine.dds_settings(variables))


def test_an_arm_in_lockstep_when_examined_then_the_clock_is_good(
    start_arm, start_node, probe, capsys
):
    start_arm()
    start_node(target='mujoco')
    probe.until(lambda: probe.says('simulator: Simulated arm', 'open'), 'the arm')
    wanted = ('good  clock: stamps are simulated time of simulator', 'good  joint states')
    for _ in range(10):  # a busy machine finds nodes late
        main(['doctor', '--listen', '2'])
        said = capsys.readouterr().out
        if all(text in said for text in wanted) and 'of simulated time' in said:
            break
    else:
        pytest.fail(said)
