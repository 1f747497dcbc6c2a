# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The description of an arm by its joints, links, limits, friction and source of inertias."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, KW_ONLY, replace

import numpy as np

from .arm_fields import ArmFields, link_names, UrdfProvenance
from .friction import friction_torque
from .hands import hand_name
from .inertia import LinkInertia
from .payload import as_payload
from ..arguments import with_argument_checks
from ..arrays import Array, ArrayLike, as_joint_values, freeze_arrays
from ..constants import Convention
from ..errors import as_enum, DescriptionError, InertiaError, JointVectorError
from ..spatial import as_rigid_transform, JointKind


@dataclass(frozen=True, eq=False, repr=False)
class ArmDescription(ArmFields):
    """
    A serial arm's DH rows, link inertias, joint limits, friction and frames, from base to tip.

    Gravity is an argument of the models, not a property of the arm. Descriptions are equal if all
    their fields are, number by number.

    Attributes
    ----------
    name : str
        Name of the arm, such as fer.
    convention : Convention
        How the rows of `joints` and `flange` are read: modified (Craig) or standard DH.
    joints : tuple of Joint, n of them
        From base to tip.
    links : tuple of LinkInertia, n of them
        `links[i]` is the link that joint i moves, in that joint's DH frame.
    flange : DHRow
        The fixed row after the last joint.
    base : ndarray, shape (4, 4)
        Pose of frame {0} in the space frame {S}.
    mount_pose : ndarray, shape (4, 4)
        Pose in {S} of the link that joint 1 turns against; not the identity only for an arm that
        was read from a URDF, whose {S} is its root link. Not stored in arm files.
    base_link : LinkInertia or None
        Inertia of the body that does not move, in frame {0}; no torque depends on it.
    home : ndarray, shape (n,), or None
        Joint positions at which simulations and planned motions start [rad or m].
    friction : FrictionModel or None
        Friction of all joints; None without a friction model.
    inertial_set, source, hand : str
        Name and source of the published set of inertias, and the hand that the last link includes.
    rounding : float
        Half a unit of the last printed digit of the set's numbers, in SI units; 0 if unknown.
    file : str
        Path of the arm file, or name of the URDF that `checked_arm_from_urdf` accepted; empty
        otherwise.
    repairs : tuple of str
        A sentence for each link whose inertia was repaired on request.
    unmeasured : tuple of str
        A sentence for each sign that nobody has measured the links' masses or tensors: one mass of
        all links, one tensor of unlike links.
    notes : tuple of str
        What `import_urdf` noted if the arm was loaded from a URDF; not stored in arm files.
    torque_notes : tuple of str
        Those of the notes that say what changes torques: a tilted mount, joints that are held,
        links without mass, links that are not physical or not measured; and what `load` asks
        about a hand or payload.
    rated_load : float or None
        The manufacturer's largest mass on the flange [kg]; None if the arm file states none.
    payload : LinkInertia
        The load on the flange, without the hand, that `links` contain: about the flange's origin,
        in the flange frame.
    carried_mass : float
        Mass of the hand and the payload [kg]; not stored in arm files.
    urdf : UrdfProvenance or None
        The URDF that the arm was read from, with which `crosscheck` compares it; not stored in
        arm files.
    simulated_friction : FrictionModel or None
        Friction for simulations only, in place of a missing `friction`. It is never commanded nor
        subtracted from measured torques: it was identified from commanded torques, which lack the
        friction that the robot's controller compensates.
    simulated_armature : ndarray, shape (n,), or None
        Inertia of the drives, reflected to the joints, for simulations only [kg m^2]. No model
        contains it, unlike a joint's `rotor_inertia`: a Franka arm's torque sensors sit behind
        the drives, and its controller takes most of the drives' inertia away.
    torque_deviation : TorqueDeviation or None
        Standard deviations of the external torque where nobody touches the arm, which
        identification finds; without them estimates state a constant.
    fixed_frames : tuple of FixedFrame
        Frames by name that are fixed to the arm: links of the hand and its tool centre, and the
        links of the URDF that the arm was read from.

    Raises
    ------
    DescriptionError
        If the numbers of joints and links differ, a frame is fixed to no joint of the arm, the
        base is no rigid motion, a joint or a frame is named twice, friction or armature are of
        another number of joints, or there is no such convention.
    JointVectorError
        If `home` does not have one finite number for each joint.

    """

    links: tuple[LinkInertia, ...]
    _: KW_ONLY
    base: Array = field(default_factory=lambda: np.eye(4))
    base_link: LinkInertia | None = None
    inertial_set: str = ''
    source: str = ''
    hand: str = 'none'
    rounding: float = 0.0
    file: str = ''
    repairs: tuple[str, ...] = ()
    unmeasured: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    torque_notes: tuple[str, ...] = ()
    mount_pose: Array = field(default_factory=lambda: np.eye(4))
    payload: LinkInertia = field(default_factory=LinkInertia.zero)
    carried_mass: float = 0.0
    urdf: UrdfProvenance | None = None
    # What a result in JSON names of its arm.
    json_fields = ('name', 'file', 'inertial_set', 'hand', 'source')

    def __post_init__(self) -> None:
        """Raise DescriptionError (home: JointVectorError) for wrong fields; freeze the arrays."""
        if len(self.links) != len(self.joints) or not self.joints:
            raise DescriptionError(
                f'{self.name} has {len(self.joints)} joints and {len(self.links)} links; an arm '
                'needs one link per joint, and at least one.'
            )
        words = f'The convention of {self.name}'
        convention = as_enum(Convention, self.convention, words, DescriptionError)
        object.__setattr__(self, 'convention', convention)
        self._require_each_name_once('joint', self.joint_names)
        self._require_each_name_once('frame', [frame.name for frame in self.fixed_frames])
        self._require_frames_on_joints()
        as_rigid_transform(self.base, f'The base pose of {self.name}', DescriptionError)
        if self.home is not None:
            self.joint_vector(self.home, 'The home pose')
        freeze_arrays(self, DescriptionError, self.name, base=(4, 4), mount_pose=(4, 4))
        for name in ('home', 'simulated_armature'):
            if getattr(self, name) is not None:
                freeze_arrays(self, DescriptionError, self.name, **{name: (self.n,)})
        self._require_friction_of_all_joints()
        if self.torque_deviation is not None and len(self.torque_deviation.filtered) != self.n:
            raise DescriptionError(
                f'torque_deviation of {self.name} must have {self.n} numbers, one for each joint.'
            )

    def _require_each_name_once(self, what: str, names: Sequence[str]) -> None:
        """Raise DescriptionError if two joints or frames have the same name."""
        for name in names:
            if names.count(name) > 1:
                raise DescriptionError(f'{self.name} names two {what}s {name!r}; rename one.')

    def _require_frames_on_joints(self) -> None:
        """Raise DescriptionError if a frame is fixed to a joint that the arm does not have."""
        for frame in self.fixed_frames:
            if frame.joint is not None and not 0 <= frame.joint <= self.n:
                raise DescriptionError(
                    f'The frame {frame.name!r} of {self.name} is fixed to joint {frame.joint}; '
                    f'joints are 1..{self.n}, 0 is the base, none the flange.'
                )

    def _require_friction_of_all_joints(self) -> None:
        """Raise DescriptionError unless friction models have one number for each joint."""
        for friction in (self.friction, self.simulated_friction):
            try:
                if friction is not None:
                    friction_torque(friction, np.zeros(self.n), 0.0)
            except JointVectorError as error:
                raise DescriptionError(
                    f'The friction of {self.name} must have a number for each of {self.n} joints.'
                ) from error

    def __repr__(self) -> str:
        """Return one line that names the arm, its joints, inertial set and hand."""
        numbers = f'{self.n} joints, set {self.inertial_set!r}, hand {self.hand!r}'
        return f'<{type(self).__name__} {self.name!r}: {numbers}>'

    @property
    def n(self) -> int:
        """Number of joints."""
        return len(self.joints)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, from base to tip."""
        return tuple(joint.name for joint in self.joints)

    @property
    def link_names(self) -> tuple[str, ...]:
        """Names of the moving links from base to tip, stated or made from joint names."""
        made_names = link_names(self.joint_names).moving_links
        return tuple(joint.link or made for joint, made in zip(self.joints, made_names))

    @property
    def contents_text(self) -> str:
        """Inertial set and hand that the links contain, and payload, as text."""
        load = f'payload {self.payload.mass:g} kg' if self.payload.mass else 'no payload'
        return f'inertial set {self.inertial_set}, hand {hand_name(self.hand)}, {load}'

    def limit(self, field_name: str) -> Array:
        """Return one field of `JointLimits` for all joints, shape (n,), NaN where it is None."""
        return np.array([getattr(joint.limits, field_name) for joint in self.joints], dtype=float)

    @property
    def home_position(self) -> Array:
        """The home pose or, without one, the allowed position nearest to zero, (n,) [rad or m]."""
        if self.home is not None:
            return np.array(self.home, dtype=float)
        return np.clip(np.zeros(self.n), self.limit('lower'), self.limit('upper'))

    def velocity_bounds(self, q: ArrayLike) -> tuple[Array, Array]:
        """
        Return the lowest and the highest velocities allowed at positions q, each (..., n) [rad/s].

        For the FR3, upper = min(v, max(0, -off + sqrt(max(0, 2 dec (q_max - q))))) by Franka's
        page on robot limits, with off `velocity_offset` and dec `velocity_deceleration`; lower is
        minus the same with q - q_min. Without `velocity_offset` the bounds do not depend on q.
        """
        q = self._checked_positions(q)
        velocity = self.limit('velocity')
        offset = self.limit('velocity_offset')
        deceleration = self.limit('velocity_deceleration')

        def max_speed(distance_to_limit: Array) -> Array:
            """Return the largest allowed speed [rad/s] at a distance [rad] from a limit."""
            braking = np.sqrt(2.0 * deceleration * np.maximum(0.0, distance_to_limit)) - offset
            return np.where(np.isnan(offset), velocity, np.clip(braking, 0.0, velocity))

        return -max_speed(q - self.limit('lower')), max_speed(self.limit('upper') - q)

    def joint_vector(self, values: ArrayLike, name: str) -> Array:
        """
        Return `values` as floats (n,); raise JointVectorError for a wrong shape, NaN or infinity.

        Raises
        ------
        JointVectorError
            If the shape is not (n,) or a value is not finite; the message names the joint.

        """
        return as_joint_values(values, name, self.joint_names, self.name, allow_stack=False)

    def _checked_positions(self, q: ArrayLike) -> Array:
        """Return positions as floats (..., n), checking their shape but allowing NaN and inf."""
        return as_joint_values(q, 'q', self.joint_names, self.name, finite=False)

    def joint_transforms(self, q: ArrayLike) -> list[Array]:
        """Return each DH frame's pose in the previous frame, (..., 4, 4), at q (..., n)."""
        positions = self._checked_positions(q)
        transforms = []
        for joint, position in zip(self.joints, np.moveaxis(positions, -1, 0)):
            offset = 'theta_offset' if joint.kind is JointKind.REVOLUTE else 'd_offset'
            transforms.append(joint.row.transform(self.convention, **{offset: position}))
        return transforms

    def joint_placements(self) -> list[tuple[Array, Array]]:
        """
        Return the constant poses A, B (4, 4) of each joint, whose pose is A exp(joint motion) B.

        A is the pose, in frame {i-1}, of a frame whose z is the axis of joint i. The joint moves
        this frame, and B is the pose of frame {i} in the moved frame. The identity is B for
        modified rows, and A for standard rows.
        """
        rows = [joint.row.transform(self.convention) for joint in self.joints]
        if self.convention is Convention.MODIFIED:
            return [(row, np.eye(4)) for row in rows]
        return [(np.eye(4), row) for row in rows]

    def frames(self, q: ArrayLike) -> Array:
        """
        Return the poses of frames {1} to {n} and flange in the space frame, (..., n + 1, 4, 4).

        Each pose is `base` times DH matrices at joint positions q of shape (..., n) [rad or m].
        """
        pose = np.asarray(self.base)
        poses = []
        for step in self.joint_transforms(q):
            pose = pose @ step
            poses.append(pose)
        return np.stack((*poses, pose @ self.flange_transform()), axis=-3)

    def flange_transform(self) -> Array:
        """Return the pose of the flange in the last joint's frame, shape (4, 4)."""
        return self.flange.transform(self.convention)

    def with_payload(self, payload: LinkInertia | ArrayLike) -> 'ArmDescription':
        """
        Return this arm with a payload, given in the flange frame, added to its last link.

        `payload` is about the flange's origin, in the flange frame, or numbers as `load` takes
        them; ten zeros leave the links exactly unchanged.
        """
        payload = as_payload(payload)
        if not payload.parameters().any():
            return self
        carried = payload.expressed_in(self.flange_transform())
        urdf = self.urdf
        notes = self.torque_notes
        if urdf is not None:
            # With a payload a doubtful flange changes torques.
            notes += tuple(note for note in urdf.flange_notes if note not in notes)
            urdf = replace(urdf, added_payload=urdf.added_payload + payload)
        return replace(
            self,
            links=(*self.links[:-1], self.links[-1] + carried),
            urdf=urdf,
            torque_notes=notes,
            payload=self.payload + payload,
            carried_mass=self.carried_mass + payload.mass,
        )

    def without_payload(self) -> 'ArmDescription':
        """Return this arm without its `payload`."""
        return self.with_payload(LinkInertia.zero() - self.payload)

    @with_argument_checks
    def require_within_rated_load(self, mass: float) -> None:
        """Raise InertiaError if `mass` plus hand and payload [kg] exceeds the rated load."""
        if self.rated_load is not None and mass + self.carried_mass > self.rated_load:
            beside = ''
            if self.carried_mass:
                beside = f' beside {self.carried_mass:g} kg of hand and payload'
            raise InertiaError(
                f"The payload's mass is {mass:g} kg{beside}, more than the rated load of "
                f'{self.name} ({self.rated_load:g} kg).'
            )

    def with_armature(self) -> 'ArmDescription':
        """
        Return this arm with `simulated_armature` added to the joints' rotor inertias.

        Raises DescriptionError if the arm has no `simulated_armature`.
        """
        if self.simulated_armature is None:
            raise DescriptionError(f'{self.name} has no simulated_armature in its arm file.')
        joints = tuple(
            replace(joint, rotor_inertia=joint.rotor_inertia + armature)
            for joint, armature in zip(self.joints, self.simulated_armature.tolist())
        )
        return replace(self, joints=joints)

    @with_argument_checks
    def with_joint_names(self, names: Sequence[str]) -> 'ArmDescription':
        """
        Return this arm with other joint names, from base to tip.

        Raises DescriptionError unless there is one name for each joint, each another.
        """
        if len(names) != self.n:
            raise DescriptionError(f'{self.name} has {self.n} joints; got {len(names)} names.')
        joints = (replace(joint, name=name) for joint, name in zip(self.joints, names))
        return replace(self, joints=tuple(joints))

    @with_argument_checks
    def map_links(self, change: Callable[[LinkInertia], LinkInertia]) -> 'ArmDescription':
        """Return this arm with each `link` of `links` replaced by `change(link)`."""
        return replace(self, links=tuple(change(link) for link in self.links))

    def require_within_limits(self, position: Array | None, name: str) -> None:
        """Raise DescriptionError if a position (n,), such as the `home`, is outside the limits."""
        for joint, at in zip(self.joints, () if position is None else position):
            if not joint.limits.lower <= at <= joint.limits.upper:
                raise DescriptionError(
                    f'The {name} position {at:.4g} {joint.kind.position_unit} of {joint.name} is '
                    f'outside its limits, {joint.limits.lower:.4g} to {joint.limits.upper:.4g}.'
                )

    def inconsistencies(self) -> tuple[str, ...]:
        """Return a message for each link whose mass or inertia no real body can have."""
        word = self.urdf.words.link if self.urdf else 'link'
        found = []
        for joint, link in zip(self.joints, self.links):
            if reason := link.inconsistency():
                name = f'{word} {joint.link!r}' if joint.link else f'the link behind {joint.name}'
                found.append(f'{name} is {reason}')
        return tuple(found)

    def require_physical(self, purpose: str) -> None:
        """
        Raise InertiaError if no real body can have a link's mass and inertia.

        `purpose` says in the message what the arm was to be used for.

        Raises
        ------
        InertiaError
            If a link is not physical; the message names each such link, the eigenvalue or density
            that is impossible, and the fix.

        """
        sentences = self.inconsistencies()
        if sentences:
            what = f'The inertial set {self.inertial_set!r} of {self.name}'
            fix = (
                'Choose another set, or ask for its nearest physically consistent parameters '
                'where the set states its rounding (repair: nearest_within_rounding).'
            )
            if self.urdf:
                words = self.urdf.words
                what = f'The {words.file} of {self.name}'
                fix = f'Correct {words.inertial} of these {words.links}.'
            reasons = '; '.join(sentences)
            raise InertiaError(f'{what} cannot be used for {purpose}: {reasons}. {fix}')
