# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The page in the browser: an arm's scene and its table of torques."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any

import numpy as np

from .meshes import ArmMeshes
from .plots import TorquePlots
from .scene import (
    ArmScene,
    CORIOLIS,
    EXTERNAL,
    GRAVITY,
    INERTIA,
    MEASURED,
    torque_table,
    ViewState,
)
from ..arm import ArmDescription
from ..dynamics.newton_euler import NewtonEulerModel
from ..errors import MissingDependencyError, OutputError
from ..recordings.preprocessing import Motion

LOCAL_HOST = '127.0.0.1'


class Window:
    """
    A page that browsers open; use as a context manager.

    Parameters
    ----------
    description : ArmDescription
        The arm.
    host : str
        Address to serve; anything but 127.0.0.1 lets others in, and nobody is asked who they are.
    port : int
        Port; the next free one is taken if it is in use.

    Raises
    ------
    MissingDependencyError
        If viser is not installed.
    OutputError
        If the address cannot be served.

    """

    def __init__(
        self, description: ArmDescription, host: str = LOCAL_HOST, port: int = 8080
    ) -> None:
        try:
            import viser
        except ImportError as error:
            raise MissingDependencyError(
                "The live view needs viser: pip install 'franka_dynamics[view]'."
            ) from error
        try:
            self.server: Any = viser.ViserServer(
                host=host, port=port, verbose=False, label=description.name
            )
        except (OSError, RuntimeError) as error:
            raise OutputError(f'{host}:{port} cannot be served: {error}.') from error
        self._description = description
        self.server.gui.configure_theme(
            control_width='large', show_logo=False, show_share_button=False
        )
        self.note = self.server.gui.add_markdown('')
        self.remark = self.server.gui.add_markdown('')
        self._table = self.server.gui.add_html('')
        self._scene = ArmScene(self.server, description)
        self._plots = TorquePlots(self.server, description)

    def __enter__(self) -> Window:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.stop()

    @property
    def address(self) -> str:
        """Where a browser finds it."""
        return f'http://{self.server.get_host()}:{self.server.get_port()}'

    def show(self, state: ViewState) -> None:
        """Show a state, in one piece."""
        with self.server.atomic():
            self._scene.update(state)
            self._table.content = torque_table(state, self._description)
            self._plots.add(state)

    def show_meshes(self, meshes: ArmMeshes) -> None:
        """Show the links' meshes in place of their capsules."""
        with self.server.atomic():
            self._scene.show_meshes(meshes)


PERIOD_S = 0.05  # between pictures


class Playback:
    """
    The states of a motion, as `replay` compares them: filtered, with accelerations.

    Parameters
    ----------
    description : ArmDescription
        The arm; `external` is what it does not explain: friction, contact and model error.
    motion : Motion
        The prepared recording.
    gravity : sequence of float
        In the base frame [m/s^2].

    """

    def __init__(
        self, description: ArmDescription, motion: Motion, gravity: tuple[float, ...]
    ) -> None:
        model = NewtonEulerModel(description, gravity)
        self._motion = motion
        terms = {
            GRAVITY: model.gravity(motion.q),
            CORIOLIS: model.coriolis(motion.q, motion.dq),
            INERTIA: np.einsum('kij,kj->ki', model.mass_matrix(motion.q), motion.ddq),
            MEASURED: motion.effort,
        }
        terms[EXTERNAL] = motion.effort - (terms[GRAVITY] + terms[CORIOLIS] + terms[INERTIA])
        self._terms = terms

    @property
    def duration(self) -> float:
        """From the first to the last state [s]."""
        return float(self._motion.time[-1] - self._motion.time[0])

    def state(self, seconds: float) -> ViewState:
        """Return the first state at or after this time since the first one, or the last."""
        time = self._motion.time
        i = min(int(np.searchsorted(time, time[0] + seconds)), len(time) - 1)
        return ViewState(
            float(time[i] - time[0]),
            self._motion.q[i],
            {name: rows[i] for name, rows in self._terms.items()},
        )


def play(window: Window, playback: Playback, go_on: Callable[[], bool]) -> None:
    """Play in a loop, from wherever the slider is put, until told not to go on."""
    gui = window.server.gui
    playing = gui.add_checkbox('play', True)
    slider = gui.add_slider(
        'time [s]', min=0.0, max=round(playback.duration, 2), step=0.01, initial_value=0.0
    )
    shown = None
    while go_on():
        began = time.monotonic()
        if playing.value and shown is not None:
            slider.value = (
                slider.value + PERIOD_S if slider.value + PERIOD_S <= playback.duration else 0.0
            )
        if slider.value != shown:
            shown = slider.value
            window.show(playback.state(shown))
        time.sleep(max(0.0, PERIOD_S - (time.monotonic() - began)))
