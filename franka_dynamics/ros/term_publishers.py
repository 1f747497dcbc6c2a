# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Publishers of model terms, external torque and external wrench of a feedforward node."""

from collections.abc import Callable
from itertools import product
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, WrenchStamped
import pinocchio as pin
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from .messages import MessageTemplate
from .topics import PUBLISHER_QOS
from ..arm.frames import FLANGE, Frame
from ..arrays import Array
from ..control.feedforward import Feedforward
from ..control.terms import StateTerms
from ..dynamics.external_torque import ExternalWrench, WrenchEstimator
from ..dynamics.pinocchio_model import PinocchioModel
from ..errors import short_text

_COMPONENT_NAMES = {
    'twist': ('vx', 'vy', 'vz', 'wx', 'wy', 'wz'),
    'wrench': ('fx', 'fy', 'fz', 'mx', 'my', 'mz'),
}
# A topic's value, an array (None while unknown), from the publishers, a state and its command.
TermFunction = Callable[['TermPublishers', StateTerms, Array | None], Array | None]
# Topics: their term, and the message that has it: a JointState, as effort with names of this kind,
# or another type.
TERM_TOPICS: dict[str, tuple[str | type, TermFunction]] = {
    'feedforward': ('joint', lambda own, state, command: command),
    'gravity': ('joint', lambda own, state, _: state.gravity),
    'coriolis': ('joint', lambda own, state, _: state.coriolis),
    'inertia_torque': ('joint', lambda own, state, _: state.inertia_torque),
    'external_torque': ('joint', lambda own, *_: own.external_torque()),
    'external_wrench_covariance': (
        'wrench/wrench',
        lambda own, state, _: own.wrench_field('covariance', state.q),
    ),
    'mass_matrix': (
        'joint/joint',
        lambda own, state, _: own.model.mass_matrix(state.q),
    ),
    'coriolis_matrix': (
        'joint/joint',
        lambda own, state, _: own.model.coriolis_matrix(state.q, state.dq),
    ),
    'jacobian': (
        'twist/joint',
        lambda own, state, _: own.model.jacobian(state.q, own.frame),
    ),
    'external_wrench': (
        WrenchStamped,
        lambda own, state, _: own.wrench_field('wrench', state.q),
    ),
    'pose': (PoseStamped, lambda own, state, _: own.frame_xyz_quaternion(state.q)),
}


class TermPublishers:
    """
    The publishers of model terms, external torque and wrench, and a copy of each command.

    `set_controller` gives the controller whose terms are published.
    """

    def __init__(self, node: Any) -> None:
        """Make the publishers of all terms on a node; `set_controller` must follow."""
        self._node = node
        self._publishers = {
            name: node.create_lifecycle_publisher(
                JointState if isinstance(kind, str) else kind,
                f'~/{name}',
                PUBLISHER_QOS,
            )
            for name, (kind, _) in TERM_TOPICS.items()
        }
        self.frame: Frame = FLANGE
        self._templates: dict[str | type, MessageTemplate] = {}
        self._failed_terms: set[str] = set()
        self._subscribed_terms: list[str] = []

    def set_controller(self, controller: Feedforward, frame: Frame = FLANGE) -> None:
        """
        Set the published terms' controller and frame; raise FrameError if the arm lacks the frame.

        `frame` is the frame whose Jacobian (LOCAL_WORLD_ALIGNED) and pose are published, and at
        whose origin the external wrench acts. Raises FrameError if the arm has no such frame.
        """
        self._controller = controller
        self.frame = frame
        self._estimator = WrenchEstimator(self.model, frame)
        names = list(controller.description.joint_names)
        rows = {'joint': names, **_COMPONENT_NAMES}
        # RViz's Effort display ignores messages without a frame.
        # x_link0, if joint 1 is called x_joint1.
        stem, found, _ = names[0].rpartition('joint')
        header = Header(frame_id=f'{stem}link0' if found else 'base')
        # rclpy would take 10 to 20 us for a message.
        wrench = WrenchStamped(header=header)
        pose = PoseStamped(header=header)
        wrench.wrench.force.x = pose.pose.position.x = MessageTemplate.PLACEHOLDER
        messages: dict[str | type, Any] = {WrenchStamped: wrench, PoseStamped: pose}
        for kind in {kind for kind, _ in TERM_TOPICS.values() if isinstance(kind, str)}:
            labels = ['/'.join(row) for row in product(*(rows[axis] for axis in kind.split('/')))]
            row = MessageTemplate.placeholder_row(len(labels))
            messages[kind] = JointState(header=header, name=labels, effort=row)
        self._templates = {kind: MessageTemplate(one) for kind, one in messages.items()}
        self._failed_terms.clear()
        self.update_subscribed_terms()

    @property
    def model(self) -> PinocchioModel:
        """Pinocchio's model of the arm with its present payload."""
        return self._controller.requested_law.terms.true_model

    def update_subscribed_terms(self) -> None:
        """Update the list of terms to publish: those with subscribers that have not failed."""
        counts = {k: one.get_subscription_count() for k, one in self._publishers.items()}
        self._subscribed_terms = [k for k in counts if counts[k] and k not in self._failed_terms]

    def publish_terms(self, state: StateTerms, command: Array | None, stamp: Time) -> None:
        """
        Publish the terms that have subscribers, for a state and its command, with a stamp.

        If a term raises an error, the error is logged, and the term is no longer published. This
        cannot affect ~/command, which is published before the terms.
        """
        for name in self._subscribed_terms:
            kind, term = TERM_TOPICS[name]
            try:
                values = term(self, state, command)
                if values is not None:
                    self._publishers[name].publish(self._templates[kind].serialize(stamp, values))
            except Exception as error:
                self._failed_terms.add(name)
                self._node.get_logger().error(
                    f'~/{name} is not published any more: '
                    f'{short_text(repr(error), 200)}; configure the node anew, and report this'
                )
                self.update_subscribed_terms()

    def frame_xyz_quaternion(self, q: Array) -> Array:
        """Return the frame's position [m] and quaternion x y z w in {S}, (7,), at positions q."""
        return pin.SE3ToXYZQUAT(pin.SE3(self.model.frame_pose(q, self.frame)))

    def external_torque(self) -> Array | None:
        """
        Return the external torque, (n,) [N m], signed as FCI's tau_ext, or None if unknown.

        Returns None if effort is not measured, and until enough good states have come.
        """
        torques = self._controller.disturbances
        known = torques.has_effort and self._controller.states.has_enough_states
        return torques.external_torque if known else None

    def external_wrench(self, q: Array) -> ExternalWrench | None:
        """Return the external wrench at the frame, base axes, for joints at q; None if unknown."""
        if self._estimator.model is not self.model:  # a payload was put on
            self._estimator = WrenchEstimator(self.model, self.frame)
        torque = self.external_torque()
        # The estimated torque lags behind the arm, but the Jacobian is taken at the position q.
        return None if torque is None else self._estimator.estimate(q, torque)

    def wrench_field(self, field_name: str, q: Array) -> Array | None:
        """Return an attribute of the external wrench at positions q; None while unknown."""
        estimate = self.external_wrench(q)
        return None if estimate is None else getattr(estimate, field_name)
