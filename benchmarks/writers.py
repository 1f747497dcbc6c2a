# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The largest step that a receiver of torques sees, whatever happens to those who send them.

    python benchmarks/writers.py [--load 8] [--targets fci mujoco] [--events kill stop-0.5]

Over DDS, for every target: a made-up arm, 0.05 rad from where gains of 900 N m/rad hold it, the
node, its keeper, and a receiver that hears what the controller would. Nodes are killed, stopped
and continued, ended in every state, beside nodes that stand by and beside ten keepers. Exit
status 0 if no two messages in a row, of whomever, were more than 1 N m apart and no torque was
left; where messages were lost on the way to the receiver 1 N m for each of them is allowed for,
and their number is told.
"""

from __future__ import annotations

import argparse
from contextlib import suppress
import os
from pathlib import Path
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np
import rclpy
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from franka_dynamics.arm import load
from franka_dynamics.control.settings import Stop, TARGETS
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.messages import stamp_from_seconds
from franka_dynamics.ros.node_group import use_isolated_network

TOPIC = '/effort_controller/commands'
GAINS = {'kp': '[900.0,900.0,900.0,900.0,0.0,0.0,0.0]', 'kd': '[5.0,5.0,5.0,5.0,0.0,0.0,0.0]'}
STALLS = (0.05, 0.25, 0.5, 1.0, 2.0)
EVENTS = (
    'kill',
    *(f'stop-{stall:g}' for stall in STALLS),
    'int-configured',
    'int-running',
    'int-stopping',
    'int-latched',
    'standby',
    'ten-keepers',
)
_MOST_STEP, _ROUNDING = 1.0, 1e-9
_TIMEOUT_S = 90.0
_ARM = '--arm'


def go_first() -> None:
    """Let this thread go before the others, where that is allowed: it stands for hardware."""
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -15)


def publish_states() -> None:
    """Publish joint states at 1 kHz; a line on standard input moves the arm by 0.05 rad."""
    go_first()
    rclpy.init()
    node = rclpy.create_node('arm')
    publisher = node.create_publisher(JointState, 'joint_states', QoSProfile(depth=1))
    arm = load('fer')
    message = JointState(name=list(arm.joint_names), effort=[0.0] * arm.n)
    q, left = arm.home.copy(), 0
    moves = threading.Event()

    def listen() -> None:
        for _ in sys.stdin:
            moves.set()

    threading.Thread(target=listen, daemon=True).start()
    due = time.monotonic()
    while True:
        if moves.is_set():
            moves.clear()
            left = 100
        velocity = [0.0] * arm.n
        if left:
            left -= 1
            q[1] += 5e-4
            velocity[1] = 0.5
        message.header.stamp = stamp_from_seconds(time.time())
        message.position, message.velocity = q.tolist(), velocity
        publisher.publish(message)
        due = max(due + 1e-3, time.monotonic() - 5e-3)
        time.sleep(max(0.0, due - time.monotonic()))


class Receiver:
    """Hears all commands in the order in which they come, and how many were lost."""

    def __init__(self) -> None:
        self.node = rclpy.create_node('receiver')
        self._subscription = self.node.create_subscription(
            Float64MultiArray, TOPIC, lambda _: None, QoSProfile(depth=20000)
        )
        self.clear()
        threading.Thread(target=self._take, daemon=True).start()

    def clear(self) -> None:
        """Forget what was heard."""
        self.torques: list[list[float]] = []
        self.numbers: list[int] = []

    def _take(self) -> None:
        go_first()
        handle = self._subscription.handle
        while True:
            with handle:
                while (taken := handle.take_message(Float64MultiArray, False)) is not None:
                    self.torques.append(list(taken[0].data))
                    self.numbers.append(taken[1]['publication_sequence_number'])
            time.sleep(1e-3)

    def steps(self) -> tuple[float, int]:
        """Return the largest step, less 1 N m a message that was lost before it, and the lost."""
        # Whose message it is, its number tells: the publisher's that it follows most closely.
        lost, last = np.zeros(len(self.numbers), dtype=int), [0]
        for k, number in enumerate(self.numbers):
            before = [one for one in last if one < number]
            if before:
                last.remove(max(before))
                lost[k] = number - max(before) - 1 if max(before) else 0
            last.append(number)
        steps = np.abs(np.diff(self.torques, axis=0)).max(axis=1) - lost[1:] * _MOST_STEP
        return float(steps.max()), int(lost.sum())


class Bench:
    """Processes of one table."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen] = []
        rclpy.init()
        self.receiver = Receiver()

    def start(self, *arguments: str, **options) -> subprocess.Popen:
        """Start a Python process that logs to a file of its own."""
        log = self._folder / f'{len(self._processes)}.log'
        with log.open('wb') as output:
            process = subprocess.Popen(
                [sys.executable, *arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                env={**os.environ, 'FRANKA_DYNAMICS_REALTIME': 'off'},
                **options,
            )
        process.log = log  # type: ignore[attr-defined]
        self._processes.append(process)
        return process

    def node(self, executable: str, remap: str, **parameters) -> subprocess.Popen:
        """Start a node of ours."""
        given = [word for name, value in parameters.items() for word in ('-p', f'{name}:={value}')]
        module = f'franka_dynamics.ros.{executable}'
        return self.start('-m', module, '--ros-args', '-r', f'{remap}:={TOPIC}', *given)

    def feedforward(self, target: str, **parameters) -> subprocess.Popen:
        """Start the feedforward node."""
        return self.node(
            'feedforward_node',
            'feedforward/command',
            target=target,
            ramp_time=0.2,
            listen_before_activation=0.0,
            state_timeout=2.0,
            max_state_age=0.0,
            min_input_rate=10.0,
            max_restarts=100,
            crosscheck_states=10,
            **GAINS,
            **parameters,
        )

    def keeper(self) -> subprocess.Popen:
        """Start a keeper."""
        return self.node('keeper_node', 'keeper/command')

    def until(self, done, what: str) -> None:
        """Wait until something is true."""
        give_up = time.monotonic() + _TIMEOUT_S
        while not done():
            if time.monotonic() > give_up:
                logs = '\n'.join(process.log.read_text()[-500:] for process in self._processes)
                raise TimeoutError(f'never happened: {what}\n{logs}')
            time.sleep(5e-3)

    def said(self, process: subprocess.Popen, text: str):
        """Return whether a process has logged a text, to be asked later."""
        return lambda: text in process.log.read_text()  # type: ignore[attr-defined]

    def end(self, processes) -> None:
        """End processes that still run."""
        for process in processes:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
            if process in self._processes:
                self._processes.remove(process)

    def close(self) -> None:
        """End all."""
        self.end(list(self._processes))


def rest_torque(target: str) -> np.ndarray:
    """Return where a stop ends, shape (7,) [N m]: at zero, or at g where the arm was moved to."""
    arm = load('fer')
    if TARGETS[target].stop is Stop.ZERO:
        return np.zeros(arm.n)
    return NewtonEulerModel(arm).gravity(arm.home + 0.05 * np.eye(arm.n)[1])


def run_once(bench: Bench, target: str, event: str) -> tuple[float, int, float]:
    """Let one thing happen; return the largest step [N m], messages lost and torque left."""
    receiver = bench.receiver
    before = len(bench._processes)
    arm = bench.start(__file__, _ARM, stdin=subprocess.PIPE)
    keepers = [bench.keeper() for _ in range(10 if event == 'ten-keepers' else 1)]
    try:
        bench.until(lambda: any(bench.said(one, 'is watched')() for one in keepers), 'a keeper')
        receiver.clear()
        if event == 'int-configured':
            node = bench.feedforward(target, autostart='false')
            time.sleep(3.0)
            node.send_signal(signal.SIGINT)
            bench.until(lambda: node.poll() is not None, 'the end')
            return 0.0, 0, float(node.returncode)
        node = bench.feedforward(target)
        bench.until(lambda: len(receiver.torques) > 500, 'commands')
        first = receiver.torques[-1][1]
        arm.stdin.write('\n')
        arm.stdin.flush()
        bench.until(lambda: first - receiver.torques[-1][1] > 35.0, 'forty newton metres')
        time.sleep(0.3)
        happen(bench, target, event, node, keepers, arm)
        count = -1
        while count != len(receiver.torques):  # silence
            count = len(receiver.torques)
            time.sleep(1.0)
        step, lost = receiver.steps()
        return step, lost, float(np.abs(receiver.torques[-1] - rest_torque(target)).max())
    finally:
        bench.end(bench._processes[before:])


def happen(bench: Bench, target: str, event: str, node, keepers, arm) -> None:
    """Do what an event is to the node that commands, and wait for the end of it."""
    receiver = bench.receiver
    if event.startswith('stop-'):
        node.send_signal(signal.SIGSTOP)
        time.sleep(float(event.removeprefix('stop-')))
        node.send_signal(signal.SIGCONT)
        time.sleep(1.0)
        node.send_signal(signal.SIGINT)
    elif event == 'int-stopping':
        node.send_signal(signal.SIGINT)
        time.sleep(0.01)
        node.send_signal(signal.SIGINT)
    elif event == 'int-latched':
        rival = receiver.node.create_publisher(JointState, 'joint_states', 1)
        for k in range(100):
            rival.publish(JointState(name=[f'of_another_{k}']))
            time.sleep(0.01)
        receiver.node.destroy_publisher(rival)
        node.send_signal(signal.SIGINT)
    elif event == 'int-running':
        node.send_signal(signal.SIGINT)
    else:
        if event == 'standby':
            # Refused activation or not, it owns nothing of the topic; then it goes.
            standby = bench.feedforward(target, autostart='false')
            time.sleep(3.0)
            standby.kill()
            time.sleep(0.5)
        node.send_signal(signal.SIGKILL)
    bench.until(lambda: node.poll() is not None, 'the end of the node')


def main() -> int:
    """Print the table; return whether every step was small enough."""
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--load', type=int, default=0, help='busy processes beside')
    parser.add_argument('--targets', nargs='+', default=list(TARGETS), choices=list(TARGETS))
    parser.add_argument('--events', nargs='+', default=list(EVENTS), choices=list(EVENTS))
    parser.add_argument(_ARM, action='store_true', help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.arm:
        publish_states()
    use_isolated_network()
    busy = [
        subprocess.Popen([sys.executable, '-c', 'while True: pass']) for _ in range(arguments.load)
    ]
    failed, lost = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        try:
            print(f'| load {arguments.load} |', ' | '.join(arguments.targets), '|', flush=True)
            print('|---' * (len(arguments.targets) + 1) + '|', flush=True)
            for event in arguments.events:
                cells = []
                for target in arguments.targets:
                    step, missed, left = run_once(bench, target, event)
                    lost += missed
                    bad = step > _MOST_STEP + _ROUNDING or left > 1e-6
                    failed += bad
                    cells.append(f'{step:.3f}' + (f' ({left:.3g} left)' if left > 1e-6 else ''))
                print(f'| {event} |', ' | '.join(cells), '|', flush=True)
        finally:
            bench.close()
            for process in busy:
                process.kill()
    average = os.getloadavg()[0]
    print(f'{lost} messages lost on the way; load average {average:.1f}; {failed} runs failed')
    return int(bool(failed))


if __name__ == '__main__':
    sys.exit(main())
