# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The terms as topics; one that nobody listens to is neither computed nor published."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped
import numpy as np
from numpy.typing import NDArray
import pinocchio as pin
from sensor_msgs.msg import JointState

from .messages import effort_message
from .qos import PUBLISHER_QOS, qos_overriding_options
from ..control.external_torque import friction_in_effort, MomentumObserver, TorqueResidual
from ..control.feedforward import Cycle, FeedforwardController
from ..control.terms import TermModel
from ..dynamics.model import frame_index

_TWIST_ROWS = ('vx', 'vy', 'vz', 'wx', 'wy', 'wz')


class TermPublishers:
    """
    Publishers of every term but the command.

    Parameters
    ----------
    node : LifecycleNode
        Whose `~/` the topics are in.
    controller : FeedforwardController
        Whose cycles are published.
    frame, reference_frame : str
        Of the Jacobian and the pose.
    effort_friction : str
        One of control.external_torque.EFFORT_FRICTION.

    Raises
    ------
    FrameError
        If there is no such frame.

    """

    def __init__(
        self,
        node: Any,
        controller: FeedforwardController,
        frame: str,
        reference_frame: str,
        effort_friction: str,
    ) -> None:
        self._controller = controller
        description = controller.description
        self._names = list(description.joint_names)
        self._frame: int | str = int(frame) if frame.isdigit() else frame
        self._frame_index = frame_index(self._frame, description.n)
        self._reference_frame = reference_frame
        self.base_frame = base_frame_id(self._names[0])  # which all torques carry
        self._square = [f'{row}/{column}' for row in self._names for column in self._names]
        self._twist = [f'{row}/{column}' for row in _TWIST_ROWS for column in self._names]
        self._effort_friction = effort_friction
        self._estimated_terms: TermModel | None = None
        terms: dict[str, tuple[type, Callable[[Cycle, Time], Any]]] = {
            'gravity': (JointState, self._gravity),
            'coriolis': (JointState, self._coriolis),
            'inertia_torque': (JointState, self._inertia),
            'external_torque': (JointState, self._external),
            'residual_torque': (JointState, self._residual),
            'mass_matrix': (JointState, self._mass_matrix),
            'coriolis_matrix': (JointState, self._coriolis_matrix),
            'jacobian': (JointState, self._jacobian),
            'pose': (PoseStamped, self._pose),
        }
        self._publishers = [
            (
                node.create_lifecycle_publisher(
                    kind,
                    f'~/{name}',
                    PUBLISHER_QOS,
                    qos_overriding_options=qos_overriding_options(),
                ),
                make,
            )
            for name, (kind, make) in terms.items()
        ]
        self._node = node
        self._wanted: list[tuple[Any, Callable[[Cycle, Time], Any]]] = []

    def refresh(self) -> None:
        """Look who listens; called a few times per second, not per cycle."""
        self._wanted = [
            entry for entry in self._publishers if entry[0].get_subscription_count() > 0
        ]

    @property
    def has_listeners(self) -> bool:
        """Whether anybody listens to any of them."""
        return bool(self._wanted)

    def publish(self, cycle: Cycle, stamp: Time) -> None:
        """Publish what is listened to, stamped as the joint state it belongs to."""
        for publisher, make in self._wanted:
            term = make(cycle, stamp)
            if term is not None:
                publisher.publish(term)

    def destroy(self) -> None:
        """Take the topics down."""
        for publisher, _ in self._publishers:
            self._node.destroy_lifecycle_publisher(publisher)
        self._publishers, self._wanted = [], []

    def _effort(self, stamp: Time, torque: NDArray[np.float64] | None) -> JointState | None:
        return (
            None if torque is None else effort_message(stamp, self._names, torque, self.base_frame)
        )

    def _gravity(self, cycle: Cycle, stamp: Time) -> JointState | None:
        return self._effort(stamp, cycle.gravity)

    def _coriolis(self, cycle: Cycle, stamp: Time) -> JointState | None:
        return self._effort(stamp, cycle.coriolis)

    def _inertia(self, cycle: Cycle, stamp: Time) -> JointState | None:
        return self._effort(stamp, cycle.inertia)

    def _external(self, cycle: Cycle, stamp: Time) -> JointState | None:
        if cycle.effort is None:
            return None
        self._renew_estimators()
        return self._effort(
            stamp, self._observer.update(cycle.stamp, cycle.q, cycle.dq, cycle.effort)
        )

    def _residual(self, cycle: Cycle, stamp: Time) -> JointState | None:
        if cycle.effort is None:
            return None
        self._renew_estimators()
        return self._effort(
            stamp, self._plain_residual.update(cycle.stamp, cycle.q, cycle.dq, cycle.effort)
        )

    def _renew_estimators(self) -> None:
        """Begin anew with the present payload and gravity where these have changed."""
        terms = self._controller.terms
        if terms is not self._estimated_terms:
            self._estimated_terms = terms
            friction = friction_in_effort(
                self._effort_friction,
                self._controller.description,
                self._controller.settings.profile,
            )
            self._observer = MomentumObserver(terms.true, friction=friction)
            self._plain_residual = TorqueResidual(terms.true, friction)

    def _mass_matrix(self, cycle: Cycle, stamp: Time) -> JointState:
        return effort_message(
            stamp, self._square, self._controller.terms.true.mass_matrix(cycle.q)
        )

    def _coriolis_matrix(self, cycle: Cycle, stamp: Time) -> JointState:
        return effort_message(
            stamp, self._square, self._controller.terms.true.coriolis_matrix(cycle.q, cycle.dq)
        )

    def _jacobian(self, cycle: Cycle, stamp: Time) -> JointState:
        return effort_message(
            stamp,
            self._twist,
            self._controller.terms.true.jacobian(cycle.q, self._frame, self._reference_frame),
        )

    def _pose(self, cycle: Cycle, stamp: Time) -> PoseStamped:
        pose = self._controller.terms.true.frames(cycle.q)[self._frame_index]
        values = pin.SE3ToXYZQUAT(pin.SE3(pose))
        message = PoseStamped()
        message.header.stamp, message.header.frame_id = stamp, self.base_frame
        position, orientation = message.pose.position, message.pose.orientation
        position.x, position.y, position.z = (float(value) for value in values[:3])
        orientation.x, orientation.y, orientation.z, orientation.w = (
            float(value) for value in values[3:]
        )
        return message


def base_frame_id(first_joint: str) -> str:
    """Return the name Franka's URDF gives the base link of a joint: fer_joint1 -> fer_link0."""
    stem, found, _ = first_joint.rpartition('joint')
    return f'{stem}link0' if found else 'base'
