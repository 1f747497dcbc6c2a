# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics node`: requests to a node, without the command `ros2`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import sys
import time
from typing import Any, TYPE_CHECKING

from ._command import forbid_with, require_with
from ._console import make_console, print_or_write, say, show, write_json
from ._signals import catch_end_signals
from ..arm.payload import payload_array, read_payload

if TYPE_CHECKING:  # where ROS is missing, `node defaults` works nevertheless
    from ..ros.node_client import NodeClient
    from ..ros.status import NodeSnapshot
    from ..ros.topic_listener import TopicListener

# Longest wait for a node's remaining figures once it was heard. A node publishes diagnostics once
# per second, some figures only in the second message. Torque terms that need measured effort or
# commands may never arrive.
_FIGURES_WAIT_S = 3.0
# Wait after all figures have arrived: the observer of the external torque starts with the topic's
# first subscriber.
_SETTLE_S = 0.3
_REFRESH_PERIOD_S = 0.25  # time between two pictures of `node monitor`


def _answer(node: str, timeout: float, request: Callable[[NodeClient], Any]) -> Any:
    """Return a node's answer; raise NodeClientError if the node does not answer or fails."""
    from ..ros.node_client import NodeClient

    def check_interrupt() -> None:
        if not keep_running():
            raise KeyboardInterrupt

    with catch_end_signals() as keep_running, NodeClient(node, timeout, check_interrupt) as client:
        return request(client)


def state(transition: str | None, json: Path | None, node: str, timeout: float) -> int:
    """Print state and figures; exit 1 if the node is silent or has a fault."""
    from ._monitor_view import monitor_view
    from ..ros.status import fault_sentences

    if transition is not None:
        forbid_with('a TRANSITION', 'json')
        print(_answer(node, timeout, lambda client: client.change_state(transition)))
        return 0
    namespaces = [node.strip('/').rpartition('/')[0]] if '/' in node else []

    def look(client: NodeClient) -> tuple[str, str, list[NodeSnapshot], float]:
        """Return state and report of the node, what is heard in its namespace, and the time."""
        state = client.state()
        report = client.status_sentence() if state in ('active', 'inactive') else ''
        wait = _FIGURES_WAIT_S if state == 'active' else 0.0
        nodes = _heard(client, namespaces, timeout, wait) if report else []
        return state, report, nodes, time.monotonic()

    named, report, nodes, now = _answer(node, timeout, look)
    if json:
        write_json(json, {'state': named, 'nodes': [one.as_dict(now) for one in nodes]})
    for sentence in filter(None, (named, report)):
        say(sentence)
    if nodes:
        show(monitor_view(nodes, now))
    faults = fault_sentences(nodes, now)
    for sentence in faults:
        print(sentence, file=sys.stderr)
    return 1 if faults else 0


def _heard(
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
        feed.wait(_SETTLE_S)
    feed.until(all_heard, timeout)
    return feed.nodes(namespaces)


def set_parameter(parameter: str, value: str, node: str, timeout: float) -> int:
    """Set the parameter and print its new value."""
    if parameter == 'payload' and not value.startswith('['):
        value = f'{parse_payload(value)}'
    print(_answer(node, timeout, lambda client: client.set(parameter, value)))
    return 0


def parse_payload(text: str) -> list[float]:
    """Return the ten numbers of a payload that a user types; ten zeros for `none`."""
    if text.lower() == 'none':
        return [0.0] * 10
    # Rounded, because reading and converting a payload turns 0.1 into 0.10000000000000002.
    return [float(f'{one:.12g}') for one in payload_array(read_payload(text)).tolist()]


def play(
    file: str,
    lead: float,
    record: Path | None,
    topic: str,
    command: str,
    node: str,
    timeout: float,
) -> int:
    """Play the motion; with --record, return 1 if the motion fails or the bag is unusable."""
    from .bag_record import arm_of, run
    from ..ros.messages import read_trajectory_file
    from ..ros.node_client import NodeClient

    read_trajectory_file(Path(file))  # refuses a wrong file before anything starts
    if record is None:
        require_with('--record BAG', 'topic', 'command')
        print(_answer(node, timeout, lambda client: send_motion(file, lead, client)))
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
    return run(arm, record, None, node, topic, command, file, send)


def send_motion(file: str, lead: float, client: NodeClient) -> object:
    """Send a motion to the node; return 'finished' when it has ended as planned."""
    from ..control.reference import MOVE_THERE_FIRST
    from ..ros.messages import read_trajectory_file, shipped_excitation
    from ..ros.node_client import NodeClientError

    motion = read_trajectory_file(Path(file), lead)
    last = motion.points[-1].time_from_start
    print(f'{len(motion.points)} points, {last.sec + 1e-9 * last.nanosec:g} s ...', flush=True)
    try:
        return client.play(motion)
    except KeyboardInterrupt:
        print('The arm is brought to rest where it is.', file=sys.stderr)
        raise
    except NodeClientError as error:
        if MOVE_THERE_FIRST in f'{error}':
            raise NodeClientError(f'{error} `--lead 5` first moves it there in 5 s.') from error
        arm = client.get('robot_type')
        if arm == file or None in map(shipped_excitation, (file, arm)):
            raise
        raise NodeClientError(
            f'The node controls {arm}, and {file} is the motion of another arm: '
            f'`franka-dynamics node play {arm}`.'
        ) from error


def clear_fault(node: str, timeout: float) -> int:
    """Clear the fault and print the node's answer; NodeClientError if the node refuses."""
    print(_answer(node, timeout, lambda client: client.clear_fault()))
    return 0


def monitor(namespace: tuple[str, ...]) -> int:
    """Show all feedforward nodes and simulated arms until Ctrl-C."""
    from rich.live import Live

    from ._monitor_view import monitor_view
    from ..ros.topic_listener import TopicListener

    console = make_console()
    front = console.is_terminal
    namespaces = [one.strip('/') for one in namespace]
    with (
        TopicListener('monitor') as feed,
        catch_end_signals() as keep_running,
        Live(console=console, screen=front, auto_refresh=False) as live,
    ):
        while keep_running():
            feed.poll()
            live.update(monitor_view(feed.nodes(namespaces), time.monotonic()), refresh=front)
            time.sleep(_REFRESH_PERIOD_S)
    return 0


def defaults(node: str, output: Path | None) -> int:
    """Print or write a node's parameter file."""
    from ..ros.parameter_tables import parameter_file

    print_or_write(parameter_file(node), output)
    return 0
