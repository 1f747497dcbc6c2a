# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A three-dimensional drawing of an arm's links, frames, centres of mass and external torques.

Links are drawn by Pinocchio's ViserVisualizer. It has no colour that changes, no DH frames in the
standard convention, and neither centres of mass nor arrows of torques: these are drawn here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from .meshes import arm_meshes, ArmMeshes
from ..arm import ArmDescription
from ..arrays import Array
from ..dynamics.newton_euler import NewtonEulerModel
from ..report.elements import Cell, Header, Mark, Table

NEAR_LIMIT_RATIO = 0.7  # of torque to its limit, from which a link is orange
AT_LIMIT_RATIO = 0.99  # from which a link is red
MARK_COLOURS: dict[Mark, tuple[int, int, int]] = {
    'good': (120, 160, 200),
    'warning': (230, 160, 40),
    'bad': (220, 50, 50),
}
_TABLE_STYLE = (
    '<style>table{font:12px/1.6 monospace;width:100%}caption{caption-side:bottom}'
    'td,th{text-align:right;white-space:nowrap}'
    f'{"".join(f".{mark}{{background:rgb{rgb}}}" for mark, rgb in MARK_COLOURS.items())}</style>'
)
_NO_VALUE = '–'
_BASE_COLOUR = (150, 150, 150)
_MASS_CENTER_COLOUR = (20, 20, 20)
_EXTERNAL_TORQUE_COLOUR = (150, 40, 200)
_AXIS_LENGTH_M, _AXIS_RADIUS_M = 0.08, 0.003
# Radius [m] of the ball at a 1 kg link's centre of mass; a ball's volume is proportional to mass.
_MASS_CENTER_RADIUS_M = 0.025
_ARROW_M_PER_NM = 0.05  # length of an arrow per torque [m/(N m)]
_ARROW_SHAFT_RADIUS_M, _ARROW_HEAD_RADIUS_M, _ARROW_HEAD_LENGTH_M = 0.01, 0.024, 0.025  # [m]
# The arrow of a smaller external torque would be shorter than its head, so none is drawn.
MIN_DRAWN_TORQUE_NM = _ARROW_HEAD_LENGTH_M / _ARROW_M_PER_NM
_LINK_OPACITY = 0.6  # of links; frames and centres of mass stay visible through them


class TorqueColumn(StrEnum):
    """A column of the table of joint torques; its value is the heading."""

    GRAVITY = 'g'
    CORIOLIS = 'C dq'
    INERTIA = 'M ddq'
    MEASURED = 'meas.'
    COMMANDED = 'cmd.'
    EXTERNAL = 'ext.'


@dataclass(frozen=True, eq=False)
class ViewState:
    """
    The time [s], positions `q` (n,) and torques (n,) [N m] of an arm to show.

    External torque is measured minus modelled torque, as in Franka's interface.
    """

    time: float
    q: Array
    torques: Mapping[TorqueColumn, Array] = field(default_factory=dict)


def torque_limit_shares(state: ViewState, arm: ArmDescription) -> Array | None:
    """
    Return each joint's |torque| / torque limit, (n,); None if the state has no torque.

    The torque is the commanded one, else the measured one; None if `state` has neither.
    """
    torque = state.torques.get(TorqueColumn.COMMANDED, state.torques.get(TorqueColumn.MEASURED))
    return None if torque is None else np.abs(torque) / arm.limit('effort')


def _limit_share_mark(share: float) -> Mark:
    """Return the mark good, warning or bad for a torque that is this share of its limit."""
    return 'bad' if share >= AT_LIMIT_RATIO else 'warning' if share >= NEAR_LIMIT_RATIO else 'good'


def limit_share_colour(share: float) -> tuple[int, int, int]:
    """Return the RGB colour of a link whose torque is this share of its limit."""
    return MARK_COLOURS[_limit_share_mark(share)]


def torque_table(state: ViewState, arm: ArmDescription) -> str:
    """Return an HTML table of a state's joint torques, with a dash for a missing value."""
    shares = torque_limit_shares(state, arm)
    rows = []
    for i, q in enumerate(state.q):
        known = {column: torque[i] for column, torque in state.torques.items()}
        # Adding zero makes 0.0 of -0.0: a minus sign before a zero torque would flicker.
        torques = [
            np.round(known[one], 1) + 0.0 if one in known else _NO_VALUE for one in TorqueColumn
        ]
        share = np.nan if shares is None else float(shares[i])
        percent = Cell(f'{100.0 * share:.0f} %', _limit_share_mark(share))
        rows.append((i + 1, q, *torques, percent if np.isfinite(share) else _NO_VALUE))
    columns = [Header(name, format='.1f') for name in TorqueColumn]
    heads: list[Header | str] = ['', Header('q', format='.2f'), *columns, 'limit']
    about = (
        f't = {state.time:.2f} s; q in rad, torques in N m; ext. = meas. - model; limit: share of '
        'the torque limit'
    )
    return _TABLE_STYLE + Table(about, heads, rows).html()


class ArmScene:
    """An arm, its frames and its external torques in the scene of a viser server."""

    def __init__(self, server: Any, arm: ArmDescription) -> None:
        """Draw the arm in the zero position in the scene of a viser server."""
        self._server = server
        self._arm = arm
        self._model = NewtonEulerModel(arm)
        server.scene.add_grid('/floor', width=2.0, height=2.0, position=(0.0, 0.0, 0.0))
        # The drawn frames are 0 (base), 1 to n, and n + 1 (flange).
        axes = {'axes_length': _AXIS_LENGTH_M, 'axes_radius': _AXIS_RADIUS_M}
        self._frames = [
            server.scene.add_frame(f'/arm/{i}', origin_radius=2.0 * _AXIS_RADIUS_M, **axes)
            for i in range(arm.n + 2)
        ]
        _set_pose(self._frames[0], np.asarray(arm.base))
        self.show_meshes(arm_meshes(arm))
        for i, link in enumerate(arm.links, 1):
            server.scene.add_icosphere(
                f'/arm/{i}/center',
                radius=_MASS_CENTER_RADIUS_M * float(np.cbrt(max(link.mass, 0.0))),
                color=_MASS_CENTER_COLOUR,
                position=link.center_of_mass if link.mass else np.zeros(3),
            )
        self._arrows = server.scene.add_arrows(
            '/external',
            np.zeros((1, 2, 3)),
            _EXTERNAL_TORQUE_COLOUR,
            shaft_radius=_ARROW_SHAFT_RADIUS_M,
            head_radius=_ARROW_HEAD_RADIUS_M,
            head_length=_ARROW_HEAD_LENGTH_M,
            visible=False,
        )
        # Right of the centre the table covers the scene.
        server.initial_camera.position = (1.5, -1.6, 1.0)
        server.initial_camera.look_at = (0.3, 0.2, 0.38)
        server.initial_camera.fov = np.radians(35.0)

    def show_state(self, state: ViewState) -> None:
        """Move the links and frames to a state, colour the links, and draw external torques."""
        poses = self._model.frames(state.q)
        for frame, pose in zip(self._frames[1:], poses):
            _set_pose(frame, pose)
        self._colour_links(state)
        self._draw_arrows(state)
        self._links.display(self._meshes.configuration(state.q))

    def _draw_arrows(self, state: ViewState) -> None:
        """Draw arrows along the joints' axes for external torques above MIN_DRAWN_TORQUE_NM."""
        external = state.torques.get(TorqueColumn.EXTERNAL, np.zeros(self._arm.n))
        shown = np.abs(external) >= MIN_DRAWN_TORQUE_NM
        tails = self._model.frames(state.q)[:-1, :3, 3]
        sliding, turning = np.split(self._model.jacobian(state.q), 2)
        axes = np.where(np.linalg.norm(turning, axis=0) > 0.5, turning, sliding).T
        tips = tails + _ARROW_M_PER_NM * external[:, None] * axes
        if shown.any():
            self._arrows.points = np.stack((tails, tips), axis=1)[shown].astype(np.float32)
        self._arrows.visible = bool(shown.any())

    def show_meshes(self, meshes: ArmMeshes) -> None:
        """Show meshes in place of those shown before, coloured by their joints' torques."""
        from pinocchio import GeometryModel
        from pinocchio.visualize import ViserVisualizer

        self._server.scene.remove_by_name('/links')
        self._meshes = meshes
        self._links = ViserVisualizer(meshes.model, GeometryModel(), meshes.visual_model)
        self._links.initViewer(viewer=self._server)
        colour = [*(value / 255.0 for value in _BASE_COLOUR), _LINK_OPACITY]
        self._links.loadViewerModel('links', visual_color=colour)
        names = [f'links/visual/{item.name}' for item in meshes.visual_model.geometryObjects]
        self.link_handles = [self._links.frames[name] for name in names]
        state = ViewState(0.0, np.zeros(self._arm.n))
        self._colour_links(state)
        self._links.display(meshes.configuration(state.q))

    def _colour_links(self, state: ViewState) -> None:
        """Colour each link by its joint's torque relative to the torque limit."""
        shares = torque_limit_shares(state, self._arm)
        for joint, handle in zip(self._meshes.joint_numbers, self.link_handles):
            if joint:
                colour = limit_share_colour(0.0 if shares is None else float(shares[joint - 1]))
                if tuple(handle.color) != colour:
                    handle.color = colour


def _set_pose(handle: Any, pose: Array) -> None:
    """Set the pose of an object in the scene from a homogeneous transform (4, 4)."""
    from viser.transforms import SO3

    handle.position, handle.wxyz = pose[:3, 3], SO3.from_matrix(pose[:3, :3]).wxyz
