# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Shows a running arm in the browser, with its joint states and the node's torque terms."""

from collections.abc import Callable
import time
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from .joint_state_messages import JointStateReader
from .messages import seconds
from .status import TORQUE_TERMS
from .topic_listener import TopicListener
from .topics import DESCRIPTION_QOS
from ..arm import ArmDescription
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import JointStateError
from ..view.meshes import MeshesError, urdf_meshes
from ..view.scene import TorqueColumn, ViewState
from ..view.window import UPDATE_PERIOD_S, Window

_DISCOVERY_TIMEOUT_S = 1.0  # wait for a topic and a node named without their namespace [s]
_MAX_STAMP_DIFFERENCE_S = 0.5  # between a joint state and a term that is shown with it


class LiveView(TopicListener):
    """
    Shows joint states and torque terms of one arm from their topics; a context manager.

    Subscriptions to joint states and terms are best effort with depth 1 and read once per update,
    so that the view hardly loads a running controller. The arm's model gives g and C dq if the
    node's g and C dq are missing or stamped more than 0.5 s before or after the joint state.
    `state_topic` and `node` may be named without their namespace.
    """

    def __init__(self, description: ArmDescription, state_topic: str, node: str) -> None:
        super().__init__('view')
        self._names = list(description.joint_names)
        self._reader = JointStateReader(self._names)
        self._model = PinocchioModel(description)
        self._began: float | None = None
        self._node, (self._topic,) = self.find(_DISCOVERY_TIMEOUT_S, node, [state_topic])
        self.problem = f'waiting for {self._topic}'
        self.read()  # subscribes

    @property
    def urdf(self) -> str | None:
        """The URDF that robot_state_publisher publishes, if it runs."""
        topic = f'{self._topic.rpartition("/")[0]}/robot_description'
        message = self.newest(String, topic, DESCRIPTION_QOS)
        return None if message is None else message.data

    def read(self) -> ViewState | None:
        """Return the newest state without waiting, or None without a valid joint state."""
        terms = {
            TorqueColumn(heading): self.newest(JointState, f'{self._node}/{name}')
            for name, heading in TORQUE_TERMS.items()
        }
        self.poll()
        data = self.newest(JointState, self._topic, raw=True)
        if data is None:
            return None
        try:
            reading = self._reader.read(data)
        except JointStateError as error:
            self.problem = str(error)
            return None
        q, dq, self.problem = reading.position, reading.velocity, ''
        if not (np.isfinite(q).all() and np.isfinite(dq).all()):
            return None
        torques = {
            TorqueColumn.GRAVITY: self._model.gravity(q),
            TorqueColumn.CORIOLIS: self._model.coriolis(q, dq),
        }
        if reading.effort is not None:
            torques[TorqueColumn.MEASURED] = reading.effort
        for column, message in terms.items():
            by_name = {} if message is None else dict(zip(message.name, message.effort))
            if (
                by_name.keys() >= set(self._names)
                and abs(seconds(message.header.stamp) - reading.stamp) < _MAX_STAMP_DIFFERENCE_S
            ):
                torques[column] = np.array([by_name[name] for name in self._names])
        if self._began is None or reading.stamp < self._began:
            self._began = reading.stamp
        return ViewState(reading.stamp - self._began, q, torques)


def watch(
    window: Window,
    description: ArmDescription,
    state_topic: str,
    node: str,
    keep_running: Callable[[], bool],
    show_urdf_meshes: bool = False,
) -> None:
    """
    Show a running arm until `keep_running` returns False.

    `keep_running` is called once per update, every 0.05 s. With `show_urdf_meshes` the meshes of
    the URDF on robot_description are shown, if their packages are installed.
    """
    shown: Any = None
    with LiveView(description, state_topic, node) as view:
        while keep_running():
            began = time.monotonic()
            state = view.read()
            if view.problem != shown:
                shown = window.note.content = view.problem
            if show_urdf_meshes and (urdf := view.urdf) is not None:
                show_urdf_meshes = False
                try:
                    window.show_meshes(urdf_meshes(urdf, description.joint_names))
                except MeshesError as error:
                    window.remark.content = f'{error}'
            if state is not None:
                window.show(state)
            time.sleep(max(0.0, UPDATE_PERIOD_S - (time.monotonic() - began)))
