# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A page for the browser that shows an arm in three dimensions and a table of its torques.

Links are drawn by Pinocchio's ViserVisualizer. It has no colour that changes, no DH frames in the
standard convention, and neither centres of mass nor arrows of torques: these are drawn here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
import socket
import time
from typing import Any, Self

import numpy as np

from .meshes import arm_meshes, ArmMeshes
from ..arm import ArmDescription
from ..arrays import Array
from ..dynamics.newton_euler import NewtonEulerModel
from ..errors import OutputError, require_extra
from ..recordings.preprocessing import Motion
from ..report.elements import Cell, Header, Mark, Table

UPDATE_PERIOD_S = 0.05  # between two shown states [s]
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
_DASH = '–'
_BASE_COLOUR = (150, 150, 150)
_MASS_CENTER_COLOUR = (20, 20, 20)
_EXTERNAL_TORQUE_COLOUR = (150, 40, 200)
_AXIS_LENGTH_M, _AXIS_RADIUS_M = 0.08, 0.003
# Radius [m] of the ball at a 1 kg link's centre of mass; a ball's volume is proportional to mass.
_MASS_CENTER_RADIUS_M = 0.025
_ARROW_M_PER_NM = 0.05  # length of an arrow per torque [m/(N m)]
_ARROW_SIZES_M = {'shaft_radius': 0.01, 'head_radius': 0.024, 'head_length': 0.025}
# The arrow of a smaller external torque would be shorter than its head, so none is drawn.
MIN_DRAWN_TORQUE_NM = _ARROW_SIZES_M['head_length'] / _ARROW_M_PER_NM
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


def torque_limit_ratios(state: ViewState, arm: ArmDescription) -> Array | None:
    """
    Return each joint's absolute torque (commanded, else measured) over its limit, or None.

    The result has shape (n,); it is None if `state` has neither torque.
    """
    torque = state.torques.get(TorqueColumn.COMMANDED, state.torques.get(TorqueColumn.MEASURED))
    limit = arm.limit('effort')  # some files have 0 for no limit
    return None if torque is None else np.abs(torque) / np.where(limit > 0.0, limit, np.inf)


def _limit_ratio_mark(ratio: float) -> Mark:
    """Return 'good', 'warning' or 'bad' for the ratio of a torque to its limit."""
    return 'bad' if ratio >= AT_LIMIT_RATIO else 'warning' if ratio >= NEAR_LIMIT_RATIO else 'good'


def limit_ratio_colour(ratio: float) -> tuple[int, int, int]:
    """Return the RGB colour of a link for the ratio of its joint's torque to the torque limit."""
    return MARK_COLOURS[_limit_ratio_mark(ratio)]


def torque_table_html(state: ViewState, arm: ArmDescription) -> str:
    """Return an HTML table of a state's joint torques, with a dash for a missing value."""
    shares = torque_limit_ratios(state, arm)
    rows = []
    for i, q in enumerate(state.q):
        known = {column: torque[i] for column, torque in state.torques.items()}
        # Adding zero makes 0.0 of -0.0: a minus sign before a zero torque would flicker.
        texts = [np.round(known[one], 1) + 0.0 if one in known else _DASH for one in TorqueColumn]
        share = np.nan if shares is None else float(shares[i])
        percent = Cell(f'{100.0 * share:.0f} %', _limit_ratio_mark(share))
        rows.append((i + 1, q, *texts, percent if np.isfinite(share) else _DASH))
    columns = [Header(name, format='.1f') for name in TorqueColumn]
    heads: list[Header | str] = ['', Header('q', format='.2f'), *columns, 'limit']
    about = (
        f't = {state.time:.2f} s; q in rad, torques in N m; ext. = meas. - model; limit: share of '
        'the torque limit'
    )
    return _TABLE_STYLE + Table(about, heads, rows).html()


class ArmPage:
    """
    A server of a browser page that shows an arm, its frames and torques; a context manager.

    Parameters
    ----------
    host : str
        Address to serve. With anything but 127.0.0.1 others in the network can open the page;
        there is no password.
    port : int
        Port; the next free one is taken if it is in use.

    Raises
    ------
    MissingDependencyError
        If viser is not installed.
    OutputError
        If the address cannot be served.

    """

    def __init__(self, arm: ArmDescription, host: str = '127.0.0.1', port: int = 8080) -> None:
        """Begin to serve the page with the arm in the zero position."""
        with require_extra('The live view needs viser', 'view'):
            import viser
        try:
            # viser opens its port in a thread, and waits for ever if that fails, so some port of
            # `host` is opened first.
            socket.create_server((host, 0)).close()
            self.server: Any = viser.ViserServer(host, port, arm.name, verbose=False)
        except (OSError, RuntimeError) as error:
            why = getattr(error, 'strerror', None) or error
            raise OutputError(
                f'{host}:{port} cannot be served: {why}. Choose another address or port.'
            ) from error
        self.arm = arm
        gui = self.server.gui
        gui.configure_theme(control_width='large', show_logo=False, show_share_button=False)
        self.status_handle, self.error_handle = (
            gui.add_markdown(''),
            gui.add_markdown(''),
        )
        self._table_handle = gui.add_html('')
        self._model = NewtonEulerModel(arm)
        self._draw_arm()

    def _draw_arm(self) -> None:
        """Draw floor, frames, links, centres of mass and hidden arrows, and place the camera."""
        scene, arm = self.server.scene, self.arm
        scene.add_grid('/floor', width=2.0, height=2.0, position=(0.0, 0.0, 0.0))
        # The drawn frames are 0 (base), 1 to n, and n + 1 (flange).
        axes = {'axes_length': _AXIS_LENGTH_M, 'axes_radius': _AXIS_RADIUS_M}
        self._frame_handles = [
            scene.add_frame(f'/arm/{i}', origin_radius=2.0 * _AXIS_RADIUS_M, **axes)
            for i in range(arm.n + 2)
        ]
        _set_pose(self._frame_handles[0], np.asarray(arm.base))
        self.show_meshes(arm_meshes(arm))
        for i, link in enumerate(arm.links, 1):
            scene.add_icosphere(
                f'/arm/{i}/center',
                radius=_MASS_CENTER_RADIUS_M * float(np.cbrt(max(link.mass, 0.0))),
                color=_MASS_CENTER_COLOUR,
                position=link.center_of_mass if link.mass else np.zeros(3),
            )
        points, colour = np.zeros((1, 2, 3)), _EXTERNAL_TORQUE_COLOUR
        self._arrow_handles = scene.add_arrows('/external', points, colour, **_ARROW_SIZES_M)
        self._arrow_handles.visible = False
        # Right of the centre the table covers the scene.
        camera = self.server.initial_camera
        camera.position, camera.look_at = (1.5, -1.6, 1.0), (0.3, 0.2, 0.38)
        camera.fov = np.radians(35.0)

    def __enter__(self) -> Self:
        """Return the page."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving the page."""
        self.server.stop()

    @property
    def address(self) -> str:
        """URL of the page."""
        return f'http://{self.server.get_host()}:{self.server.get_port()}'

    def show_state(self, state: ViewState) -> None:
        """Show a state in the scene and the table, sent to browsers in one message."""
        with self.server.atomic():
            for frame, pose in zip(self._frame_handles[1:], self._model.frames(state.q)):
                _set_pose(frame, pose)
            self._colour_links(state)
            self._draw_arrows(state)
            self._visualizer.display(self._meshes.configuration(state.q))
            self._table_handle.content = torque_table_html(state, self.arm)

    def show_meshes(self, meshes: ArmMeshes) -> None:
        """Show meshes in place of the previous ones, all joints at zero and without torque."""
        from pinocchio import GeometryModel
        from pinocchio.visualize import ViserVisualizer

        with self.server.atomic():
            self.server.scene.remove_by_name('/links')
            self._meshes = meshes
            self._visualizer = ViserVisualizer(meshes.model, GeometryModel(), meshes.visual_model)
            self._visualizer.initViewer(viewer=self.server)
            colour = [*(value / 255.0 for value in _BASE_COLOUR), _LINK_OPACITY]
            self._visualizer.loadViewerModel('links', visual_color=colour)
            names = [f'links/visual/{item.name}' for item in meshes.visual_model.geometryObjects]
            self.link_handles = [self._visualizer.frames[name] for name in names]
            state = ViewState(0.0, np.zeros(self.arm.n))
            self._colour_links(state)
            self._visualizer.display(meshes.configuration(state.q))

    def _draw_arrows(self, state: ViewState) -> None:
        """Draw arrows along the joints' axes for external torques above MIN_DRAWN_TORQUE_NM."""
        external = state.torques.get(TorqueColumn.EXTERNAL, np.zeros(self.arm.n))
        shown = np.abs(external) >= MIN_DRAWN_TORQUE_NM
        tails = self._model.frames(state.q)[:-1, :3, 3]
        sliding, turning = np.split(self._model.jacobian(state.q), 2)
        axes = np.where(np.linalg.norm(turning, axis=0) > 0.5, turning, sliding).T
        tips = tails + _ARROW_M_PER_NM * external[:, None] * axes
        if shown.any():
            self._arrow_handles.points = np.stack((tails, tips), axis=1)[shown].astype(np.float32)
        self._arrow_handles.visible = bool(shown.any())

    def _colour_links(self, state: ViewState) -> None:
        """Colour each link by its joint's torque relative to the torque limit."""
        shares = torque_limit_ratios(state, self.arm)
        for joint, handle in zip(self._meshes.joint_number_by_object, self.link_handles):
            if joint:
                colour = limit_ratio_colour(0.0 if shares is None else float(shares[joint - 1]))
                if tuple(handle.color) != colour:
                    handle.color = colour


def _set_pose(handle: Any, pose: Array) -> None:
    """Set the pose of an object in the scene from a homogeneous transform (4, 4)."""
    from viser.transforms import SO3

    handle.position, handle.wxyz = pose[:3, 3], SO3.from_matrix(pose[:3, :3]).wxyz


class Playback:
    """
    Positions and measured and modelled torques of a filtered recording, prepared to be shown.

    The column ext. is the measured torque minus that of the arm's rigid-body model: friction,
    contact and model error. `gravity` is in the space frame [m/s^2].
    """

    def __init__(self, arm: ArmDescription, motion: Motion, gravity: tuple[float, ...]) -> None:
        """Compute the model's torques of a filtered motion."""
        model = NewtonEulerModel(arm, gravity)
        self._motion, (q, dq, ddq) = motion, (motion.q, motion.dq, motion.ddq)
        self._model_torques = {
            TorqueColumn.GRAVITY: model.gravity(q),
            TorqueColumn.CORIOLIS: model.coriolis(q, dq),
            TorqueColumn.INERTIA: np.einsum('kij,kj->ki', model.mass_matrix(q), ddq),
            TorqueColumn.MEASURED: motion.effort,
            TorqueColumn.EXTERNAL: motion.effort - model.inverse_dynamics(q, dq, ddq),
        }

    @property
    def duration(self) -> float:
        """Time from the first to the last state [s]."""
        return float(self._motion.time[-1] - self._motion.time[0])

    def state_at(self, time_s: float) -> ViewState:
        """Return the first state at or after `time_s` from the start, or else the last one."""
        times = self._motion.time
        i = min(int(np.searchsorted(times, times[0] + time_s)), len(times) - 1)
        torques = {name: rows[i] for name, rows in self._model_torques.items()}
        return ViewState(float(times[i] - times[0]), self._motion.q[i], torques)


def show_playback(page: ArmPage, playback: Playback, keep_running: Callable[[], bool]) -> None:
    """Show a recording in a loop, a state every 0.05 s, until `keep_running` returns False."""
    gui = page.server.gui
    playing = gui.add_checkbox('play', True)
    slider = gui.add_slider('time [s]', 0.0, round(playback.duration, 2), 0.01, 0.0)
    shown = None
    while keep_running():
        began = time.monotonic()
        if playing.value and shown is not None:
            later = slider.value + UPDATE_PERIOD_S
            slider.value = later if later <= playback.duration else 0.0
        if slider.value != shown:
            shown = slider.value
            page.show_state(playback.state_at(shown))
        time.sleep(max(0.0, UPDATE_PERIOD_S - (time.monotonic() - began)))
