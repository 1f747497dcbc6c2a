# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The page in the browser: an arm's scene and its table of torques."""

from __future__ import annotations

from typing import Any

from .scene import ArmScene
from .state import ViewState
from .torque_table import torque_table
from ..arm import ArmDescription
from ..errors import MissingDependencyError, OutputError

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

    def __init__(self, description: ArmDescription, host: str = LOCAL_HOST,
                 port: int = 8080) -> None:
        try:
            import viser
        except ImportError as error:
            raise MissingDependencyError("The live view needs viser: pip install "
                                         "'franka_dynamics[view]'.") from error
        try:
            self.server: Any = viser.ViserServer(host=host, port=port, verbose=False,
                                                 label=description.name)
        except (OSError, RuntimeError) as error:
            raise OutputError(f'{host}:{port} cannot be served: {error}.') from error
        self._description = description
        self.server.gui.configure_theme(control_width='large', show_logo=False,
                                        show_share_button=False)
        self.note = self.server.gui.add_markdown('')
        self._table = self.server.gui.add_html('')
        self._scene = ArmScene(self.server, description)

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
