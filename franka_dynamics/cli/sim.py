# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The work of `franka-dynamics sim`, which runs a simulated arm, its node and a view of it."""

from collections.abc import Callable
from importlib.util import find_spec
import math
import os
from pathlib import Path
import tempfile
import time
from typing import Any, Self

from .choices import ArmChoice, forbid_options
from .console import echo
from .end_signals import catch_end_signals
from .requests import SimRequest
from ..arm import ArmDescription
from ..arm.friction import LinearFriction
from ..arm.payload import payload_array
from ..arm_io import save
from ..control.default_gains import low_gains
from ..demo.random_plant import random_plant
from ..errors import FrankaDynamicsError
from ..ros import SIMULATION_NAMESPACE
from ..ros.clients.node_group import NodeEndedError, NodeGroup
from ..ros.parameter_tables import SIMULATED_MODEL_SOURCE
from ..ros.topic_listener import ArmPositionListener, TopicListener

_SIMULATOR_NODE = f'/{SIMULATION_NAMESPACE}/simulator'
_FEEDFORWARD_NODE = f'/{SIMULATION_NAMESPACE}/feedforward'
_DISCOVERY_RANGE_VARIABLE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
_POLL_PERIOD_S = 0.2
_MAX_DAMPING_RATE_PER_S = 300.0  # of velocities by the PD; torques are 1 ms late
_DISCOVERY_TIMEOUT_S = 1.0  # wait for another simulated arm to be discovered [s]
_SLOWNESS_ADVICE = ': with --clock, programs with use_sim_time keep pace with it'
_SIMULATION_RATE_HZ = 1000.0  # steps of the simulated arm per second at --real-time-factor 1


class SimError(FrankaDynamicsError):
    """Another simulated arm runs already, or the arm was not held within --duration."""

    status = 1


def simulate(choice: ArmChoice, request: SimRequest) -> int:
    """
    Run the simulated arm, its node and the view until --duration or Ctrl-C.

    Return 1 if the node has a fault at the end, else 0. Raises SimError if another simulated arm
    runs or the arm is not held within --duration, and NodeEndedError if a node ends early.
    """
    if request.realistic:
        forbid_options('--realistic', 'ideal')
    has_view = not request.no_view
    if has_view and find_spec('viser') is None:
        has_view = False
        echo(
            "no view in a browser: viser is not installed (pip install '.[view]')",
            'note',
        )
    arm = choice.load()
    # Unless the user sets another range, ROS 2 discovers only this machine's nodes, because a
    # real arm may listen on the network.
    os.environ.setdefault(_DISCOVERY_RANGE_VARIABLE, 'LOCALHOST')
    _require_no_simulated_arm()
    with tempfile.TemporaryDirectory(prefix='franka-dynamics-sim-') as scratch:
        folder = Path(scratch) if request.output is None else request.output
        folder.mkdir(parents=True, exist_ok=True)
        model_parameters = choice.node_parameters(folder)
        plant_parameters = model_parameters
        if request.realistic:
            plant_parameters = _write_random_plant(arm, folder)
        # The nodes end with this command, so that none goes on commanding a torque.
        with catch_end_signals() as keep_running, NodeGroup(folder) as nodes:
            try:
                # The arm waits for each torque, so that a slow machine changes only the pace.
                nodes.start_arm_and_node(
                    {
                        **plant_parameters,
                        'gravity_compensation': request.target == 'fci',
                        'ideal': request.ideal,
                    },
                    {
                        **model_parameters,
                        'target': request.target,
                        **_gain_and_drive_parameters(arm, request),
                    },
                    _SIMULATION_RATE_HZ * request.real_time_factor,
                    clock=request.clock,
                )
                where = f'{_DISCOVERY_RANGE_VARIABLE}={os.environ[_DISCOVERY_RANGE_VARIABLE]}'
                echo(f'{choice.arm}, target {request.target}, {where}; Ctrl-C ends it.')
                with _RunningSimulation(arm, nodes, keep_running, request) as simulation:
                    return simulation.run_until_end(has_view=has_view)
            except NodeEndedError:
                # After Ctrl-C a node that has ended is no error.
                if keep_running():
                    raise
    return 0


def _gain_and_drive_parameters(arm: ArmDescription, request: SimRequest) -> dict[str, Any]:
    """Return the node's parameters of a weak joint PD, and of what it knows of the drives."""
    parameters: dict[str, Any] = {}
    simulated_arm = arm
    if not request.ideal and arm.simulated_armature is not None:
        simulated_arm = arm.with_armature()
    if not request.no_gains:
        parameters['kp'], parameters['kd'] = low_gains(simulated_arm, _MAX_DAMPING_RATE_PER_S)
    is_like_its_model = not (request.ideal or request.realistic)
    if request.clock and request.target == 'mujoco' and is_like_its_model:
        friction = simulated_arm.friction or simulated_arm.simulated_friction
        parameters['model_source'] = SIMULATED_MODEL_SOURCE
        parameters['terms.friction'] = friction is not None
        parameters['terms.offset'] = isinstance(friction, LinearFriction)
    return parameters


def _require_no_simulated_arm() -> None:
    """Raise SimError if a node is discovered in the namespace of simulated arms."""
    with TopicListener('sim') as listener:

        def others_exist() -> bool:
            """Return whether a node is discovered in the namespace of simulated arms."""
            nodes = listener.node.get_node_names_and_namespaces()
            return any(space == f'/{SIMULATION_NAMESPACE}' for _, space in nodes)

        if listener.wait_until(others_exist, _DISCOVERY_TIMEOUT_S):
            domain = os.environ.get('ROS_DOMAIN_ID') or '0'
            raise SimError(
                f'A simulated arm runs already in ROS_DOMAIN_ID {domain}, and would take the '
                'torques of this one: end it, or set another ROS_DOMAIN_ID for this one.'
            )


class _RunningSimulation:
    """
    A simulated arm and its node that run, and what they have said; a context manager.

    `poll` receives what the nodes say, and prints once that the simulation is slow, and each new
    fault of the node. `has_fault` says whether the node has a fault now.
    """

    def __init__(
        self,
        arm: ArmDescription,
        nodes: NodeGroup,
        keep_running: Callable[[], bool],
        request: SimRequest,
    ) -> None:
        """Store the nodes, and begin to listen; --duration begins now."""
        self._arm = arm
        self._nodes = nodes
        self._keep_running = keep_running
        self._request = request
        duration = math.inf if request.duration is None else request.duration
        self._end = time.monotonic() + duration
        self._is_slowness_told = False
        self.has_fault = False
        self._listener = TopicListener('sim')
        self._heard_nodes = self._listener.heard_nodes()

    def __enter__(self) -> Self:
        """Return the simulation."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop listening; the nodes go on."""
        self._listener.__exit__()

    def run_until_end(self, *, has_view: bool) -> int:
        """Wait until the arm is held, show it, wait for the end; return 1 in a fault, else 0."""
        if self._wait_until_held():
            echo('the arm is held; `franka-dynamics node --help` lists what its node can be asked')
            if has_view:
                self._show_until_end()
            while self.poll(_POLL_PERIOD_S):
                pass
        return int(self.has_fault)

    def _wait_until_held(self) -> bool:
        """Wait until torques hold the arm; return False after a signal, raise SimError if late."""
        while True:
            status = self._listener.latest_status(_SIMULATOR_NODE)
            if status is not None and status.is_arm_held:
                return True
            if not self.poll(_POLL_PERIOD_S):
                if not self._keep_running():
                    return False
                duration = self._request.duration
                raise SimError(f'The arm is not held in {duration:g} s; raise --duration.')

    def _show_until_end(self) -> None:
        """Show the arm in the browser until the end."""
        from ..view.page import ArmPage, show_positions

        topic = f'/{SIMULATION_NAMESPACE}/joint_states'
        with (
            ArmPage(self._arm) as page,
            ArmPositionListener(self._arm.joint_names, topic) as states,
        ):
            echo(f'open {page.address} in a browser')
            show_positions(page, states.read_position, self.poll)

    def poll(self, wait: float = 0.0) -> bool:
        """
        Receive messages for `wait` [s], and report what is new; return whether to go on.

        Raises NodeEndedError if a node has ended.
        """
        self._listener.poll_for(wait)
        self._report_slowness()
        self._report_fault()
        if not self._keep_running():
            return False
        self._nodes.require_running()
        return time.monotonic() < self._end

    def _report_slowness(self) -> None:
        """Print once that the simulation is slower than --real-time-factor, if it is."""
        simulator = self._heard_nodes.get(_SIMULATOR_NODE.lstrip('/'))
        if simulator is None or self._is_slowness_told:
            return
        slowness = simulator.slowness_text(self._request.real_time_factor)
        if slowness:
            self._is_slowness_told = True
            advice = '' if self._request.clock else _SLOWNESS_ADVICE
            echo(f'the simulation {slowness}{advice}', 'note')

    def _report_fault(self) -> None:
        """Print a fault of the node when it begins."""
        status = self._listener.latest_status(_FEEDFORWARD_NODE)
        had_fault = self.has_fault
        self.has_fault = status is not None and status.level == 'ERROR'
        if status is not None and self.has_fault and not had_fault:
            echo(f'the node has a fault: {status.message}', style='red')


def _write_random_plant(arm: ArmDescription, folder: Path) -> dict[str, Any]:
    """Write the file of an arm drawn near its model; return the simulator's parameters for it."""
    plant = random_plant(arm)
    settings = plant.settings
    file = folder / 'plant.yaml'
    save(plant.arm, file, source='drawn about its model')
    return {
        'robot_type': f'{file}',
        'payload': payload_array(settings.payload),
        'noise': [settings.position_noise, settings.velocity_noise, settings.effort_noise],
    }
