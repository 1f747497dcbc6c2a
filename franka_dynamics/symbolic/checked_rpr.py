# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The RPR report's formulas, each with what the numeric models say it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
import math
from typing import Any

import numpy as np

from . import derivations
from .formula_check import CheckedDerivation, Expected, FormulaChecker, numeric_model
from .rendering import Section
from ..arm import ArmDescription
from ..arm.sampling import sample_states
from ..dynamics.body_tree import BodyTree
from ..dynamics.derivatives import tree_motion, TreeMotion
from ..dynamics.model import GRAVITY
from ..rpr.dynamics import RprDynamics
from ..rpr.kinematics import RprKinematics
from ..spatial import inverse_transform
from ..typing import Array


def rpr_step_by_step(description: ArmDescription, count: int = 3) -> CheckedDerivation:
    """Return the RPR report's forms as `derivations.rpr_report` orders them, checked."""
    return _RprSteps(description, count).derivation()


class _RprSteps:
    """The report's formulas, each with what the numeric models say it is."""

    def __init__(self, description: ArmDescription, count: int) -> None:
        self.description = description
        self.kinematics = RprKinematics.from_description(description)
        self.dynamics = RprDynamics.from_description(description)
        self.model = numeric_model(description, np.array(GRAVITY))
        self.states = sample_states(description, count, seed=0)
        self.wrenches = np.random.default_rng(1).normal(size=(count, 6))
        self.checker = FormulaChecker([self._letters(state) for state in range(count)])

    def derivation(self) -> CheckedDerivation:
        """Return the report's sections with notes."""
        sections = [
            Section(
                f'{self.description.name}: derivation step by step',
                (
                    "The report's forms as corrected, in its letters and sections; all "
                    'in the space '
                    'frame unless a frame is named.',
                    'Beside each formula: the largest difference at '
                    f'{len(self.states.q)} random states from the model named, relative to max(1, '
                    '|value|).',
                ),
                (),
            )
        ]
        for section in derivations.rpr_report():
            formulas = []
            for formula in section.formulas:
                expected, against = self._expected(section.title, formula.name)
                formulas.append(
                    self.checker.formula(formula.name, formula.value, expected, against)
                )
            sections.append(replace(section, formulas=tuple(formulas)))
        return CheckedDerivation(sections, self.checker.compared, self.checker.worst)

    def _letters(self, state: int) -> dict[str, float]:
        """Return the numbers of the report's letters at a state."""
        q, dq, ddq = self._state(state)
        masses, lengths = self.dynamics.masses, self.kinematics
        names = {
            'd0': lengths.d0,
            'a1': lengths.a1,
            'a3': lengths.a3,
            'd2bar': lengths.d2bar,
            'D': lengths.d2bar + q[1],
            'g': -GRAVITY[2],
            'm1': masses.m1,
            'm2': masses.m2,
            'm3': masses.m3,
            'h1': 2.0 * masses.k1,
            'a2': 2.0 * masses.k2,
            'h3': 2.0 * masses.k3,
            'I2x': masses.i2x,
        }
        # Radii and sides from the moments that the solids have.
        names['r1'] = math.sqrt((12.0 * masses.i1z / masses.m1 - names['h1'] ** 2) / 3.0)
        names['r3'] = math.sqrt(2.0 * masses.i3y / masses.m3)
        names['b2'] = math.sqrt(12.0 * masses.i2x / masses.m2 - names['a2'] ** 2)
        box = np.diag(self.description.links[1].inertia_at_center_of_mass)
        names['c2'] = math.sqrt(12.0 * box[2] / masses.m2 - names['b2'] ** 2)
        names |= {'I2y': float(box[1]), 'I2z': float(box[2])}
        for i, angle in ((1, q[0]), (3, q[2])):
            names |= {f'S{i}': math.sin(angle), f'C{i}': math.cos(angle)}
        for i in range(3):
            names |= {f'v{i + 1}': float(dq[i]), f'w{i + 1}': float(ddq[i])}
        friction = self.description.friction
        for i in range(3):
            for letter, values in (
                ('Fv', getattr(friction, 'viscous', np.zeros(3))),
                ('Fs', getattr(friction, 'coulomb', np.zeros(3))),
            ):
                names[f'{letter}{i + 1}'] = float(values[i])
        for letters in (
            ('hx', 'hy', 'hz', 'hnx', 'hny', 'hnz'),
            ('fex', 'fey', 'fez', 'nex', 'ney', 'nez'),
        ):
            names |= dict(zip(letters, self.wrenches[state].tolist()))
        names |= dict(zip(('px', 'py', 'pz'), self.model.frames(q)[2][:3, 3].tolist()))
        motion = self._motion(state)
        for i in (1, 2, 3):  # what the recursion hands inwards
            force, moment = self._wrench(motion, i)
            for kind, vector in (('f', force), ('n', moment)):
                names |= {f'{kind}{i}{axis}': float(part) for axis, part in zip('xyz', vector)}
        return names

    def _state(self, state: int) -> tuple[Array, Array, Array]:
        """Return q, dq, ddq; d2 and theta3 such that w and C3 have their positive signs."""
        q, dq = np.array(self.states.q[state]), np.array(self.states.dq[state])
        q[2] = math.remainder(q[2], math.pi)
        # Fast enough for the smooth step of Coulomb friction to be one.
        dq = np.copysign(np.maximum(np.abs(dq), 0.3), dq)
        return q, dq, np.asarray(self.states.ddq[state])

    def _motion(self, state: int) -> TreeMotion:
        return tree_motion(
            BodyTree.from_description(self.description),
            *self._state(state),
            tool_wrench=-self.wrenches[state],
        )

    def _wrench(self, motion: TreeMotion, link: int) -> tuple[Array, Array]:
        """Return force and moment on a link, in its frame, about the origin of the one before."""
        force, moment = motion.wrenches[link - 1, :3], motion.wrenches[link - 1, 3:]
        pose = motion.transforms[link - 1]
        if link == 1:
            pose = inverse_transform(self.description.base) @ pose
        return force, moment + np.cross(pose[:3, :3].T @ pose[:3, 3], force)

    def _acceleration(self, state: int, link: int) -> tuple[Array, Array, Array]:
        """Return angular velocity, angular acceleration, acceleration of a link's origin."""
        motion = self._motion(state)
        twist, change = motion.twists[link - 1], motion.accelerations[link - 1]
        return twist[3:], change[3:], change[:3] + np.cross(twist[3:], twist[:3])

    def _expected(self, title: str, name: str) -> tuple[Expected | None, str]:
        """Return what a formula should be, and by which model."""
        stem, _, index = name.rpartition('_')
        if title.startswith('4'):
            return self._recursion(name), 'recursion of a tree of bodies'
        if stem in ('T',) and index.startswith('b'):
            return self._of(lambda q, dq: self.model.frames(q)[int(index[1:]) - 1])
        if name.startswith('B') and name[1:].isdigit():
            i, j = int(name[1]) - 1, int(name[2]) - 1
            return self._of(lambda q, dq: self.model.mass_matrix(q)[i, j])
        if name.startswith('p_l'):
            link = int(name[3:])
            center = np.append(self.description.links[link - 1].center_of_mass, 1.0)
            return self._of(lambda q, dq: (self.model.frames(q)[link - 1] @ center)[:3])
        if name.startswith('I_l'):
            body = self.description.links[int(name[3:]) - 1]
            return (lambda state: body.inertia_at_center_of_mass), 'the arm file'
        if name == 'F':
            friction = self.description.friction
            if friction is None:
                return None, ''
            return (lambda state: friction.torque(self._state(state)[1])), 'friction model'
        if name == 'J_GT_h':
            return (
                lambda state: self.model.jacobian(self._state(state)[0]).T @ self.wrenches[state]
            ), 'Pinocchio'
        known: dict[str, Callable[[Array, Array], Any]] = {
            'p_3': lambda q, dq: self.model.frames(q)[2][:3, 3],
            'J_A': lambda q, dq: self.model.jacobian(q)[:3],
            'J_G': lambda q, dq: self.model.jacobian(q),
            'T': self.model.kinetic_energy,
            'U': lambda q, dq: self.model.potential_energy(q),
            'C': self.model.coriolis_matrix,
            'g': lambda q, dq: self.model.gravity(q),
            'S3': lambda q, dq: math.sin(q[2]),
            'C3': lambda q, dq: math.cos(q[2]),
            'w': lambda q, dq: self.kinematics.d2bar + q[1] + self.kinematics.a3 * math.cos(q[2]),
            'theta1': lambda q, dq: q[0],
            'd2': lambda q, dq: q[1],
            'theta3': lambda q, dq: q[2],
            'I2x': lambda q, dq: self.dynamics.masses.i2x,
        }
        return self._of(known[name]) if name in known else (None, '')

    def _of(self, function: Callable[[Array, Array], Any]) -> tuple[Expected, str]:
        return (lambda state: function(*self._state(state)[:2])), 'Pinocchio'

    def _recursion(self, name: str) -> Expected | None:
        kind, _, index = name.rpartition('_')
        if name.startswith('tau') and '_' not in name:
            joint = int(name[3:])
            return lambda state: self._motion(state).tau[joint - 1]
        link = int(index)
        center = self.description.links[link - 1].center_of_mass

        def expected(state: int) -> Any:
            omega, alpha, acceleration = self._acceleration(state, link)
            force, moment = self._wrench(self._motion(state), link)
            at_center = (
                acceleration + np.cross(alpha, center) + np.cross(omega, np.cross(omega, center))
            )
            return {
                'omega': omega,
                'alpha': alpha,
                'a': acceleration,
                'a_c': at_center,
                'f': force,
                'n': moment,
                'tau': self._motion(state).tau[link - 1],
            }[kind]

        return expected
