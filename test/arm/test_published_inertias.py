# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Two publications of the FER's inertias are of one arm, as docs/theory/errata.md reads them."""

import numpy as np

from franka_dynamics.arm import load, load_hand
from franka_dynamics.arm.inertia import six_from_tensor
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel
from franka_dynamics.dynamics.space_inertia import space_inertias

ROUNDING = 5.1e-5  # of four printed decimals; the largest difference is 4.92e-5
# Of the Exp[licit] derivation: tensors in space axes about the frames' origins at zero, twists.
TENSORS = (
    (0.7470, -0.0002, 0.0086, 0.7503, 0.0201, 0.0092),
    (0.0085, 0.0103, 0.0040, 0.0265, -0.0008, 0.0281),
    (0.0565, -0.0082, -0.0055, 0.0529, -0.0044, 0.0182),
    (0.0677, -0.0039, 0.0277, 0.0776, 0.0016, 0.0324),
    (0.0394, -0.0015, -0.0046, 0.0315, 0.0022, 0.0109),
    (0.0025, 0.0001, 0.0015, 0.0118, -0.0001, 0.0106),
    (0.0308, -0.0004, 0.0007, 0.0284, -0.0005, 0.0067),
)
TWISTS = (
    (0, 0, 0, 0, 0, 1),
    (0.333, 0, 0, 0, -1, 0),
    (0, 0, 0, 0, 0, 1),
    (-0.649, 0, 0.0825, 0, 1, 0),
    (0, 0, 0, 0, 0, 1),
    (-1.033, 0, 0, 0, 1, 0),
    (0, 0.088, 0, 0, 0, -1),
)


def test_gazs_links_and_a_hand_are_those_of_the_table_of_2021():
    gaz, table = load('fer', 'gaz2019', hand='none').links, load('fer', 'ledezma2021').links
    flange = np.eye(4)
    flange[2, 3] = 0.107
    last = gaz[6] + load_hand('hand_ledezma2021').expressed_in(flange)
    for one, other in zip((*gaz[1:6], last), table[1:]):  # of link 1 the tables differ in c_z
        np.testing.assert_allclose(one.parameters(), other.parameters(), rtol=0, atol=ROUNDING)


def test_tensors_in_space_and_twists_are_the_published_ones():
    found = space_inertias(load('fer', 'ledezma2021'), np.zeros(7))
    tensors = [six_from_tensor(link.about_frame_origin) for link in found]
    np.testing.assert_allclose(tensors, TENSORS, rtol=0.0, atol=1e-14)
    # The axes of joints 2, 4 and 6 point the other way there.
    signs = np.array([1, -1, 1, -1, 1, -1, 1])[:, None]
    twists = ExponentialsModel(load('fer')).space_twists
    np.testing.assert_allclose(signs * twists, TWISTS, rtol=0.0, atol=1e-14)
