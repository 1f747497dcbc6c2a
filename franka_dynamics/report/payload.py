# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""An identified payload as a table, sentences and a drawing at the flange."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .elements import figure_of_size, save_figure, Table, value_and_deviation_texts
from ..arm import LinkInertia
from ..arm.payload import PAYLOAD_ORDER
from ..fit.payload import PayloadEstimate
from ..mesh.mesh import TriangleMesh

_PAYLOAD_UNITS = ('kg', *('m',) * 3, *('kg m^2',) * 6)
_AXIS_COLOURS = ('tab:red', 'tab:green', 'tab:blue')
# Of a mesh with at least twice as many faces only every k-th face is drawn, because matplotlib
# sorts all drawn faces.
_MAX_DRAWN_FACE_COUNT = 20000
_MENTIONED_INFLATION = 1.05  # deviations are printed with two digits


def payload_table(estimate: PayloadEstimate) -> Table:
    """Return a table of a payload estimate, standard deviations and the physical payload."""
    numbers = zip(PAYLOAD_ORDER, estimate.values, estimate.std, estimate.payload, _PAYLOAD_UNITS)
    rows = []
    for name, value, spread, used, unit in numbers:
        payload, _ = value_and_deviation_texts(used, spread)
        rows.append((name, *value_and_deviation_texts(value, spread), payload, unit))
    title = 'payload in the flange frame, inertia about its centre of mass'
    return Table(title, ('', 'estimate', 'standard deviation', 'payload', ''), rows)


def inertia_sentences(estimate: PayloadEstimate) -> list[str]:
    """Return a list of one sentence on why a payload's inertia is not as estimated, or []."""
    if not estimate.inertia_identified:
        return [
            'The inertia cannot be identified from this motion, so the payload is a point mass. '
            'Move the wrist faster to identify it.'
        ]
    if abs(estimate.payload - estimate.values).max() > 1e-9:
        return ['No body has the estimated inertia; the payload has the nearest physical one.']
    return []


def deviation_sentences(estimate: PayloadEstimate) -> list[str]:
    """Return a list of one sentence on how much deviations were widened, or []."""
    if estimate.inflation < _MENTIONED_INFLATION:
        return []
    return [
        f'The deviations are {estimate.inflation:.1f} times those that the noise within seconds '
        'gives, because parts of the recordings differ by that in mass. Of sensors that drift, '
        'several recordings of each kind tell more.'
    ]


def effort_scale_sentence(
    estimate: PayloadEstimate, known_mass: float | None, effort_scale: Sequence[float]
) -> str:
    """Return text on the factor of all efforts by a payload's known mass, or how to learn it."""
    mass = float(estimate.values[0])
    if known_mass is None:
        return (
            'The mass is in proportion to the efforts, whose common factor is not in its '
            'deviation: a payload of --known-mass tells the factor.'
        )
    scale = ','.join(f'{factor * known_mass / mass:.4g}' for factor in effort_scale)
    spread = float(estimate.std[0]) / mass
    return (
        f'Efforts are {mass / known_mass:.3f} times the torques, to {spread:.1%}, if the payload '
        f'has {known_mass:g} kg; --effort-scale {scale} corrects them.'
    )


def ellipsoid_axes(
    inertia: LinkInertia,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """
    Return half axes (3,) [m] and directions (3, 3), in columns, of a body's inertia ellipsoid.

    The inertia ellipsoid is homogeneous and has the body's mass m and inertia: with half axes a,
    b, c the principal moments are m (b^2 + c^2) / 5, ... The columns of the directions are
    right-handed unit vectors in the body's frame.
    """
    moments, directions = np.linalg.eigh(inertia.inertia_at_center_of_mass)
    squares = 2.5 * (moments.sum() - 2.0 * moments) / inertia.mass
    directions[:, 2] *= np.sign(np.linalg.det(directions))
    return np.sqrt(np.maximum(squares, 0.0)), directions


def draw_payload(mesh: TriangleMesh, inertia: LinkInertia, path: str | Path, title: str) -> None:
    """
    Draw a payload's mesh and inertia ellipsoid in the flange frame [mm] to a picture file.

    The suffix of the path selects the format: .png, .svg, .pdf, ... Raises MissingDependencyError
    if matplotlib is not installed.
    """
    figure = figure_of_size((9.0, 7.0))
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    axes = figure.add_subplot(projection='3d')
    shown = mesh.faces[:: max(1, len(mesh.faces) // _MAX_DRAWN_FACE_COUNT)]
    colours: Any = {
        'facecolor': (0.6, 0.65, 0.7, 0.25),
        'edgecolor': (0.3, 0.3, 0.35, 0.25),
    }
    axes.add_collection3d(Poly3DCollection(mesh.vertices[shown] * 1e3, **colours, linewidth=0.3))
    half_axes, directions = ellipsoid_axes(inertia)
    center = inertia.center_of_mass
    u, v = np.mgrid[0 : 2 * np.pi : 37j, 0 : np.pi : 19j]
    sphere = np.stack((np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)))
    surface = np.einsum('ij,jkl->ikl', directions * half_axes, sphere) + center[:, None, None]
    style: Any = {'color': 'tab:orange', 'linewidth': 0.6, 'alpha': 0.8}
    style['label'] = 'inertia ellipsoid (same mass and inertia)'
    axes.plot_wireframe(*(surface * 1e3), **style)
    axes.scatter(*(center * 1e3), color='black', s=40, depthshade=False, label='centre of mass')
    corners = np.vstack((mesh.vertices, np.zeros(3), surface.reshape(3, -1).T)) * 1e3
    low = corners.min(axis=0)
    high = corners.max(axis=0)
    size = float((high - low).max())
    ends = 0.5 * (low + high)[:, None] + np.array([-0.55, 0.55]) * size
    axes.set(**{f'{name}lim': ends[i] for i, name in enumerate('xyz')})
    axes.set_box_aspect((1.0, 1.0, 1.0))
    for axis, colour in enumerate(_AXIS_COLOURS):
        arrow = np.zeros((3, 2))
        arrow[axis, 1] = 0.25 * size
        axes.plot(*arrow, color=colour, linewidth=2.5, label=f'flange {"xyz"[axis]}')
    axes.set(xlabel='x [mm]', ylabel='y [mm]', zlabel='z [mm]', title=title)
    axes.legend(loc='upper left', fontsize='small')
    save_figure(figure, path)
