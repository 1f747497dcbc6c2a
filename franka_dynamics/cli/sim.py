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
from typing import Any

from .choices import ArmChoice, forbid_options, Options
from .console import catch_end_signals, echo
from ..arm import ArmDescription
from ..arm.payload import payload_array
from ..arm_io import save
from ..control.default_gains import low_gains
from ..demo.random_plant import random_plant
from ..errors import FrankaDynamicsError
from ..ros import SIMULATION_NAMESPACE
from ..ros.node_group import NodeEndedError, NodeGroup
from ..ros.parameter_tables import SIMULATED_MODEL_SOURCE
from ..ros.topic_listener import ArmPositionListener, TopicListener

_DISCOVERY_RANGE_VARIABLE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
_POLL_PERIOD_S = 0.2
_MAX_DAMPING_RATE_PER_S = 300.0  # of velocities by the PD; torques are 1 ms late
_DISCOVERY_TIMEOUT_S = 1.0  # wait for another simulated arm to be discovered [s]
_SLOWNESS_ADVICE = ': with --clock, programs with use_sim_time keep pace with it'
_SIMULATION_RATE_HZ = 1000.0  # steps of the simulated arm per second at --real-time-factor 1


class SimError(FrankaDynamicsError):
    """Another simulated arm runs already, or the arm was not held within --duration."""

    status = 1


def run(arm: ArmChoice, options: Options) -> int:
    """
    Run simulated arm, node, view until --duration or Ctrl-C; return 1 after a fault, else 0.

    Exit 1 if another simulated arm runs, a node ends early, the arm is not held, or the node has
    a fault at the end.
    """
    if options.realistic:
        forbid_options('--realistic', 'ideal')
    if not options.no_view and find_spec('viser') is None:
        options.no_view = True
        echo(
            "no view in a browser: viser is not installed (pip install '.[view]')",
            'note',
        )
    description = arm.load()
    target = options.target
    # Unless the user sets another range, ROS 2 discovers only this machine's nodes, because a
    # real arm may listen on the network.
    os.environ.setdefault(_DISCOVERY_RANGE_VARIABLE, 'LOCALHOST')
    _require_no_simulated_arm()
    driven = description
    if not options.ideal and description.simulated_armature is not None:
        driven = description.with_armature()
    gains = {}
    if not options.no_gains:
        gains = dict(zip(('kp', 'kd'), low_gains(driven, _MAX_DAMPING_RATE_PER_S)))
    drives: dict[str, Any] = {}
    if options.clock and target == 'mujoco' and not (options.ideal or options.realistic):
        rubs = (driven.friction or driven.simulated_friction) is not None
        drives = {'model_source': SIMULATED_MODEL_SOURCE, 'terms.friction': rubs}
    with tempfile.TemporaryDirectory(prefix='franka-dynamics-sim-') as scratch:
        folder = Path(scratch) if options.output is None else options.output
        folder.mkdir(parents=True, exist_ok=True)
        model = arm.node_parameters(folder)
        plant = _write_random_plant(description, folder) if options.realistic else model
        # The nodes end with this command, so that none goes on commanding a torque.
        with catch_end_signals() as keep_running, NodeGroup(folder) as nodes:
            try:
                # The arm waits for each torque, so that a slow machine changes only the pace.
                nodes.start_arm_and_node(
                    {
                        **plant,
                        'gravity_compensation': target == 'fci',
                        'ideal': options.ideal,
                    },
                    {**model, 'target': target, **gains, **drives},
                    _SIMULATION_RATE_HZ * options.real_time_factor,
                    clock=options.clock,
                )
                where = f'{_DISCOVERY_RANGE_VARIABLE}={os.environ[_DISCOVERY_RANGE_VARIABLE]}'
                echo(f'{arm.arm}, target {target}, {where}; Ctrl-C ends it.')
                return _run_until_end(description, nodes, keep_running, options)
            except NodeEndedError:
                # After Ctrl-C a node that has ended is no error.
                if keep_running():
                    raise
    return 0


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


def _run_until_end(
    arm: ArmDescription,
    nodes: NodeGroup,
    keep_running: Callable[[], bool],
    options: Options,
) -> int:
    """
    Wait until the arm is held (or raise SimError), then for the end; return the exit status.

    While the arm is held, serve the view. Return the exit status: 1 if the node has a fault at the
    end, else 0.
    """
    simulator, node = (f'/{SIMULATION_NAMESPACE}/{name}' for name in ('simulator', 'feedforward'))
    end = time.monotonic() + (math.inf if options.duration is None else options.duration)
    fault = False
    slowness_told = False
    with TopicListener('sim') as feed:
        heard = feed.heard_nodes()

        def keep_waiting(wait: float = 0.0) -> bool:
            """Receive messages for `wait` [s], print new faults; return whether to wait more."""
            nonlocal fault, slowness_told
            feed.poll_for(wait)
            arm_node = heard.get(simulator.lstrip('/'))
            factor = options.real_time_factor
            slowness = '' if arm_node is None else arm_node.slowness_text(factor)
            if slowness and not slowness_told:
                slowness_told = True
                advice = '' if options.clock else _SLOWNESS_ADVICE
                echo(f'the simulation {slowness}{advice}', 'note')
            latest = feed.latest_status(node)
            before = fault
            fault = latest is not None and latest.level == 'ERROR'
            if latest is not None and fault and not before:
                echo(f'the node has a fault: {latest.message}', style='red')
            if not keep_running():
                return False
            nodes.require_running()
            return time.monotonic() < end

        while not ((arms := feed.latest_status(simulator)) and arms.is_arm_held):
            if not keep_waiting(_POLL_PERIOD_S):
                if not keep_running():
                    return int(fault)
                raise SimError(f'The arm is not held in {options.duration:g} s; raise --duration.')
        echo('the arm is held; `franka-dynamics node --help` lists what its node can be asked')
        if not options.no_view:
            from ..view.page import ArmPage, show_positions

            topic = f'/{SIMULATION_NAMESPACE}/joint_states'
            with (
                ArmPage(arm) as window,
                ArmPositionListener(arm.joint_names, topic) as states,
            ):
                echo(f'open {window.address} in a browser')
                show_positions(window, states.read_position, keep_waiting)
        while keep_waiting(_POLL_PERIOD_S):
            pass
    return int(fault)


def _write_random_plant(arm: ArmDescription, folder: Path) -> dict[str, Any]:
    """Write the file of an arm drawn near its model; return the simulator's parameters for it."""
    plant = random_plant(arm)
    own = plant.settings
    file = folder / 'plant.yaml'
    save(plant.arm, file, source='drawn about its model')
    noise = [own.position_noise, own.velocity_noise, own.effort_noise]
    return {
        'robot_type': f'{file}',
        'payload': payload_array(own.payload),
        'noise': noise,
    }
