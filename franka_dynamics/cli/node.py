# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics node`: a node's parameters, state and reference, without the command `ros2`."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
import sys
import time
from typing import Any, TYPE_CHECKING

from ._action import Action
from ._interrupts import until_interrupted
from ._options import (
    file_option,
    folder_option,
    json_option,
    new_bag,
    print_or_write,
    Topics,
)
from ._say import say, show, terminal, write_json
from ..arm.arm_file import AS_LISTED
from ..arm.payload import payload_array, read_payload
from ..errors import SettingsError
from ..options import option

if TYPE_CHECKING:
    from .bag_record import Record
    from ..ros.observer import NodeView

# Longest wait for a node's remaining figures once it was heard. A node publishes diagnostics once
# per second, some figures only in the second message. Torque terms that need measured effort or
# commands may never arrive.
_PATIENCE_S = 3.0
# Wait after all figures have arrived: the observer of the external torque starts with the topic's
# first subscriber.
_SETTLE_S = 0.3
_PERIOD_S = 0.25  # time between two pictures of `node monitor`
TRANSITIONS = ('configure', 'activate', 'deactivate', 'cleanup', 'shutdown')


@dataclass(frozen=True, kw_only=True)
class _Question(Action):
    """A request to a node; exit 1 if the node fails or is silent, 2 if it refuses a value."""

    node: str = option('the node, with its namespace', 'NAME', default='feedforward')
    timeout: float = option(
        'how long to wait for the node [s]', 'S', default=5.0, least=0.1, most=3600.0
    )

    @abstractmethod
    def ask(self, client: Any) -> object:
        """Send the request and return the node's answer."""

    def answer(self) -> str:
        """Return the node's answer; raise NodeClientError if it does not answer or fails."""
        from ..ros.node_client import NodeClient

        def go_on() -> None:
            if not unasked():
                raise KeyboardInterrupt

        with until_interrupted() as unasked, NodeClient(self.node, self.timeout, go_on) as client:
            return f'{self.ask(client)}'

    def run(self) -> int:
        """Print the node's answer."""
        print(self.answer())
        return 0


@dataclass(frozen=True, kw_only=True)
class State(_Question):
    """Print a node's state and figures, and what it does and why; or change the state."""

    transition: str | None = option(
        f'to another state: {", ".join(TRANSITIONS)}',
        'TRANSITION',
        positional=True,
        choices=TRANSITIONS,
        default=None,
    )
    json: Path | None = json_option('state and figures')

    def run(self) -> int:
        """Print state and figures; exit 1 if the node is silent or has a fault."""
        from ._monitor_view import monitor_view
        from ..ros.observer import at_fault

        if self.transition is not None:
            self.refuse('a TRANSITION', 'json')
            return super().run()
        answer = self.answer()
        state, _, report = answer.partition('\n')
        nodes = self._heard() if report else []
        now = time.monotonic()
        if self.json:
            write_json(self.json, {'state': state, 'nodes': [one.as_dict(now) for one in nodes]})
        say(answer)
        if nodes:
            show(monitor_view(nodes, now))
        faults = at_fault(nodes, now)
        for sentence in faults:
            print(sentence, file=sys.stderr)
        return 1 if faults else 0

    def _heard(self) -> list[NodeView]:
        """Return the nodes heard in the node's namespace, or in any, with their torques."""
        from ..ros.observer import Monitor

        namespace = self.node.strip('/').rpartition('/')[0]
        with closing(Monitor([namespace] if '/' in self.node else [])) as feed:
            end, complete = time.monotonic() + self.timeout, False
            while time.monotonic() < end:
                feed.poll()
                if feed.arms and not complete:
                    complete = feed.complete
                    end = min(end, time.monotonic() + (_SETTLE_S if complete else _PATIENCE_S))
                time.sleep(0.02)
            return feed.nodes

    def ask(self, client: Any) -> object:
        """Change the state and return it, or return the state and a configured node's report."""
        if self.transition:
            return client.change_state(self.transition)
        state = client.state()
        report = client.report() if state in ('active', 'inactive') else ''
        return f'{state}\n{report}' if report else state


@dataclass(frozen=True, kw_only=True)
class Set(_Question):
    """Set a parameter of a node."""

    parameter: str = option('name of the parameter', 'PARAMETER', positional=True)
    value: str = option(
        'the value in YAML; for the parameter payload also any value of --payload, or none',
        'VALUE',
        positional=True,
    )

    def ask(self, client: Any) -> object:
        """Set the parameter; return its new value."""
        value = self.value
        if self.parameter == 'payload' and not value.startswith('['):
            value = f'{_payload(value)}'
        return client.set(self.parameter, value)


def _payload(given: str) -> list[float]:
    """Return a payload's ten numbers; ten zeros for `none` or a list of zeros."""
    zeros = given.count(',') in (3, 9) and not given.strip('0.,- ')
    if zeros or given.lower() == 'none':
        return [0.0] * 10
    # Rounded, because reading and converting a payload turns 0.1 into 0.10000000000000002.
    return [float(f'{one:.12g}') for one in payload_array(read_payload(given)).tolist()]


@dataclass(frozen=True, kw_only=True)
class Play(_Question, Topics):
    """Send a motion to a node and wait until the motion ends; with --record, record the motion."""

    file: Path = option(
        'a file of `identify plan`, or the name of a Franka arm, whose shipped motion is sent',
        'FILE',
        positional=True,
    )
    lead: float = option(
        'time in which the arm first moves to the beginning of the motion [s]',
        'S',
        default=0.0,
        least=0.0,
        most=60.0,
    )
    record: Path | None = folder_option(
        'record joint states, commands, references and diagnostics in this new bag, and say if '
        'the recording is usable',
        kind=new_bag,
    )

    def run(self) -> int:
        """Play the motion; with --record return 1 if the bag is unusable as well."""
        from ..ros.trajectories import read_trajectory_file

        read_trajectory_file(self.file)  # refuses a wrong file before anything starts
        if self.record is None:
            self.require_with('--record BAG', 'topic', 'command')
            return super().run()
        return self._recorder(self.record).along(self.file, self.lead)

    def _recorder(self, bag: Path) -> Record:
        """Return a recorder of the arm that the node was given."""
        from .bag_record import Record
        from ..ros.node_client import NodeClient

        with NodeClient(self.node, self.timeout) as client:
            keys = ('robot_type', 'hand', 'inertial_set', 'repair', 'arm_prefix', 'payload')
            given = dict(zip(keys, client.values(keys)))
            node, namespace = client.name, client.name.rpartition('/')[0]
        given['arm'] = given.pop('robot_type')
        given['payload'] = ','.join(f'{one:.12g}' for one in given['payload'])
        given = {name: value for name, value in given.items() if value}
        if not given.get('payload', '').strip('0,'):
            given.pop('payload', None)
        if given.get('hand') == AS_LISTED:
            given.pop('hand')
        return Record(
            **given,
            options_given=frozenset(given),
            output=bag,
            node=node,
            # The topics beside the node, because discovery may need long on a busy machine.
            topic=f'{namespace}/{self.topic}' if self.topic[0] != '/' else self.topic,
            command=f'{namespace}/{self.command}' if self.command[0] != '/' else self.command,
        )

    def ask(self, client: Any) -> object:
        """Send the motion; return 'finished' when the motion has ended as planned."""
        from ..ros.node_client import NodeClientError
        from ..ros.trajectories import read_trajectory_file, ready_excitation

        motion = read_trajectory_file(self.file, self.lead)
        last = motion.points[-1].time_from_start
        print(f'{len(motion.points)} points, {last.sec + 1e-9 * last.nanosec:g} s ...', flush=True)
        try:
            return client.play(motion)
        except KeyboardInterrupt:
            print('The arm is brought to rest where it is.', file=sys.stderr)
            raise
        except NodeClientError as error:
            arm = client.get('robot_type')
            if ready_excitation(str(self.file)) is None or ready_excitation(arm) is None:
                raise
            if arm == str(self.file):
                raise
            raise NodeClientError(
                f'The node controls {arm}, and {self.file} is the motion of another arm: '
                f'`franka-dynamics node play {arm}`.'
            ) from error


@dataclass(frozen=True, kw_only=True)
class Clear(_Question):
    """Clear a node's fault, so that the node commands again; exit 1 if the fault remains."""

    def ask(self, client: Any) -> object:
        """Clear the fault; return the node's answer, or raise NodeClientError if it refuses."""
        return client.clear_fault()


@dataclass(frozen=True, kw_only=True)
class Monitor(Action):
    """Show rates, latencies, states and torques of running feedforward nodes in a terminal."""

    namespace: tuple[str, ...] = option(
        "only nodes in these namespaces, '/' for the root namespace (default: all nodes)",
        'NS',
        default=(),
    )

    def run(self) -> int:
        """Show the nodes until Ctrl-C."""
        from rich.live import Live

        from ._monitor_view import monitor_view
        from ..ros.observer import Monitor as Feed

        console = terminal()
        front = console.is_terminal
        with (
            closing(Feed([namespace.strip('/') for namespace in self.namespace])) as feed,
            until_interrupted() as go_on,
            Live(console=console, screen=front, auto_refresh=False) as live,
        ):
            while go_on():
                feed.poll()
                view = monitor_view(feed.nodes, time.monotonic(), brief=True)
                live.update(view, refresh=front)
                time.sleep(_PERIOD_S)
        return 0


@dataclass(frozen=True, kw_only=True)
class Defaults(Action):
    """Print a node's default parameters as a commented YAML file."""

    node: str = option(
        'the node whose parameters are printed: feedforward, simulator or trajectory_action',
        'NODE',
        positional=True,
        default='feedforward',
    )
    output: Path | None = file_option('file to write (default: print)')

    def run(self) -> int:
        """Print or write a node's parameter file."""
        from ..ros.parameter_tables import NODES, parameter_file

        if self.node not in NODES:
            raise SettingsError(f'There is no node {self.node!r}; there are {", ".join(NODES)}.')
        print_or_write(parameter_file(self.node), self.output)
        return 0
