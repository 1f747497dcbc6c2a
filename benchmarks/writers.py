# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The largest step that a receiver of torques sees, whatever happens to those who send them.

    python benchmarks/writers.py [--load 8] [--targets fci mujoco] [--events kill stop-0.5]

Over DDS, for every target: a made-up arm, 0.05 rad from where gains of 900 N m/rad hold it, the
node, its keeper, and a receiver that hears what the controller would. Nodes are killed, stopped
and continued, ended in every state, beside nodes that stand by, other arms' nodes and ten keepers;
others speak on its topics, or ask for what no arm can do. Three events have a simulated arm in
place of the made-up one: changes of settings and reference every 2 ms, gains that make it swing,
and joint states that become slow while it moves. Exit status 0 if no two messages in a row, of
whomever, were more than 1 N m apart, no torque was left and the arm came to rest; where messages
were lost on the way to the receiver 1 N m for each of them is allowed for, and their number is
told. A rival's own messages, and steps to them, are not counted.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import suppress
import os
from pathlib import Path
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from typing import NamedTuple

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import numpy as np
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
import rclpy
from rclpy._rclpy_pybind11 import RMWError
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from franka_dynamics.arm import load
from franka_dynamics.control.multisine import multisine
from franka_dynamics.control.settings import TARGETS
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.ros.messages import request_message, stamp_from_seconds
from franka_dynamics.ros.node_group import use_isolated_network

TOPIC, STATES = '/effort_controller/commands', 'joint_states'
FER = load('fer')
JOINT_2 = np.eye(FER.n)[1]
GAINS = {'kp': '[900.0,900.0,900.0,900.0,0.0,0.0,0.0]', 'kd': '[5.0,5.0,5.0,5.0,0.0,0.0,0.0]'}
GENTLE = {
    'kp': '[60.0,60.0,60.0,60.0,15.0,15.0,10.0]',
    'kd': '[6.0,6.0,6.0,6.0,1.0,1.0,0.5]',
}
HALF_OF_ALL_DAMPING = {'kp': '[0.0]', 'kd': str((1.5 * FER.limit('effort')).tolist())}
STALLS = (0.05, 0.25, 0.5, 1.0, 2.0)
ENDS = (
    'kill',
    *(f'stop-{stall:g}' for stall in STALLS),
    'int-early',
    'int-configured',
    'int-running',
    'int-stopping',
    'int-latched',
    'standby',
    'standby-ended',
    'ten-keepers',
    'two-arms',
    'no-gravity',
    'gravity-given-up',
)
OTHERS = ('four-bytes', 'relay', 'advertised', 'no-arms-motion')
IN_A_LOOP = ('changes', 'swing', 'slow')
EVENTS = (*ENDS, *OTHERS, *IN_A_LOOP)
_MOST_STEP, _ROUNDING = 1.0, 1e-9
# [rad/s] An arm that is held, or was let go at rest, and one that swings until it is stopped.
_AT_REST, _MOST_SWING = 0.1, 1.0
_MOST_DRIFT = 0.1  # [N m] of gravity, meanwhile
_PUSHED_AT_S = 12.0  # of simulated time, once the node has been commanding for a while
_TIMEOUT_S = 90.0
_ARM = '--arm'


def go_first() -> None:
    """Let this thread go before the others, where that is allowed: it stands for hardware."""
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -15)


def publish_states() -> None:
    """
    Publish joint states at 1 kHz, as a line on standard input asks for.

    `move 0.05` moves the second joint by so much in 0.1 s; `carried` has the arm measure twice
    the effort that it needs, as where something else compensates gravity too.
    """
    go_first()
    rclpy.init()
    node = rclpy.create_node('arm')
    publisher = node.create_publisher(JointState, STATES, QoSProfile(depth=1))
    message = JointState(name=list(FER.joint_names), effort=[0.0] * FER.n)
    q, steps = FER.home.copy(), np.zeros(0)

    lines: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=lambda: [lines.put(line) for line in sys.stdin], daemon=True).start()
    due = time.monotonic()
    while True:
        if not lines.empty():
            word, *distance = lines.get().split()
            if word == 'move':
                steps = np.full(100, float(distance[0]) / 100)
            else:
                message.effort = (2.0 * NewtonEulerModel(FER).gravity(q)).tolist()
        velocity = [0.0] * FER.n
        if len(steps):
            q[1] += steps[0]
            velocity[1] = 1e3 * steps[0]
            steps = steps[1:]
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
            with handle, suppress(RMWError):  # bytes that are no message are none
                while (taken := handle.take_message(Float64MultiArray, False)) is not None:
                    self.torques.append(list(taken[0].data))
                    self.numbers.append(taken[1]['publication_sequence_number'])
            time.sleep(1e-3)

    def ours(self, rival: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """
        Return what was heard, shape (k, 7) [N m], and how many messages were lost before each.

        With a rival, which began after the others, its messages are left out.
        """
        # Whose message it is, its number tells: the publisher's that it follows most closely.
        numbers, last = list(self.numbers), list[int]()  # more may come meanwhile
        of, lost = [], np.zeros(len(numbers), dtype=int)
        for k, number in enumerate(numbers):
            before = [one for one in last if one < number]
            if before and not (rival and number == 1):
                publisher = last.index(max(before))
                lost[k] = number - last[publisher] - 1
                last[publisher] = number
            else:
                publisher = len(last)
                last.append(number)
            of.append(publisher)
        counted = np.array(of) < (len(last) - 1 if rival else len(last))
        return np.array(self.torques[: len(of)])[counted], lost[counted]

    def steps(self, rival: bool = False) -> tuple[float, int]:
        """Return the largest step, less 1 N m a message that was lost before it, and the lost."""
        torques, lost = self.ours(rival)
        steps = np.abs(np.diff(torques, axis=0)).max(axis=1) - lost[1:] * _MOST_STEP
        return float(steps.max()), int(lost.sum())


class States:
    """Hears a simulated arm; passes its states on, every so many of them."""

    def __init__(self, node: Node, passed_on: str = '') -> None:
        self._node, self.every = node, 1
        self.q: list[np.ndarray] = []
        self.speeds: list[float] = []
        depth = QoSProfile(depth=1000)
        self._subscription = node.create_subscription(JointState, STATES, lambda _: None, depth)
        self._publisher = node.create_publisher(JointState, passed_on, 1) if passed_on else None
        self._open = True
        self._thread = threading.Thread(target=self._take, daemon=True)
        self._thread.start()

    def _take(self) -> None:
        go_first()
        handle = self._subscription.handle
        while self._open:
            with handle:
                while (taken := handle.take_message(JointState, False)) is not None:
                    self.q.append(np.array(taken[0].position))
                    self.speeds.append(float(np.abs(taken[0].velocity).max()))
                    if self._publisher is not None and len(self.q) % self.every == 0:
                        self._publisher.publish(taken[0])
            time.sleep(2e-4)

    def close(self) -> None:
        """Hear no more."""
        self._open = False
        self._thread.join()
        self._node.destroy_subscription(self._subscription)
        if self._publisher is not None:
            self._node.destroy_publisher(self._publisher)


class Bench:
    """Processes of one table."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._processes: list[subprocess.Popen] = []
        rclpy.init()
        self.receiver = Receiver()

    def start(self, *arguments: str, **options) -> subprocess.Popen:
        """Start a Python process that logs to a file of its own."""
        log = self.folder / f'{len(self._processes)}.log'
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

    def node(
        self, executable: str, *remaps: str, parameters: dict, file: str = ''
    ) -> subprocess.Popen:
        """Start a node of ours."""
        given = [word for name, value in parameters.items() for word in ('-p', f'{name}:={value}')]
        renamed = [word for remap in remaps for word in ('-r', remap)]
        from_file = ['--params-file', file] if file else []
        module = f'franka_dynamics.ros.{executable}'
        return self.start('-m', module, '--ros-args', *renamed, *from_file, *given)

    def feedforward(
        self, target: str, *remaps: str, file: str = '', **parameters
    ) -> subprocess.Popen:
        """Start the feedforward node; with a file, that has the target."""
        given = {
            'target': target,
            'ramp_time': 0.2,
            'listen_before_activation': 0.0,
            'state_timeout': 2.0,
            'max_state_age': 0.0,
            'min_input_rate': 10.0,
            'max_restarts': 100,
            'crosscheck_states': 10,
            **GAINS,
            **parameters,
        }
        if file:
            del given['target']
        return self.node(
            'feedforward_node',
            *(remaps or (f'feedforward/command:={TOPIC}',)),
            parameters=given,
            file=file,
        )

    def keeper(self, *remaps: str, silence: float = 0.25) -> subprocess.Popen:
        """Start a keeper."""
        remaps = remaps or (f'keeper/command:={TOPIC}',)
        return self.node('keeper_node', *remaps, parameters={'silence': silence})

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


class Result(NamedTuple):
    """Largest step [N m], messages lost, torque left [N m], and speed where it is judged."""

    step: float
    lost: int
    left: float
    speed: float = 0.0
    most_speed: float = _AT_REST

    @property
    def bad(self) -> bool:
        """Whether it is not as it should be."""
        return (
            self.step > _MOST_STEP + _ROUNDING or self.left > 1e-6 or self.speed > self.most_speed
        )

    def __str__(self) -> str:
        left = f' ({self.left:.3g} left)' if self.left > 1e-6 else ''
        return f'{self.step:.3f}{left}' + (f', {self.speed:.3f} rad/s' if self.speed else '')


def rest_torque(target: str, q: np.ndarray) -> np.ndarray:
    """Return where a stop ends at a position, both (7,): at zero, or at g [N m]."""
    if TARGETS[target].receiver_adds_gravity:
        return np.zeros(FER.n)
    return NewtonEulerModel(FER).gravity(q)


def wait_for_silence(receiver: Receiver) -> None:
    """Wait until a second has passed without a command."""
    count = -1
    while count != len(receiver.torques):
        count = len(receiver.torques)
        time.sleep(1.0)


def run_once(bench: Bench, target: str, event: str) -> Result:
    """Let one thing happen before a made-up arm."""
    receiver = bench.receiver
    before = len(bench._processes)
    arm = bench.start(__file__, _ARM, stdin=subprocess.PIPE)

    def tell(line: str) -> None:
        arm.stdin.write(f'{line}\n')
        arm.stdin.flush()

    # Where the node must go on, a machine that keeps it waiting is no finding.
    silence = 5.0 if event in OTHERS or event.startswith('standby') else 0.25
    keepers = [bench.keeper(silence=silence) for _ in range(10 if event == 'ten-keepers' else 1)]
    try:
        bench.until(lambda: any(bench.said(one, 'is watched')() for one in keepers), 'a keeper')
        receiver.clear()
        if event in ('int-early', 'int-configured'):
            return end_before_commands(bench, target, event)
        standby = stand_by(bench, target) if event.startswith('standby') else None
        node = bench.feedforward(
            target,
            file=two_arms(bench, target) if event == 'two-arms' else '',
            **({'terms.gravity': 'false'} if event == 'no-gravity' else {}),
            **({'kp': '[0.0]', 'kd': '[0.0]'} if event == 'gravity-given-up' else {}),
        )
        bench.until(lambda: len(receiver.torques) > 500, 'commands')
        if event != 'gravity-given-up':
            first = receiver.torques[-1][1]
            tell('move 0.05')
            bench.until(lambda: first - receiver.torques[-1][1] > 35.0, 'forty newton metres')
            time.sleep(0.3)
        if event in OTHERS:
            let_others_speak(bench, event, node, tell)
            if event in ('advertised', 'no-arms-motion'):
                node.send_signal(signal.SIGKILL)
        elif event == 'gravity-given-up':
            tell('carried')
            if not TARGETS[target].receiver_adds_gravity:
                bench.until(lambda: not np.any(receiver.torques[-1]), 'zero')
            node.send_signal(signal.SIGINT)
        else:
            if standby is not None:  # it owns nothing of the topic, and goes first
                ends = signal.SIGINT if event == 'standby-ended' else signal.SIGKILL
                standby.send_signal(ends)
                bench.until(lambda: standby.poll() is not None, 'the end of the one standing by')
                require_commands(bench, node)
            end(bench, event, node)
        gravity = event not in ('no-gravity', 'gravity-given-up')
        # The relay is noticed somewhere on the way.
        deflections = np.linspace(0.0, 0.05, 101) if event == 'relay' else [0.05]

        def left() -> float:
            """Return how far the last torque is from where a stop ends [N m]."""
            last = receiver.ours(rival=True)[0][-1] if event == 'relay' else receiver.torques[-1]
            return min(
                float(np.abs(last - gravity * rest_torque(target, FER.home + q * JOINT_2)).max())
                for q in deflections
            )

        if event in ('four-bytes', 'relay'):
            bench.until(lambda: left() < _ROUNDING, 'rest')
            node.send_signal(signal.SIGKILL)
        bench.until(lambda: node.poll() is not None, 'the end of the node')
        wait_for_silence(receiver)
        if keepers[0].poll() is not None:
            raise TimeoutError(f'the keeper ended: {keepers[0].log.read_text()[-500:]}')
        step, lost = receiver.steps(rival=event == 'relay')
        return Result(step, lost, left())
    finally:
        bench.end(bench._processes[before:])


def end_before_commands(bench: Bench, target: str, event: str) -> Result:
    """End a node while it is imported, or before it was activated."""
    for delay in (0.0, 0.3, 0.6) if event == 'int-early' else (3.0,):
        node = bench.feedforward(target, autostart='false')
        # What comes while Python itself starts, before its first line of ours, is Python's.
        bench.until(lambda node=node: handles_sigterm(node) or node.poll() is not None, 'a start')
        time.sleep(delay)
        node.send_signal(signal.SIGINT)
        bench.until(lambda node=node: node.poll() is not None, 'the end')
        if node.returncode or 'Traceback' in node.log.read_text():
            return Result(0.0, 0, float(node.returncode))
    return Result(0.0, 0, 0.0)


def handles_sigterm(process: subprocess.Popen) -> bool:
    """Return whether a process has a handler of SIGTERM, which Python alone has not."""
    lines = Path(f'/proc/{process.pid}/status').read_text().splitlines()
    caught = next((line for line in lines if line.startswith('SigCgt')), 'SigCgt: 0')
    return bool(int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1)


def two_arms(bench: Bench, target: str) -> str:
    """Start another arm's node and keeper; return the file of parameters that all share."""
    other = next(one for one in TARGETS if TARGETS[one].stop is not TARGETS[target].stop)
    file = bench.folder / 'two_arms.yaml'
    file.write_text(
        '\n'.join(
            f'{name}: {{ros__parameters: {{target: {of}}}}}'
            for name, of in (('/left/feedforward', other), ('/feedforward', target))
        )
    )
    left = '__ns:=/left', '/left/joint_states:=/joint_states'
    bench.keeper(*left, 'keeper/command:=commands')
    bench.feedforward(other, *left, 'feedforward/command:=commands', file=str(file))
    return str(file)


def end(bench: Bench, event: str, node: subprocess.Popen) -> None:
    """End the node that commands, in the way of an event."""
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
        rival = receiver.node.create_publisher(JointState, STATES, 1)
        for k in range(100):
            rival.publish(JointState(name=[f'of_another_{k}']))
            time.sleep(0.01)
        receiver.node.destroy_publisher(rival)
        node.send_signal(signal.SIGINT)
    elif event in ('int-running', 'no-gravity'):
        node.send_signal(signal.SIGINT)
    else:
        node.send_signal(signal.SIGKILL)


def stand_by(bench: Bench, target: str) -> subprocess.Popen:
    """Start another node for the same arm, and configure it."""
    process = bench.feedforward(
        target, '__node:=standby', f'standby/command:={TOPIC}', autostart='false'
    )
    client = bench.receiver.node.create_client(ChangeState, 'standby/change_state')
    bench.until(client.service_is_ready, 'the service')
    request = ChangeState.Request()
    request.transition.id = Transition.TRANSITION_CONFIGURE

    def configured() -> bool:
        client.call_async(request)  # lost where the server has not found us yet
        time.sleep(0.5)
        return bench.said(process, 'agree to')()

    bench.until(configured, 'a configured node')
    bench.receiver.node.destroy_client(client)
    return process


def require_commands(bench: Bench, node: subprocess.Popen) -> None:
    """Wait for further commands of a node that was not to be disturbed."""
    count = len(bench.receiver.torques)
    bench.until(lambda: len(bench.receiver.torques) > count + 300, 'commands go on')
    if 'latched' in node.log.read_text():
        raise TimeoutError(f'it was disturbed: {node.log.read_text()[-500:]}')


def let_others_speak(bench: Bench, event: str, node: subprocess.Popen, tell) -> None:
    """Speak on the topics of a node that commands."""
    receiver = bench.receiver
    others = receiver.node
    if event == 'four-bytes':
        publisher = others.create_publisher(Float64MultiArray, TOPIC, 1)
        time.sleep(1.0)
        for _ in range(20):
            publisher.publish(b'\x00\x01\x00\x00')
            time.sleep(0.02)
        bench.until(bench.said(node, 'not ours'), 'a rival is noticed')
    elif event == 'relay':
        publisher = others.create_publisher(Float64MultiArray, TOPIC, 1)
        time.sleep(1.0)
        tell('move -0.05')
        give_up = time.monotonic() + 20.0
        while not bench.said(node, 'not ours')() and time.monotonic() < give_up:
            publisher.publish(Float64MultiArray(data=receiver.torques[-50]))
            time.sleep(1e-3)
        bench.until(bench.said(node, 'not ours'), 'the relay is noticed')
    elif event == 'advertised':
        publisher = others.create_publisher(JointState, STATES, 1)
        time.sleep(1.0)
        require_commands(bench, node)
    else:
        publisher = others.create_publisher(JointTrajectory, 'feedforward/reference', 1)
        bench.until(lambda: publisher.get_subscription_count() > 0, 'a listener')
        for seconds, effort in ((2**31 - 1, 0.0), (5, 1e9)):
            point = JointTrajectoryPoint(positions=FER.home.tolist(), effort=[effort] * FER.n)
            point.time_from_start.sec = seconds
            count = node.log.read_text().count('refused')
            publisher.publish(JointTrajectory(joint_names=FER.joint_names, points=[point]))
            bench.until(
                lambda count=count: node.log.read_text().count('refused') > count, 'a refusal'
            )
            require_commands(bench, node)
            time.sleep(1.0)  # the node's log tells one refusal a second
    others.destroy_publisher(publisher)


def run_in_a_loop(bench: Bench, target: str, event: str) -> Result:
    """Let one thing happen to a node that holds or moves a simulated arm."""
    receiver = bench.receiver
    before = len(bench._processes)
    states = States(receiver.node, 'slow_states' if event == 'slow' else '')
    simulator = {
        'pacing': 'lockstep',
        'lockstep_timeout': 0.02 if event == 'slow' else 1.0,
        'lockstep_rate': 1000.0,
        'brake_release_after': 0.1,
        'gravity_compensation': TARGETS[target].receiver_adds_gravity,
        'push.force': '[40.0,0.0,0.0]' if event == 'changes' else '[0.0,0.0,0.0]',
        'push.start': _PUSHED_AT_S,
        'push.duration': 0.05,
    }
    try:
        keeper = bench.keeper(silence=5.0)
        bench.until(bench.said(keeper, 'is watched'), 'a keeper')
        receiver.clear()
        bench.node('simulator_node', parameters=simulator)
        bench.until(lambda: len(states.speeds) > 0, 'joint states')
        node = bench.feedforward(
            target,
            f'feedforward/command:={TOPIC}',
            *([f'{STATES}:=slow_states'] if event == 'slow' else []),
            **(HALF_OF_ALL_DAMPING if event == 'swing' else GENTLE),
            **({'min_input_rate': 100.0} if event == 'slow' else {}),
            listen_before_activation=1.0,  # until then the receiver has found it
        )
        few = 10 if event == 'swing' else 500  # without gravity in the arm it begins at once
        bench.until(lambda: len(receiver.torques) > few, 'commands')
        began, most = 0, _AT_REST
        if event == 'changes':
            change_every_2_ms(bench, lambda: len(states.q) > 1e3 * (_PUSHED_AT_S + 2.0))
            if max(states.speeds) < _AT_REST:
                raise TimeoutError('never happened: a push')
            began = len(states.speeds) - 300
        else:
            publisher = receiver.node.create_publisher(JointTrajectory, 'feedforward/reference', 1)
            bench.until(lambda: publisher.get_subscription_count() > 0, 'a listener')
            publisher.publish(request_message(multisine(FER, 20.0, 0.4)))
        if event == 'swing':
            bench.until(bench.said(node, 'swings without end'), 'the swing is noticed')
            most = _MOST_SWING
        elif event == 'slow':
            bench.until(lambda: states.speeds[-1] > 0.4, 'motion')
            states.every = 15
            bench.until(bench.said(node, 'stop'), 'a stop')
            bench.until(lambda: states.speeds[-1] < _AT_REST, 'rest')
            began = len(states.speeds) - 1
        if event == 'changes':
            node.send_signal(signal.SIGKILL)
            bench.until(lambda: node.poll() is not None, 'the end of the node')
        speed = max(states.speeds[began:])
        wait_for_silence(receiver)
        step, lost = receiver.steps()
        # The arm goes on a little while the torque ramps to where the stop was to end.
        last, passed = np.array(receiver.torques[-1]), [*states.q[began::5], *states.q[-50:]]
        left = min(float(np.abs(last - rest_torque(target, q)).max()) for q in passed)
        return Result(step, lost, max(0.0, left - _MOST_DRIFT), speed, most)
    finally:
        states.close()
        bench.end(bench._processes[before:])


def change_every_2_ms(bench: Bench, done: Callable[[], bool]) -> None:
    """Change a setting and the reference in turn, to what they nearly are."""
    node = bench.receiver.node
    publisher = node.create_publisher(JointTrajectory, 'feedforward/reference', 1)
    client = node.create_client(SetParameters, 'feedforward/set_parameters')
    bench.until(lambda: publisher.get_subscription_count() > 0, 'a listener')
    bench.until(client.service_is_ready, 'the service')
    point = JointTrajectoryPoint(positions=FER.home.tolist())
    point.time_from_start.nanosec = 200_000_000
    reference = JointTrajectory(joint_names=FER.joint_names, points=[point])
    due, give_up, k = time.monotonic(), time.monotonic() + 5.0 * _TIMEOUT_S, 0
    while not done() and time.monotonic() < give_up:
        k += 1
        if k % 2:
            publisher.publish(reference)
        else:
            value = ParameterValue(
                type=ParameterType.PARAMETER_DOUBLE, double_value=1.0 - 0.05 * (k % 4)
            )
            client.call_async(
                SetParameters.Request(parameters=[Parameter(name='scale', value=value)])
            )
        due += 2e-3
        time.sleep(max(0.0, due - time.monotonic()))
    node.destroy_client(client)
    node.destroy_publisher(publisher)


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
                    run = run_in_a_loop if event in IN_A_LOOP else run_once
                    try:
                        result = run(bench, target, event)
                    except TimeoutError as error:
                        failed += 1
                        cells.append(f'failed: {error}')
                        continue
                    lost += result.lost
                    failed += result.bad
                    cells.append(str(result))
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
