# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""This package's nodes as child processes, optionally in an isolated ROS network."""

from collections.abc import Mapping
import os
from pathlib import Path
import random
import shutil
import signal
import socket
import subprocess
import sys
from typing import Any, Self

import numpy as np

from .. import (
    COMMAND_TOPIC,
    FASTDDS_PROFILE_VARIABLES,
    NODE_MODULES,
    SIMULATION_NAMESPACE,
    use_fastdds_profile,
)
from ..parameter_tables import yaml_line
from ..realtime import REALTIME_OFF, REALTIME_VARIABLE
from ...errors import FrankaDynamicsError

_NODE_END_TIMEOUT_S = 10.0
_MIN_FREE_DISK_BYTES = 65536  # no log, page or bag is written where less is free
_DISCOVERY_RANGE_VARIABLE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
_RMW_VARIABLE = 'RMW_IMPLEMENTATION'
_FASTDDS = 'rmw_fastrtps_cpp'
_CYCLONE = 'rmw_cyclonedds_cpp'
_DISCOVERY_OVERRIDE_VARIABLES = (
    'ROS_LOCALHOST_ONLY',
    'ROS_STATIC_PEERS',
    'ROS_DISCOVERY_SERVER',
    'CYCLONEDDS_URI',  # its interfaces and peers would come on top of those of LOCALHOST
)
# The ports of ROS domains 1 to 101 are outside the ephemeral port range of Linux.
ROS_DOMAIN_IDS = range(1, 102)

# A child gets SIGINT, which a shell's background jobs would ignore, if its parent dies (prctl's
# PR_SET_PDEATHSIG is 1). It asks for real-time scheduling of its own, and must not inherit its
# parent's. The child itself does this: Python calls a function between fork and exec unsafely in a
# process with other threads, such as the middleware's.
_CHILD_PROGRAM = """
import ctypes, os, signal
if os.sched_getscheduler(0) != os.SCHED_OTHER:
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
signal.signal(signal.SIGINT, signal.SIG_DFL)
ctypes.CDLL(None).prctl(1, signal.SIGINT, 0, 0, 0)
from {} import main
exit(main())
"""


class NoFreeDomainError(FrankaDynamicsError):
    """Every ROS domain is in use on this machine."""

    status = 1


class NodeEndedError(FrankaDynamicsError):
    """A node's process ended unexpectedly."""

    status = 1


def node_command_line(
    program: str, params: Mapping[str, Any], remaps: Mapping[str, str]
) -> list[str]:
    """
    Return the command line of a child process that runs a program of NODE_MODULES.

    `params` are the values of its parameters; `remaps` maps names of topics, of the node or its
    namespace to new names.
    """
    # With faulthandler the log of a node that crashes says in which Python line.
    text = _CHILD_PROGRAM.format(NODE_MODULES[program])
    command = [sys.executable, '-X', 'faulthandler', '-c', text, '--ros-args']
    for name, value in params.items():
        given = value.tolist() if isinstance(value, np.ndarray) else value
        command += ['-p', f'{name}:={yaml_line(given)}']
    for name, new in remaps.items():
        command += ['-r', f'{name}:={new}']
    return command


class NodeGroup:
    """
    Nodes that run as child processes; a context manager that ends them all at its exit.

    Each child has its own session, so that Ctrl-C in a terminal does not reach it. `end_nodes`
    interrupts the children in reverse order of their start: the node that commands the arm must be
    started last, to end while the arm still receives torques. If this process dies, all children
    get SIGINT. The output of each child goes to PROGRAM.log in `folder`. `processes` are the
    children that were started and not yet ended, by program.
    """

    def __init__(self, folder: Path) -> None:
        """Store the folder for log files; no node is started yet."""
        self._folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start_node(
        self,
        program: str,
        params: Mapping[str, Any],
        remaps: Mapping[str, str] | None = None,
        realtime: str | None = None,
    ) -> None:
        """
        Start a program of NODE_MODULES in the namespace of simulated arms.

        `params` (values by name) and `remaps` (topics) are the node's. `realtime` (REALTIME_ON or
        REALTIME_OFF; None: the program's own) says whether it asks for real-time scheduling if
        FRANKA_DYNAMICS_REALTIME is not set.
        """
        environment = dict(os.environ)
        if realtime is not None:
            environment.setdefault(REALTIME_VARIABLE, realtime)
        names = {'__ns': f'/{SIMULATION_NAMESPACE}', **(remaps or {})}
        with (self._folder / f'{program}.log').open('wb') as log:
            self.processes[program] = subprocess.Popen(
                node_command_line(program, params, names),
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )

    def start_arm_and_node(
        self,
        plant: Mapping[str, Any],
        node: Mapping[str, Any],
        lockstep_rate: float | None = None,
        *,
        clock: bool = False,
        realtime: str | None = None,
    ) -> None:
        """
        Start the processes of a simulated arm and of the feedforward node that controls it.

        `plant` and `node` are their parameters; the arm's ~/status says when it is held. With
        `lockstep_rate` [steps/s at most] simulated time waits for each torque. With `clock`
        simulated time is published on /clock, and the node uses it. `realtime` is as in
        start_node, but not in lockstep: there nothing is late, and where two such pairs occupy two
        cores, control threads under SCHED_FIFO would keep those that plan motions from running for
        seconds.
        """
        arm_parameters = dict(plant)
        arm_remaps = {}
        # On a busy machine the simulated arm pauses, unlike a real arm, and simulated time falls
        # behind. With long time-outs the node does not stop the arm when joint states are late.
        node_parameters = {'max_state_age': 0.0, 'period': 2.5 if lockstep_rate else 0.25}
        if lockstep_rate:
            realtime = REALTIME_OFF
            arm_parameters['lockstep_rate'] = lockstep_rate
            arm_parameters['lockstep_timeout'] = 1.0  # the node of a busy machine may need long
        if clock:
            arm_parameters['publish_clock'] = True
            arm_remaps['clock'] = '/clock'
            node_parameters['use_sim_time'] = True
        self.start_node('simulator_node', arm_parameters, arm_remaps, realtime)
        node_parameters.update(node)
        self.start_node(
            'feedforward_node', node_parameters, {'~/command': COMMAND_TOPIC}, realtime
        )

    def require_running(self) -> None:
        """Raise NodeEndedError, with its log's last line or path, if a node has ended."""
        for program, process in self.processes.items():
            if process.poll() is not None:
                raise NodeEndedError(self._end_sentence(program, process))

    def end_nodes(self) -> list[str]:
        """
        End the nodes, the last started first, by SIGINT and after 10 s SIGKILL; return failures.

        A failure is a sentence about a node whose exit status was not 0.
        """
        failures = []
        while self.processes:
            program, process = self.processes.popitem()
            process.send_signal(signal.SIGINT)
            try:
                process.wait(_NODE_END_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if process.returncode:
                failures.append(self._end_sentence(program, process))
        return failures

    def _end_sentence(self, program: str, process: subprocess.Popen[bytes]) -> str:
        """Return text on how a node ended, with the last line or the path of the node's log."""
        log = self._folder / f'{program}.log'
        # Python's report of a crash ends with a list of modules, not with the cause.
        if process.returncode < 0:
            name = signal.Signals(-process.returncode).name
            return f'{program} was ended by {name}; its log is {log}.'
        if shutil.disk_usage(self._folder).free < _MIN_FREE_DISK_BYTES:
            return f'{program} ended, as the disk of {self._folder} is full; choose another place.'
        text = log.read_text(errors='replace').strip()
        last = text.splitlines()[-1] if text else 'it said nothing'
        return f'{program} ended with exit status {process.returncode}: {last}'

    def __enter__(self) -> Self:
        """Return the group, in which no node runs yet."""
        return self

    def __exit__(self, *_: object) -> None:
        """End all nodes."""
        self.end_nodes()


def use_isolated_network() -> None:
    """
    Set the environment so that this process and its children reach only each other's nodes.

    They use UDP on 127.0.0.1 and a ROS domain of their own, so that torques reach no real arm.

    Call use_isolated_network before rclpy.init. The discovery range LOCALHOST would stay off the
    network as well, but with rmw_fastrtps it implies shared memory and unicast discovery:
    discovery was seen to take three seconds, and processes to crash at exit. Discovery by
    multicast on the loopback interface takes 0.12 s. If RMW_IMPLEMENTATION names Cyclone DDS,
    which knows no profiles of Fast DDS, or Fast DDS is not installed, that range is taken.

    The ROS domain is a random one that no other process has claimed by this function and in which
    no node runs on this machine; NoFreeDomainError if there is none. It stays claimed until this
    process ends.
    """
    os.environ['ROS_DOMAIN_ID'] = str(claim_free_domain())
    for name in (*FASTDDS_PROFILE_VARIABLES, *_DISCOVERY_OVERRIDE_VARIABLES):
        os.environ.pop(name, None)
    if os.environ.get(_RMW_VARIABLE) == _CYCLONE or not _is_fastdds_installed():
        os.environ[_DISCOVERY_RANGE_VARIABLE] = 'LOCALHOST'
        return
    os.environ[_RMW_VARIABLE] = _FASTDDS
    os.environ[_DISCOVERY_RANGE_VARIABLE] = 'SYSTEM_DEFAULT'
    use_fastdds_profile('fastdds_loopback.xml')


def _is_fastdds_installed() -> bool:
    """Return whether ROS can load Fast DDS: unless ament's index lists other middleware alone."""
    try:
        from ament_index_python import get_resources

        listed = {*get_resources('rmw_typesupport')} - {'rmw_implementation'}
    except (
        ImportError,
        OSError,
    ):  # ROS's wheels set no path of an index, and have Fast DDS
        return True
    return _FASTDDS in listed or not listed


def claim_free_domain() -> int:
    """Reserve and return a ROS domain unused on this machine, or raise NoFreeDomainError."""
    for domain in random.SystemRandom().sample(ROS_DOMAIN_IDS, len(ROS_DOMAIN_IDS)):
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            claim.bind(f'\0franka_dynamics/domain/{domain}')
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                # Every node in a domain binds the domain's discovery port (RTPS 2.5, 9.6.2).
                probe.bind(('', 7400 + 250 * domain))
        except OSError:
            claim.close()
            continue
        claim.detach()  # stays open until this process ends; children do not inherit it
        return domain
    raise NoFreeDomainError('Every ROS domain is in use; end the nodes that are left over.')
