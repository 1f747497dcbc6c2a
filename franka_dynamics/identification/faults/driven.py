# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A joint's Coulomb friction would drive it: its effort, nearly all friction, is reversed."""

from collections.abc import Sequence

import numpy as np

from .fault import Diagnosis, Fault
from ..torque_model import COULOMB_SYMBOL, SLIP_SYMBOL, TorqueModel
from ...typing import Array


class Driven(Fault):
    """Joints whose fitted friction would drive them; its values are their friction [N m]."""

    kind, of_all = 'driven', False
    text = (
        'Friction would drive {joints} instead of braking. Its effort has the wrong sign, is not '
        'of this joint, or was compensated for friction: record measured torques.'
    )


def driven(model: TorqueModel, theta: Array, squares: Array) -> Sequence[Diagnosis]:
    """
    Return the joints whose Coulomb friction, as fitted, drives them by more than the residual.

    `theta` (folds, c) are parameters fitted without each fold, `squares` (folds, n) the mean
    squared residuals there [N^2 m^2].
    """
    b, count = len(model.base), model.friction.term_count
    terms = theta[:, b : b + model.n * count].reshape(-1, model.n, count)
    signed = (COULOMB_SYMBOL, SLIP_SYMBOL)
    coulomb = [k for k, one in enumerate(model.friction.symbols) if one[:2] in signed]
    most = terms[..., coulomb].sum(axis=-1).max(axis=0)  # of all folds, (n,)
    joints = np.flatnonzero(most < -np.sqrt(squares.mean(axis=0)))
    if not len(joints):
        return ()
    return [Diagnosis(Driven.kind, tuple(joints.tolist()), tuple(most[joints].tolist()))]
