# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
State, reference and target -> torques: everything of the node that needs no ROS.

One object is fed with joint states and yields terms and commands. It alone decides whether a
torque may be published; its callers only carry arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
import math
from typing import NamedTuple

import numpy as np

from .gravity_monitor import GravityEvidence, GravityState, GravityWatch
from .limits import LimitedTorque, TorqueLimiter
from .reference import ReferencePoint, ReferenceSource, Trajectory
from .reference_request import plan, TrajectoryRequest
from .settings import Settings, Start, StateSource, Stop
from .supervision import Condition, Observation, StateSupervisor, SupervisionLimits
from .terms import TermModel
from ..arm import ArmDescription
from ..dynamics.newton_euler import NewtonEulerModel
from ..errors import ReferenceRefusedError
from ..typing import Array

# [rad] or [m]; an arm that was moved further while we were silent was somebody else's, and the
# torque we left it with says nothing about the one it needs.
_MOVED_SINCE = 0.1
# On an inclined base the whole of g(q) must pull; contact may carry some of it for a moment.
_LEAST_ACTING, _WRONG_WINDOWS = 0.3, 3


class Mode(str, Enum):
    """What the controller is doing with its command."""

    SILENT = 'silent'  # nothing is published
    RUNNING = 'running'
    STOPPING = 'stopping'  # the stop sequence is being published


class Until(int, Enum):
    """What ends a conflict; a later one ends the earlier ones too."""

    SETTINGS = 1
    ACTIVATION = 2
    CONFIGURATION = 3


class Cycle(NamedTuple):
    """
    What one joint state gave; arrays of shape (n,) in joint order [N m].

    `limited` is None where no torque may be published from this state. `previous` is what was
    last commanded before it.
    """

    observation: Observation
    stamp: float
    q: Array
    dq: Array
    effort: Array | None = None
    gravity: Array | None = None
    coriolis: Array | None = None
    inertia: Array | None = None
    previous: Array | None = None
    limited: LimitedTorque | None = None

    @property
    def command(self) -> Array | None:
        """The torque to be published [N m], if any."""
        return None if self.limited is None else self.limited.torque


@dataclass
class Counters:
    """What happened since the node became active."""

    commands: int = 0
    cut_by_limit: int = 0
    cut_by_rate: int = 0
    stops: int = 0
    largest_share: Array = field(default_factory=lambda: np.zeros(0))


class FeedforwardController:
    """
    Computes feedforward torques for one arm.

    Parameters
    ----------
    description : ArmDescription
        The arm, without the settings' payload.
    settings : Settings
        The live parameters to begin with.
    supervision : SupervisionLimits
        When a state is no longer trusted.

    Raises
    ------
    SettingsError
        If the settings cannot be used on this arm.

    """

    def __init__(self, description: ArmDescription, settings: Settings | None = None,
                 supervision: SupervisionLimits | None = None) -> None:
        self.description = description
        self.supervisor = StateSupervisor(description, supervision or SupervisionLimits())
        self.reference = ReferenceSource()
        self.counters = Counters(largest_share=np.zeros(description.n))
        self.mode = Mode.SILENT
        self.stop_reason = ''
        self.enabled = False
        self._effort = description.limit('effort')
        self._limiter = TorqueLimiter(self._effort, description.limit('effort_rate'))
        self._zero = np.zeros(description.n)
        self._last: Array | None = None  # the last command that was published
        self._last_gravity = self._zero  # the part of it that held the arm
        self._command_stamp: float | None = None
        self._latest: tuple[float, Array] | None = None
        self._blend: tuple[Array, float] | None = None
        self._blend_wanted = False
        self._stop_goal = self._zero
        self.conflict, self._conflict_until = '', Until.SETTINGS
        self._wrong_gravity_windows = 0
        self._rest: Array | None = None  # where the arm was left by the last stop
        self._use(settings or Settings())

    @property
    def settings(self) -> Settings:
        """The live parameters in use."""
        return self._settings

    @property
    def terms(self) -> TermModel:
        """The torque terms in use."""
        return self._terms

    @property
    def stopping(self) -> bool:
        """Whether the stop sequence is under way."""
        return self.mode is Mode.STOPPING

    def apply(self, settings: Settings) -> None:
        """
        Use other live parameters from the next cycle on, all or none of them.

        The command glides from what it was to what it becomes within `ramp_time`.

        Raises
        ------
        SettingsError
            If they cannot be used; the present ones then stay.

        """
        had_gains = self._has_gains
        self._use(settings)
        self._resolve(Until.SETTINGS)
        if self._has_gains and not had_gains and not self.reference.active:
            # Where the arm was held before it was let go is nobody's wish any more.
            self.reference.clear()
        self._blend_wanted = self._last is not None

    def _use(self, settings: Settings) -> None:
        settings.validate(self.description)
        terms = TermModel(self.description, settings)
        kp, kd = settings.gains(self.description.n)
        self._settings, self._terms, self._kp, self._kd = settings, terms, kp, kd
        self.gravity_watch = GravityWatch(terms.true.mass_matrix)
        self._wrong_gravity_windows = 0
        self._has_gains = bool(kp.any() or kd.any())

    def set_reference(self, request: TrajectoryRequest) -> Trajectory | ReferencePoint:
        """
        Follow a requested motion from now on, and return it as it will be followed.

        Raises
        ------
        ReferenceRefusedError
            If it cannot be followed; what was followed before goes on.

        """
        if self._latest is None:
            raise ReferenceRefusedError('The reference came before any joint state; wait until '
                                        'the arm publishes its state.')
        stamp, q = self._latest
        begin = stamp if request.start is None else max(stamp, request.start)
        current = self.reference.at(begin) or ReferencePoint.at_rest(q)
        planned = plan(request, self.description, stamp, current, q)
        if self.mode is not Mode.RUNNING:
            return planned  # for whoever adds the efforts himself; nothing is commanded here
        continues = self.reference.active
        if isinstance(planned, Trajectory):
            self.reference.follow(planned, stamp)
        else:
            self.reference.stream(planned, min(begin, stamp))
        # A stream follows on itself; anything else may begin with a step that is to be faded.
        self._blend_wanted |= not (continues and isinstance(planned, ReferencePoint))
        return planned

    def enable(self) -> None:
        """Allow commands; they begin once the state is trusted."""
        self.enabled = True
        self._resolve(Until.ACTIVATION)
        self.gravity_watch.restart()
        self.counters = Counters(largest_share=np.zeros(self.description.n))

    def cycle(self, stamp: float, q: Array, dq: Array, arrival: float, *,
              effort: Array | None = None, age: float | None = None) -> Cycle:
        """
        Take one joint state; return its terms and, where it may be published, the command.

        Parameters are those of StateSupervisor.observe, and the measured effort, shape (n,)
        [N m], where the driver gives one. The arrays are kept and must not change afterwards.
        """
        if effort is not None and not _all_finite(effort):
            joint = int(np.flatnonzero(~np.isfinite(effort))[0])
            return Cycle(self.reject(
                Condition.NOT_FINITE, f'{self.description.joint_names[joint]} has a measured '
                f'effort of {effort[joint]}; check its driver'), stamp, q, dq)
        observation = self.supervisor.observe(stamp, q, dq, arrival, age)
        if not observation.valid:
            self._follow_up(observation)
            return Cycle(observation, stamp, q, dq, effort)
        self._latest = (stamp, q)
        reference = self.reference.sample(stamp) if observation.trusted else None
        terms = self._terms
        terms.follow(stamp, q)
        gravity, coriolis = terms.gravity(q), terms.coriolis(q, dq)
        inertia = terms.inertia(q, reference.ddq) if reference is not None else self._zero
        previous, limited = self._last, None
        if self._follow_up(observation):
            limited = self._command(stamp, q, dq, reference, gravity, coriolis, inertia)
        return Cycle(observation, stamp, q, dq, effort, gravity, coriolis, inertia, previous,
                     limited)

    def reject(self, condition: Condition, reason: str) -> Observation:
        """Take note of a message that is no state of this arm."""
        observation = self.supervisor.reject(condition, reason)
        self._follow_up(observation)
        return observation

    def check_silence(self, now: float) -> None:
        """Begin the stop sequence if joint states have ceased (steady clock, [s])."""
        if self.supervisor.check_silence(now) is Condition.STALE:
            self.stop(self.supervisor.reason)

    def stop(self, reason: str, *, to_zero: bool = False) -> None:
        """
        Begin the stop sequence; it needs no state and ends in silence.

        It ends at the target's own resting torque, or at zero where that would be wrong because
        somebody else carries the arm.
        """
        if self.mode is Mode.RUNNING and self._last is None:
            self.mode = Mode.SILENT  # nothing was published, so there is nothing to take back
        elif self.mode is Mode.RUNNING:
            hold = self._settings.profile.stop is Stop.HOLD_GRAVITY and not to_zero
            goal = self._last_gravity if hold else self._zero
            self._stop_goal = np.clip(goal, -self._effort, self._effort)
            self.mode, self.stop_reason = Mode.STOPPING, reason
            self.counters.stops += 1
            self._rest = self._latest[1] if self._latest is not None else None
            self.reference.clear()

    def hold_off(self, reason: str, until: Until, *, to_zero: bool = False) -> None:
        """Stop, and stay silent until what the conflict is about has been changed."""
        if self.conflict and until < self._conflict_until:
            return
        self.conflict, self._conflict_until = reason, until
        self.stop(reason, to_zero=to_zero)

    def _resolve(self, by: Until) -> None:
        if self._conflict_until <= by:
            self.conflict = ''

    def disable(self, reason: str) -> None:
        """Stop, and stay silent until enabled again."""
        self.enabled = False
        self.stop(reason)

    def stop_step(self, elapsed: float) -> Array | None:
        """
        Return the next torque of the stop sequence, or None when it has ended.

        Parameters
        ----------
        elapsed : float
            Time since the last published torque [s], by any clock.

        """
        if self.mode is not Mode.STOPPING:
            return None
        if self._last is None or np.array_equal(self._last, self._stop_goal):
            self.mode = Mode.SILENT
            return None
        self._last = self._limiter.limit(self._stop_goal, self._last, elapsed).torque
        return self._last

    def reflect(self, cycle: Cycle) -> None:
        """
        Learn from a cycle what only the next one needs; to be called once its command is out.

        Counts, and refuses to go on adding gravity where the arm shows that it needs none.
        """
        if cycle.limited is not None:
            self._count(cycle.limited)
        if cycle.gravity is not None:
            self._watch_gravity(cycle, cycle.gravity)

    def _watch_gravity(self, cycle: Cycle, gravity: Array) -> None:
        # The effort of this state answers to the command before it.
        command = cycle.previous if cycle.previous is not None else self._zero
        evidence = self.gravity_watch.add(
            cycle.stamp, cycle.q, cycle.dq, cycle.effort, command, gravity)
        if evidence is None or self.mode is not Mode.RUNNING or not self._settings.terms.gravity:
            return
        settings = self._settings
        if not settings.profile.receiver_adds_gravity:
            if _adding_is_wrong(evidence):
                self.hold_off(
                    f'target {settings.target} leaves gravity to this node, but the arm is '
                    f'{evidence.state.value}: {evidence.sentence}. Choose a target that '
                    'compensates gravity itself (fci, franka_gazebo), or switch the other '
                    'compensation off', Until.SETTINGS, to_zero=True)
        elif settings.inclined:
            wrong = evidence.measured and evidence.acting < _LEAST_ACTING
            self._wrong_gravity_windows = self._wrong_gravity_windows + 1 if wrong else 0
            if self._wrong_gravity_windows >= _WRONG_WINDOWS:
                self.hold_off(
                    f'gravity_vector is {list(settings.gravity_vector)}, but of the gravity '
                    f'torque it stands for {evidence.acting:.0%} is measured; it must be gravity '
                    'in the base frame of the arm as it is mounted', Until.SETTINGS)

    def trajectory_efforts(self, trajectory: Trajectory) -> Array:
        """Return the feedforward torque at every point of a trajectory, shape (k, n) [N m]."""
        q = trajectory.positions
        dq, ddq = (np.zeros_like(q) if rows is None else rows
                   for rows in (trajectory.velocities, trajectory.accelerations))
        settings, switches, terms = self._settings, self._settings.terms, self._terms
        # The independent model: it takes all points at once, and agrees to rounding.
        weightless = NewtonEulerModel(terms.loaded, (0.0, 0.0, 0.0))
        efforts = np.zeros_like(q)
        if switches.coriolis:
            efforts = efforts + weightless.coriolis(q, dq)
        if switches.inertia:
            efforts = efforts + weightless.inverse_dynamics(q, np.zeros_like(q), ddq)
        if switches.friction:
            efforts = efforts + terms.friction_along(q, dq)
        efforts = settings.scale * efforts
        if switches.gravity:
            efforts = efforts + np.array(
                [terms.gravity_left_to_us(row, terms.gravity(row)) for row in q])
        return np.clip(efforts, -self._effort, self._effort)

    def _follow_up(self, observation: Observation) -> bool:
        """Change the mode as the state's condition demands; return whether to command."""
        condition = observation.condition
        if not observation.valid and condition in (Condition.TRUSTED, Condition.ACQUIRING):
            return False  # a repeated or late message: no fault, and nothing to say
        if condition is not Condition.TRUSTED:
            self.stop(f'{condition.value}: {observation.reason}')
            return False
        if self.mode is Mode.SILENT and self.enabled and not self.conflict:
            self.mode, self.stop_reason = Mode.RUNNING, ''
            self._begin()
        return self.mode is Mode.RUNNING

    def _begin(self) -> None:
        """Start commanding, as if for the first time where somebody has moved the arm since."""
        self._blend_wanted = True
        self.reference.clear()
        moved = (self._rest is not None and self._latest is not None
                 and np.abs(self._latest[1] - self._rest).max() > _MOVED_SINCE)
        if moved and self._settings.profile.start is Start.GRAVITY:
            self._last = None

    def _command(self, stamp: float, q: Array, dq: Array, reference: ReferencePoint | None,
                 gravity: Array, coriolis: Array, inertia: Array) -> LimitedTorque | None:
        settings, terms = self._settings, self._terms
        ours = (terms.gravity_left_to_us(q, gravity) if settings.terms.gravity else self._zero)
        desired = ours + self._feedforward(q, dq, reference, coriolis, inertia)
        if self._has_gains:
            desired = desired + self._proportional_derivative(q, dq, reference)
        if not _all_finite(desired):
            self.stop('the computed torque is not finite')
            return None
        if self._last is None:
            # Nothing was published yet: begin with what keeps the arm where it is.
            begin = ours if settings.profile.start is Start.GRAVITY else self._zero
            self._last = np.clip(begin, -self._effort, self._effort)
            self._command_stamp = stamp
        desired = self._glide(stamp, desired)
        elapsed = stamp - self._command_stamp if self._command_stamp is not None else 0.0
        limited = self._limiter.limit(desired, self._last, elapsed)
        if not _all_finite(limited.torque):
            self.stop('the limited torque is not finite')
            return None
        self._last, self._command_stamp = limited.torque, stamp
        self._last_gravity = ours
        return limited

    def _feedforward(self, q: Array, dq: Array, reference: ReferencePoint | None,
                     coriolis: Array, inertia: Array) -> Array:
        """Return what is scaled: Coriolis, inertia and friction."""
        settings, switches = self._settings, self._settings.terms
        desired_state = settings.state_source is StateSource.REFERENCE and reference is not None
        total = self._zero
        if switches.coriolis:
            total = (self._terms.coriolis(reference.q, reference.dq)
                     if desired_state and reference is not None else coriolis)
        if switches.inertia and reference is not None:
            total = total + (self._terms.inertia(reference.q, reference.ddq)
                             if desired_state else inertia)
        if switches.friction and reference is not None:
            # At the wanted velocity: from the measured one, friction would be driven by noise.
            total = total + self._terms.friction(reference.dq)
        return total if settings.scale == 1.0 else settings.scale * total

    def _proportional_derivative(self, q: Array, dq: Array,
                                 reference: ReferencePoint | None) -> Array:
        if reference is None:
            # Gains without a wish: hold the arm where it was when they were first needed.
            self.reference.hold(q)
            return -self._kd * dq
        return self._kp * (reference.q - q) + self._kd * (reference.dq - dq)

    def _glide(self, stamp: float, desired: Array) -> Array:
        """Fade out the difference that a start or a change of settings would be as a step."""
        if self._blend_wanted and self._last is not None:
            self._blend = (self._last - desired, stamp)
            self._blend_wanted = False
        if self._blend is None:
            return desired
        difference, since = self._blend
        passed = (stamp - since) / self._settings.ramp_time if self._settings.ramp_time else 1.0
        if passed >= 1.0:
            self._blend = None
            return desired
        return desired + (1.0 - passed) * difference

    def _count(self, limited: LimitedTorque) -> None:
        counters = self.counters
        counters.commands += 1
        counters.cut_by_limit += bool(limited.cut_by_limit.any())
        counters.cut_by_rate += bool(limited.cut_by_rate.any())
        np.maximum(counters.largest_share, np.abs(limited.torque) / self._effort,
                   out=counters.largest_share)


def _all_finite(values: Array) -> bool:
    """Return whether all are finite; the sum of squares tells by one call, but may overflow."""
    return math.isfinite(values.dot(values)) or bool(np.isfinite(values).all())


def _adding_is_wrong(evidence: GravityEvidence) -> bool:
    """Return whether the arm shows that the gravity we command is too much."""
    return evidence.commanded > 0.5 and evidence.state in (
        GravityState.COMPENSATED, GravityState.NO_GRAVITY)
