# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A page for the browser in which Pinocchio's ViserVisualizer shows an arm, still or moving."""

from collections.abc import Callable
import socket
import time
from typing import Any, Self

import numpy as np

from .meshes import arm_meshes, ArmMeshes
from ..arm import ArmDescription
from ..arrays import Array
from ..errors import OutputError, require_extra
from ..recordings.preprocessing import Motion

UPDATE_PERIOD_S = 0.05  # between two shown positions [s]
# Where the whole of an arm is seen from.
_CAMERA_POSITION_M = (1.5, -1.6, 1.0)
# The point that is looked at.
_CAMERA_TARGET_M = (0.0, 0.0, 0.4)


class ArmPage:
    """
    A server of a browser page that shows an arm; a context manager.

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
        with require_extra('The view needs viser', 'view'):
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
        camera = self.server.initial_camera
        camera.position = _CAMERA_POSITION_M
        camera.look_at = _CAMERA_TARGET_M
        try:
            self.show_meshes(arm_meshes(arm))
        except BaseException:
            self.server.stop()
            raise

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

    def show_meshes(self, meshes: ArmMeshes) -> None:
        """Show meshes in place of the previous ones, all joints at zero."""
        from pinocchio import GeometryModel
        from pinocchio.visualize import ViserVisualizer

        with self.server.atomic():
            self.server.scene.reset()
            self.meshes = meshes
            self.visualizer = ViserVisualizer(meshes.model, GeometryModel(), meshes.visual_model)
            self.visualizer.initViewer(viewer=self.server)
            self.visualizer.loadViewerModel('links')
            self.show_position(np.zeros(self.arm.n))

    def show_position(self, q: Array) -> None:
        """Show the arm at joint positions q (n,) [rad or m]."""
        with self.server.atomic():
            self.visualizer.display(self.meshes.configuration(q))


def show_positions(
    page: ArmPage,
    read_position: Callable[[], Array | None],
    keep_running: Callable[[], bool],
) -> None:
    """
    Show an arm that moves, until `keep_running` returns False.

    `read_position` is called every 0.05 s and returns the newest positions (n,), or None.
    """
    while keep_running():
        began = time.monotonic()
        if (position := read_position()) is not None:
            page.show_position(position)
        time.sleep(max(0.0, UPDATE_PERIOD_S - (time.monotonic() - began)))


def show_recording(page: ArmPage, motion: Motion, keep_running: Callable[[], bool]) -> None:
    """
    Show a recording in a loop, with a slider for its time, until `keep_running` is False.

    Each shown position is UPDATE_PERIOD_S of the recording later than the one before; where
    drawing takes longer than that, the recording plays slower.
    """
    times = motion.time - motion.time[0]
    playing = page.server.gui.add_checkbox('play', True)
    slider = page.server.gui.add_slider('time [s]', 0.0, round(float(times[-1]), 2), 0.01, 0.0)
    begins = True

    def next_position() -> Array:
        """Return the positions at the slider, which moves on while the recording plays."""
        nonlocal begins
        if playing.value and not begins:
            later = slider.value + UPDATE_PERIOD_S
            slider.value = later if later <= times[-1] else 0.0
        begins = False
        return np.asarray(motion.q[min(int(np.searchsorted(times, slider.value)), len(times) - 1)])

    show_positions(page, next_position, keep_running)
