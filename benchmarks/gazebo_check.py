# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Measure an arm in Gazebo: hold, track, pause, reset, a silent node, real-time factors.

Starts gazebo.launch.py, unless `ros2` or both `gz` and `ign` are missing. `make gazebo-check`.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
import os
from pathlib import Path
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from timing import new_parser
from trajectory_msgs.msg import JointTrajectory

from franka_dynamics.arm import load
from franka_dynamics.demo.multisine import multisine
from franka_dynamics.files import share_directory
from franka_dynamics.motion.trajectory import Trajectory
from franka_dynamics.ros import SIMULATION_NAMESPACE
from franka_dynamics.ros.clients.node_client import NodeClient
from franka_dynamics.ros.messages import stamp_to_seconds
from franka_dynamics.ros.rclpy_private import Executor
from franka_dynamics.ros.topics import REFERENCE_QOS, STATE_QOS
from franka_dynamics.ros.trajectory_messages import (
    reference_message,
    trajectory_from_message,
)

NOT_HERE = (
    'gazebo-check: skipped, because {} is not installed here; docs/howto/gazebo.md says '
    'how to install Gazebo.'
)
PROGRAMS = {'gz': 'gz.msgs', 'ign': 'ignition.msgs'}
# A start may last START_S of real time until the clock runs [s], and then BEGIN_S of simulated
# time until a torque comes [s].
START_S = 90.0
BEGIN_S = 20.0
ANSWER_S = 30.0
ATTEMPTS = 3
STATE_DEPTH = 20_000  # joint states of 20 s, of which one comes each simulated millisecond
PLANNED_S = 5.0  # [s] after which a reference that was not answered is sent again
# The launch file puts the arm and its node into this namespace.
FEEDFORWARD = f'{SIMULATION_NAMESPACE}/feedforward'
COMMAND = f'{FEEDFORWARD}: Command'

# Under ros2_control the arm leaves home before the first torque, and the launch file leads it back
# within LEAD_S of simulated time (docs/howto/gazebo.md).
HOLD_RAD = {'direct': 1e-3, 'ros2_control': 0.03}
LEAD_S = 3.0
TRACK_MRAD = 10.0
RECOVERED_RAD = 0.05
# No simulated time passes in a pause. So a motion that is paused must be followed like any other:
# within TRACK_MRAD rms of all n joints. If a single joint errs, that is sqrt(n) times as much of
# this joint, and an error that grows evenly ends at sqrt(3) times its rms.
FARTHEST_PER_RMS = np.sqrt(3.0)
# Gazebo's physics does not wait for torques. Simulated time passes slowly in this motion, so that
# a torque which a busy machine delays by 50 ms is only 5 ms old.
PAUSE_FACTOR = 0.1
# Real duration of a pause [s]; simulated time after a motion that was paused in which the arm may
# still move away [s], that the arm has to recover after a reset [s], and for which the node is
# stopped [s].
PAUSED_S = 3.0
PAUSE_DELAY_S = 0.01  # by which the last state differs from the stamp of a pause at most [s]
AFTERWARDS_S = 1.0
RECOVERY_S = 3.0
SILENT_S = 1.0
NODE_STARTED = r'feedforward_node-\d+\]: process started with pid \[(\d+)\]'
FACTORS = 0.02, 0.04, 0.25, 5.0  # real-time factors to try
STILL_RAD = 1e-4  # an arm stands still if no joint moves further in a fifth of a second


@dataclass(frozen=True)
class Figure:
    """A measured value and its bound (None: no bound)."""

    name: str
    value: float
    unit: str
    most: float | None = None
    reached: float | None = None  # the real-time factor during the check

    def __str__(self) -> str:
        reached = '' if self.reached is None else f' (reached {self.reached:.2f})'
        bound = '' if self.most is None else f' (at most {self.most:g})'
        missed = '' if self.fine else ', MISSED'
        return f'{self.name}{reached}: {self.value:.3g} {self.unit}{bound}{missed}'

    @property
    def fine(self) -> bool:
        """Whether the value keeps its bound, or has none; NaN keeps no bound."""
        return self.most is None or self.value <= self.most


class Gazebo:
    """Gazebo, started by gazebo.launch.py and controlled by the services of `gz`."""

    def __init__(self, robot_type: str, control: str, folder: Path) -> None:
        self._log = (folder / 'launch.log').open('wb')
        # In Gazebo Fortress the program `gz` is called `ign`, and `gz.msgs` `ignition.msgs`.
        self._program, self._package = next(
            (name, package) for name, package in PROGRAMS.items() if shutil.which(name)
        )
        world = share_directory() / 'config' / 'gazebo_world.sdf'
        launch = 'ros2 launch franka_dynamics gazebo.launch.py gui:=false'.split()
        self._launch = subprocess.Popen(
            [
                *launch,
                f'robot_type:={robot_type}',
                f'control:={control}',
                f'world:={world}',
            ],
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def pause(self, on: bool) -> None:
        """Pause or resume simulated time."""
        self._ask('control', 'WorldControl', f'pause: {str(on).lower()}')

    def pause_at(self, stamp: float) -> None:
        """Pause when simulated time reaches a stamp [s]; a stamp that has passed is ignored."""
        seconds, fraction = divmod(stamp, 1.0)
        time_ = f'sec: {seconds:.0f}, nsec: {1e9 * fraction:.0f}'
        self._ask('control', 'WorldControl', f'run_to_sim_time: {{{time_}}}')

    def reset(self) -> None:
        """Reset simulated time and joints, and pause."""
        self._ask('control', 'WorldControl', 'pause: true, reset: {all: true}')

    def pace(self, factor: float) -> None:
        """Set Gazebo's desired real-time factor."""
        self._ask(
            'set_physics',
            'Physics',
            f'max_step_size: 0.001, real_time_factor: {factor}',
        )

    def signal_node(self, number: signal.Signals) -> None:
        """Send a signal to the feedforward node's process."""
        self._log.flush()
        started = re.search(NODE_STARTED, Path(self._log.name).read_text(encoding='utf-8'))
        if started is None:
            raise RuntimeError('the launch does not say which process the feedforward node is')
        os.kill(int(started[1]), number)

    def _ask(self, service: str, kind: str, request: str) -> None:
        asked = f'{self._program} service -s /world/franka/{service} --timeout 5000'
        kinds = f'--reqtype {self._package}.{kind} --reptype {self._package}.Boolean'
        command = [*asked.split(), *kinds.split(), '--req', request]
        # A call waits 5 s for Gazebo, perhaps too short on a busy machine; so try ATTEMPTS times.
        for _ in range(ATTEMPTS):
            answer = subprocess.run(
                command,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=ANSWER_S,
            )
            self._log.write(answer.stdout)
            if b'data: true' in answer.stdout:
                return
        raise RuntimeError(f'{service} of Gazebo answered no: {request}')

    def close(self) -> None:
        """End everything that was launched."""
        os.killpg(self._launch.pid, signal.SIGINT)
        try:
            self._launch.wait(20.0)
        except subprocess.TimeoutExpired:
            os.killpg(self._launch.pid, signal.SIGKILL)


def stamp_and_position(message: JointState) -> tuple[float, np.ndarray]:
    """Return a joint state's stamp [s] and positions (n,) [rad]."""
    return stamp_to_seconds(message.header.stamp), np.array(message.position)


class Session:
    """A ROS node that measures the arm while a check controls Gazebo."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.factor = options.real_time_factor  # the requested one
        self._arm = load(options.robot_type)
        self._seconds = options.seconds
        self._home = self._arm.home_position
        self._control = options.control
        self._node = rclpy.create_node('gazebo_check', namespace=SIMULATION_NAMESPACE)
        # It needs a fifth of the SingleThreadedExecutor's time per message.
        self._executor = Executor()
        self._executor.add_node(self._node)
        self.states: list[tuple[float, np.ndarray]] = []
        self.diagnostics: dict[str, dict[str, str]] = {}
        self._told_at: dict[str, float] = {}  # stamps of the diagnostics, on the states' clock [s]
        self.planned: list[JointTrajectory] = []
        self._node.create_subscription(JointState, 'joint_states', self._on_state, STATE_QOS)
        self._node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 10)
        self._node.create_subscription(
            JointTrajectory,
            'feedforward/feedforward_trajectory',
            self.planned.append,
            REFERENCE_QOS,
        )
        self._reference = self._node.create_publisher(
            JointTrajectory, 'feedforward/reference', REFERENCE_QOS
        )

    def _on_state(self, message: JointState) -> None:
        self.states.append(stamp_and_position(message))

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for entry in message.status:
            self.diagnostics[entry.name] = {pair.key: pair.value for pair in entry.values}
            self._told_at[entry.name] = stamp_to_seconds(message.header.stamp)

    def close(self) -> None:
        """Take the node down."""
        self._executor.shutdown()
        self._node.destroy_node()

    def spin(self, seconds_: float) -> None:
        """Process messages for a real time [s]."""
        until = time.monotonic() + seconds_
        while time.monotonic() < until:
            self._executor.spin_once(timeout_sec=0.02)

    def until(self, done: Callable[[], object], what: str, timeout: float = START_S) -> None:
        """Process messages until `done` returns true; RuntimeError after `timeout` [s]."""
        give_up = time.monotonic() + timeout
        while not done():
            self._executor.spin_once(timeout_sec=0.02)
            if time.monotonic() > give_up:
                raise RuntimeError(f'never happened: {what}; {self.diagnostics.get(COMMAND)}')

    def counts(self, *keys: str) -> list[int]:
        """Return counts, such as of stops, from the feedforward node's next diagnostics."""
        self.diagnostics.pop(COMMAND, None)
        now = self.states[-1][0] if self.states else 0.0
        # Diagnostics with older stamps were sent before this call.
        self.until(
            lambda: COMMAND in self.diagnostics and self._told_at[COMMAND] >= now,
            "the node's diagnostics",
        )
        return [int(self.diagnostics[COMMAND].get(key, 0)) for key in keys]

    def simulate(self, simulated: float) -> list[tuple[float, Any]]:
        """Return the joint states of the next `simulated` seconds of simulated time."""
        timeout = START_S + 10.0 * simulated / self.factor
        first = len(self.states)
        self.until(lambda: len(self.states) > first, 'a joint state', timeout)
        end = self.states[-1][0] + simulated
        self.until(
            lambda: self.states[-1][0] >= end,
            f'{simulated} s of simulated time',
            timeout,
        )
        return self.states[first:]

    def settle(self, most: float) -> None:
        """Let simulated time pass until the arm stands still, at most for a given time [s]."""
        for _ in range(round(most / 0.2)):
            positions = [q for _, q in self.simulate(0.2)]
            if np.ptp(positions, axis=0).max() < STILL_RAD:
                return

    def begin(self) -> None:
        """Wait for the node's first torque."""
        self.until(lambda: self.states, "Gazebo's clock and the first joint state")
        limit = self.states[-1][0] + BEGIN_S
        while self.counts('published') == [0]:
            if self.states[-1][0] > limit:
                raise RuntimeError(f'no command came: {self.diagnostics[COMMAND]}')

    def away(self, states: Sequence[tuple[float, Any]], start: Any = None) -> float:
        """Return the largest distance of any joint from `start` (None: home) in states [rad]."""
        start = self._home if start is None else start
        return float(max(np.abs(q - start).max() for _, q in states))

    def play(self, duration: float, amplitude: float, lead: float = 0.5) -> Trajectory:
        """
        Send a motion that begins after `lead` seconds; return what the node planned.

        The planned trajectory's time is that of the joint states.
        """
        motion = multisine(self._arm, duration, amplitude)
        message = reference_message(motion, lead)
        self.until(lambda: self._reference.get_subscription_count() > 0, 'the node')
        self.planned.clear()
        give_up = time.monotonic() + START_S
        # Send the motion again if the node has not discovered this publisher yet, or is not
        # commanding.
        while not self.planned and time.monotonic() < give_up:
            self._reference.publish(message)
            asked = time.monotonic()
            while not self.planned and time.monotonic() - asked < PLANNED_S:
                self._executor.spin_once(timeout_sec=0.02)
        self.until(lambda: self.planned, 'the planned motion', 0.0)
        return trajectory_from_message(self.planned[-1])

    def add_motion_terms(self, add: bool) -> None:
        """Switch the feedforward node's inertia and Coriolis terms on or off."""
        with NodeClient(f'/{FEEDFORWARD}', ANSWER_S) as client:
            client.set_parameters({'scale': float(add)})

    # The checks -------------------------------------------------------------------------------

    def hold(self, world: Any) -> Iterator[Figure]:
        """Measure how far a held arm moves from home."""
        if self._control == 'ros2_control':
            led = self.away(self.simulate(LEAD_S))
            yield Figure('start: away from home', led, 'rad')
        away = self.away(self.simulate(self._seconds))
        yield Figure('hold: away from home', away, 'rad', HOLD_RAD[self._control])

    def track(self, world: Any) -> Iterator[Figure]:
        """Measure the tracking error of a motion with and without M ddq + C dq."""
        for with_terms in (True, False):
            self.add_motion_terms(with_terms)
            self.settle(3.0)  # back to where the motion before it ended
            planned = self.play(self._seconds, 0.3)
            began = time.monotonic()
            states = self.simulate(self._seconds + 0.5)
            reached = (states[-1][0] - states[0][0]) / (time.monotonic() - began)
            errors = [
                q - planned.at(stamp).q
                for stamp, q in states
                if planned.begin <= stamp <= planned.end
            ]
            rms = 1e3 * float(np.sqrt(np.mean(np.square(errors))))
            label = 'g + M ddq + C dq + PD' if with_terms else 'g + PD alone'
            yield Figure(
                f'track ±0.3 rad, {label}',
                rms,
                'mrad rms',
                TRACK_MRAD if with_terms else None,
                reached,
            )
        self.settle(3.0)
        self.add_motion_terms(True)

    def pause(self, world: Any) -> Iterator[Figure]:
        """Pause Gazebo in mid-motion, resume, and measure how far the arm is from the motion."""
        self.settle(3.0)  # back to where the motion before it ended
        usual = self.factor
        self.factor = min(usual, PAUSE_FACTOR)
        world.pace(self.factor)
        (stops,) = self.counts('stops')
        # Every state, also of the time in which a call to Gazebo blocks this process.
        states: list[tuple[float, np.ndarray]] = []
        recorder = self._node.create_subscription(
            JointState,
            'joint_states',
            lambda message: states.append(stamp_and_position(message)),
            QoSProfile(depth=STATE_DEPTH, reliability=ReliabilityPolicy.BEST_EFFORT),
        )
        planned = self.play(self._seconds, 0.3, 0.1)
        middle = 0.5 * (planned.begin + planned.end)
        # Gazebo itself pauses at the stamp: a call takes seconds on a busy machine.
        world.pause_at(middle)
        # Of the very last step there may be no state, as with gz_ros2_control.
        self.until(lambda: self.states[-1][0] >= middle - PAUSE_DELAY_S, 'the pause')
        self.spin(PAUSED_S)
        if self.states[-1][0] > middle + PAUSE_DELAY_S:
            raise RuntimeError(f'the call to pause at {middle:.3f} s of simulated time was late')
        world.pause(False)
        self.simulate(planned.end - middle)
        world.pace(usual)
        self.factor = usual
        recorded = planned.end + AFTERWARDS_S
        self.until(lambda: states[-1][0] >= recorded, 'the end of the paused motion')
        self._node.destroy_subscription(recorder)
        # After its end the motion stays at its last position.
        errors = [
            q - planned.at(min(stamp, planned.end)).q
            for stamp, q in states
            if planned.begin <= stamp <= recorded
        ]
        rms = 1e3 * float(np.sqrt(np.mean(np.square(errors))))
        yield Figure('pause in mid-motion', rms, 'mrad rms', TRACK_MRAD)
        farthest = 1e3 * float(np.abs(errors).max())
        most = FARTHEST_PER_RMS * np.sqrt(self._arm.n) * TRACK_MRAD
        yield Figure('pause in mid-motion: farthest', farthest, 'mrad', float(most))
        yield Figure('pause: stops', self.counts('stops')[0] - stops, '', 0)

    def reset(self, world: Any) -> Iterator[Figure]:
        """Reset Gazebo during a motion; measure how far the arm is from home afterwards."""
        self.play(self._seconds, 0.3)
        self.simulate(0.4 * self._seconds)
        before = self.states[-1][0]
        world.reset()
        self.until(lambda: self.states[-1][0] < before, 'time set back')
        self.spin(PAUSED_S)  # Gazebo's new joint systems get their torques
        world.pause(False)
        yield Figure(
            f'reset in mid-motion: away from home {RECOVERY_S:g} s later',
            self.away(self.simulate(RECOVERY_S)[-100:]),
            'rad',
            RECOVERED_RAD,
        )

    def silence(self, world: Any) -> Iterator[Figure]:
        """Stop the node, and let it go on; measure how far the receiver lets the arm move."""
        self.settle(3.0)
        start = self.states[-1][1]
        world.signal_node(signal.SIGSTOP)
        try:
            states = self.simulate(SILENT_S)
        finally:
            world.signal_node(signal.SIGCONT)
        yield Figure('silent node: away', self.away(states, start), 'rad', RECOVERED_RAD)
        states = self.simulate(SILENT_S)
        yield Figure('then again: away', self.away(states, start), 'rad', RECOVERED_RAD)

    def paces(self, world: Any) -> Iterator[Figure]:
        """Measure how far a held arm moves at other real-time factors."""
        self.settle(3.0)
        start = self.states[-1][1]  # what an earlier check left is not measured
        usual = self.factor
        for factor in FACTORS:
            world.pace(factor)
            self.factor = factor
            stops, published = self.counts('stops', 'published')
            began = time.monotonic()
            first = self.simulate(0.01)[-1][0]
            states = self.simulate(min(self._seconds, 2.0 * factor + 0.1))
            reached = (states[-1][0] - first) / (time.monotonic() - began)
            yield Figure(
                f'real-time factor {factor:g}: away',
                self.away(states, start),
                'rad',
                RECOVERED_RAD,
                reached,
            )
            stops_now, published_now = self.counts('stops', 'published')
            yield Figure(f'real-time factor {factor:g}: stops', stops_now - stops, '', 0)
            yield Figure(
                f'real-time factor {factor:g}: no command published',
                float(published_now == published),
                '',
                0,
            )
        world.pace(usual)
        self.factor = usual


CHECKS = ('hold', 'track', 'pause', 'reset', 'silence', 'paces')
# Under ros2_control a reset of the world removes the arm, and with it its controllers.
NOT_BY_CONTROL = {'direct': (), 'ros2_control': ('reset',)}


def check(options: argparse.Namespace, folder: Path) -> Iterator[Figure]:
    """Run the chosen checks; yield each measured value with its bound as soon as it is known."""
    rclpy.init()
    session = Session(options)
    world: Any = None
    try:
        world = Gazebo(options.robot_type, options.control, folder)
        session.begin()
        world.pace(session.factor)
        for name in options.checks:
            if name not in NOT_BY_CONTROL[options.control]:
                yield from getattr(session, name)(world)
    finally:
        if world is not None:
            world.close()
        session.close()
        rclpy.try_shutdown()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the checks; return 1 if a check fails or misses a bound, else (or without Gazebo) 0."""
    parser = new_parser(__doc__)
    parser.add_argument('--robot-type', default='fr3')
    parser.add_argument(
        '--seconds', type=float, default=8.0, help='simulated duration of each check'
    )
    parser.add_argument(
        '--real-time-factor',
        type=float,
        default=1.0,
        help='of simulated to real time; Gazebo waits for no torque, so a busy machine needs less',
    )
    parser.add_argument('--checks', nargs='+', choices=CHECKS, default=CHECKS)
    parser.add_argument('--control', choices=sorted(NOT_BY_CONTROL), default='direct')
    options = parser.parse_args(argv)
    for name, found in (
        ('gz', any(shutil.which(program) for program in PROGRAMS)),
        ('ros2', shutil.which('ros2')),
    ):
        if not found:
            print(NOT_HERE.format(name))
            return 0
    figures: list[Figure] = []
    failure = ''
    with tempfile.TemporaryDirectory(prefix='gazebo_check_') as folder:
        try:
            for figure in check(options, Path(folder)):
                figures.append(figure)
                print(figure, flush=True)
        except (RuntimeError, subprocess.SubprocessError) as error:
            failure = f'gazebo-check: {error}'
        passed = not failure and all(figure.fine for figure in figures)
        if not passed:
            for log in sorted(Path(folder).glob('*.log')):
                print(f'{log.name}: {log.read_text()[-3000:]}', file=sys.stderr)
    if failure:
        print(failure, file=sys.stderr)
    return 0 if passed else 1


if __name__ == '__main__':
    sys.exit(main())
