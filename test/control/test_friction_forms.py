# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Friction in the forms of franky and crisp_controllers, by these packages' own formulas."""

from dataclasses import replace
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from franka_dynamics.arm import load, MaxwellSlipFriction, ViscousCoulombFriction
from franka_dynamics.control.friction_forms import crisp_text, franky_text
from franka_dynamics.errors import FrictionError

from ..agreement import refuses

FER, ONES = load('fer'), np.ones(7)
DQ = np.linspace(-1.0, 1.0, 401)[:, None] * ONES


def franky_torque(text, dq, monkeypatch):
    """Return the torque of computeFrictionCompensation and constant_torque_offset (2.0)."""
    names = {}
    made = SimpleNamespace(FrictionCompensationParams=lambda **given: SimpleNamespace(**given))
    monkeypatch.setitem(sys.modules, 'franky', made)
    exec(text, names)  # noqa: S102: the text is Python
    p = names['FRICTION']
    raw = p.coulomb * np.tanh(dq / p.velocity_epsilon) + np.multiply(p.viscous, dq)
    return np.clip(raw, np.negative(p.max_torque), p.max_torque) + names['CONSTANT_TORQUE_OFFSET']


def crisp_torque(text, dq):
    """Return the torque of get_friction, with the parameters of a parameter file."""
    parameters = yaml.safe_load(text)['/**']['ros__parameters']
    fp1, fp2, fp3 = (np.array(parameters['friction'][f'fp{k}']) for k in (1, 2, 3))
    assert parameters['use_friction'] is True
    return fp1 / (1.0 + np.exp(-fp2 * (dq + fp3))) - fp1 / (1.0 + np.exp(-fp2 * fp3))


def test_gazs_friction_is_crisps_default():
    np.testing.assert_allclose(
        crisp_torque(crisp_text(FER), DQ), FER.friction.torque(DQ), rtol=0.0, atol=3e-3
    )


def test_coulomb_and_viscous_friction_with_offset_are_frankys(monkeypatch):
    friction = ViscousCoulombFriction(0.2 * ONES, 0.5 * ONES, -0.1 * ONES, width=0.03)
    text = franky_text(replace(FER, friction=friction))
    found = franky_torque(text, DQ, monkeypatch)
    moving = np.abs(DQ) > 0.05
    np.testing.assert_allclose(found[moving], friction.torque(DQ)[moving], rtol=0.0, atol=5e-3)


@pytest.mark.parametrize('written', [franky_text, crisp_text])
def test_the_error_is_stated_and_the_margin_kept(written, monkeypatch):
    rubbing = MaxwellSlipFriction(
        *(x * ONES for x in (0.1, 0.2, 0.05)),
        np.outer((0.2, 0.1), ONES),
        reach=(0.004, 0.3),
        covariance=np.tile(np.diag([0.0, 0.03**2, 0.0, 0.0, 0.0]), (7, 1, 1)),
    )
    text = written(replace(FER, friction=rubbing))
    rows = re.findall(r'\[([^]]*)\] N m', text)
    error, size = (np.array(one.split(','), dtype=float) for one in rows)
    assert (0.02 < error).all() and (error < 0.4 * size).all()
    found = (
        crisp_torque(text, DQ) if written is crisp_text else franky_torque(text, DQ, monkeypatch)
    )
    sliding = rubbing.torque(DQ)
    assert (np.abs(found[[0, -1]]) < np.abs(sliding[[0, -1]]) - 0.04).all()


def test_an_arm_without_friction_is_refused():
    with refuses(FrictionError, 'fr3', 'identify'):
        franky_text(load('fr3'))
