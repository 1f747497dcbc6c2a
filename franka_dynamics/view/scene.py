# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The arm in three dimensions: links, frames, centres of mass, external torques."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..arm import ArmDescription
from ..arm.arm_file import NO_HAND
from ..arm.shapes import load_hand_shapes, load_shapes, Shape, ShapeKind
from ..dynamics.newton_euler import NewtonEulerModel
from ..typing import Array

GRAVITY, CORIOLIS, INERTIA = 'g', 'C dq', 'M ddq'
MEASURED, COMMANDED, EXTERNAL = 'meas.', 'cmd.', 'ext.'
COLUMNS = (GRAVITY, CORIOLIS, INERTIA, MEASURED, COMMANDED, EXTERNAL)


@dataclass(frozen=True, eq=False)
class ViewState:
    """
    One moment: `time` [s], positions `q` (n,), and torques (n,) [N m] by column, where known.

    External torque has FCI's sign: measured minus model.
    """

    time: float
    q: Array
    torques: Mapping[str, Array] = field(default_factory=dict)


def share_of_limit(state: ViewState, description: ArmDescription) -> Array | None:
    """
    Return |torque| over its limit for each joint, shape (n,), or None where no torque is known.

    The commanded torque counts where there is one, else the measured one.
    """
    torque = state.torques.get(COMMANDED, state.torques.get(MEASURED))
    return None if torque is None else np.abs(torque) / description.limit('effort')


_STYLE = (
    '<style>.fd{border-collapse:collapse;font:12px/1.6 monospace;width:100%}'
    '.fd td,.fd th{text-align:right;padding:0 .3em;white-space:nowrap}'
    '.fd td:first-child,.fd th:first-child{text-align:left}</style>'
)
_UNKNOWN = '–'
# Shares from which a torque is near its limit, and at it.
NEAR, FULL = 0.7, 0.99
COLOURS = {'fine': (120, 160, 200), 'near': (230, 160, 40), 'full': (220, 50, 50)}


def colour_of(share: float) -> tuple[int, int, int]:
    """Return the colour that stands for a share of the torque limit."""
    return COLOURS['full' if share >= FULL else 'near' if share >= NEAR else 'fine']


def torque_table(state: ViewState, description: ArmDescription) -> str:
    """Return the table; what is unknown is a dash."""
    shares = share_of_limit(state, description)
    head = ''.join(f'<th>{escape(name)}</th>' for name in ('', 'q', *COLUMNS, 'limit'))
    rows = []
    for i, name in enumerate(description.joint_names):
        cells = [f'<abbr title="{escape(name)}">{i + 1}</abbr>', f'{state.q[i]:.2f}']
        cells += [
            _UNKNOWN if column not in state.torques else _one_decimal(state.torques[column][i])
            for column in COLUMNS
        ]
        rows.append(
            ''.join(f'<td>{cell}</td>' for cell in cells)
            + _bar(None if shares is None else float(shares[i]))
        )
    body = ''.join(f'<tr>{row}</tr>' for row in rows)
    return (
        f'{_STYLE}<table class="fd"><tr>{head}</tr>{body}</table>'
        f'<small>t = {state.time:.2f} s; q in rad, torques in N m; ext. = meas. - model; '
        'limit: share of the torque limit</small>'
    )


def _one_decimal(torque: float) -> str:
    # Adding zero makes 0.0 of -0.0, which would flicker.
    return f'{round(float(torque), 1) + 0.0:.1f}'


def _bar(share: float | None) -> str:
    if share is None or not np.isfinite(share):
        return f'<td>{_UNKNOWN}</td>'
    colour = f'rgb{colour_of(share)}'
    width = min(100.0 * share, 100.0)
    return (
        f'<td style="background:linear-gradient(to right,{colour} {width:.0f}%,'
        f'transparent {width:.0f}%)">{100.0 * share:.0f} %</td>'
    )


_BASE_COLOUR, _CENTER_COLOUR = (150, 150, 150), (20, 20, 20)
_EXTERNAL_COLOUR = (150, 40, 200)
_AXIS_LENGTH, _AXIS_RADIUS = 0.08, 0.003
_CENTER_RADIUS = 0.025  # [m] of 1 kg; volume goes with mass
_ARROW_PER_NM = 0.03  # [m]
_LEAST_ARROW = 1e-4  # [m] an arrow of no length has no direction
_OPACITY = 0.6  # of links, so that frames and centres of mass show through


class ArmScene:
    """
    An arm in a viser scene.

    Parameters
    ----------
    server : viser.ViserServer
        Where it is drawn.
    description : ArmDescription
        The arm.

    """

    def __init__(self, server: Any, description: ArmDescription) -> None:
        self._server = server
        self._description = description
        self._model = NewtonEulerModel(description)
        server.scene.add_grid('/floor', width=2.0, height=2.0, position=(0.0, 0.0, 0.0))
        # Frames 0 (base) to n + 1 (flange).
        self._frames = [
            server.scene.add_frame(
                f'/arm/{i}',
                axes_length=_AXIS_LENGTH,
                axes_radius=_AXIS_RADIUS,
                origin_radius=2.0 * _AXIS_RADIUS,
            )
            for i in range(description.n + 2)
        ]
        _place(self._frames[0], np.asarray(description.base))
        self._links = {
            i: self._add_shapes(i, shapes) for i, shapes in _shapes(description).items()
        }
        self._skeleton = None if self._links else self._add_skeleton()
        self._centers = [self._add_center(i, link) for i, link in enumerate(description.links, 1)]
        self._arrows = server.scene.add_arrows(
            '/external',
            np.zeros((description.n, 2, 3)) + [[0.0] * 3, [_LEAST_ARROW, 0.0, 0.0]],
            _EXTERNAL_COLOUR,
            shaft_radius=0.008,
            head_radius=0.02,
            head_length=0.04,
            visible=False,
        )
        self._show_external = True
        self._colours: dict[int, tuple[int, int, int]] = {}
        server.initial_camera.position = (1.0, -1.0, 0.8)
        server.initial_camera.look_at = (0.2, 0.05, 0.42)
        self._add_switches()

    def update(self, state: ViewState) -> None:
        """Show a state."""
        poses = self._model.frames(state.q)
        for frame, pose in zip(self._frames[1:], poses):
            _place(frame, pose)
        if self._skeleton is not None:
            self._skeleton.points = self._bones(poses)
        self._colour(state)
        external = state.torques.get(EXTERNAL)
        self._arrows.visible = self._show_external and external is not None
        if external is not None:
            axes = _joint_axes(self._model.jacobian(state.q))
            origins = poses[:-1, :3, 3]
            length = _ARROW_PER_NM * external + np.copysign(_LEAST_ARROW, external)
            self._arrows.points = np.stack((origins, origins + length[:, None] * axes), axis=1)

    def _colour(self, state: ViewState) -> None:
        """Colour each link by how much of its joint's torque limit is used."""
        shares = share_of_limit(state, self._description)
        for i in range(1, self._description.n + 1):
            colour = colour_of(0.0 if shares is None else float(shares[i - 1]))
            if self._colours.get(i) != colour:
                self._colours[i] = colour
                for handle in self._links.get(i, ()):
                    handle.color = colour

    def _add_shapes(self, frame: int, shapes: tuple[Shape, ...]) -> list[Any]:
        colour = _BASE_COLOUR if frame in (0, self._description.n + 1) else colour_of(0.0)
        return [
            _add_shape(self._server.scene, f'/arm/{frame}/shape{k}', part, colour)
            for k, part in enumerate(part for shape in shapes for part in shape.parts())
        ]

    def _add_center(self, i: int, link: Any) -> Any:
        return self._server.scene.add_icosphere(
            f'/arm/{i}/center',
            radius=_CENTER_RADIUS * float(np.cbrt(max(link.mass, 0.0))),
            color=_CENTER_COLOUR,
            position=link.center_of_mass if link.mass else np.zeros(3),
        )

    def _add_skeleton(self) -> Any:
        poses = self._model.frames(np.zeros(self._description.n))
        return self._server.scene.add_line_segments(
            '/skeleton', self._bones(poses), colour_of(0.0), thickness=0.02
        )

    def _bones(self, poses: NDArray[np.float64]) -> NDArray[np.float64]:
        points = np.concatenate((np.asarray(self._description.base)[None, :3, 3], poses[:, :3, 3]))
        return np.stack((points[:-1], points[1:]), axis=1)

    def _add_switches(self) -> None:
        gui = self._server.gui
        for label, handles in (('frames', self._frames), ('centres of mass', self._centers)):
            box = gui.add_checkbox(label, True)
            box.on_update(_switch(box, handles, 'show_axes' if label == 'frames' else 'visible'))
        box = gui.add_checkbox('external torque', True)

        @box.on_update
        def _(_: Any) -> None:
            self._show_external = box.value
            self._arrows.visible = box.value


def _joint_axes(jacobian: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the joints' axes in the space frame, shape (n, 3), from the Jacobian's columns."""
    turning, sliding = jacobian[3:].T, jacobian[:3].T
    turns = np.linalg.norm(turning, axis=1, keepdims=True) > 0.5
    return np.where(turns, turning, sliding)


def _shapes(description: ArmDescription) -> dict[int, tuple[Shape, ...]]:
    shapes = dict(load_shapes(description.name))
    if shapes and description.hand not in (NO_HAND, ''):
        shapes[description.n + 1] = load_hand_shapes()
    return shapes


def _add_shape(scene: Any, name: str, shape: Shape, colour: tuple[int, int, int]) -> Any:
    place = {
        'position': shape.pose[:3, 3],
        'wxyz': _quaternion(shape.pose),
        'color': colour,
        'opacity': _OPACITY,
    }
    if shape.kind is ShapeKind.BOX:
        return scene.add_box(name, dimensions=shape.size, **place)
    if shape.kind is ShapeKind.SPHERE:
        return scene.add_icosphere(name, radius=shape.size[0], **place)
    return scene.add_cylinder(name, radius=shape.size[0], height=shape.size[1], **place)


def _switch(box: Any, handles: list[Any], attribute: str) -> Any:
    def apply(_: Any) -> None:
        for handle in handles:
            setattr(handle, attribute, box.value)

    return apply


def _place(handle: Any, pose: NDArray[np.float64]) -> None:
    handle.position, handle.wxyz = pose[:3, 3], _quaternion(pose)


def _quaternion(pose: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rotation of a pose as (w, x, y, z)."""
    import pinocchio as pin

    x, y, z, w = pin.Quaternion(np.ascontiguousarray(pose[:3, :3])).coeffs()
    return np.array([w, x, y, z])
