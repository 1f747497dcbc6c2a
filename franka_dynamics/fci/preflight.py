# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The check before a first torque: the robot at rest against this node's model of it.

At rest the link-side torque sensors measure g(q) of what is really there, whoever holds the arm.
A payload that is not there, a gravity vector of another mount, or another arm's numbers are seen
here while nothing is commanded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from .connection import FciReading
from ..arm import ArmDescription, LinkInertia
from ..arm.sampling import sample_states
from ..control.settings import Settings
from ..control.terms import TermModel
from ..dynamics.model import GRAVITY
from ..dynamics.pinocchio_model import PinocchioModel
from ..typing import Array

WINDOW = 100  # states at rest in a row: 0.1 s
# After as many states a verdict is worth nothing more: loads are changed by hand meanwhile.
_VALID = 1000
# At rest the encoders' noise reads as less than this [rad/s].
_REST = 0.02
# The share of the gravity torque left to this node that has to be found in tau_J.
_LEAST_SHARE, _MOST_SHARE = 0.5, 1.5
_POSES = 20  # at which the loads that robot and node know of are compared
_ADVICE = (
    '; check hand, payload and gravity_vector, and that nothing touches the arm or hangs on it'
)
_GRAVITY_TOLERANCE = 0.5  # [m/s^2] of what the robot reports of its base


class PreflightVerdict(str, Enum):
    """What the check has found."""

    WAITING = 'waiting'
    PASSED = 'passed'
    NO_EVIDENCE = 'no evidence'  # tau_J is no measurement, and no gravity is left to this node
    REFUSED = 'refused'


@dataclass(frozen=True)
class PreflightResult:
    """A verdict in a sentence, and the largest |tau_J - g(q)| [N m] where there was one."""

    verdict: PreflightVerdict
    sentence: str
    largest: float = float('nan')


class Preflight:
    """
    Collects states at rest and compares what the robot says with what this node assumes.

    Parameters
    ----------
    description : ArmDescription
        The arm, without the settings' payload.
    bare : ArmDescription
        The same without a hand.
    threshold : ndarray, shape (7,)
        Largest |tau_J - g(q)| at which torque may be commanded [N m].
    live : callable
        Returns the settings in use and their terms.

    """

    def __init__(
        self,
        description: ArmDescription,
        bare: ArmDescription,
        threshold: Array,
        live: Callable[[], tuple[Settings, TermModel]],
    ) -> None:
        self._description, self._bare, self.threshold = description, bare, threshold
        self._live = live
        self._poses = sample_states(description, _POSES, 0).q
        self._efforts: list[Array] = []
        # Set by whoever has compared the model with the one that the robot serves.
        self.model_refusal = ''
        self.restart()

    def restart(self) -> None:
        """Forget all; the next verdict rests on new states alone."""
        self._efforts.clear()
        self._age = 0
        self.result = PreflightResult(PreflightVerdict.WAITING, 'no state at rest has been read')

    def observe(self, reading: FciReading) -> PreflightVerdict:
        """
        Take a state at which nothing was commanded; return the verdict so far.

        The last `WINDOW` states must have been at rest. A refusal stays until `restart`.
        """
        if self.result.verdict is PreflightVerdict.REFUSED:
            return PreflightVerdict.REFUSED
        speed = float(np.abs(reading.dq).max())
        if not speed <= _REST:
            self.restart()
            self.result = PreflightResult(
                PreflightVerdict.WAITING,
                f'waiting for rest: {self._name(np.abs(reading.dq))} moves at {speed:.3f} rad/s',
            )
            return PreflightVerdict.WAITING
        if self.result.verdict is not PreflightVerdict.WAITING:
            self._age += 1
            if self._age <= _VALID:
                return self.result.verdict
            self.restart()
        self._efforts.append(reading.effort)
        if len(self._efforts) < WINDOW:
            self.result = PreflightResult(
                PreflightVerdict.WAITING,
                f'checking tau_J at rest: {len(self._efforts)} of {WINDOW} states',
            )
            return PreflightVerdict.WAITING
        self.result = self._judge(reading, *self._live())
        return self.result.verdict

    def _judge(
        self,
        reading: FciReading,
        settings: Settings,
        terms: TermModel,
    ) -> PreflightResult:
        refusal = (
            self._no_number(reading)
            or self._base_differs(reading)
            or self._load_differs(reading, settings)
            or self.model_refusal
            or self._unmeasured(reading, settings, terms)
        )
        if refusal:
            return PreflightResult(PreflightVerdict.REFUSED, refusal)
        efforts = np.array(self._efforts)
        measured = efforts.mean(axis=0)
        gravity = terms.gravity(reading.q)
        apart = measured - gravity
        largest = float(np.abs(apart).max())
        if self._is_no_measurement(reading, efforts):
            return PreflightResult(
                PreflightVerdict.NO_EVIDENCE,
                'tau_J is the last command and no measurement, as a '
                'simulated robot gives it; it says nothing about the model, so only torque '
                'without gravity may be commanded',
            )
        # Written so that a NaN fails it.
        if not (np.abs(apart) <= self.threshold).all():
            joint = int(np.argmax(np.abs(apart) / self.threshold))
            return PreflightResult(
                PreflightVerdict.REFUSED,
                f'at rest tau_J differs from g(q) by {abs(apart[joint]):.3g} N m '
                f'at {self._description.joint_names[joint]} ({measured[joint]:.3g} measured, '
                f'{gravity[joint]:.3g} expected, {self.threshold[joint]:.3g} allowed)'
                f'{_ADVICE}',
                largest,
            )
        return PreflightResult(
            PreflightVerdict.PASSED,
            f'at rest tau_J agrees with g(q) to {largest:.2g} N m',
            largest,
        )

    def _no_number(self, reading: FciReading) -> str:
        """Return which of what is judged here is NaN or infinite."""
        for name, value in (
            ('tau_J', self._efforts),
            ('m_ee + m_load', reading.load_mass),
            ('its centre of mass', reading.load_center),
            ('O_ddP_O', reading.base_gravity),
        ):
            if not np.isfinite(value).all():
                return f'the robot reports {name} as no finite number; restart it'
        return ''

    def _base_differs(self, reading: FciReading) -> str:
        """Return what is wrong with the gravity that the robot compensates."""
        reported = reading.base_gravity
        # A simulated robot may report none; libfranka's own sets (0, 0, -9.81).
        if not reported.any() or np.abs(reported - GRAVITY).max() <= _GRAVITY_TOLERANCE:
            return ''
        return (
            f'the robot reports gravity {np.round(reported, 2).tolist()} m/s^2 in its base '
            f'frame, and not {list(GRAVITY)}, which target fci relies on'
        )

    def _load_differs(self, reading: FciReading, settings: Settings) -> str:
        """Return how the load the robot was told of differs from the one this node assumes."""
        told = LinkInertia.from_center_of_mass(reading.load_mass, reading.load_center, np.zeros(6))
        assumed = known_to_robot(self._description, settings)
        robot, node = (
            PinocchioModel(arm, GRAVITY)
            for arm in (
                self._bare.with_payload(told),
                assumed,
            )
        )
        poses = np.vstack([self._poses, reading.q])
        apart = np.abs([robot.gravity(q) - node.gravity(q) for q in poses]).max(axis=0)
        if (apart <= self.threshold).all():
            return ''
        joint = int(np.argmax(apart / self.threshold))
        payload = settings.payload[0] if settings.payload_known_to_robot else 0.0
        return (
            f'the robot was told of {reading.load_mass:.3g} kg on its flange (m_ee + m_load), '
            f'this node of hand {self._description.hand} and a payload of {payload:.3g} kg '
            f'that the robot knows: g(q) differs by up to {apart[joint]:.3g} N m at '
            f'{self._description.joint_names[joint]}; make them equal (Desk or setLoad there; '
            'hand, payload, payload_known_to_robot here)'
        )

    def _unmeasured(self, reading: FciReading, settings: Settings, terms: TermModel) -> str:
        """Return why the gravity left to this node cannot be judged, or is not there."""
        left = np.array([terms.gravity_left_to_us(q, terms.gravity(q)) for q in self._poses])
        if not (np.abs(left).max(axis=0) > self.threshold).any():
            return ''
        what = ' and '.join(
            [
                *(['gravity_vector'] if settings.inclined else []),
                *(['payload'] if not settings.payload_known_to_robot else []),
            ]
        )
        efforts = np.array(self._efforts)
        if self._is_no_measurement(reading, efforts):
            return (
                f'{what} would have this node command gravity, but tau_J is the last command '
                'and no measurement, so nothing bears it out'
            )
        gravity = terms.gravity(reading.q)
        here = terms.gravity_left_to_us(reading.q, gravity)
        if not (np.abs(here) > self.threshold).any():
            return (
                f'{what} would have this node command gravity, but at this pose it has no '
                f'lever ({np.abs(here).max():.2g} N m), so tau_J bears nothing out; move the '
                'arm by hand and enable again'
            )
        share = float((efforts.mean(axis=0) - gravity + here) @ here / (here @ here))
        if _LEAST_SHARE <= share <= _MOST_SHARE:
            return ''
        return (
            f'{what} would have this node command {np.abs(here).max():.3g} N m of gravity at '
            f'{self._name(np.abs(here))}, but tau_J shows {round(100 * share)}% of it'
            f'{_ADVICE}'
        )

    @staticmethod
    def _is_no_measurement(reading: FciReading, efforts: Array) -> bool:
        """Return whether tau_J is exactly zero or exactly the desired torque."""
        return not efforts.any() or bool(np.array_equal(efforts[-1], reading.effort_desired))

    def _name(self, sizes: Array) -> str:
        return self._description.joint_names[int(np.argmax(sizes))]


def known_to_robot(description: ArmDescription, settings: Settings) -> ArmDescription:
    """Return the arm with what this node assumes the robot to know of."""
    known = settings.payload_known_to_robot
    return description.with_payload(settings.payload_inertia()) if known else description
