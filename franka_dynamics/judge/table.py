# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The table of what may be wrong with a recording, which the code reads and a page prints.

A row is a kind of fault: of how many joints it is, the torque that one unit of it adds to the
efforts, how large it must be, and what the user is told. `columns` makes the torques, `values`
the numbers of the sentence. A fault that is far from the recording, such as an axis the other way,
is one column, too: the torques at the states that it would make right, less those at the recorded
ones. Its unit is the whole fault, so that its size is about 1.
"""

from typing import Any, NamedTuple

WITH_EFFORT = 'with effort'
BUT_EFFORT = 'but effort'
GROWS = 'grows'  # the form of a change in proportion to time
# Sizes of whole faults.
MIN_WHOLE = 0.5
MAX_WHOLE = 2.0
# Gravity of less than this share of its size is left out. One of 0.25 is that of recorded times
# that are twice real ones.
MIN_GRAVITY = 0.16


class Fault(NamedTuple):
    """
    A fault: its kind, its joints (from 0, none of all together), and its form.

    The form of a change is GROWS, or the tenth of the recording with which it begins; that of what
    passes are the tenths with which it begins and ends. Other faults have one of `Row.forms`.
    """

    kind: str
    joints: tuple[int, ...] = ()
    form: Any = ''


class Row(NamedTuple):
    """
    A row of the table.

    `of` is the number of joints (0: all together), `adds` the columns in words, `must_be` how
    large the fault must be, `sentence` what the user is told, for `str.format`. A fault comes in
    `forms`. Those that are `whole` are tried as a whole and have a size of about 1; those that
    `change` may also begin in the middle of a recording, or grow, and those that `pass` may last
    two tenths of it. `extends` is the kind of which it is a wider form. `inner` ones are of no
    first or last joint. `answered_by` are the options each of which answers a question about it:
    what they say counts, and the arm is written.
    """

    kind: str
    of: int
    adds: str
    sentence: str
    must_be: str = ''
    forms: tuple[Any, ...] = ('',)
    whole: bool = False
    changes: bool = False
    passes: bool = False
    inner: bool = False
    extends: str = ''
    answered_by: tuple[str, ...] = ()


TABLE = (
    Row(
        'gain',
        0,
        'all torques',
        '{effort} {problem}; --effort-scale {scales} corrects it.',
        must_be='off by more than 5 %',
        changes=True,
        answered_by=('effort_scale',),
    ),
    Row(
        'gain',
        1,
        'its torque',
        '{effort} {problem}; --effort-scale {scales} corrects it.',
        must_be='off by more than 5 %',
        changes=True,
        answered_by=('effort_scale',),
    ),
    Row(
        'load',
        0,
        'a mass on the flange, and its moments',
        'The flange carries {0:.1f} kg more than declared. Name the load with --payload.',
        changes=True,
        answered_by=('payload', 'hand', 'effort_scale'),
    ),
    Row(
        'force',
        0,
        'the rows of the Jacobian',
        'A constant force of {0:.1f}, {1:.1f}, {2:.1f} N (space frame) acts on the flange: '
        'a cable, a spring, or a contact. Remove it, and record again.',
        must_be='above 1 N',
        changes=True,
        passes=True,
    ),
    Row(
        'offset',
        1,
        '1',
        '{effort} is off by {0:.2f} N m. Zero its sensor, or subtract this from its column.',
        must_be='(constant ones are in every fit)',
        changes=True,
    ),
    Row(
        'one_way',
        1,
        'its torque, and that times the sign of its velocity',
        '{effort} is {0:.2f} times its torque where the joint moves positively, {1:.2f} times '
        'where negatively. Check its drive or sensor, and what is done to its efforts.',
        must_be='off by more than 5 %',
        extends='gain',
    ),
    Row(
        'position',
        1,
        'the sine and the cosine of its position',
        'Efforts of {joints} hold a torque by its position, up to {2:.1f} N m, that no mass '
        'exerts: a spring, a counterbalance or a cable? Take it off, or subtract {0:.2f} sin(q) '
        '+ {1:.2f} cos(q) from its column.',
    ),
    Row(
        'gravity',
        0,
        'torques of three accelerations of the base',
        'Gravity points elsewhere than given. Check how the arm is mounted; --gravity '
        '{0:.2f},{1:.2f},{2:.2f} gives the direction found.',
        must_be='turned, by an angle [rad] above a tenth of the difference between 1 and its size '
        '(relative to the declared one); or left out: of a size below 0.16',
        answered_by=('gravity',),
    ),
    Row(
        'gravity',
        1,
        'minus its gravity torque',
        'The effort of {joints} leaves gravity out, and others hold it. Record measured torques '
        'of all joints, or add the gravity torque to its column.',
        whole=True,
    ),
    Row(
        'time',
        0,
        "torques without gravity's",
        'Recorded times are {0:.3g} times real ones: torques of accelerations have another size '
        'than those of gravity. Check the unit or rate of the stamps (of a log: --stamp-unit, '
        '--log-rate).',
        must_be='1/3 to 3',
        extends='gravity',
    ),
    Row(
        'rotors',
        0,
        "each joint's acceleration",
        'Rotors behind the gears take part of the torques of accelerations, and the model has '
        'none. Add --rotor-inertia to `identify arm`.',
        must_be='positive where it matters most',
        answered_by=('rotor_inertia',),
    ),
    Row(
        'delay',
        0,
        'minus the rate of the efforts',
        'Every effort is {ms:.0f} ms {late_or_early} against the positions. Record both in one '
        'message, or move the effort columns.',
    ),
    Row(
        'lag',
        0,
        'the change of torques if velocities were later',
        'Velocities are {ms:.0f} ms {late_or_early} against positions, as behind a filter. Record '
        'raw velocities, or import the log with --velocity derived.',
    ),
    Row(
        'zero',
        1,
        'minus the derivative of torques by its position',
        'The position of {joints} is off by {about}{0:.3f} rad. Calibrate its encoder, or '
        'subtract this from its column.',
        inner=True,
    ),
    Row(
        'quarter_turn',
        1,
        'torques at the right states less those at the recorded ones',
        'The zero of {joints} is off by {0:.4f} rad, quarter turns. Subtract this.',
        forms=(-1, 1, 2),
        whole=True,
        inner=True,
    ),
    Row(
        'axis',
        1,
        'the same',
        'Positions and velocities of {joints} have the wrong sign, its effort has it, too, or is '
        'the only one that has not: the axis points the other way. Reverse these columns.',
        forms=(WITH_EFFORT, BUT_EFFORT),
        whole=True,
    ),
    Row(
        'exchanged',
        2,
        'the torque of the other joint less its own',
        'The efforts of {joints} are exchanged. Exchange their columns.',
        whole=True,
    ),
    Row(
        'columns',
        2,
        'torques at the right states less those at the recorded ones',
        'Columns of {joints} are exchanged: all of them, or all but the efforts. Check the order '
        'of the joints.',
        forms=(WITH_EFFORT, BUT_EFFORT),
        whole=True,
    ),
)
# What the decision finds without columns of its own, or by several rows.
OTHERS = (
    Row(
        'changed',
        0,
        'rows that may change',
        '{changed}',
    ),
    Row(
        'contact',
        0,
        'seconds of large residuals',
        'Something touched the arm about {0:.0f} s after the beginning of {where}, or its efforts '
        'were wrong there. Cut this out, or record again with nobody near.',
    ),
    Row(
        'base',
        0,
        'any acceleration of the base at any time',
        'The base moves, by accelerations of about {0:.1f} m/s² (rms): a cart, a table that '
        'gives way? Fix it, or let it stand while you record.',
    ),
    Row(
        'driven',
        1,
        'dry friction of the wrong sign',
        'Friction would drive {joints} instead of braking. Its effort has the wrong sign, is not '
        'of this joint, or was compensated for friction: record measured torques.',
    ),
    Row(
        'masses',
        0,
        'masses that nobody has measured',
        'Nobody has measured the masses of the starting set (the warning on loading the arm says '
        'why): whether efforts are right cannot be told by them, nor, where both disagree, what '
        'is wrong. Start from a file with masses that somebody has measured.',
    ),
    Row(
        'not_measured',
        0,
        'efforts that hold little of the torques',
        'Efforts contain {0:.2f} times the torques of the starting set: they are external torques '
        'or commands, lack gravity, or are currents (--torque-constant). Record measured torques.',
    ),
    Row(
        'unexplained',
        0,
        'efforts that fits leave',
        'The model explains too little{of_joints}: E on left-out parts is {0:.0%} of the efforts. '
        "Are the columns in the order of the arm's joints, is this the arm, are these measured "
        'torques, no external ones or commands, are signs, zeros and units right (currents: '
        '--torque-constant)?',
    ),
)
ROWS = {(row.kind, row.of): row for row in TABLE}


def row_of(fault: Fault) -> Row:
    """Return the table's row of a fault."""
    return ROWS[fault.kind, len(fault.joints)]


def is_change(fault: Fault) -> bool:
    """Return whether a fault begins in the middle of a recording, or grows."""
    return row_of(fault).changes and fault.form != ''


def passes(fault: Fault) -> bool:
    """Return whether a fault lasts a part of a recording: somebody touches the arm."""
    return row_of(fault).passes and isinstance(fault.form, tuple)


def family(fault: Fault) -> tuple[Any, ...]:
    """Return what faults have in common of which one extends the other: they are no rivals."""
    row = row_of(fault)
    return row.extends or row.kind, fault.joints, fault.form if row.whole else ''


def are_related(one: Fault, other: Fault) -> bool:
    """Return whether two faults are no rivals; of changes the remedy is the same, to cut there."""
    return family(one) == family(other) or (is_change(one) and is_change(other))
