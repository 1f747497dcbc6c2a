# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The commands `franka-dynamics node ...`: requests to a node, without the command `ros2`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import sys
import time
from typing import Any, TYPE_CHECKING

import click

from ._command import forbid_with, Group, Number, option, require_with
from ._options import json_option, NEW_BAG, node_option, OUTPUT_FILE, topic_options, with_options
from ._signals import catch_end_signals

if TYPE_CHECKING:  # where ROS is missing, `node defaults` works nevertheless
    from ..ros.node_client import NodeClient
    from ..ros.status import NodeSnapshot
    from ..ros.topic_listener import TopicListener

_NODES = ('feedforward', 'simulator')
# Longest wait for a node's remaining figures once it was heard. A node publishes diagnostics once
# per second, some figures only in the second message. Torque terms that need measured effort or
# commands may never arrive.
_TORQUE_TIMEOUT_S = 3.0
# Wait after all figures have arrived: the observer of the external torque starts with the topic's
# first subscriber.
_SETTLING_TIME_S = 0.3
_TRANSITIONS = ('configure', 'activate', 'deactivate', 'cleanup', 'shutdown')
_NODE_OPTIONS = with_options(
    node_option,
    option('--timeout', 'how long to wait for the node [s]', Number(0.1, 3600.0), default=5.0),
)


def _call_node(node: str, timeout: float, request: Callable[[NodeClient], Any]) -> Any:
    """Return a node's answer; raise NodeClientError if the node does not answer or fails."""
    from ..ros.node_client import NodeClient

    def check_interrupt() -> None:
        if not keep_running():
            raise KeyboardInterrupt

    with catch_end_signals() as keep_running, NodeClient(node, timeout, check_interrupt) as client:
        return request(client)


@click.group(cls=Group)
def node() -> None:
    """
    Use a node: state, set, play, clear, defaults.

    A command exits with 1 if the node fails or is silent, with 2 if it refuses a value.
    """


@node.command()
@click.argument('transition', type=click.Choice(_TRANSITIONS), required=False)
@json_option
@_NODE_OPTIONS
def state(transition: str | None, json: Path | None, node: str, timeout: float) -> int:
    """Print a node's lifecycle state, status, rates and torques; or change the state."""
    from ._console import say, show, write_json
    from ._state_view import state_view
    from ..ros.status import fault_sentences

    if transition is not None:
        forbid_with('a TRANSITION', 'json')
        print(_call_node(node, timeout, lambda client: client.change_state(transition)))
        return 0
    namespaces = [node.strip('/').rpartition('/')[0]] if '/' in node else []

    def look(client: NodeClient) -> tuple[str, str, list[NodeSnapshot], float]:
        """Return state and report of the node, what is heard in its namespace, and the time."""
        state = client.state()
        report = client.status_sentence() if state in ('active', 'inactive') else ''
        wait = _TORQUE_TIMEOUT_S if state == 'active' else 0.0
        nodes = _wait_for_nodes(client, namespaces, timeout, wait) if report else []
        return state, report, nodes, time.monotonic()

    named, report, nodes, now = _call_node(node, timeout, look)
    write_json(json, {'state': named, 'nodes': [one.as_dict(now) for one in nodes]})
    for sentence in filter(None, (named, report)):
        say(sentence)
    if nodes:
        show(state_view(nodes, now))
    faults = fault_sentences(nodes, now)
    for sentence in faults:
        print(sentence, file=sys.stderr)
    return 1 if faults else 0


def _wait_for_nodes(
    feed: TopicListener, namespaces: list[str], timeout: float, wait: float
) -> list[NodeSnapshot]:
    """
    Return the nodes heard in namespaces, or in any, with the torques that come within `wait` [s].

    A node that falls silent meanwhile, as on a busy machine, has its time-out to be heard again.
    """
    from ..ros.status import TORQUE_TERMS

    def arms() -> list[NodeSnapshot]:
        return [one for one in feed.nodes(namespaces) if one.is_feedforward_node]

    def all_heard() -> bool:
        now = time.monotonic()
        return not any(one.is_silent(now) for one in feed.nodes(namespaces))

    if feed.until(lambda: bool(arms()), timeout):
        terms = len(TORQUE_TERMS)
        feed.until(lambda: all(len(one.torques) == terms for one in arms()), wait)
        feed.wait(_SETTLING_TIME_S)
    feed.until(all_heard, timeout)
    return feed.nodes(namespaces)


@node.command('set', context_settings={'ignore_unknown_options': True})  # a payload of -1,0,0,0
@click.argument('parameter')
@click.argument('value')
@_NODE_OPTIONS
def set_(parameter: str, value: str, node: str, timeout: float) -> None:
    """
    Set a parameter of a node.

    VALUE is written in YAML; of the parameter payload also as the option --payload, or none.
    """
    if parameter == 'payload' and not value.startswith('['):
        value = f'{parse_payload(value)}'
    print(_call_node(node, timeout, lambda client: client.set(parameter, value)))


def parse_payload(text: str) -> list[float]:
    """Return payload text as ten numbers for a node's parameter; ten zeros for `none`."""
    from ..arm.payload import payload_array, read_payload

    if text.lower() == 'none':
        return [0.0] * 10
    # Rounded, because reading and converting a payload turns 0.1 into 0.10000000000000002.
    return [float(f'{one:.12g}') for one in payload_array(read_payload(text)).tolist()]


@node.command()
@click.argument('file', type=click.Path())
@option('--lead', "time to the motion's beginning [s]", Number(0.0, 60.0), default=0.0)
@option('--record', 'record all topics in this new bag', NEW_BAG)
@topic_options
@_NODE_OPTIONS
def play(
    file: str,
    lead: float,
    record: Path | None,
    topic: str,
    command: str,
    node: str,
    timeout: float,
) -> int:
    """
    Send a motion to a node and wait until it ends; with --record, record a bag and check it.

    FILE is a file of `identify plan`, or an arm with a shipped motion.
    """
    from .bag_record import arm_of, record_and_check
    from ..ros.node_client import NodeClient
    from ..ros.trajectory_messages import read_trajectory_file

    read_trajectory_file(Path(file))  # refuses a wrong file before anything starts
    if record is None:
        require_with('--record BAG', 'topic', 'command')
        print(_call_node(node, timeout, lambda client: send_motion(file, lead, client)))
        return 0

    def send(meanwhile: Callable[[], None]) -> object:
        with NodeClient(node, timeout, meanwhile) as client:
            return send_motion(file, lead, client)

    with NodeClient(node, timeout) as client:
        arm, node, namespace = arm_of(client), client.name, client.name.rpartition('/')[0]
    # The topics beside the node, because discovery may need long on a busy machine.
    topic, command = (
        one if one.startswith('/') else f'{namespace}/{one}' for one in (topic, command)
    )
    return record_and_check(
        arm, record, duration=None, node=node, topic=topic, command=command, motion=file, play=send
    )


def send_motion(file: str, lead: float, client: NodeClient) -> object:
    """Send a trajectory to the node, wait until it ends, and return what the node answers."""
    from ..errors import StartTooFarError
    from ..ros.node_client import NodeClientError
    from ..ros.trajectory_messages import read_trajectory_file, shipped_excitation

    motion = read_trajectory_file(Path(file), lead)
    last = motion.points[-1].time_from_start
    print(f'{len(motion.points)} points, {last.sec + 1e-9 * last.nanosec:g} s ...', flush=True)
    try:
        return client.play(motion)
    except KeyboardInterrupt:
        print('The arm is brought to rest where it is.', file=sys.stderr)
        raise
    except NodeClientError as error:
        if error.refused_by == StartTooFarError.__name__:
            raise NodeClientError(f'{error} `--lead 5` first moves it there in 5 s.') from error
        arm = client.get_parameter('robot_type')
        if arm == file or None in map(shipped_excitation, (file, arm)):
            raise
        raise NodeClientError(
            f'The node controls {arm}, and {file} is the motion of another arm: '
            f'`franka-dynamics node play {arm}`.'
        ) from error


@node.command()
@_NODE_OPTIONS
def clear(node: str, timeout: float) -> None:
    """Clear a node's fault, so that the node commands again; exit 1 if the fault remains."""
    print(_call_node(node, timeout, lambda client: client.clear_fault()))


@node.command()
@click.argument('node', type=click.Choice(_NODES), default='feedforward')
@option('--output', 'file to write (default: print)', OUTPUT_FILE)
def defaults(node: str, output: Path | None) -> None:
    """Print a node's default parameters as a commented YAML file."""
    from ._console import print_or_write
    from ..ros.parameter_tables import parameter_file

    print_or_write(parameter_file(node), output)
