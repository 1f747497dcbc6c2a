# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The parameters of the feedforward node."""

from __future__ import annotations

from typing import Any

from .arm_parameters import ARM_PARAMETERS, MODEL_PARAMETERS
from .parameters import ParameterSpec
from ..control.contact import ContactLimits
from ..control.external_torque import EFFORT_FRICTION
from ..control.settings import DEFAULT_TARGET, PAYLOAD_ORDER, Settings, StateSource, TARGETS, Terms
from ..control.supervision import SupervisionLimits
from ..dynamics import GRAVITY
from ..dynamics.model import FLANGE, REFERENCE_FRAMES

LIVE_PARAMETERS = (
    ParameterSpec(
        'target',
        'string',
        DEFAULT_TARGET,
        'Who receives the torques, and hence who adds gravity and friction.',
        choices=tuple(TARGETS),
    ),
    ParameterSpec(
        'terms.gravity',
        'bool',
        True,
        'Command the gravity torque that the target '
        'leaves to us (fci and franka_gazebo leave none).',
    ),
    ParameterSpec('terms.coriolis', 'bool', True, 'Command C(q, dq) dq.'),
    ParameterSpec('terms.inertia', 'bool', True, 'Command M(q) times the reference acceleration.'),
    ParameterSpec(
        'terms.friction',
        'bool',
        False,
        "Command the arm file's friction model at the "
        'reference velocity; refused for a target that compensates friction.',
    ),
    ParameterSpec(
        'state_source',
        'string',
        StateSource.MEASURED.value,
        'The state at which Coriolis and inertia are evaluated while a reference is followed.',
        choices=tuple(source.value for source in StateSource),
    ),
    ParameterSpec(
        'scale',
        'double',
        1.0,
        'Factor on Coriolis, inertia and friction (not on gravity or the PD).',
        minimum=0.0,
        maximum=1.0,
    ),
    ParameterSpec(
        'gravity_vector',
        'double_array',
        list(GRAVITY),
        'True gravity in the base frame, for an inclined mount.',
        unit='m/s^2',
    ),
    ParameterSpec(
        'payload',
        'double_array',
        [0.0] * len(PAYLOAD_ORDER),
        'What the flange '
        "carries, as libfranka's setLoad takes it, in the flange frame: mass [kg], "
        'centre of mass x y z [m], inertia about it xx xy xz yy yz zz [kg m^2].',
    ),
    ParameterSpec(
        'payload_known_to_robot',
        'bool',
        True,
        'Whether the target was told of the payload (Desk, setLoad) and carries it itself.',
    ),
    ParameterSpec(
        'kp',
        'double_array',
        [0.0],
        'Stiffness of the optional joint PD: one number for all joints, or one per joint.',
        unit='N m/rad',
    ),
    ParameterSpec(
        'kd',
        'double_array',
        [0.0],
        'Damping of the optional joint PD: one number for all joints, or one per joint.',
        unit='N m s/rad',
    ),
    ParameterSpec(
        'max_tracking_error',
        'double_array',
        [0.2],
        'How far a joint may be from where '
        'it should be before the arm is stopped: one number for all joints, or one per '
        'joint; 0 checks nothing.',
        unit='rad',
    ),
    ParameterSpec(
        'max_flange_error',
        'double',
        0.0,
        'The same for the position of the flange; 0 checks nothing.',
        minimum=0.0,
        maximum=10.0,
        unit='m',
    ),
    ParameterSpec(
        'max_payload',
        'double',
        0.0,
        "Largest mass of payload; 0 for the arm's rated load.",
        minimum=0.0,
        maximum=100.0,
        unit='kg',
    ),
    ParameterSpec(
        'ramp_time',
        'double',
        0.2,
        'How long a start or a change of parameters takes to reach the torque in full.',
        minimum=0.0,
        maximum=10.0,
        unit='s',
    ),
    ParameterSpec(
        'stream_period',
        'double',
        0.0,
        'Time between two set-points on ~/reference '
        'that have positions alone: a motion with continuous acceleration is made of them, '
        'three periods and 8 ms behind. 0: each is followed as it is.',
        minimum=0.0,
        maximum=0.5,
        unit='s',
    ),
)

FIXED_PARAMETERS = (
    ParameterSpec(
        'autostart', 'bool', True, 'Configure and activate without being asked.', read_only=True
    ),
    ParameterSpec(
        'default_gains',
        'bool',
        False,
        'Where kp and kd are zero at configure, set '
        'them to weak gains in proportion to the inertia of each joint at home: for an '
        'arm that nobody else closes a loop around.',
        while_inactive=True,
    ),
    ParameterSpec(
        'min_input_rate',
        'double',
        200.0,
        'Below this rate of joint states terms are published but no command.',
        while_inactive=True,
        minimum=1.0,
        maximum=1e4,
        unit='Hz',
    ),
    ParameterSpec(
        'state_timeout',
        'double',
        0.02,
        'Joint states silent for longer start the stop sequence; in simulated time for '
        'state_timeout * (1 - age of the last state / max_state_age).',
        while_inactive=True,
        minimum=1e-3,
        maximum=10.0,
        unit='s',
    ),
    ParameterSpec(
        'max_state_age',
        'double',
        0.1,
        "How far a stamp may be off this node's clock; 0 switches the check off.",
        while_inactive=True,
        minimum=0.0,
        maximum=10.0,
        unit='s',
    ),
    ParameterSpec(
        'recovery_samples',
        'integer',
        20,
        'Good joint states in a row before torque is given (again).',
        while_inactive=True,
        minimum=2,
        maximum=10000,
    ),
    ParameterSpec(
        'max_restarts',
        'integer',
        5,
        'How often within a minute torque is given again '
        'by itself after joint states that were late, missing or of another form; one '
        'more waits for ~/clear_fault, as other faults do at once.',
        while_inactive=True,
        minimum=0,
        maximum=1000,
    ),
    ParameterSpec(
        'take_over',
        'bool',
        False,
        'An arm that is carried is known to be so by the '
        'last command of a node that was killed, and is taken over instead of refused.',
        while_inactive=True,
    ),
    ParameterSpec(
        'listen_before_activation',
        'double',
        0.5,
        'How long the command topic is watched for somebody else before activation.',
        while_inactive=True,
        minimum=0.0,
        maximum=10.0,
        unit='s',
    ),
    ParameterSpec(
        'crosscheck_states',
        'integer',
        300,
        'Random states at which the two models must agree before the node configures.',
        while_inactive=True,
        minimum=10,
        maximum=100000,
    ),
    ParameterSpec(
        'crosscheck_period',
        'double',
        1.0,
        'How often the running model is compared with the independent one; 0 for never.',
        while_inactive=True,
        minimum=0.0,
        maximum=3600.0,
        unit='s',
    ),
    ParameterSpec(
        'effort_friction',
        'string',
        'auto',
        'Whether measured efforts contain the arm '
        "file's friction, which is then no external torque; auto: for target fci.",
        while_inactive=True,
        choices=EFFORT_FRICTION,
    ),
    ParameterSpec(
        'contact.threshold',
        'double',
        ContactLimits.threshold,
        'High-passed external torque of joint 1 or 2 that counts as contact while the arm '
        'stands still; of the others shares of it.',
        while_inactive=True,
        minimum=0.01,
        maximum=100.0,
        unit='N m',
    ),
    ParameterSpec(
        'contact.threshold_per_speed',
        'double',
        ContactLimits.threshold_per_speed,
        'Added to it for joint 2 per speed of the fastest joint, because models err in '
        'proportion to motion; for the others shares of it.',
        while_inactive=True,
        minimum=0.0,
        maximum=100.0,
        unit='N m s/rad',
    ),
    ParameterSpec(
        'contact.release',
        'double',
        ContactLimits.release,
        'Share of the threshold below which a contact ends.',
        while_inactive=True,
        minimum=0.01,
        maximum=1.0,
    ),
    ParameterSpec(
        'contact.high_pass',
        'double',
        ContactLimits.high_pass,
        'Time constant after which a constant external torque is load and no longer contact.',
        while_inactive=True,
        minimum=0.05,
        maximum=60.0,
        unit='s',
    ),
    ParameterSpec(
        'frame',
        'string',
        FLANGE,
        "The frame of ~/jacobian, ~/pose and ~/external_wrench: 'flange' or a joint number.",
        while_inactive=True,
    ),
    ParameterSpec(
        'tool_center',
        'double_array',
        [0.0, 0.0, 0.0],
        'Where ~/external_wrench acts in `frame`: the tool centre point.',
        while_inactive=True,
        unit='m',
    ),
    ParameterSpec(
        'reference_frame',
        'string',
        'LOCAL_WORLD_ALIGNED',
        "The Jacobian's reference frame, in Pinocchio's terms.",
        while_inactive=True,
        choices=REFERENCE_FRAMES,
    ),
)

FEEDFORWARD_PARAMETERS = (*ARM_PARAMETERS, *MODEL_PARAMETERS, *LIVE_PARAMETERS, *FIXED_PARAMETERS)


def settings_from(values: dict[str, Any]) -> Settings:
    """Return the live settings that parameter values stand for."""
    return Settings(
        target=values['target'],
        terms=Terms(
            *(values[f'terms.{term}'] for term in ('gravity', 'coriolis', 'inertia', 'friction'))
        ),
        state_source=StateSource(values['state_source']),
        gravity_vector=tuple(values['gravity_vector']),
        payload=tuple(values['payload']),
        payload_known_to_robot=values['payload_known_to_robot'],
        kp=tuple(values['kp']),
        kd=tuple(values['kd']),
        max_tracking_error=tuple(values['max_tracking_error']),
        max_flange_error=values['max_flange_error'],
        max_payload=values['max_payload'],
        scale=values['scale'],
        ramp_time=values['ramp_time'],
        stream_period=values['stream_period'],
    )


def supervision_from(values: dict[str, Any]) -> SupervisionLimits:
    """Return the supervision limits that parameter values stand for."""
    return SupervisionLimits(
        min_input_rate=values['min_input_rate'],
        state_timeout=values['state_timeout'],
        max_state_age=values['max_state_age'],
        recovery_samples=values['recovery_samples'],
        max_restarts=values['max_restarts'],
    )


def contact_limits_from(values: dict[str, Any]) -> ContactLimits:
    """Return the contact limits that parameter values stand for."""
    return ContactLimits(
        threshold=values['contact.threshold'],
        threshold_per_speed=values['contact.threshold_per_speed'],
        release=values['contact.release'],
        high_pass=values['contact.high_pass'],
    )
