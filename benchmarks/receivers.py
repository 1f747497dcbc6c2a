# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
How the receiver of torques reacts when its sender dies, stalls, or is not the only sender.

    python benchmarks/receivers.py [--events kill stop-0.5] [--targets mujoco fci]

Over DDS: a simulated arm and a feedforward node that moves it with PD gains. The arm waits for
each torque for at most 20 ms, so that a slow machine does not count as a silent sender; after ten
missing torques the arm no longer waits. The arm logs the torque that it applies in each simulation
step. For every event the table has the largest difference between two successive torques, how long
a silent sender's last torque was applied to a moving arm, how long the receiver (for states the
node) took to notice another sender, the speed of the arm at the end, and the states of the
receiver. Exit status 0 if no torque stepped by more than 1 N m or was held for longer than the
time-out plus 5 ms, every other sender was noticed within 0.1 s, and no joint was faster than 0.05
rad/s at the end.
"""

from collections import deque
from collections.abc import Callable, Mapping
from itertools import groupby
from pathlib import Path
import re
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any, NamedTuple

import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from timing import new_parser
from trajectory_msgs.msg import JointTrajectory

from franka_dynamics.arm import load
from franka_dynamics.demo.multisine import multisine
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros import COMMAND_TOPIC
from franka_dynamics.ros.clients.node_group import node_command_line, use_isolated_network
from franka_dynamics.ros.trajectory_messages import reference_message
from franka_dynamics.simulation.arm_simulation import read_steps
from franka_dynamics.simulation.receiver import COMMAND_TIMEOUT_S, ReceiverState

FER = load('fer')
GAINS = {'kp': [60.0] * 4 + [15.0, 15.0, 10.0], 'kd': [6.0] * 4 + [1.0, 1.0, 0.5]}
STALLS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
PAUSED = tuple(f'stop-{stall:g}' for stall in STALLS_S)
# int, kill, kill-restart: SIGINT or SIGKILL to the node, and a new node at once; stop-S: SIGSTOP
# for S seconds; two-nodes: a second node; relay: commands are repeated 50 ms later; rival:
# another sender of 10 N m on every joint, whose first _SENT_BEFORE torques nobody heard; states: a
# second publisher repeats the joint states.
EVENTS = (
    'int',
    'kill',
    'kill-restart',
    *PAUSED,
    'two-nodes',
    'relay',
    'rival',
    'states',
)
# The receiver's states by the sentences of its log.
STATES = {state.value: state.status_word for state in ReceiverState}
ANY = '|'.join(sorted(map(re.escape, STATES), key=len, reverse=True))
_MOST_STEP = 1.0 + 1e-6
_MOST_HELD_S = COMMAND_TIMEOUT_S + 0.005
_MOST_NOTICE_S = 0.1
_AT_REST = 0.05  # [rad/s]
_ROUNDING = 1e-9  # [N m]
_TIMEOUT_S = 60.0
_MOVING_S = 1.5
_AFTER_S = 2.5
_RIVAL_S = 0.3
_SHORTLY_S = 0.1
_SENT_BEFORE = 20_000  # more than the feedforward node sends, by sequence numbers
_RIVAL_TORQUE = Float64MultiArray(data=[10.0] * FER.n)


class Result(NamedTuple):
    """Torque step [N m], times held and to notice [s], final speed [rad/s], receiver's states."""

    step: float
    held: float
    noticed: float | None
    speed: float
    said: list[str]

    @property
    def bad(self) -> bool:
        """Whether torque step, hold time, time to notice a sender or speed exceeds its bound."""
        return (
            self.step > _MOST_STEP
            or self.held > _MOST_HELD_S
            or (self.noticed is not None and not self.noticed <= _MOST_NOTICE_S)
            or self.speed > _AT_REST
        )


class Bench:
    """The simulated arm's and the nodes' processes, and a ROS node that talks to them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._running = dict[str, subprocess.Popen[bytes]]()
        use_isolated_network()
        self._context = Context()
        rclpy.init(context=self._context)
        self.node = rclpy.create_node('bench', context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.rival: Any = None  # a publisher of torques that was there before the arm

    def start(self, name: str, module: str, names: Mapping[str, str], **parameters) -> None:
        """Start a node; NAME.log gets the node's output."""
        values = {key.replace('__', '.'): one for key, one in parameters.items()}
        command = node_command_line(module, values, names)
        with (self.folder / f'{name}.log').open('wb') as log:
            self._running[name] = subprocess.Popen(command, stdout=log, stderr=log)

    def feedforward(self, target: str, name: str = 'feedforward') -> None:
        """Start a feedforward node that commands the arm, even while another node does."""
        self.start(
            name,
            'feedforward_node',
            {'__node': name, '~/command': COMMAND_TOPIC},
            robot_type=FER.name,
            target=target,
            use_sim_time=True,
            period=0.075,
            **GAINS,
        )

    def log(self, name: str) -> str:
        """Return what a node has printed."""
        path = self.folder / f'{name}.log'
        return path.read_text(errors='replace') if path.exists() else ''

    def send(self, name: str, number: int) -> None:
        """Send a signal."""
        self._running[name].send_signal(number)

    def spin(self, seconds: float, each: Callable[[], None] = lambda: None) -> None:
        """Process messages for a time [s]; call `each` after every message or millisecond."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=1e-3)
            each()

    def until(self, done: Callable[[], object], what: str) -> None:
        """Process messages until `done` returns something true; TimeoutError after 60 s."""
        end = time.monotonic() + _TIMEOUT_S
        while not done():
            self.spin(0.01)
            if time.monotonic() > end:
                raise TimeoutError(f'never happened: {what}; logs are in {self.folder}')

    def close(self) -> None:
        """End all processes, the simulated arm last, so that its log is complete."""
        for name in reversed(self._running):
            self.send(name, signal.SIGCONT)
            self.send(name, signal.SIGINT)
            try:
                self._running[name].wait(10.0)
            except subprocess.TimeoutExpired:
                self.send(name, signal.SIGKILL)
        self._executor.shutdown()
        self._context.try_shutdown()


def run(event: str, target: str, folder: Path) -> Result:
    """Let a node move an arm, let an event happen, and judge every simulation step."""
    steps = folder / 'steps.bin'
    bench = Bench(folder)
    try:
        if event == 'rival':
            bench.rival = bench.node.create_publisher(Float64MultiArray, COMMAND_TOPIC, 1)
            for _ in range(_SENT_BEFORE):
                bench.rival.publish(_RIVAL_TORQUE)
        bench.start(
            'simulator',
            'simulator_node',
            {'__ns': '/'},
            robot_type=FER.name,
            gravity_compensation=target == 'fci',
            ideal=True,  # or the logged efforts would not be the applied torques
            brake_release_after=0.1,
            step_log=str(steps),
            lockstep_rate=1000.0,
            lockstep_timeout=0.02,
            publish_clock=True,
        )
        bench.feedforward(target)
        reference = bench.node.create_publisher(JointTrajectory, 'feedforward/reference', 10)
        bench.until(lambda: 'the brakes are open' in bench.log('simulator'), 'brakes open')
        bench.until(lambda: reference.get_subscription_count() > 0, 'the node')
        reference.publish(reference_message(multisine(FER, 20.0, 0.4)))
        bench.spin(_MOVING_S)
        spoke_at = happen(bench, event, target)
        bench.spin(_AFTER_S)
        if event in (*PAUSED, 'two-nodes', 'relay', 'rival'):  # the arm still moves
            bench.send('feedforward', signal.SIGINT)
            bench.spin(_AFTER_S)
    finally:
        bench.close()
    return result(bench, steps, target, spoke_at)


def happen(bench: Bench, event: str, target: str) -> float | None:
    """Let an event happen; return when another sender first sent [s], or None."""
    if event == 'int':
        bench.send('feedforward', signal.SIGINT)
    elif event in ('kill', 'kill-restart'):
        bench.send('feedforward', signal.SIGKILL)
        if event == 'kill-restart':
            bench.feedforward(target, 'restarted')
            bench.until(
                lambda: bench.log('simulator').count('following') > 1,
                'the new one followed',
            )
    elif event in PAUSED:
        bench.send('feedforward', signal.SIGSTOP)
        bench.spin(float(event.removeprefix('stop-')))
        bench.send('feedforward', signal.SIGCONT)
    elif event == 'two-nodes':
        bench.feedforward(target, 'second')
        bench.until(
            lambda: re.search(r'\[second\]: (commanding|fault: )', bench.log('second')),
            'the second commands, or stops because of the first',
        )
        second = re.search(r'\[([\d.]+)\] \[second\]: commanding', bench.log('second'))
        return float(second[1]) if second else None
    else:
        return speak(bench, event)
    return None


def speak(bench: Bench, event: str) -> float:
    """Publish on the node's topics as another sender; return the time of the first message."""
    kind, topic = (
        (JointState, 'joint_states') if event == 'states' else (Float64MultiArray, COMMAND_TOPIC)
    )
    publisher = bench.rival or bench.node.create_publisher(kind, topic, 1)
    spoken = list[float]()
    bench.until(lambda: publisher.get_subscription_count() > 0, 'a listener')

    def publish(message: JointState | Float64MultiArray) -> None:
        publisher.publish(message)
        spoken.append(time.time())

    if event == 'rival':
        # The rival sends only briefly: once the node has stopped, the receiver would follow the
        # rival.
        bench.spin(_SHORTLY_S, lambda: publish(_RIVAL_TORQUE))
        return spoken[0]
    delay = 0.05 if event == 'relay' else 0.0
    heard = deque[tuple[float, Any]]()
    repeated = set[bytes]()

    def hear(message: JointState | Float64MultiArray) -> None:
        if bytes(serialize_message(message)) not in repeated:
            heard.append((time.monotonic() + delay, message))

    def repeat() -> None:
        while heard and heard[0][0] <= time.monotonic():
            message = heard.popleft()[1]
            repeated.add(bytes(serialize_message(message)))
            publish(message)

    bench.node.create_subscription(kind, topic, hear, QoSProfile(depth=100))
    bench.spin(_RIVAL_S, repeat)
    return spoken[0]


def result(bench: Bench, steps: Path, target: str, spoke_at: float | None) -> Result:
    """Return the result of an event, from the arm's logged steps and the nodes' output."""
    log = read_steps(steps, FER.joint_names)
    applied = log.effort[1:]
    if target == 'fci':  # the logged torque includes the gravity that the robot adds
        applied = applied - NewtonEulerModel(FER).gravity(log.q[:-1])
    still = np.abs(np.diff(applied, axis=0)).max(axis=1) < _ROUNDING
    moving = np.abs(log.dq[2:]).max(axis=1) > _AT_REST
    runs = [sum(1 for _ in run) for same, run in groupby(still & moving) if same]
    noticed = None
    if spoke_at is not None:
        told = re.search(
            r'\[([\d.]+)\] \[[\w.]+\]: .*(a second sender of torques|a second node publishes)',
            bench.log('simulator') + bench.log('feedforward'),
        )
        noticed = float(told[1]) - spoke_at if told else np.inf
    return Result(
        float(np.abs(np.diff(applied, axis=0)).max()),
        1e-3 * max(runs, default=0),
        noticed,
        float(np.abs(log.dq[-100:]).max()),
        [STATES[one] for one in re.findall(rf'\[simulator\]: ({ANY})', bench.log('simulator'))],
    )


def main() -> int:
    """Print a row for each event; return 1 if a bound was missed, else 0."""
    parser = new_parser(__doc__)
    parser.add_argument('--events', nargs='+', choices=EVENTS, default=EVENTS)
    parser.add_argument(
        '--targets', nargs='+', choices=('mujoco', 'fci'), default=['mujoco', 'fci']
    )
    arguments = parser.parse_args()
    print('target  event         largest step  held    noticed  speed at the end  receiver')
    bad = 0
    for target in arguments.targets:
        for event in arguments.events:
            with tempfile.TemporaryDirectory() as folder:
                found = run(event, target, Path(folder))
            noticed = '-' if found.noticed is None else f'{1e3 * found.noticed:.0f} ms'
            print(
                f'{target:7} {event:13} {found.step:8.3f} N m {1e3 * found.held:5.0f} ms '
                f'{noticed:>8} {found.speed:9.4f} rad/s    {", ".join(found.said)}'
                f'{"   <- BAD" if found.bad else ""}',
                flush=True,
            )
            bad += found.bad
    print(f'{bad} of {len(arguments.targets) * len(arguments.events)} events missed a bound')
    return 1 if bad else 0


if __name__ == '__main__':
    sys.exit(main())
