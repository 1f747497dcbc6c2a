# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of sets of parameters on unseen parts of the recordings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .samples import Part
from .torque_model import TorqueModel
from ..recordings.replay import ResidualRms, Unit
from ..typing import Array


@dataclass(frozen=True, eq=False)
class ParameterSet:
    """
    Parameters that predict torques, with friction fitted to the recordings.

    `theta` (p,) are base and friction parameters. `base_scale` (n,) multiplies each joint's
    rigid-body torque. It differs from one only for the starting set and published sets if effort
    scales were identified: it then makes their torques fit the measured torques best.
    """

    name: str
    theta: Array
    base_scale: Array


@dataclass(frozen=True, eq=False)
class PartScore:
    """
    Sums of squared residuals of one unseen part, joint by joint, (n,) [N^2 m^2].

    `filtered` and `unfiltered` compare the predicted torque with the filtered and the unfiltered
    measured torque. `rigid` is for a prediction without friction and offset. `inertias` is for the
    inertias of the fit without this part, with friction, but no offset, fitted to the part.
    """

    name: str
    samples: int
    filtered: Array
    rigid: Array
    inertias: Array
    unfiltered: Array
    unit: Unit

    @property
    def error(self) -> float:
        """E, the norm of the joints' root mean square torque errors, in `unit`."""
        return ResidualRms.of_squares(self.filtered, self.samples, self.unit).whole

    @property
    def rigid_error(self) -> float:
        """E of the torque predicted without friction and offset, in `unit`."""
        return ResidualRms.of_squares(self.rigid, self.samples, self.unit).whole

    @classmethod
    def of(cls, part: Part, model: TorqueModel, parameters: ParameterSet, unit: Unit) -> PartScore:
        """Return the errors of `parameters` on a part whose efforts are in N m."""
        theta, factors = parameters.theta, part.factors.with_rigid_scaled(parameters.base_scale)
        return cls(
            part.name,
            factors.samples,
            factors.squares(theta),
            factors.squares(theta[: len(model.base)]),
            factors.squares_beside_friction(model, theta[: len(model.base)]),
            factors.squares(theta, unfiltered=True),
            unit,
        )


@dataclass(frozen=True, eq=False)
class Score:
    """
    Errors of one set of parameters.

    `theta` (p,) are the parameters after the fit to all recordings (of starting and published sets
    only the friction is fitted), `train` are their errors on all recordings. `parts` are errors on
    the unseen parts, each predicted by a fit without that part.
    """

    name: str
    theta: Array
    train: ResidualRms
    parts: tuple[PartScore, ...]

    @property
    def test(self) -> ResidualRms:
        """Torque errors on all unseen parts, of predictions with friction and offset."""
        return self._pooled('filtered')

    @property
    def test_rigid(self) -> ResidualRms:
        """Torque errors on all unseen parts, of predictions without friction and offset."""
        return self._pooled('rigid')

    @property
    def test_inertias(self) -> ResidualRms:
        """Errors on all unseen parts, of the fit's inertias with friction fitted to each part."""
        return self._pooled('inertias')

    @property
    def test_unfiltered(self) -> ResidualRms:
        """Errors of the predictions of `test`, compared with the unfiltered measured torque."""
        return self._pooled('unfiltered')

    def _pooled(self, kind: str) -> ResidualRms:
        """Return the errors over all unseen parts, from the field `kind` of every `PartScore`."""
        squares = np.sum([getattr(one, kind) for one in self.parts], axis=0)
        samples = sum(one.samples for one in self.parts)
        return ResidualRms.of_squares(squares, samples, self.parts[0].unit)
