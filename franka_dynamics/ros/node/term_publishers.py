# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Publishers of model terms, external torque and external wrench of a feedforward node."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

from builtin_interfaces.msg import Time
from geometry_msgs.msg import PoseStamped, WrenchStamped
import pinocchio as pin
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from ..messages import MessageTemplate
from ..topics import PUBLISHER_QOS
from ...arm.frames import FLANGE, Frame
from ...arrays import Array
from ...control.feedforward import Feedforward
from ...control.terms import StateTerms
from ...dynamics.external_torque import ExternalWrench, WrenchEstimator
from ...dynamics.pinocchio_model import PinocchioModel
from ...errors import short_text

# Names of the numbers of a 6-vector, such as a column of the Jacobian.
_COMPONENT_NAMES = {
    'twist': ('vx', 'vy', 'vz', 'wx', 'wy', 'wz'),
    'wrench': ('fx', 'fy', 'fz', 'mx', 'my', 'mz'),
}
# Returns a term, an array (None while unknown), for the publishers, a state and its command.
TermFunction = Callable[['TermPublishers', StateTerms, Array | None], Array | None]


class TermTopic(NamedTuple):
    """
    A topic of a model term: the function that computes the term, and its message.

    A term of type JointState stands in `effort`, and the names of its numbers in `name`. `axes`
    says what counts them: the arm's joints ('joint') or components of a 6-vector ('twist',
    'wrench'). The numbers of a matrix have names of both, such as vx/fr3_joint1.
    """

    compute: TermFunction
    axes: tuple[str, ...] = ()
    message_type: type = JointState


_BY_JOINT = ('joint',)
TERM_TOPICS: dict[str, TermTopic] = {
    'feedforward': TermTopic(lambda own, state, command: command, _BY_JOINT),
    'gravity': TermTopic(lambda own, state, _: state.gravity, _BY_JOINT),
    'coriolis': TermTopic(lambda own, state, _: state.coriolis, _BY_JOINT),
    'inertia_torque': TermTopic(lambda own, state, _: state.inertia_torque, _BY_JOINT),
    'external_torque': TermTopic(lambda own, *_: own.external_torque(), _BY_JOINT),
    'external_wrench_covariance': TermTopic(
        lambda own, state, _: own.wrench_field('covariance', state.q), ('wrench', 'wrench')
    ),
    'mass_matrix': TermTopic(
        lambda own, state, _: own.model.mass_matrix(state.q), ('joint', 'joint')
    ),
    'coriolis_matrix': TermTopic(
        lambda own, state, _: own.model.coriolis_matrix(state.q, state.dq), ('joint', 'joint')
    ),
    'jacobian': TermTopic(
        lambda own, state, _: own.model.jacobian(state.q, own.frame), ('twist', 'joint')
    ),
    'external_wrench': TermTopic(
        lambda own, state, _: own.wrench_field('wrench', state.q), message_type=WrenchStamped
    ),
    'pose': TermTopic(
        lambda own, state, _: own.frame_xyz_quaternion(state.q), message_type=PoseStamped
    ),
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
            name: node.create_lifecycle_publisher(topic.message_type, f'~/{name}', PUBLISHER_QOS)
            for name, topic in TERM_TOPICS.items()
        }
        self.frame: Frame = FLANGE
        # rclpy would take 10 to 20 us for a message.
        self._templates: dict[str, MessageTemplate] = {}
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
        self._templates = {
            name: MessageTemplate(_message_of(topic, controller.description.joint_names))
            for name, topic in TERM_TOPICS.items()
        }
        self._failed_terms.clear()
        self.update_subscribed_terms()

    @property
    def model(self) -> PinocchioModel:
        """Pinocchio's model of the arm with its present payload."""
        return self._controller.requested_law.terms.true_model

    def update_subscribed_terms(self) -> None:
        """Update the list of terms to publish: those with subscribers that have not failed."""
        self._subscribed_terms = [
            name
            for name, publisher in self._publishers.items()
            if publisher.get_subscription_count() and name not in self._failed_terms
        ]

    def publish_terms(self, state: StateTerms, command: Array | None, stamp: Time) -> None:
        """
        Publish the terms that have subscribers, for a state and its command, with a stamp.

        If a term raises an error, the error is logged, and the term is no longer published. This
        cannot affect ~/command, which is published before the terms.
        """
        for name in self._subscribed_terms:
            try:
                values = TERM_TOPICS[name].compute(self, state, command)
                if values is not None:
                    self._publishers[name].publish(self._templates[name].serialize(stamp, values))
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
        if self._estimator.model is not self.model:  # the payload is another one
            self._estimator = WrenchEstimator(self.model, self.frame)
        torque = self.external_torque()
        # The estimated torque lags behind the arm, but the Jacobian is taken at the position q.
        return None if torque is None else self._estimator.estimate(q, torque)

    def wrench_field(self, field_name: str, q: Array) -> Array | None:
        """Return an attribute of the external wrench at positions q; None while unknown."""
        estimate = self.external_wrench(q)
        return None if estimate is None else getattr(estimate, field_name)


def _message_of(topic: TermTopic, joint_names: Sequence[str]) -> Any:
    """Return the message of a term with placeholders for its numbers."""
    header = Header(frame_id=_frame_id(joint_names[0]))
    if topic.message_type is WrenchStamped:
        wrench = WrenchStamped(header=header)
        wrench.wrench.force.x = MessageTemplate.PLACEHOLDER
        return wrench
    if topic.message_type is PoseStamped:
        pose = PoseStamped(header=header)
        pose.pose.position.x = MessageTemplate.PLACEHOLDER
        return pose
    names_by_axis = {'joint': joint_names, **_COMPONENT_NAMES}
    counted = [names_by_axis[axis] for axis in topic.axes]
    labels = ['/'.join(names) for names in product(*counted)]
    row = MessageTemplate.placeholder_row(len(labels))
    return JointState(header=header, name=labels, effort=row)


def _frame_id(joint_name: str) -> str:
    """
    Return the frame of an arm's messages: x_link0 if joint 1 is called x_joint1, else base.

    RViz's Effort display ignores messages without a frame.
    """
    stem, found, _ = joint_name.rpartition('joint')
    return f'{stem}link0' if found else 'base'
