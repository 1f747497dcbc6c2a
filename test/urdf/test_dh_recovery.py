# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""DH rows recovered from a URDF against Pinocchio's kinematics and dynamics of that URDF."""

import numpy as np
import pytest

from franka_dynamics import import_urdf
from franka_dynamics.arm import Convention, load
from franka_dynamics.errors import UrdfError
from franka_dynamics.urdf.writer import urdf_text
from franka_dynamics.validation.pinocchio_urdf_model import compare_with_urdf

from .urdf_texts import assert_as_in_the_file, random_chain
from ..agreement import refuses

TEXTS = [urdf_text(load(name)) for name in ('fer', 'rpr')]


def drawn(seed):
    """Return the URDF of a chain of 1 to 7 joints."""
    rng = np.random.default_rng(seed)
    return random_chain(rng, rng.choice(['revolute', 'revolute', 'prismatic'], rng.integers(1, 8)))


@pytest.mark.parametrize('convention', list(Convention))
@pytest.mark.parametrize(
    'text', [*map(drawn, range(6)), *(urdf_text(load(n)) for n in ('fer', 'rpr'))]
)
def test_rows_recovered_of_a_chain_move_and_weigh_alike(convention, text):
    arm = import_urdf(text, convention=convention)
    assert arm.convention is convention
    assert_as_in_the_file(arm, text)
    pose = compare_with_urdf(arm)[0]
    assert pose.difference * pose.size < 1e-12  # m; 2.4e-14 on 400 random chains


def test_rows_recovered_of_frankas_urdf_are_frankas_own_table():
    description = load('fer')
    arm = import_urdf(urdf_text(description))
    assert [one.row for one in arm.joints] == [one.row for one in description.joints]
    assert arm.flange == description.flange
    np.testing.assert_array_equal(arm.base, np.eye(4))


def test_a_tip_that_moves_is_refused_with_the_fixed_ones_listed():
    with refuses(UrdfError, "'fer_link3'", "'fer_link7'", 'fer_link8'):
        import_urdf(urdf_text(load('fer')), tip='fer_link3')
