# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics node`: a node's parameters, state and reference, without the command `ros2`."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path
import sys
from typing import Any

from ._action import Action
from ._interrupts import until_interrupted
from ._options import file_option, folder_option, lead_option, print_or_write, write_files
from ..arm.payload import payload_array, read_payload
from ..errors import SettingsError
from ..options import option

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

    def run(self) -> int:
        """Print the node's answer; raise NodeClientError if the node does not answer or fails."""
        from ..ros.node_client import NodeClient

        def go_on() -> None:
            if not unasked():
                raise KeyboardInterrupt

        with until_interrupted() as unasked, NodeClient(self.node, self.timeout, go_on) as client:
            print(self.ask(client))
        return 0


@dataclass(frozen=True, kw_only=True)
class State(_Question):
    """Print a node's state, what the node does and why; or change the state."""

    transition: str | None = option(
        f'to another state: {", ".join(TRANSITIONS)}',
        'TRANSITION',
        positional=True,
        choices=TRANSITIONS,
        default=None,
    )

    def ask(self, client: Any) -> object:
        """Change the state and return it, or return the state and a configured node's report."""
        if self.transition:
            return client.change_state(self.transition)
        state = client.state()
        report = client.report() if state in ('active', 'inactive') else ''
        return f'{state}\n{report}' if report else state


@dataclass(frozen=True, kw_only=True)
class Get(_Question):
    """Print a parameter of a node."""

    parameter: str = option('name of the parameter', 'PARAMETER', positional=True)

    def ask(self, client: Any) -> object:
        """Return the parameter's value."""
        return client.get(self.parameter)


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
class Play(_Question):
    """Send a motion to a node and wait until the motion ends."""

    file: Path = option(
        'a file of `identify plan`, or a shipped motion: fer, fr3, fr3v2, fr3v2_1',
        'FILE',
        positional=True,
    )
    lead: float = lead_option()

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
class Load(_Question):
    """Load a parameter file into a running node: all parameters at once, or none."""

    node: str = option(
        'the node, with its namespace', 'NODE', positional=True, default='feedforward'
    )
    file: Path = option(
        'a file of `ros2 param dump` or `franka-dynamics node defaults`; it may repeat values '
        'that the node has',
        'FILE',
        positional=True,
    )

    def ask(self, client: Any) -> object:
        """Load the file; return which parameters changed."""
        loaded = client.load(self.file)
        changed, same = ', '.join(loaded.changed) or 'nothing', len(loaded.unchanged)
        return f"set: {changed}; {same} had the file's value already"


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
    all: Path | None = folder_option(
        'write the parameter files of all nodes below a folder, as the package ships them'
    )

    def run(self) -> int:
        """Print or write a node's parameter file; with --all write the files of all nodes."""
        from ..ros.parameter_tables import generated_files, NODES, parameter_file

        if self.all is not None:
            self.refuse('--all, which writes the files of every node', 'node', 'output')
            write_files(generated_files(), self.all)
        elif self.node not in NODES:
            raise SettingsError(f'There is no node {self.node!r}; there are {", ".join(NODES)}.')
        else:
            print_or_write(parameter_file(self.node), self.output)
        return 0
