# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The C++ package in ros2_control: built, driven by rows, or sent torques over DDS."""

from contextlib import closing, ExitStack
from pathlib import Path
import shutil
import signal
import subprocess
import sys
import time

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
import pytest

from franka_dynamics.cpp_package.package import controller_arm_text
from franka_dynamics.dynamics.pinocchio_model import PinocchioModel
from franka_dynamics.errors import SettingsError
from franka_dynamics.ros.clients.node_client import NodeClient
from franka_dynamics.ros.topics import DESCRIPTION_QOS

from .cpp_core import PACKAGE
from ..ros.conftest import Probe
from ..ros2_control_prefix import environment, made, mock_urdf

DRIVE = Path(__file__).parent / 'ros2_control_drive.cpp'
STRICT = '-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror'
TYPE = 'franka_dynamics_controllers/FeedforwardController'


def built(folder, drive=DRIVE):
    """Build, with warnings as errors, what is new in the package and a driver of it."""
    install = folder / 'install'
    options = [f'-DPython3_EXECUTABLE={sys.executable}', '-DCMAKE_BUILD_TYPE=None']
    source = folder / drive.stem
    source.mkdir(exist_ok=True)
    shutil.copy2(drive, source / 'drive.cpp')
    shutil.copy2(drive.with_suffix('.cmake'), source / 'CMakeLists.txt')
    made(PACKAGE, folder / 'build', install, *options, f'-DCMAKE_CXX_FLAGS={STRICT}')
    examples = f'-DEXAMPLES={PACKAGE.parent / "examples"}'
    made(source, folder / f'{drive.stem}_tool', install, *options, examples)
    return folder


def driving(arm, folder, what, *words, parameters, joints=None):
    """Return the command that drives a controller with parameters, and its environment."""
    (folder / 'arm.yaml').write_text(controller_arm_text(arm))
    file = folder / 'parameters.yaml'
    file.write_text(parameters.replace('ARM_FILE', str(folder / 'arm.yaml')))
    joints = arm.joint_names if joints is None else joints
    command = [folder / f'{DRIVE.stem}_tool' / 'drive', what, *joints, *words]
    return (
        [*map(str, command), '--ros-args', '--params-file', str(file)],
        {
            **environment(folder / 'install'),
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        },
    )


def rows_of(output):
    """Return the rows of numbers among a program's lines."""
    lines = (line for line in output.splitlines() if not line.startswith('['))
    return np.array([line.split() for line in lines if line[:1] in '-0123456789n'], dtype=float)


RECEIVED = """
/controller_manager:
  ros__parameters:
    update_rate: 1000
    receiver.type: TYPE
/receiver:
  ros__parameters:
    arm_file: ARM_FILE
    target: mujoco
    reference: total_torque
    reference_timeout: TIMEOUT
"""


def received(timeout=0.05):
    """Return the parameters of a receiver in a controller manager."""
    return RECEIVED.replace('TIMEOUT', f'{timeout}').replace('TYPE', TYPE)


# Torques that change with each message.
SENDER = """
import math, sys, time
import rclpy
from std_msgs.msg import Float64MultiArray
name, *torque = sys.argv[1:]
rclpy.init()
node = rclpy.create_node(name)
publisher = node.create_publisher(Float64MultiArray, '/receiver/reference', 1)
torque = [float(value) for value in torque]
while True:
    wave = math.sin(time.monotonic())
    publisher.publish(Float64MultiArray(data=[value + wave for value in torque]))
    time.sleep(1e-3)
"""
OFFSET = 5.0  # N m by which a sender's torque differs from the holding torque


class Senders:
    """A receiver in a controller manager on mock hardware, and processes that send it torques."""

    def __init__(self, arm, folder, timeout=0.05):
        self._held = PinocchioModel(arm).gravity(arm.home)
        self.said = []
        self._processes = {}
        self._open = ExitStack()
        files = ((folder / name).open('w+') for name in ('out', 'errors'))
        self._output, self._errors = map(self._open.enter_context, files)
        parameters = received(timeout)
        command, env = driving(arm, folder, 'receiver', mock_urdf(arm), parameters=parameters)
        streams = {
            'stdin': subprocess.PIPE,
            'stdout': self._output,
            'stderr': self._errors,
        }
        self._manager = subprocess.Popen(command, env=env, **streams)
        self._probe = self._open.enter_context(closing(Probe('listener')))
        kind = DiagnosticStatus
        topic = '/receiver/status'
        self._probe.create_subscription(kind, topic, self._hear, DESCRIPTION_QOS)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in (*self._processes.values(), self._manager):
            process.kill()
            process.wait()
        self._manager.stdin.close()
        self._open.close()

    def _hear(self, status):
        values = ', '.join(f'{one.key} {one.value}' for one in status.values)
        self.said.append(f'{status.message}, {values}')

    def _start(self, name, offset=OFFSET):
        torque = [str(value) for value in self._held + offset]
        self._processes[name] = subprocess.Popen([sys.executable, '-c', SENDER, name, *torque])

    def _spin(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._probe.spin()

    def _until(self, *words):
        """Wait until the receiver's last status contains all words."""
        end = time.monotonic() + 60.0
        while not (self.said and all(word in self.said[-1] for word in words)):
            self._spin(0.01)
            assert time.monotonic() < end, f'never {words}: {self.said}'
            assert self._manager.poll() is None, (
                self._errors.seek(0),
                self._errors.read(),
            )

    def _time_outs(self):
        return self.said[-1].partition('time-outs ')[2].partition(',')[0]

    def _follows(self, seconds):
        """Wait until a sender was followed for some seconds without a time-out."""
        end = time.monotonic() + 60.0
        before = None
        while before != self._time_outs():
            assert time.monotonic() < end, f'never followed for {seconds} s: {self.said}'
            self._until('following')
            before = self._time_outs()
            self._spin(seconds)

    def change_payload(self, payload, heavy):
        """Return the efforts that hold the arm before and after, and why `heavy` is refused."""
        self._start('first')
        self._until('following', ', publisher /first')
        self._processes['first'].kill()
        self._until('holding the arm')
        since = time.monotonic()
        with NodeClient('/receiver', on_wait=self._probe.spin) as client:
            with pytest.raises(SettingsError) as refusal:
                client.set_parameters({'payload': list(heavy)})
            client.set_parameters({'payload': list(payload)})
        self._spin(0.5)
        rows = self._ended()
        return rows[rows[:, 0] < since][-1, 1:], rows[-1, 1:], str(refusal.value)

    def _ended(self):
        """End the manager; return the time and the efforts of its cycles."""
        self._manager.stdin.close()
        code = self._manager.wait(30.0)
        for file in (self._output, self._errors):
            file.seek(0)
        assert code == 0, self._errors.read()[-3000:]
        return rows_of(self._output.read())

    def happen(self, event):
        """
        Kill, restart or stop for some seconds a sender that is followed, or start a second one.

        Return the largest step [N m], for how long a torque stayed unchanged away from what holds
        the arm (in cycles, as the time-out counts) [s], the efforts minus that, (cycles, n) [N m],
        and the time of each cycle since the event [s].
        """
        self._start('first')
        self._until('following', ', publisher /first')
        self._spin(0.5)
        since = time.monotonic()
        if event == 'kill':
            self._processes['first'].kill()
            self._until('holding the arm')
            self._spin(0.5)
        elif event == 'kill-restart':
            self._processes['first'].kill()
            self._start('again')
            self._until('following', ', publisher /again')
        elif event.startswith('stop'):
            self._processes['first'].send_signal(signal.SIGSTOP)
            self._spin(float(event.removeprefix('stop-')))
            self._processes['first'].send_signal(signal.SIGCONT)
            self._spin(0.2)
        else:
            self._start('second', -OFFSET)
            self._until('following', ', publisher /first', 'refused publisher /second')
            self._spin(0.5)
        if event != 'kill':
            self._follows(0.5)
        rows = self._ended()
        first = int(np.flatnonzero(rows[:, 1:].any(axis=1))[0])  # before it nothing is commanded
        times = rows[first:, 0]
        away = rows[first:, 1:] - self._held
        change = np.abs(np.diff(away, axis=0)).max(axis=1)
        still = (change == 0.0) & (np.abs(away[1:]).max(axis=1) > 0.1) & (times[1:] > since)
        edges = np.flatnonzero(np.diff([False, *still, False]))
        held = 1e-3 * max(edges[1::2] - edges[::2], default=0)
        return float(change.max()), held, away, times - since
