# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Reads an arm from a URDF, and refuses the URDF unless its arm is the described arm.

The URDF's axes must be those of the described arm. The inertias are compared link by link, in DH
frames, with the published sets (`published_arms`); differences are reported by number and with
their effect on torque.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from . import compare_files
from .compare_files import NearestSet
from .comparison import compare_descriptions, Comparison
from .torque_effect import ParameterDifference, TorqueSensitivity
from ..arm import ArmDescription, Joint
from ..arm.arm_file import is_xml_text
from ..constants import NO_HAND
from ..errors import list_text, plural, UrdfError, UrdfMismatchError
from ..urdf.arm_choice import find_flange
from ..urdf.reading import parse_robot, read_document
from ..urdf.serial_chain import read_chain, SerialChain

UNKNOWN_NAME = 'unknown'


@dataclass(frozen=True, eq=False)
class UrdfVerdict:
    """
    A verdict on whether a URDF describes the reference arm, and on its inertials' source.

    `urdf_name` is that in sentences, `arm_name` the described arm's. `nearest_set` is the
    published set nearest to the URDF's inertials (None if the geometry differs);
    `has_same_inertias` says whether the URDF's inertials equal `nearest_set` within rounding, or
    differ without effect on torques. `findings` are the differences for which the URDF is refused,
    `notes` sentences on accepted differences, unphysical links, mounting, limits and the URDF's
    text.
    """

    urdf_name: str
    arm_name: str
    nearest_set: NearestSet | None = None
    has_same_inertias: bool = False
    findings: tuple[ParameterDifference, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def inertial_set(self) -> str:
        """Name of the published inertial set that the URDF's links have, or 'unknown'."""
        nearest = self.nearest_set if self.has_same_inertias else None
        return nearest.published_arm.inertial_set if nearest else UNKNOWN_NAME

    @property
    def hand_in_urdf(self) -> str:
        """Name of the hand whose inertia the URDF includes, 'none' without one, or 'unknown'."""
        nearest = self.nearest_set if self.has_same_inertias else None
        return nearest.published_arm.hand if nearest else UNKNOWN_NAME

    def summary(self) -> str:
        """Return a sentence on the arm and inertial set that an accepted URDF agrees with."""
        assert self.nearest_set is not None
        inertials = f'the inertials of {self.nearest_set}, within rounding'
        if not self.has_same_inertias:
            inertials = f'inertials of no published set, accepted; nearest is {self.nearest_set}'
        elif not all(self.nearest_set.link_matches):
            without = 'but for differences without effect on torques'
            inertials = f'the inertials of {self.nearest_set}, {without}'
        return (
            f'{self.urdf_name} has the geometry of {self.arm_name} and {inertials} (largest '
            f'difference {self.nearest_set.largest_distance:.2g}; kg, kg m, kg m^2).'
        )


# [kg, kg m or kg m^2] Largest difference from a published set without a note.
_MAX_UNNOTED_INERTIAL_DIFFERENCE = 1e-6
# [m/s^2] Gravity of a base tilted about two axes: a parameter that affects a torque in some
# mounting of the arm affects one in this mounting.
_TILTED_GRAVITY_M_S2 = (3.0, -5.0, -7.9)


def checked_arm_from_urdf(
    urdf: str | Path,
    reference: ArmDescription,
    *,
    source: str = 'robot_description',
    joint_names: Sequence[str] | None = None,
    held: Mapping[str, float] | None = None,
    expected_hand: str | None = None,
    accept_unknown_inertials: bool = False,
) -> tuple[ArmDescription, UrdfVerdict]:
    """
    Return a URDF's arm and a verdict on it; raise UrdfMismatchError if it is not the reference.

    Parameters
    ----------
    urdf : str or Path
        The text of the URDF or MJCF, or its path.
    reference : ArmDescription
        The described arm, its joint names prefixed as the URDF's are. The URDF's inertials are
        compared with all published sets. Of each joint limit the tighter of the reference's and
        the URDF's holds.
    source : str
        Name of the URDF in sentences: a path or a topic.
    joint_names : sequence of str, optional
        The joints from base to tip as the URDF names them, if not as the reference does.
    held : mapping of str to float, optional
        Positions [rad or m] of joints on which the arm stands, or that it carries.
    expected_hand : str, optional
        A hand that the URDF must carry, or 'none'; any if not given.
    accept_unknown_inertials : bool
        Whether physical inertials of no published set are accepted.

    Returns
    -------
    ArmDescription
        The arm as the URDF has it, with the reference's rotors and friction; `crosscheck` compares
        it with the URDF. The links may be those of a published set that is not physical
        (franka_description's FER): call `require_physical` before torques are computed for
        actuators.
    UrdfVerdict
        Says which published inertials the URDF has, and what was accepted.

    Raises
    ------
    UrdfError
        If the text cannot be read as an arm with these joints, or a link has no mass.
    UrdfMismatchError
        If geometry or inertials differ; its `verdict` has all findings.

    """
    chain = _read_chain_with_masses(urdf, source, joint_names or reference.joint_names, held)
    arm = compare_files.arm_of_chain(chain, reference)
    reference = compare_files.reference_on_mount_of(reference, arm)
    nearest = _nearest_published_set(chain, arm, reference, expected_hand)
    published = nearest.published_arm
    reference_with_set = replace(reference, links=published.links, hand=published.hand)
    comparison = compare_descriptions(reference_with_set, arm)
    verdict = UrdfVerdict(source, reference.name, notes=chain.notes)
    if comparison.geometry_differences:
        _raise_mismatch(replace(verdict, findings=comparison.geometry_differences))

    inertials = _judge_inertials(nearest, comparison, accept_unknown_inertials)
    joints, limit_notes = _tighter_limits(arm, reference)
    notes = (*chain.torque_notes, *chain.notes, *limit_notes, *find_flange(chain).notes)
    verdict = replace(
        verdict,
        nearest_set=nearest,
        has_same_inertias=inertials.are_published,
        findings=inertials.findings,
        notes=(*inertials.notes, *notes),
    )
    if verdict.findings:
        _raise_mismatch(verdict)
    arm = replace(
        arm,
        joints=joints,
        notes=reference.notes,
        inertial_set=verdict.inertial_set,
        hand=verdict.hand_in_urdf,
    )
    unphysical = (f'{sentence}.' for sentence in arm.inconsistencies())
    return arm, replace(verdict, notes=(*unphysical, *verdict.notes))


def node_acceptance_notes(reference: ArmDescription, arm: ArmDescription) -> list[str]:
    """
    Return whether a node accepts a URDF's arm as its model, and why, with the arm's notes.

    A node knows `reference` from an arm file. If `reference` is a URDF's arm, too, no node asks,
    and there are only notes.
    """
    assert arm.urdf is not None
    if reference.urdf is not None:
        return [*arm.torque_notes, *arm.notes]
    mjcf = arm.urdf.mjcf_text
    names = arm.joint_names
    source = arm.source
    text = arm.urdf.urdf_text if not mjcf or is_xml_text(mjcf) else Path(mjcf)
    try:
        verdict = checked_arm_from_urdf(text, reference, source=source, joint_names=names)[1]
    except (UrdfError, UrdfMismatchError) as error:
        return [f'a node refuses it as its model (model_source): {error}', *arm.notes]
    return [verdict.summary(), *verdict.notes]


def _read_chain_with_masses(
    urdf: str | Path,
    source: str,
    joint_names: Sequence[str],
    held: Mapping[str, float] | None,
) -> SerialChain:
    """Read a URDF's chain; raise UrdfError if a moving link, with all on it, has no mass."""
    document = read_document(urdf, source) if isinstance(urdf, Path) else parse_robot(urdf, source)
    chain = read_chain(document, joint_names, held_positions=held)
    if massless := ', '.join(map(repr, chain.massless_links)):
        words = document.wording
        raise document.error(
            f'{words.link} {massless} and what is fixed to it have no {words.inertial}. Give the '
            'inertials, or take the model from the arm file (model_source: description).'
        )
    return chain


def _nearest_published_set(
    chain: SerialChain, arm: ArmDescription, reference: ArmDescription, expected_hand: str | None
) -> NearestSet:
    """Return the published set nearest to a URDF's; raise UrdfError if it forgets its hand."""
    links = compare_files.links_in_frames_of(reference, arm)
    published = compare_files.published_arms(reference, expected_hand)
    nearest = compare_files.nearest_set(links, published)
    if expected_hand is None and nearest.published_arm.hand == NO_HAND:
        _require_mass_of_hand(chain)
    return nearest


class _InertialJudgement(NamedTuple):
    """
    A judgement of a URDF's inertials.

    `are_published` says whether they are a published set's, but for differences without effect on
    torques. For `findings` the URDF is refused; `notes` are sentences on the other differences.
    """

    are_published: bool
    findings: tuple[ParameterDifference, ...]
    notes: tuple[str, ...]


def _judge_inertials(
    nearest: NearestSet, comparison: Comparison, accept_unknown: bool
) -> _InertialJudgement:
    """
    Judge the links that are not within rounding of the nearest published set's.

    A difference that changes no torque in any mounting of the arm passes. The others are findings;
    with `accept_unknown` they are accepted, unless no real body has the parameters of a link.
    """
    first, second = comparison.space_arms
    sensitivity = TorqueSensitivity(comparison.first, _TILTED_GRAVITY_M_S2)
    passed = list[ParameterDifference]()
    findings = list[ParameterDifference]()
    are_possible = True
    for i, joint in enumerate(comparison.first.joint_names):
        if nearest.link_matches[i]:
            continue
        is_physical = second.inertias[i].is_physical()
        remark = '' if is_physical else 'no real body has these parameters'
        differences = [
            replace(one, remark=remark)
            for one in comparison.differences
            if one.kind == 'link' and one.owner == joint
        ]
        effect = sensitivity.effect(first.with_joint(i, second, 'inertias'), first)
        if effect.largest > 0.0 or not is_physical:
            findings += differences
            are_possible = are_possible and is_physical
        else:
            passed += differences
    findings.sort(key=lambda one: -one.torque_effect)
    are_published = not findings
    accepted = list[ParameterDifference]()
    if accept_unknown and are_possible:
        accepted = findings
        findings = []
    notes = [f'{one} Accepted.' for one in accepted] + [f'{one} Passed.' for one in passed]
    if not findings and nearest.largest_distance > _MAX_UNNOTED_INERTIAL_DIFFERENCE:
        notes.append(f'The difference to {nearest} acts on torques: {comparison.total_effect}.')
    return _InertialJudgement(are_published, tuple(findings), tuple(notes))


def _raise_mismatch(verdict: UrdfVerdict) -> None:
    """Raise UrdfMismatchError with the verdict's first finding and the number of others."""
    first, *others = verdict.findings
    more = ''
    if others:
        what = plural(len(others), 'difference')
        more = f' {len(others)} more {what}; "franka-dynamics arm compare" lists all.'
    axes = f'the joints of {verdict.arm_name}'
    against = axes if verdict.nearest_set is None else verdict.nearest_set
    raise UrdfMismatchError(f'{verdict.urdf_name} against {against}: {first}{more}', verdict)


def _require_mass_of_hand(chain: SerialChain) -> None:
    """Raise UrdfError for links and joints of a hand on the last link, all without mass."""

    def in_hand(name: str) -> bool:
        """Return whether a link or joint belongs to a hand, by its name."""
        return name.endswith('hand') or 'finger' in name

    hand = [name for name in (*chain.tool_links, *chain.held_positions) if in_hand(name)]
    if hand and not any(in_hand(body) for body in chain.links_with_mass[chain.joints[-1].child]):
        raise chain.document.error(
            f'{list_text(hand)} of a hand have no mass, no {chain.document.wording.inertial}. '
            "Give it, or state the hand's absence (hand: none)."
        )


def _tighter_limits(
    arm: ArmDescription, reference: ArmDescription
) -> tuple[tuple[Joint, ...], list[str]]:
    """Return the joints of a URDF's arm with the tighter limits of both, and a note on its own."""
    joints = []
    changes = []
    for joint, known in zip(arm.joints, reference.joints):
        tighter = dict[str, float]()
        words = list[str]()
        for name in compare_files.URDF_LIMIT_NAMES:
            limit = getattr(joint.limits, name)
            known_limit = getattr(known.limits, name)
            is_tighter = limit > known_limit if name == 'lower' else limit < known_limit
            if is_tighter:
                tighter[name] = limit
                words.append(f'{name} {limit:g} for {known_limit:g}')
        joints.append(replace(joint, limits=replace(known.limits, **tighter)))
        if words:
            changes.append(f'{joint.name} ({", ".join(words)})')
    note = f"of two limits the tighter holds, here the URDF's: {', '.join(changes)}."
    return tuple(joints), [note] if changes else []
