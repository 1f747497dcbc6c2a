# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A page for the browser that shows an arm in three dimensions and a table of its torques."""

from collections.abc import Callable
import socket
import time
from typing import Any, Self

import numpy as np

from .meshes import ArmMeshes
from .scene import ArmScene, torque_table, TorqueColumn, ViewState
from ..arm import ArmDescription
from ..dynamics.newton_euler import NewtonEulerModel
from ..errors import OutputError, require_extra
from ..recordings.preprocessing import Motion

UPDATE_PERIOD_S = 0.05  # between two shown states [s]


class Window:
    """
    A server of a page that shows an arm in the browser; a context manager.

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
        """Begin to serve the page of an arm."""
        with require_extra('The live view needs viser', 'view'):
            import viser
        try:
            # viser opens its port in a thread, and waits for ever if that fails, so some port of
            # `host` is opened first.
            socket.create_server((host, 0)).close()
            self.server: Any = viser.ViserServer(
                host=host, port=port, verbose=False, label=arm.name
            )
        except (OSError, RuntimeError) as error:
            why = getattr(error, 'strerror', None) or error
            raise OutputError(
                f'{host}:{port} cannot be served: {why}. Choose another address or port.'
            ) from error
        self.arm = arm
        self.server.gui.configure_theme(
            control_width='large', show_logo=False, show_share_button=False
        )
        self.status_text = self.server.gui.add_markdown('')
        self.error_text = self.server.gui.add_markdown('')
        self._table = self.server.gui.add_html('')
        self._scene = ArmScene(self.server, arm)

    def __enter__(self) -> Self:
        """Return the window."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop serving the page."""
        self.server.stop()

    @property
    def address(self) -> str:
        """URL of the page."""
        return f'http://{self.server.get_host()}:{self.server.get_port()}'

    def show_state(self, state: ViewState) -> None:
        """Show a state in scene and table; browsers get both in one message."""
        with self.server.atomic():
            self._scene.show_state(state)
            self._table.content = torque_table(state, self.arm)

    def show_meshes(self, meshes: ArmMeshes) -> None:
        """Show the given meshes of the links in place of those shown before."""
        with self.server.atomic():
            self._scene.show_meshes(meshes)


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
        self._terms = {
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

    def state(self, seconds: float) -> ViewState:
        """Return the first state at or after `seconds` from the start, or else the last one."""
        times = self._motion.time
        i = min(int(np.searchsorted(times, times[0] + seconds)), len(times) - 1)
        torques = {name: rows[i] for name, rows in self._terms.items()}
        return ViewState(float(times[i] - times[0]), self._motion.q[i], torques)


def show_playback(window: Window, playback: Playback, keep_running: Callable[[], bool]) -> None:
    """Show a recording in a loop, a state every 0.05 s, until `keep_running` returns False."""
    gui = window.server.gui
    playing = gui.add_checkbox('play', True)
    slider = gui.add_slider(
        'time [s]', min=0.0, max=round(playback.duration, 2), step=0.01, initial_value=0.0
    )
    shown = None
    while keep_running():
        began = time.monotonic()
        if playing.value and shown is not None:
            later = slider.value + UPDATE_PERIOD_S
            slider.value = later if later <= playback.duration else 0.0
        if slider.value != shown:
            shown = slider.value
            window.show_state(playback.state(shown))
        time.sleep(max(0.0, UPDATE_PERIOD_S - (time.monotonic() - began)))
