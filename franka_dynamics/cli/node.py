# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics node`: a node's parameters, state and reference, without the command `ros2`."""

from __future__ import annotations

from collections.abc import Callable
import sys
import time
from typing import Any, TYPE_CHECKING

from . import actions
from ._interrupts import until_interrupted
from ._say import print_or_write, say, show, terminal, write_json
from ..arm.payload import payload_array, read_payload
from ..errors import SettingsError
from ..names import AS_LISTED

if TYPE_CHECKING:  # where ROS is missing, `node defaults` works nevertheless
    from ..ros.node_client import NodeClient
    from ..ros.observer import NodeView

# Longest wait for a node's remaining figures once it was heard. A node publishes diagnostics once
# per second, some figures only in the second message. Torque terms that need measured effort or
# commands may never arrive.
_PATIENCE_S = 3.0
# Wait after all figures have arrived: the observer of the external torque starts with the topic's
# first subscriber.
_SETTLE_S = 0.3
_PERIOD_S = 0.25  # time between two pictures of `node monitor`


def _asked(given: actions.Question, ask: Callable[[NodeClient], object]) -> str:
    """Return a node's answer; raise NodeClientError if the node does not answer or fails."""
    from ..ros.node_client import NodeClient

    def go_on() -> None:
        if not unasked():
            raise KeyboardInterrupt

    with until_interrupted() as unasked, NodeClient(given.node, given.timeout, go_on) as client:
        return f'{ask(client)}'


def state(given: actions.NodeState) -> int:
    """Print state and figures; exit 1 if the node is silent or has a fault."""
    from ._monitor_view import monitor_view
    from ..ros.observer import at_fault

    transition = given.transition
    if transition is not None:
        given.refuse('a TRANSITION', 'json')
        print(_asked(given, lambda client: client.change_state(transition)))
        return 0
    answer = _asked(given, _state_and_report)
    named, _, report = answer.partition('\n')
    nodes, now = _heard(given) if report else ([], 0.0)
    if given.json:
        write_json(given.json, {'state': named, 'nodes': [one.as_dict(now) for one in nodes]})
    say(answer)
    if nodes:
        show(monitor_view(nodes, now))
    faults = at_fault(nodes, now)
    for sentence in faults:
        print(sentence, file=sys.stderr)
    return 1 if faults else 0


def _state_and_report(client: NodeClient) -> str:
    """Return a node's state and, if the node is configured, its report."""
    state = client.state()
    report = client.report() if state in ('active', 'inactive') else ''
    return f'{state}\n{report}' if report else state


def _heard(given: actions.NodeState) -> tuple[list[NodeView], float]:
    """
    Return the nodes heard in the node's namespace, or in any, with their torques, and the time.

    A node that falls silent meanwhile, as on a busy machine, has its time-out to be heard again.
    """
    from ..ros.observer import Observer, TORQUE_TERMS

    namespaces = [given.node.strip('/').rpartition('/')[0]] if '/' in given.node else []
    with Observer('monitor') as feed:

        def arms() -> list[NodeView]:
            return [one for one in feed.nodes(namespaces) if one.is_arm]

        if feed.until(lambda: bool(arms()), given.timeout):
            feed.until(
                lambda: all(len(one.torques) == len(TORQUE_TERMS) for one in arms()), _PATIENCE_S
            )
            feed.wait(_SETTLE_S)
        now = [time.monotonic()]

        def all_heard() -> bool:
            now.append(time.monotonic())
            return not any(one.silent(now[-1]) for one in feed.nodes(namespaces))

        feed.until(all_heard, given.timeout)
        return feed.nodes(namespaces), now[-1]


def set_parameter(given: actions.NodeSet) -> int:
    """Set the parameter and print its new value."""
    value = given.value
    if given.parameter == 'payload' and not value.startswith('['):
        value = f'{payload(value)}'
    print(_asked(given, lambda client: client.set(given.parameter, value)))
    return 0


def payload(given: str) -> list[float]:
    """Return a payload's ten numbers; ten zeros for `none` or a list of zeros."""
    zeros = given.count(',') in (3, 9) and not given.strip('0.,- ')
    if zeros or given.lower() == 'none':
        return [0.0] * 10
    # Rounded, because reading and converting a payload turns 0.1 into 0.10000000000000002.
    return [float(f'{one:.12g}') for one in payload_array(read_payload(given)).tolist()]


def play(given: actions.NodePlay) -> int:
    """Play the motion; with --record return 1 if the bag is unusable as well."""
    from .bag_record import run
    from ..ros.messages import read_trajectory_file
    from ..ros.node_client import NodeClient

    read_trajectory_file(given.file)  # refuses a wrong file before anything starts
    if given.record is None:
        given.require_with('--record BAG', 'topic', 'command')
        print(_asked(given, lambda client: played(given, client)))
        return 0

    def send(meanwhile: Callable[[], None]) -> object:
        with NodeClient(given.node, given.timeout, meanwhile) as client:
            return played(given, client)

    return run(_recorder(given), given.file, send)


def _recorder(given: actions.NodePlay) -> actions.BagRecord:
    """Return the options with which `bag record` records the arm that the node was given."""
    from ..ros.node_client import NodeClient

    with NodeClient(given.node, given.timeout) as client:
        keys = ('robot_type', 'hand', 'inertial_set', 'repair', 'arm_prefix', 'payload')
        arm: Any = dict(zip(keys, client.values(keys)))
        node, namespace = client.name, client.name.rpartition('/')[0]
    arm['arm'] = arm.pop('robot_type')
    carried = arm.pop('payload')
    if any(carried):
        arm['payload'] = ','.join(f'{one:.12g}' for one in carried)
    arm = {name: value for name, value in arm.items() if value and value != AS_LISTED}
    # The topics beside the node, because discovery may need long on a busy machine.
    topics: Any = {
        name: topic if topic.startswith('/') else f'{namespace}/{topic}'
        for name, topic in (('topic', given.topic), ('command', given.command))
    }
    return actions.BagRecord(
        **arm, **topics, options_given=frozenset(arm), output=given.record, node=node
    )


def played(given: actions.NodePlay, client: NodeClient) -> object:
    """Send the motion; return 'finished' when the motion has ended as planned."""
    from ..ros.messages import read_trajectory_file, ready_excitation
    from ..ros.node_client import NodeClientError

    motion = read_trajectory_file(given.file, given.lead)
    last = motion.points[-1].time_from_start
    print(f'{len(motion.points)} points, {last.sec + 1e-9 * last.nanosec:g} s ...', flush=True)
    try:
        return client.play(motion)
    except KeyboardInterrupt:
        print('The arm is brought to rest where it is.', file=sys.stderr)
        raise
    except NodeClientError as error:
        arm = client.get('robot_type')
        if arm == str(given.file) or None in map(ready_excitation, (str(given.file), arm)):
            raise
        raise NodeClientError(
            f'The node controls {arm}, and {given.file} is the motion of another arm: '
            f'`franka-dynamics node play {arm}`.'
        ) from error


def clear(given: actions.NodeClear) -> int:
    """Clear the fault and print the node's answer; NodeClientError if the node refuses."""
    print(_asked(given, lambda client: client.clear_fault()))
    return 0


def monitor(given: actions.NodeMonitor) -> int:
    """Show the nodes until Ctrl-C."""
    from rich.live import Live

    from ._monitor_view import monitor_view
    from ..ros.observer import Observer

    console = terminal()
    front = console.is_terminal
    namespaces = [namespace.strip('/') for namespace in given.namespace]
    with (
        Observer('monitor') as feed,
        until_interrupted() as go_on,
        Live(console=console, screen=front, auto_refresh=False) as live,
    ):
        while go_on():
            feed.poll()
            live.update(monitor_view(feed.nodes(namespaces), time.monotonic()), refresh=front)
            time.sleep(_PERIOD_S)
    return 0


def defaults(given: actions.NodeDefaults) -> int:
    """Print or write a node's parameter file."""
    from ..ros.parameter_tables import NODES, parameter_file

    if given.node not in NODES:
        raise SettingsError(f'There is no node {given.node!r}; there are {", ".join(NODES)}.')
    print_or_write(parameter_file(given.node), given.output)
    return 0
