# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The torque law of one set of live parameters: model terms, gains and tracking-error checks.

Creating a ControlLaw takes about a millisecond, too long for a control cycle. Therefore the node
creates each ControlLaw outside the control cycle.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .default_gains import home_pose
from .oscillation import damping_rate
from .settings import Settings, StateSource
from .terms import StateTerms, TermModel
from .trajectory import ReferencePoint, Trajectory
from ..arm import ArmDescription
from ..errors import distinct
from ..typing import Array
from ..urdf.source import described


class ControlLaw:
    """
    The torque desired at a state, for one set of settings.

    `description` is the arm (or its name or file) without the settings' payload.
    Raises SettingsError if the settings cannot be used on this arm.
    """

    def __init__(self, description: ArmDescription | str | Path, settings: Settings) -> None:
        description = described(description)
        settings.validate(description)
        self.description, self.settings = description, settings
        self._names = description.joint_names  # kept, because each access makes a new tuple
        self.terms = TermModel(description, settings)
        self.kp, self.kd = settings.gains(description.n)
        self.has_gains = bool(self.kp.any() or self.kd.any())
        # Largest rate at which kd makes joint velocities decay at the home pose [1/s].
        self.damping_rate = (
            damping_rate(
                self.terms.true.mass_matrix(home_pose(description))
                + settings.profile.rotor_inertia * np.eye(description.n),
                self.kd,
            )
            if self.kd.any()
            else 0.0
        )
        self._most_error = [
            bound or np.inf for bound in settings.tracking_errors(description.n).tolist()
        ]
        self._zero = np.zeros(description.n)
        self._effort = description.limit('effort')

    def gravity(self, q: Array, gravity: Array) -> Array:
        """
        Return the part of `gravity` = g(q) that the target does not add itself, (n,) [N m].

        If terms.gravity is off, the returned torque is zero.
        """
        return (
            self.terms.gravity_to_command(q, gravity)
            if self.settings.terms.gravity
            else self._zero
        )

    def feedforward(self, state: StateTerms, reference: ReferencePoint | None) -> Array:
        """
        Return `scale` times the enabled Coriolis, inertia and friction torques, (n,) [N m].

        Without a reference, inertia and friction torques are zero.
        """
        settings, switches = self.settings, self.settings.terms
        desired_state = settings.state_source is StateSource.REFERENCE and reference is not None
        total = self._zero
        if switches.coriolis:
            total = (
                self.terms.coriolis(reference.q, reference.dq)
                if desired_state and reference is not None
                else state.coriolis
            )
        if switches.inertia and reference is not None:
            total = total + (
                self.terms.inertia(reference.q, reference.ddq) if desired_state else state.inertia
            )
        if self.terms.friction is not None and reference is not None:
            # Friction of the desired velocity, because the measured velocity is noisy.
            total = total + self.terms.friction.torque(reference.dq)
        return total if settings.scale == 1.0 else settings.scale * total

    def torque(
        self, state: StateTerms, reference: ReferencePoint | None
    ) -> tuple[Array, Array, Array | None]:
        """
        Return commanded gravity torque, total desired torque, feedback torque, (n,) each [N m].

        The total is commanded gravity plus feedforward plus feedback torque. The feedback torque
        is None if all gains are zero; without a reference the feedback only damps.
        """
        ours = self.gravity(state.q, state.gravity)
        desired = ours + self.feedforward(state, reference)
        if not self.has_gains:
            return ours, desired, None
        if reference is None:
            feedback = -self.kd * state.dq
        else:
            feedback = self.kp * (reference.q - state.q) + self.kd * (reference.dq - state.dq)
        return ours, desired + feedback, feedback

    def trajectory_efforts(self, trajectory: Trajectory) -> Array:
        """
        Return commanded gravity plus feedforward torque at each trajectory point, (k, n) [N m].

        Each returned torque is clipped to its joint's torque limit.
        """
        settings, switches, terms = self.settings, self.settings.terms, self.terms
        efforts = np.zeros_like(trajectory.positions)
        for row, (q, dq, ddq) in zip(efforts, trajectory.states):
            if switches.coriolis:
                row += settings.scale * terms.coriolis(q, dq)
            if switches.inertia:
                row += settings.scale * terms.inertia(q, ddq)
            row += self.gravity(q, terms.gravity(q))
        # Maxwell-slip friction depends on displacement, so it is computed for the whole motion at
        # once.
        if terms.friction is not None:
            efforts += settings.scale * terms.friction.torque_along(
                trajectory.positions, trajectory.velocities
            )
        return np.clip(efforts, -self._effort, self._effort)

    def astray(self, q: Array, desired: Array) -> str:
        """Return a sentence if the tracking error of a joint or flange is too large, else ''."""
        for name, measured, wanted, bound in zip(
            self._names, q.tolist(), desired.tolist(), self._most_error
        ):
            # A NaN tracking error counts as too large, even without a bound.
            if not abs(measured - wanted) <= bound:
                far, allowed = distinct(abs(measured - wanted), bound)
                return (
                    f'{name} is {far} rad from where it '
                    f'should be, more than max_tracking_error allows ({allowed}); is '
                    'something in its way, or is the gain too small for the motion?'
                )
        most = self.settings.max_flange_error
        if most > 0.0:
            is_at, should = (self.terms.true.frames(one)[-1][:3, 3] for one in (q, desired))
            distance = float(np.linalg.norm(is_at - should))
            if not distance <= most:
                far, allowed = distinct(distance, most)
                return (
                    f'the flange is {far} m from where it should be, more than '
                    f'max_flange_error allows ({allowed})'
                )
        return ''
