# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The work of `node state`, `set`, `play` and `clear`, which send requests to a node."""

from collections.abc import Callable
from pathlib import Path
import sys
import time
from typing import Any, NamedTuple, TypeVar

import click

from .bag_record import arm_choice_of_node, record_and_check
from .choices import forbid_options, forbid_without
from .console import echo_each, print_rich, write_json
from .end_signals import catch_end_signals
from .joint_check import move_joints_one_by_one
from .requests import NodeAddress, PlayRequest, RecordRequest
from .state_view import state_view
from ..arm.payload import payload_array, read_payload
from ..errors import StartTooFarError
from ..ros.clients.node_client import NodeClient, NodeClientError
from ..ros.status import DIAGNOSTIC_PERIOD_S, fault_sentences, NodeSnapshot, TERM_HEADINGS
from ..ros.topic_listener import TopicListener
from ..ros.trajectory_messages import read_trajectory_file, shipped_excitation_path

# Longest wait for a node's remaining figures once it was heard. A node publishes diagnostics once
# per second, some figures only in the second message. Torque terms that need measured effort or
# commands may never arrive.
_TORQUE_TIMEOUT_S = 3.0
# Wait after all figures have arrived: the observer of the external torque starts with the topic's
# first subscriber.
_OBSERVER_SETTLING_TIME_S = 0.3
_Answer = TypeVar('_Answer')


def _call_node(address: NodeAddress, request: Callable[[NodeClient], _Answer]) -> _Answer:
    """Return the result of a request to the node; a signal raises KeyboardInterrupt."""

    def check_interrupt() -> None:
        """Raise KeyboardInterrupt after a signal that asks the command to end."""
        if not keep_running():
            raise KeyboardInterrupt

    with (
        catch_end_signals() as keep_running,
        NodeClient(address.node, address.timeout, check_interrupt) as client,
    ):
        return request(client)


class _ReadState(NamedTuple):
    """
    A node's lifecycle state, its status, and the nodes heard at a time.

    `status` is '' and `nodes` is empty unless the node is configured and says its status.
    """

    state: str
    status: str
    nodes: list[NodeSnapshot]
    time: float  # of the steady clock [s]


def change_state(address: NodeAddress, transition: str) -> int:
    """Change a node's lifecycle state, and print it; return 0."""
    forbid_options('a TRANSITION', 'json')
    print(_call_node(address, lambda client: client.trigger_transition(transition)))
    return 0


def print_state(address: NodeAddress, json: Path | None) -> int:
    """Print a node's state, with rates and torques; return 1 if a node is faulty or silent."""
    read = _call_node(address, lambda client: _read_state(client, address))
    data = {'state': read.state, 'nodes': [node.as_dict(read.time) for node in read.nodes]}
    write_json(json, data)
    echo_each(filter(None, (read.state, read.status)))
    if read.nodes:
        print_rich(state_view(read.nodes, read.time))
    faults = fault_sentences(read.nodes, read.time)
    for sentence in faults:
        print(sentence, file=sys.stderr)
    return 1 if faults else 0


def _read_state(client: NodeClient, address: NodeAddress) -> _ReadState:
    """
    Return a node's state, and what it and the nodes beside it say.

    If the option names the node with a namespace, the nodes are those in its namespace, else all.
    """
    namespaces = [client.name.strip('/').rpartition('/')[0]] if '/' in address.node else []
    state = client.lifecycle_state()
    status = client.status_sentence() if state in ('active', 'inactive') else ''
    nodes = []
    if status:
        torque_timeout = _TORQUE_TIMEOUT_S if state == 'active' else 0.0
        nodes = _wait_for_nodes(client, namespaces, address.timeout, torque_timeout)
    return _ReadState(state, status, nodes, time.monotonic())


def _wait_for_nodes(
    listener: TopicListener,
    namespaces: list[str],
    timeout: float,
    torque_timeout: float,
) -> list[NodeSnapshot]:
    """
    Return the nodes that are heard in `namespaces`, of all if empty, with their torques.

    The three waits, each of which ends as soon as it has what it waits for:

    1. for a feedforward node, at most `timeout` [s];
    2. for all torque terms of each, at most `torque_timeout` [s], then long enough that every node
       has published its diagnostics once;
    3. for nodes that fell silent meanwhile, as on a busy machine, at most `timeout` [s].
    """

    def heard_torques() -> list[dict[str, Any]]:
        """Return the torques heard so far of each feedforward node, by term."""
        nodes = listener.package_nodes(namespaces)
        return [node.torques for node in nodes if node.is_feedforward_node]

    def have_all_terms() -> bool:
        """Return whether all torque terms of each feedforward node have come."""
        return all(len(torques) == len(TERM_HEADINGS) for torques in heard_torques())

    def is_none_silent() -> bool:
        """Return whether every node in `namespaces` still sends messages."""
        now = time.monotonic()
        return not any(node.is_silent(now) for node in listener.package_nodes(namespaces))

    # Each node publishes diagnostics once per second.
    all_heard_at = time.monotonic() + DIAGNOSTIC_PERIOD_S + _OBSERVER_SETTLING_TIME_S
    if listener.wait_until(lambda: bool(heard_torques()), timeout):
        listener.wait_until(have_all_terms, torque_timeout)
        listener.poll_for(max(_OBSERVER_SETTLING_TIME_S, all_heard_at - time.monotonic()))
    listener.wait_until(is_none_silent, timeout)
    return listener.package_nodes(namespaces)


def set_parameter(address: NodeAddress, parameter: str, value: str) -> None:
    """Set a parameter of a node, and print its value."""
    if parameter == 'payload' and not value.startswith('['):
        value = f'{parse_payload(value)}'
    print(_call_node(address, lambda client: client.set_parameter(parameter, value)))


def parse_payload(text: str) -> list[float]:
    """Return payload text as ten numbers for a node's parameter; ten zeros for `none`."""
    if text.lower() == 'none':
        return [0.0] * 10
    # Rounded, because reading and converting a payload turns 0.1 into 0.10000000000000002.
    return [float(f'{number:.12g}') for number in payload_array(read_payload(text)).tolist()]


def play_motion(address: NodeAddress, request: PlayRequest) -> int:
    """Send a motion and await its end; return 0, or 1 if the motion, a joint or the bag fails."""
    file = request.file
    lead = request.lead
    if request.joints_one_by_one:
        forbid_options('--joints-one-by-one', 'file', 'lead', 'record', 'command')
        return _call_node(address, lambda client: _check_joints(client, request.topic))
    if file is None:
        raise click.UsageError('Name the FILE of a motion, or give --joints-one-by-one.')
    read_trajectory_file(Path(file))  # refuses a wrong file before anything starts
    if request.record is None:
        forbid_without('--record BAG or --joints-one-by-one', 'topic')
        forbid_without('--record BAG', 'command')
        print(_call_node(address, lambda client: send_motion(file, lead, client)))
        return 0
    with NodeClient(address.node, address.timeout) as client:
        choice = arm_choice_of_node(client)
        command = request.command or client.command_topic_of(client.name)
        recording = RecordRequest(
            output=request.record,
            duration=None,
            node=client.name,
            topic=_in_namespace_of_node(client, request.topic),
            command=_in_namespace_of_node(client, command) or None,
        )

        def play(on_wait: Callable[[], None]) -> str:
            """Send the motion, calling `on_wait` until it ends; return the node's answer."""
            client.on_wait = on_wait
            return send_motion(file, lead, client)

        return record_and_check(choice, recording, file, play)


def _in_namespace_of_node(client: NodeClient, topic: str) -> str:
    """Return a topic's full name in the node's namespace, without a wait for its discovery."""
    if not topic or topic.startswith('/'):
        return topic
    return f'{client.name.rpartition("/")[0]}/{topic}'


def _check_joints(client: NodeClient, topic: str) -> int:
    """Move each joint of a node's arm alone; return 0, or 1 if another or none moves."""
    return move_joints_one_by_one(client, _in_namespace_of_node(client, topic))


def send_motion(motion_file: str, lead_in_s: float, client: NodeClient) -> str:
    """Send a trajectory, wait until it ends, return the node's answer or raise NodeClientError."""
    motion = read_trajectory_file(Path(motion_file), lead_in_s)
    last = motion.points[-1].time_from_start
    print(
        f'{len(motion.points)} points, {last.sec + 1e-9 * last.nanosec:g} s ...',
        flush=True,
    )
    try:
        return client.follow_trajectory(motion)
    except KeyboardInterrupt:
        print('The arm is brought to rest where it is.', file=sys.stderr)
        raise
    except NodeClientError as error:
        if error.refusal_error_type == StartTooFarError.__name__:
            raise NodeClientError(f'{error} `--lead 5` first moves it there in 5 s.') from error
        arm = client.parameter_values(['robot_type'])[0]
        have_shipped_motions = all(map(shipped_excitation_path, (motion_file, arm)))
        if arm != motion_file and have_shipped_motions:
            raise NodeClientError(
                f'The node controls {arm}, not {motion_file}: `franka-dynamics node play {arm}`.'
            ) from error
        raise


def clear_fault(address: NodeAddress) -> None:
    """Clear a node's fault, and print the node's answer."""
    print(_call_node(address, lambda client: client.clear_fault()))
