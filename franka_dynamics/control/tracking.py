# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""How far the arm may be from what is desired before it is stopped."""

from __future__ import annotations

import numpy as np

from .settings import Settings
from .terms import TermModel
from ..typing import Array


class TrackingMonitor:
    """
    Compares the measured with the desired position, joint by joint and, if asked, at the flange.

    Parameters
    ----------
    settings : Settings
        Validated; `max_tracking_error` [rad or m] and `max_flange_error` [m], of which 0 checks
        nothing.
    terms : TermModel
        Of the same settings; its kinematics give the flange.

    """

    def __init__(self, settings: Settings, terms: TermModel) -> None:
        self._names = terms.description.joint_names
        self._bounds = tuple(
            bound if bound > 0.0 else float('inf')
            for bound in settings.tracking_errors(terms.description.n).tolist()
        )
        self._flange = settings.max_flange_error
        self._model = terms.true

    def check(self, q: Array, desired: Array) -> str:
        """
        Return an empty text, or a sentence about what is too far from where it should be.

        Parameters
        ----------
        q, desired : ndarray, shape (n,)
            Measured and desired joint positions [rad or m].

        """
        for joint, (measured, wish, bound) in enumerate(
            zip(q.tolist(), desired.tolist(), self._bounds)
        ):
            if not abs(measured - wish) <= bound:
                return (
                    f'{self._names[joint]} is {abs(measured - wish):.3g} rad from where it '
                    f'should be, more than max_tracking_error allows ({bound:g}); is '
                    'something in its way, or is the gain too small for the motion?'
                )
        if self._flange > 0.0:
            distance = float(
                np.linalg.norm(
                    self._model.frames(q)[-1][:3, 3] - self._model.frames(desired)[-1][:3, 3]
                )
            )
            if not distance <= self._flange:
                return (
                    f'the flange is {distance:.3g} m from where it should be, more than '
                    f'max_flange_error allows ({self._flange:g})'
                )
        return ''
