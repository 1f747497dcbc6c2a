# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The first part of `franka-dynamics demo`, with simulated arm and feedforward node as processes.

First the feedforward torques hold the arm with no feedback at all. Then the arm follows a motion
of two sines per joint twice under the same weak PD: with gravity, Coriolis and inertia torques,
and with gravity torque alone. The simulated arm itself records every step, because a separate
recorder would need a processor core of its own.

In real time the arm does not wait for torques. On a machine too busy for 1 kHz, the figures would
show the machine's load instead of the quality of the torques. The demonstration then runs once
more in lockstep, in which simulated time waits for each torque.
"""

from collections.abc import Callable, Mapping
import os
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from trajectory_msgs.msg import JointTrajectory

from .node_client import NodeClient, NodeClientError
from .node_group import NodeGroup, use_isolated_network
from .. import SIMULATION_NAMESPACE
from ..realtime import REALTIME_ON
from ..status import (
    DiagnosticSubject,
    fault_sentences,
    NodeSnapshot,
    NodeStatus,
    StatusKey,
)
from ..trajectory_messages import reference_message, trajectory_from_message
from ...arm import ArmDescription
from ...control.default_gains import low_gains
from ...demo.multisine import multisine
from ...demo.results import DemoResult, DemoTiming, OnProgress
from ...errors import FrankaDynamicsError
from ...simulation.arm_simulation import read_steps
from ...simulation.mujoco_model import TIMESTEP_S

_FEEDFORWARD_NODE = f'{SIMULATION_NAMESPACE}/feedforward'
_SIMULATOR_NODE = f'{SIMULATION_NAMESPACE}/simulator'
_SIMULATOR_STATUS_NAME = f'{_SIMULATOR_NODE}: {DiagnosticSubject.SIMULATED_ARM}'
# The PD makes velocities decay at this rate at most [1/s]: with a hand on, all shipped arms still
# follow the motion with torques that are held for 10 ms and 5 ms late.
_MAX_DAMPING_RATE_PER_S = 50.0
# A joint with less inertia at home gets the gains of a joint with this much [kg m^2]. The last
# link of an FR3 without a hand has 1.2e-4, and a PD in proportion to that holds nothing against
# the other joints' motion.
_MIN_GAIN_INERTIA_KG_M2 = 3e-4
# Largest accepted fraction of cycles without a new torque in real time. At a fraction of 0.5 the
# tracking error is near its bound (MAX_FEEDFORWARD_TO_GRAVITY_ONLY_ERROR); at a fraction of
# 0.1 it is a hundredth of the bound.
_MAX_MISSED_CYCLE_RATIO = 0.1
# Time-out of the start, and how much longer than expected other waits may last: with a dozen busy
# processes the start may take half a minute.
_START_TIMEOUT_S = 120.0
_SETTLING_TIME_S = 1.0  # in which the arm is held before a motion is sent
_LEAD_IN_TIME_S = 1.0  # of a motion, in which the arm moves to its first point
_LOCKSTEP_RATE_HZ = 1000.0  # no faster than real time, which leaves processor time to others
_MAX_SLOWDOWN_RATIO = 20.0  # simulated time may be slower than real time by this factor


class TooBusyError(FrankaDynamicsError):
    """The machine is too busy or too slow for the demonstration."""

    status = 3


class DemoPlan(NamedTuple):
    """
    The arm, node parameters, durations and motion of a run of the demonstration.

    `hold_duration` and `motion_duration` are in seconds, `amplitude` is that of the motion [rad].
    With `lockstep` simulated time waits for each torque from the beginning.
    """

    arm: ArmDescription
    arm_parameters: Mapping[str, Any]
    hold_duration: float = 5.0
    motion_duration: float = 8.0
    amplitude: float = 0.35
    lockstep: bool = False


def run_demo(
    plan: DemoPlan, folder: Path, progress: OnProgress, log: Callable[[str], object]
) -> DemoResult:
    """
    Run the demonstration in real time or, if planned or too slow, in lockstep; return the results.

    The processes write their logs into `folder`. `progress` is called many times a second with the
    name of the present step and its progress, 0 to 1; an exception that it raises ends the
    session. `log` gets a sentence when it begins again in lockstep. Raises TooBusyError if the
    machine is too slow even in lockstep, NodeEndedError if a process ends early, with its log's
    last line or path, and NodeClientError if the node fails.
    """
    use_isolated_network()
    load = os.getloadavg()[0]
    try:
        return DemoRun(plan, folder, progress, load).run()
    except TooBusyError as error:
        if plan.lockstep:
            raise
        log(
            f'this machine is too {"busy" if load >= 1.0 else "slow"} for 1 kHz (load {load:.1f} '
            f'on {os.cpu_count()} threads before the start): {error}. So this part begins again, '
            'with simulated time waiting for each torque'
        )
        run = DemoRun(plan._replace(lockstep=True), folder, progress, load).run()
        return run._replace(timing=run.timing._replace(too_busy=str(error)))


class DemoRun:
    """One run of the demonstration, in real time or in lockstep."""

    def __init__(self, plan: DemoPlan, folder: Path, progress: OnProgress, loadavg: float) -> None:
        """Store plan, folder, progress callback and the machine's load before the run."""
        self.plan = plan
        self._folder = folder
        self._initial_cpu_load = loadavg
        self._progress = progress
        self._planned_motions: list[JointTrajectory] = []
        # The present step, with its begin and duration [s of simulated time].
        self._task_text = ''
        self._task_span = 0.0, 1.0

    def run(self) -> DemoResult:
        """Run the demonstration once, in processes that end with the run; return the results."""
        with (
            NodeGroup(self._folder) as self._nodes,
            NodeClient(_FEEDFORWARD_NODE, _START_TIMEOUT_S, self._report_progress) as self._client,
        ):
            return self._run_steps(self._folder / 'steps')

    def _run_steps(self, step_log: Path) -> DemoResult:
        """Run the demonstration's steps; return the results."""
        client = self._client
        self._start_processes(step_log)
        real_start, simulated_start = self._diagnostics_times()
        hold_interval = self._perform()
        statuses = client.heard_nodes()[_FEEDFORWARD_NODE].statuses
        real_end, simulated_end = self._diagnostics_times()
        step_rate = (simulated_end - simulated_start) / (real_end - real_start) / TIMESTEP_S
        timing = self._timing(step_rate, statuses)
        errors = fault_sentences(client.heard_nodes().values(), monotonic())
        # The results are complete, so a node that fails while it ends does not lose them.
        failures = self._nodes.end_nodes()
        self._progress('done', 1.0)
        first, second = map(trajectory_from_message, self._planned_motions)
        has_arm_failed = any(_SIMULATOR_STATUS_NAME in sentence for sentence in errors)
        return DemoResult(
            recording=read_steps(step_log, self.plan.arm.joint_names),
            hold_interval=hold_interval,
            motions=(first, second),
            timing=timing,
            model_difference=float(
                statuses[DiagnosticSubject.ARM].values[StatusKey.MODEL_DIFFERENCE]
            ),
            errors=(*errors, *failures),
            has_failed=bool(failures) or has_arm_failed,
        )

    def _start_processes(self, step_log: Path) -> None:
        """Start simulated arm and node; wait until the node holds the arm."""
        arm_parameters = self.plan.arm_parameters
        self._nodes.start_arm_and_node(
            {**arm_parameters, 'ideal': True, 'step_log': str(step_log)},
            {**arm_parameters, 'target': 'mujoco'},
            _LOCKSTEP_RATE_HZ if self.plan.lockstep else None,
            # The simulated arm, too, because a real arm does not wait for a processor.
            realtime=REALTIME_ON,
        )
        self._client.heard_nodes()  # subscribes
        topic = f'/{_FEEDFORWARD_NODE}/feedforward_trajectory'
        self._client.node.create_subscription(
            JointTrajectory, topic, self._planned_motions.append, 10
        )
        self._wait_until('waiting until the node holds the arm', self._is_arm_held)

    def _perform(self) -> tuple[float, float]:
        """Hold the arm, then follow the motion twice; return begin and end of the hold [s]."""
        plan = self.plan
        hold_interval = self._wait_simulated_time(
            'holding by feedforward alone', plan.hold_duration
        )
        self._require_few_missed_steps()
        kp, kd = low_gains(plan.arm, _MAX_DAMPING_RATE_PER_S, _MIN_GAIN_INERTIA_KG_M2)
        self._client.set_parameters({'kp': kp.tolist(), 'kd': kd.tolist()})
        self._follow_motion('following with M ddq + C dq + g and PD')
        self._client.set_parameters({'scale': 0.0})
        self._follow_motion('following with g and PD alone')
        return hold_interval

    def _timing(self, step_rate: float, node_statuses: Mapping[str, NodeStatus]) -> DemoTiming:
        """Return rates and delays of the run, by what arm and node have published."""
        arm = self._client.heard_nodes()[_SIMULATOR_NODE]
        round_trips_us = arm.percentiles_of(DiagnosticSubject.SIMULATED_ARM, StatusKey.ROUND_TRIP)
        p50, p99 = (1e-6 * value for value in round_trips_us)
        missed, steps = self._step_counts()
        return DemoTiming(
            rate=step_rate,
            missed=missed,
            steps=steps,
            stops=int(node_statuses[DiagnosticSubject.COMMAND].values[StatusKey.STOP_COUNT]),
            round_trip=(p50, p99),
            machine=f'{os.cpu_count()} threads, load {self._initial_cpu_load:.1f} before',
            lockstep=self.plan.lockstep,
        )

    def _is_arm_held(self) -> bool:
        """Return whether torques hold the simulated arm and the simulated time is known."""
        status = self._client.latest_status(f'/{_SIMULATOR_NODE}')
        return status is not None and status.is_arm_held and self._simulated_time >= 0.0

    def _wait_simulated_time(self, task_text: str, duration: float) -> tuple[float, float]:
        """Wait a duration of simulated time [s]; return start and end, or raise TooBusyError."""
        start = self._simulated_time
        self._task_span = start, duration
        end = start + duration
        timeout = _MAX_SLOWDOWN_RATIO * duration + _START_TIMEOUT_S
        self._wait_until(task_text, lambda: self._simulated_time >= end, timeout)
        return start, self._simulated_time

    def _follow_motion(self, task_text: str) -> None:
        """Let the arm settle, send the motion, await its end; raise an error if it fails."""
        plan = self.plan
        before = len(self._planned_motions)
        self._wait_simulated_time('settling', _SETTLING_TIME_S)
        self._task_text = task_text
        self._task_span = self._simulated_time, _LEAD_IN_TIME_S + plan.motion_duration
        request = multisine(plan.arm, plan.motion_duration, plan.amplitude)
        try:
            self._client.follow_trajectory(reference_message(request, _LEAD_IN_TIME_S))
        except NodeClientError as error:
            receiver = self._client.latest_status(f'/{_SIMULATOR_NODE}')
            sentence = f'{error} {_SIMULATOR_NODE}: {receiver and receiver.message}.'
            if self.plan.lockstep:
                raise NodeClientError(sentence) from error
            raise TooBusyError(sentence) from error
        self._wait_until(task_text, lambda: len(self._planned_motions) > before)
        self._require_few_missed_steps()

    def _require_few_missed_steps(self) -> None:
        """Raise TooBusyError if over a tenth of a real-time run's steps had no new torque."""
        missed, steps = self._step_counts()
        if not self.plan.lockstep and missed > _MAX_MISSED_CYCLE_RATIO * steps:
            raise TooBusyError(
                f'in real time {missed} of {steps} cycles ({100 * missed / steps:.0f} %) had no '
                'new command'
            )

    def _wait_until(
        self,
        task_text: str,
        is_done: Callable[[], bool],
        timeout: float = _START_TIMEOUT_S,
    ) -> None:
        """Wait until `is_done()` is True; raise TooBusyError after the time-out [s]."""
        self._task_text = task_text
        if not self._client.wait_until(is_done, timeout):
            raise TooBusyError(
                f'gave up {task_text} after {timeout:g} s: this machine is too slow or busy (load '
                f'{os.getloadavg()[0]:.1f} on {os.cpu_count()} threads); logs: {self._folder}.'
            )

    def _report_progress(self) -> None:
        """Report the progress of the present step; raise NodeEndedError if a process has ended."""
        begin, duration = self._task_span
        progress = (self._simulated_time - begin) / duration
        # NaN before the simulated time is known.
        self._progress(self._task_text, min(1.0, progress) if progress > 0.0 else 0.0)
        self._nodes.require_running()

    def _simulated_arm_value(self, key: str) -> float:
        """Return a number from the simulated arm's diagnostics; NaN before the first message."""
        arm = self._client.heard_nodes().get(_SIMULATOR_NODE, NodeSnapshot(_SIMULATOR_NODE))
        return arm.value_of(DiagnosticSubject.SIMULATED_ARM, key)

    @property
    def _simulated_time(self) -> float:
        """Simulated time [s]; NaN before the simulated arm has published it."""
        return self._simulated_arm_value(StatusKey.SIMULATED_TIME)

    def _diagnostics_times(self) -> tuple[float, float]:
        """Return real and simulated time [s] of the simulated arm's latest diagnostics."""
        return self._client.heard_nodes()[_SIMULATOR_NODE].updated_at, self._simulated_time

    def _step_counts(self) -> tuple[int, int]:
        """Return the numbers of steps without a new torque and of all, since the first torque."""
        missed = self._simulated_arm_value(StatusKey.MISSED_STEPS)
        commanded = self._simulated_arm_value(StatusKey.COMMANDED_STEPS)
        return int(missed), int(commanded)
