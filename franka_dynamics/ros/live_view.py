# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The live view of a running arm in the browser, from joint states and torque terms."""

from collections.abc import Callable
import time
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from .messages import JointStateReader, stamp_to_seconds
from .status import TERM_HEADINGS
from .topic_listener import TopicListener
from .topics import DESCRIPTION_QOS
from ..arm import ArmDescription
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import JointStateError, SettingsError
from ..view.meshes import MeshesError, urdf_meshes
from ..view.page import ArmPage, TorqueColumn, UPDATE_PERIOD_S, ViewState

_FULL_NAME_TIMEOUT_S = 1.0  # wait for a topic and a node named without their namespace [s]
_MAX_STAMP_DIFFERENCE_S = 0.5  # between a joint state and a term that is shown with it


class ArmStateListener(TopicListener):
    """
    A listener that combines joint states and torque terms of one arm; a context manager.

    Subscriptions to joint states and terms are best effort with depth 1 and read once per update,
    so that the view hardly loads a running controller. The arm's model gives g and C dq if the
    node's g and C dq are missing or stamped more than 0.5 s before or after the joint state.
    `state_topic` and `node_name` may be named without their namespace.
    """

    def __init__(self, arm: ArmDescription, state_topic: str, node_name: str) -> None:
        """Find the topics of arm and node, and subscribe; raise SettingsError if ambiguous."""
        super().__init__('view')
        self._joint_names = list(arm.joint_names)
        self._reader, self._model = (
            JointStateReader(self._joint_names),
            PinocchioModel(arm),
        )
        self._first_stamp: float | None = None
        try:
            found = self.find_full_names(_FULL_NAME_TIMEOUT_S, node_name, [state_topic])
        except SettingsError:
            self.__exit__()
            raise
        self._node, (self._topic,) = found
        self.problem = f'waiting for {self._topic}'
        self.read_state()  # subscribes

    @property
    def urdf_text(self) -> str | None:
        """The latest URDF text on robot_description in the joint states' namespace, or None."""
        topic = f'{self._topic.rpartition("/")[0]}/robot_description'
        message = self.newest_message(String, topic, DESCRIPTION_QOS)
        return None if message is None else message.data

    def read_state(self) -> ViewState | None:
        """Return the arm's newest state without waiting, or None, with why in `problem`."""
        terms = {
            TorqueColumn(heading): self.newest_message(JointState, f'{self._node}/{name}')
            for name, heading in TERM_HEADINGS.items()
        }
        self.poll()
        data = self.newest_message(JointState, self._topic, raw=True)
        if data is None:
            return None
        try:
            reading = self._reader.read(data)
        except JointStateError as error:
            self.problem = str(error)
            return None
        q, dq, self.problem = reading.position, reading.velocity, ''
        if not (np.isfinite(q).all() and np.isfinite(dq).all()):
            self.problem = f'{self._topic} has positions or velocities that are not finite'
            return None
        gravity, coriolis = self._model.gravity(q), self._model.coriolis(q, dq)
        torques = {TorqueColumn.GRAVITY: gravity, TorqueColumn.CORIOLIS: coriolis}
        if reading.effort is not None:
            torques[TorqueColumn.MEASURED] = reading.effort
        for column, message in terms.items():
            by_name = {} if message is None else dict(zip(message.name, message.effort))
            if not by_name.keys() >= set(self._joint_names):
                continue
            age = reading.stamp - stamp_to_seconds(message.header.stamp)
            if abs(age) < _MAX_STAMP_DIFFERENCE_S:
                torques[column] = np.array([by_name[name] for name in self._joint_names])
        if self._first_stamp is None or reading.stamp < self._first_stamp:
            self._first_stamp = reading.stamp
        return ViewState(reading.stamp - self._first_stamp, q, torques)


def show_running_arm(
    page: ArmPage,
    state_topic: str,
    node: str,
    keep_running: Callable[[], bool],
    show_urdf: bool,
) -> None:
    """
    Show a running arm in a browser window until `keep_running` returns False.

    `keep_running` is called once per update, every 0.05 s. If `show_urdf`, the meshes of the URDF
    on robot_description are shown, if their packages are installed.
    """
    shown: Any = None
    with ArmStateListener(page.arm, state_topic, node) as view:
        while keep_running():
            began = time.monotonic()
            state = view.read_state()
            if view.problem != shown:
                shown = page.status_handle.content = view.problem
            if show_urdf and (urdf := view.urdf_text) is not None:
                show_urdf = False
                try:
                    page.show_meshes(urdf_meshes(urdf, page.arm.joint_names))
                except MeshesError as error:
                    page.error_handle.content = f'{error}'
            if state is not None:
                page.show_state(state)
            time.sleep(max(0.0, UPDATE_PERIOD_S - (time.monotonic() - began)))
