# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""One robot over the Franka Control Interface, by libfranka's own bindings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
import math
import os
import select
import socket
import stat
import subprocess
import sys
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import FciError, MissingDependencyError, SettingsError
from ..typing import Array

COMMUNICATION, REFLEX, REFUSED = 'communication error', 'reflex', 'refused'
# libfranka gives up on a silent robot after a second of its own; it must not take much longer.
_LONGEST_WAIT_S = 0.1
# libfranka waits for the robot's answer without end, so a first connection is made by a child
# process that can be given up on.
_PROBE = 'import sys, pylibfranka as p; p.Robot(sys.argv[1], p.RealtimeConfig.kIgnore)'


class FciReading(NamedTuple):
    """
    What the robot says once per millisecond; arrays of shape (7,), SI units.

    `time` is the robot's clock [s]. `effort` is the measured link-side torque tau_J, and
    `effort_desired` the robot's tau_J_d, without gravity. `received` is the share of the last
    100 commands that reached the robot in time. `mode` and `errors` are libfranka's names.
    `load_mass` [kg] and `load_center` [m], shape (3,) in the flange frame, are the end effector
    and load the robot was told of together; `base_gravity` [m/s^2], shape (3,), is the gravity
    it reports of its base (zeros where it reports none).
    """

    time: float
    q: Array
    dq: Array
    effort: Array
    received: float
    mode: str
    errors: str
    effort_desired: Array = np.zeros(7)
    load_mass: float = 0.0
    load_center: Array = np.zeros(3)
    base_gravity: Array = np.zeros(3)


def positive(name: str, values: ArrayLike, count: int) -> Array:
    """Return so many positive finite numbers as an array, or raise SettingsError by their name."""
    array = np.asarray(values, dtype=float)
    # Written so that a NaN fails it.
    if array.shape != (count,) or not ((array > 0.0) & (array < np.inf)).all():
        raise SettingsError(
            f'{name} must be {count} positive finite numbers; got {array.tolist()[: count + 1]}.'
        )
    return array


@dataclass(frozen=True)
class CollisionThresholds:
    """
    Above which external torques and forces the robot stops by its own collision reflex.

    `lower_torque`, `upper_torque`: one value per joint [N m]. `lower_force`, `upper_force`: three
    forces [N] and three moments [N m] on the end effector, in the base frame. Between lower and
    upper the robot reports a contact; above upper, a collision. The defaults are those of
    libfranka's examples communication_test.cpp (torque control), joint_impedance_control.cpp,
    motion_with_control.cpp and generate_joint_position_motion.cpp, commit 6474466b of June 2026.

    Raises
    ------
    SettingsError
        If there are not seven or six positive finite values, or a lower one exceeds its upper.

    """

    lower_torque: tuple[float, ...] = (20.0, 20.0, 18.0, 18.0, 16.0, 14.0, 12.0)
    upper_torque: tuple[float, ...] = (20.0, 20.0, 18.0, 18.0, 16.0, 14.0, 12.0)
    lower_force: tuple[float, ...] = (20.0, 20.0, 20.0, 25.0, 25.0, 25.0)
    upper_force: tuple[float, ...] = (20.0, 20.0, 20.0, 25.0, 25.0, 25.0)

    def __post_init__(self) -> None:
        for name, count in (('torque', 7), ('force', 6)):
            lower, upper = (
                positive(f'{side}_{name}_thresholds', getattr(self, f'{side}_{name}'), count)
                for side in ('lower', 'upper')
            )
            if (lower > upper).any():
                at = int(np.argmax(lower > upper))
                raise SettingsError(
                    f'lower_{name}_thresholds[{at}] is {lower[at]:g}, above '
                    f'upper_{name}_thresholds[{at}], which is {upper[at]:g}.'
                )


class FciConnection:
    """
    A connection, and at most one torque motion on it.

    Parameters
    ----------
    address : str
        Host name or IP address of the robot's control unit.
    enforce_realtime : bool
        Let libfranka refuse to control without real-time scheduling.
    timeout : float
        How long to wait for the robot's answer to the first connection [s].

    Raises
    ------
    FciError
        If the robot cannot be reached, or does not answer.
    MissingDependencyError
        If pylibfranka is not installed.

    """

    def __init__(
        self, address: str, *, enforce_realtime: bool = False, timeout: float = 10.0
    ) -> None:
        try:
            import pylibfranka
        except ImportError as error:
            raise MissingDependencyError(
                "The control interface needs pylibfranka: pip install 'franka_dynamics[fci]'."
            ) from error
        self._library = pylibfranka
        self.address = address
        _require_answer(address, timeout)
        config = pylibfranka.RealtimeConfig
        before = _datagram_sockets()
        with self._named_errors():
            self._robot = pylibfranka.Robot(
                address, config.kEnforce if enforce_realtime else config.kIgnore
            )
        opened = _datagram_sockets() - before
        # Another thread may have opened one meanwhile, and then it is not known which is which.
        self._socket = opened.pop() if len(opened) == 1 else None
        self._motion: Any = None
        self.state: Any = None

    def read(self) -> FciReading:
        """Wait for the robot's next state and return it; FciError if none comes or it stopped."""
        self._wait()
        with self._named_errors():
            if self._motion is None:
                state = self._robot.read_once()
            else:
                state, _ = self._motion.readOnce()
        reading = reading_from(state)
        # Last: other threads may write on it.
        self.state = state
        return reading

    def _wait(self) -> None:
        """
        Wait until a state can be read.

        pylibfranka keeps Python's lock while it waits, so that no other thread would run; the
        system does not.
        """
        if self._socket is not None:
            poll = select.poll()
            poll.register(self._socket, select.POLLIN)
            poll.poll(1e3 * _LONGEST_WAIT_S)

    def begin(self) -> None:
        """Begin a torque motion; every `read` is then to be answered by a `write`."""
        with self._named_errors():
            self._motion = self._robot.start_torque_control()

    def write(self, torque: Array, *, last: bool = False) -> None:
        """
        Answer the state just read.

        Parameters
        ----------
        torque : ndarray, shape (7,)
            Joint torques [N m], without gravity and friction, which the robot adds.
        last : bool
            End the motion with this torque.

        """
        command = self._library.Torques(torque.tolist())
        command.motion_finished = last
        with self._named_errors():
            self._motion.writeOnce(command)
        if last:
            self._motion = None

    def set_collision_thresholds(self, thresholds: CollisionThresholds) -> None:
        """Tell the robot when to stop by its collision reflex; FciError if it refuses."""
        with self._named_errors():
            self._robot.set_collision_behavior(
                list(thresholds.lower_torque),
                list(thresholds.upper_torque),
                list(thresholds.lower_force),
                list(thresholds.upper_force),
            )

    def recover(self) -> None:
        """Release the robot from the reflex it stopped with."""
        with self._named_errors():
            self._robot.automatic_error_recovery()

    def load_model(self) -> Any:
        """Return the model that libfranka loads from the robot."""
        with self._named_errors():
            return self._robot.load_model()

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        library = self._library
        try:
            yield
        except library.ControlException as error:
            self._motion = None
            raise FciError(REFLEX, f'the robot stopped: {_without_prefix(error)}') from error
        except (
            library.CommandException,
            library.InvalidOperationException,
            library.RealtimeException,
        ) as error:
            self._motion = None
            raise FciError(REFUSED, f'the robot refused: {_without_prefix(error)}') from error
        except (library.FrankaException, RuntimeError) as error:
            # NetworkException, and Poco's own errors, which come as plain RuntimeErrors.
            self._motion = None
            raise FciError(
                COMMUNICATION, f'the connection to {self.address} failed: {_without_prefix(error)}'
            ) from error


def reading_from(state: Any) -> FciReading:
    """Return what is used of a libfranka RobotState."""
    return FciReading(
        state.time.to_sec(),
        np.array(state.q),
        np.array(state.dq),
        np.array(state.tau_J),
        state.control_command_success_rate,
        state.robot_mode.name,
        str(state.current_errors).strip('[]'),
        np.array(state.tau_J_d),
        state.m_total,
        np.array(state.F_x_Ctotal),
        np.array(state.O_ddP_O),
    )


def _datagram_sockets() -> set[int]:
    """Return the file descriptors of this process's UDP sockets."""
    found = set()
    for name in os.listdir('/proc/self/fd'):
        try:
            if not stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                continue
            with socket.socket(fileno=os.dup(int(name))) as one:
                if one.family == socket.AF_INET and one.type == socket.SOCK_DGRAM:
                    found.add(int(name))
        except OSError:
            continue  # closed meanwhile
    return found


_NO_STATE = 'UDP receive: Timeout'  # how libfranka says it


def _require_answer(
    address: str, timeout: float, run: Callable[..., Any] = subprocess.run
) -> None:
    give_up = time.monotonic() + timeout
    while True:
        try:
            answer = run(
                [sys.executable, '-c', _PROBE, address],
                timeout=max(0.1, give_up - time.monotonic()),
                capture_output=True,
                text=True,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise FciError(
                COMMUNICATION,
                f'{address} takes the connection but does not answer within '
                f'{timeout:g} s; is another client connected to it?',
            ) from error
        if answer.returncode == 0:
            return
        # libfranka waits a second for the first state, in which a busy machine may do nothing.
        if _NO_STATE not in answer.stderr or time.monotonic() > give_up:
            break
    lines = answer.stderr.strip().splitlines() or ['no reason was given']
    raise FciError(
        COMMUNICATION,
        f'{address} cannot be reached: {_without_prefix(lines[-1].split(": ", 1)[-1])}',
    )


def _without_prefix(error: object) -> str:
    return str(error).removeprefix('libfranka: ')


# Two quartz clocks part by less than this: 50 ppm are 50 us per second.
_DRIFT = 1e-4
_LEAP_S = 0.05
_LEAST_STEP_S = 1e-6


class StampClock:
    """
    Maps the robot's time to stamps.

    A state is never older than its arrival, and the quickest arrivals are the least delayed: the
    offset is the smallest difference seen, let loose by the drift that two clocks may have. So
    stamps advance as the robot's milliseconds do, and do not part from this machine's clock.
    """

    def __init__(self) -> None:
        self._offset = math.inf
        self._time = math.nan
        self._stamp = -math.inf

    def stamp(self, time: float, now: float) -> float:
        """
        Return the stamp of a state.

        Parameters
        ----------
        time : float
            The robot's clock [s].
        now : float
            This machine's clock at the state's arrival [s].

        """
        elapsed = time - self._time
        difference = now - time
        if not 0.0 <= elapsed < _LEAP_S or abs(difference - self._offset) > _LEAP_S:
            self._offset = difference  # the first state, or one of the clocks was set
        else:
            self._offset = min(self._offset + _DRIFT * elapsed, difference)
        restarted = not elapsed >= 0.0
        self._time = time
        stamp = time + self._offset
        if elapsed > 0.0 and not restarted:
            stamp = max(stamp, self._stamp + _LEAST_STEP_S)
        elif elapsed == 0.0:
            stamp = self._stamp
        self._stamp = stamp
        return stamp
