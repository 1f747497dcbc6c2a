# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""`franka-dynamics sim`: a simulated arm, the node that holds it, and a view in the browser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import os
from pathlib import Path
import tempfile
import time
from typing import Any, TYPE_CHECKING

from ._arm_options import ArmOptions, suggest
from ._interrupts import until_interrupted
from ._options import folder_option
from ._say import say
from ..arm import ArmDescription
from ..errors import FrankaDynamicsError
from ..options import option

if TYPE_CHECKING:
    from ..ros.node_group import NodeGroup

_RANGE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'
_CHECK_S = 0.2
_WEAK_RATE = 300.0  # largest decay rate of velocities by the PD [1/s]; torques are 1 ms late
_STEP_RATE = 1000.0  # steps of the simulated arm per second at --real-time-factor 1


class _NotHeldError(FrankaDynamicsError):
    """The node did not hold the simulated arm before --duration was over."""

    status = 1


@dataclass(frozen=True, kw_only=True)
class Sim(ArmOptions):
    """Run a simulated arm with the node that holds it and a view in the browser."""

    target: str = option(
        'who compensates gravity: the node (mujoco), or the simulated arm itself, as a real '
        'Franka arm does (fci)',
        choices=('mujoco', 'fci'),
        default='mujoco',
    )
    realistic: bool = option(
        'simulate an arm that differs from the model: inertias some 10 % off, friction, sensor '
        'noise, and 0.2 kg on the flange that the model does not know',
        default=False,
    )
    ideal: bool = option(
        'simulate the model itself, without the armature and friction that are known of the '
        "real arm's joints",
        default=False,
    )
    real_time_factor: float = option(
        'largest ratio of simulated to real time, 0.05 to 100; late torques slow the simulation '
        'down. 0.25 shows details and saves processor time',
        'F',
        default=1.0,
        least=0.05,
        most=100.0,
    )
    no_gains: bool = option('hold by feedforward alone, without a weak joint PD', default=False)
    no_view: bool = option('do not serve the page for a browser', default=False)
    output: Path | None = folder_option(
        "keep the nodes' logs in this folder (default: they are deleted)"
    )
    duration: float | None = option(
        'end after this time [s] (default: at Ctrl-C)', 'S', default=None, least=1e-3
    )

    def run(self) -> int:
        """
        Run until --duration or Ctrl-C.

        Exit 1 if a node ends early, the arm is not held, or the node has a fault at the end.
        """
        import rclpy  # noqa: F401  (without ROS this fails before anything starts)

        if self.realistic:
            self.refuse('--realistic', 'ideal')
        arm = self.load_arm()
        # Unless the user sets another range, ROS 2 discovers only this machine's nodes, because a
        # real arm may listen on the network.
        os.environ.setdefault(_RANGE, 'LOCALHOST')
        from ..ros.node_group import NodeEndedError, NodeGroup

        with tempfile.TemporaryDirectory(prefix='franka-dynamics-sim-') as scratch:
            folder = Path(scratch) if self.output is None else self.output
            folder.mkdir(parents=True, exist_ok=True)
            # The nodes end with this command, so that none goes on commanding a torque.
            with until_interrupted() as unasked, NodeGroup(folder) as nodes:
                try:
                    self._start(arm, nodes, folder)
                    return self._hold(arm, nodes, unasked)
                except NodeEndedError:
                    # After Ctrl-C a node that has ended is no error.
                    if unasked():
                        raise
        return 0

    def _start(self, arm: ArmDescription, nodes: NodeGroup, folder: Path) -> None:
        from ..control.default_gains import weak_gains

        simulated = arm if self.ideal or arm.simulated_armature is None else arm.with_armature()
        gains = {} if self.no_gains else dict(zip(('kp', 'kd'), weak_gains(simulated, _WEAK_RATE)))
        # The simulated arm waits for each torque, so that a slow machine changes only the pace.
        model = self.node_parameters() | self.payload_parameter()
        plant = _drawn_plant(arm, folder) if self.realistic else model
        nodes.start_arm_and_node(
            {**plant, 'gravity_compensation': self.target == 'fci', 'ideal': self.ideal},
            {**model, 'target': self.target, **gains},
            _STEP_RATE * self.real_time_factor,
        )
        say(f'{self.arm}, target {self.target}, {_RANGE}={os.environ[_RANGE]}; Ctrl-C ends it.')

    def _hold(self, arm: ArmDescription, nodes: NodeGroup, unasked: Callable[[], bool]) -> int:
        """
        Wait until the arm is held, then until Ctrl-C or the end of --duration.

        While the arm is held, serve the view, unless --no-view is given. Return the exit status:
        1 if the node has a fault at the end, else 0.
        """
        from ..ros import SIMULATION
        from ..ros.observer import is_held, StatusFeed

        simulator, node = (f'/{SIMULATION}/{name}' for name in ('simulator', 'feedforward'))
        end = None if self.duration is None else time.monotonic() + self.duration
        fault = False
        with StatusFeed(simulator, node) as feed:

            def go_on(wait: float = 0.0) -> bool:
                nonlocal fault
                latest, before = feed.read(wait), fault
                fault = node in latest and latest[node].level == 'ERROR'
                if fault and not before:
                    why = '`node state` says why'
                    say(f'the node has a fault and commands no torque: {why}', style='red')
                if not unasked():
                    return False
                nodes.require_all()
                return end is None or time.monotonic() < end

            while not is_held(feed.read().get(simulator)):
                if not go_on(_CHECK_S):
                    if unasked():
                        raise _NotHeldError(
                            f'The arm was not held within {self.duration:g} s; give --duration '
                            'more time, and end other simulated arms in this ROS_DOMAIN_ID.'
                        )
                    return int(fault)
            self._show_commands()
            if self.no_view:
                while go_on(_CHECK_S):
                    pass
                return int(fault)
            from ..ros.live_view import watch
            from ..view.window import Window

            with Window(arm) as window:
                say(f'open {window.address} in a browser')
                watch(window, arm, 'joint_states', 'feedforward', go_on)
        return int(fault)

    def _show_commands(self) -> None:
        from ..ros.trajectories import ready_excitation

        arm, ready = self.arm_as_given(), ready_excitation(self.arm) is not None
        motion = self.arm if ready else 'excitation.yaml'
        say('The arm is held. Meanwhile, in another terminal:')
        suggest(
            'node monitor',
            'node set scale 0.5',
            *(() if ready else (f'identify plan {arm} --output {motion}',)),
            f'node play {motion} --record recording',
        )


def _drawn_plant(arm: ArmDescription, folder: Path) -> dict[str, Any]:
    """Write the file of an arm unlike the model; return the simulator's parameters for it."""
    from ..arm.arm_file_writer import save
    from ..arm.payload import payload_array
    from ..simulation.model_trial import draw_plant

    plant = draw_plant(arm)
    save(plant.arm, folder / 'plant.yaml', source='drawn about its model')
    settings = plant.settings
    return {
        'robot_type': str(folder / 'plant.yaml'),
        'payload': payload_array(settings.payload),
        'position_noise': settings.position_noise,
        'velocity_noise': settings.velocity_noise,
        'effort_noise': settings.effort_noise,
    }
