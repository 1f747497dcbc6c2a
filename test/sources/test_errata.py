# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Misprints of two sources: printed and corrected forms against the models of this package.

docs/theory/errata.md lists them. The printed forms are written out here, independently of the code
and the arm files. A row has a misprint's name; its printed, corrected and true value;
the error of the printed value; and the tolerance of the corrected value if it is not 1e-14.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from franka_dynamics.arm import Convention, LinkInertia, load, load_hand
from franka_dynamics.arm.inertia import parallel_axis_term, six_from_tensor, tensor_from_six
from franka_dynamics.dynamics.newton_euler import NewtonEulerModel
from franka_dynamics.dynamics.product_of_exponentials import ExponentialsModel
from franka_dynamics.dynamics.sampling import sample_states
from franka_dynamics.dynamics.space_inertia import space_inertias

from .gautier_khalil import gautier_khalil

# m, m c, I (xx, xy, xz, yy, yz, zz) as printed.
TABLE = (
    (4.9707, (0.0193, 0.0103, -0.4654), (0.7470, -0.0002, 0.0086, 0.7503, 0.0201, 0.0092)),
    (0.6469, (-0.0020, -0.0186, 0.0023), (0.0085, -0.0040, 0.0103, 0.0281, 0.0008, 0.0265)),
    (3.2286, (0.0888, 0.1267, -0.2147), (0.0565, -0.0082, -0.0055, 0.0529, -0.0044, 0.0182)),
    (3.5879, (-0.1908, 0.3746, 0.0985), (0.0677, 0.0277, 0.0039, 0.0324, -0.0016, 0.0776)),
    (1.2259, (-0.0147, 0.0503, -0.0471), (0.0394, -0.0015, -0.0046, 0.0315, 0.0022, 0.0109)),
    (1.6666, (0.1002, -0.0235, -0.0175), (0.0025, 0.0015, -0.0001, 0.0106, 0.0001, 0.0118)),
    (1.4655, (0.0004, -0.0031, 0.1453), (0.0308, 0.0004, -0.0007, 0.0284, -0.0005, 0.0067)),
)
# m, c and I about the centre of mass of Gaz et al. 2019, from the arm file.
GAZ = [
    (link['mass'], link['center_of_mass'], link['inertia'])
    for link in yaml.safe_load(Path(load('fer').file).read_text())['inertial_sets']['gaz2019'][
        'links'
    ]
]
ROUNDING = 5.0e-5  # of four printed decimals; the largest difference is 4.92e-5


PUBLISHED_TENSORS = (
    (0.7470, -0.0002, 0.0086, 0.7503, 0.0201, 0.0092),
    (0.0085, 0.0103, 0.0040, 0.0265, -0.0008, 0.0281),
    (0.0565, -0.0082, -0.0055, 0.0529, -0.0044, 0.0182),
    (0.0677, -0.0039, 0.0277, 0.0776, 0.0016, 0.0324),
    (0.0394, -0.0015, -0.0046, 0.0315, 0.0022, 0.0109),
    (0.0025, 0.0001, 0.0015, 0.0118, -0.0001, 0.0106),
    (0.0308, -0.0004, 0.0007, 0.0284, -0.0005, 0.0067),
)
PUBLISHED_TWISTS = (
    (0, 0, 0, 0, 0, 1),
    (0.333, 0, 0, 0, -1, 0),
    (0, 0, 0, 0, 0, 1),
    (-0.649, 0, 0.0825, 0, 1, 0),
    (0, 0, 0, 0, 0, 1),
    (-1.033, 0, 0, 0, 1, 0),
    (0, 0.088, 0, 0, 0, -1),
)


def about_origin(mass, center, six):
    return six_from_tensor(tensor_from_six(six) + parallel_axis_term(mass, center))


def explicit_derivation():
    arm = load('fer', 'ledezma2021')
    links, gaz = arm.links, [LinkInertia.from_center_of_mass(*row) for row in GAZ]
    read = [LinkInertia.from_center_of_mass(m, np.array(mc) / m, six) for m, mc, six in TABLE]
    wrong = NewtonEulerModel(replace(arm, links=tuple(read)))
    with_hand = [*TABLE[6][2], *TABLE[6][1], TABLE[6][0]]
    flange = np.eye(4)
    flange[2, 3] = 0.107
    hands = [
        (gaz[6] + load_hand(name).expressed_in(flange)).parameters()
        for name in ('franka_hand', 'hand_ledezma2021')
    ]
    still = np.zeros(7)
    frames = NewtonEulerModel(load('fer')).frames(still)[:, :3, 3]
    standard = NewtonEulerModel(replace(load('fer'), convention=Convention.STANDARD))
    standard_7 = standard.frames(still)[6, :3, 3]
    mass, (cx, cy, _), six = GAZ[0]
    own_1, table_1 = about_origin(*GAZ[0]), about_origin(mass, (cx, cy, -0.4654 / 4.9707), six)
    taus = [
        one.inverse_dynamics(*sample_states(arm, 3000, seed=0))
        for one in (wrong, NewtonEulerModel(arm), ExponentialsModel(arm))
    ]
    bare = load('fer', 'ledezma2021', hand='none').links[6].mass
    margin = gaz[1].consistency_margin()
    rounded = LinkInertia(*TABLE[1][:2], tensor_from_six(TABLE[1][2])).consistency_margin()
    about_mass, about_frame = (
        [six_from_tensor(getattr(link, name)) for link in space_inertias(arm, still)]
        for name in ('about_center_of_mass', 'about_frame_origin')
    )
    flipped = np.array(PUBLISHED_TWISTS) * np.array([1, -1, 1, -1, 1, -1, 1])[:, None]
    twists, place = ExponentialsModel(load('fer')).space_twists, [0.088, 0.0, 0.926]
    rows = []
    for i, tensor_by, center_by in (
        (2, 5.4e-4, 1.01e-2),
        (3, 1.93e-2, 1.48e-1),
        (4, 4.93e-2, 2.70e-1),
        (5, 3.85e-3, 9.2e-3),
        (6, 6.37e-3, 4.0e-2),
    ):
        own, (m, c, tensor), first = links[i - 1], GAZ[i - 1], TABLE[i - 1][1]
        moved, rounding = about_origin(m, c, tensor), (ROUNDING + 1e-6) / m
        read_as = six_from_tensor(own.inertia)
        rows += [
            (f'tensor of link {i} about its centre', tensor, read_as, moved, tensor_by, ROUNDING),
            (f'c_{i} in the middle column', first, own.center_of_mass, c, center_by, rounding),
        ]
    return [
        *rows,
        ('c_z of link 1', own_1, table_1, TABLE[0][2], 3.24e-2, ROUNDING),
        ('torques of the printed reading', *taus, 2.53, 1e-12),
        ('hand on link 7', *hands, with_hand, 1.74e-2, ROUNDING),
        ('mass of link 7 alone', TABLE[6][0], bare, GAZ[6][0], 0.73, ROUNDING),
        ('definite tensor of link 2', rounded, margin, margin, margin + 1.8e-5),
        ('rows as standard ones', standard_7, frames[6], [0.088, 0.0, 0.926 + 0.107], 0.7),
        ('the flange', frames[6], frames[7], place, 0.107),
        ('tensors in space about the centre', about_mass, about_frame, PUBLISHED_TENSORS, 0.0493),
        ('directions of twists 2, 4 and 6', PUBLISHED_TWISTS, flipped, twists, 2.066),
    ]


@pytest.mark.parametrize('source', [explicit_derivation, gautier_khalil])
def test_a_misprint_holds_corrected_and_misses_as_printed(source):
    for item, printed, corrected, true, by, *atol in source():
        atol = atol[0] if atol else 1e-14
        np.testing.assert_allclose(corrected, true, rtol=0.0, atol=atol, err_msg=item)
        gap = np.abs(np.asarray(printed) - np.asarray(true)).max()
        np.testing.assert_allclose(gap, by, rtol=1e-2, atol=0.0, err_msg=item)
