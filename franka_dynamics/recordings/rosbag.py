# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A bag opened without ROS: its files, its topics, and one arm's joints in its messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from shutil import which
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .unclosed import closed_copy, unclosed_file
from ..arm import available_arms, load
from ..arm.arm_file import ALIASES
from ..errors import MissingDependencyError, needing, RecordingError

JOINT_STATE = 'sensor_msgs/msg/JointState'
DEFAULT_TOPIC = '/joint_states'
_FILES = ('.mcap', '.db3', '.bag')
_MENDERS = {'ros2': '`ros2 bag reindex`', 'mcap': '`mcap recover`'}


def what_to_do() -> str:
    """Return what can be done about a damaged bag, with programs that are there alone."""
    there = [command for program, command in _MENDERS.items() if which(program)]
    tried = f'try {" or ".join(there)}, or ' if there else ''
    return f'A recorder that was killed leaves such a file: {tried}record again'


@contextmanager
def open_bag(bag: Path) -> Iterator[tuple[Any, Callable[[bytes, str], Any]]]:
    """
    Yield the reader of a rosbag2 (folder, .mcap or .db3) or a ROS 1 .bag, and its deserializer.

    JointState is taken as every release of ROS has it, so that no definition of another type in
    the bag, which may be broken or unknown, can keep it from being read.

    Raises
    ------
    RecordingError
        If there is none; and whatever rosbags raises on damage, then or while it is read.
    MissingDependencyError
        If rosbags is not installed.

    """
    with needing('Reading bags needs rosbags', 'replay'):
        from rosbags import rosbag1, rosbag2
        from rosbags.typesys import get_typestore, Stores
    if not bag.exists():
        raise RecordingError(
            f'{bag} does not exist; give the folder of a rosbag2, or a single '
            f'{", ".join(_FILES)} file.'
        )
    files = [bag] if bag.is_file() else [one for one in bag.iterdir() if one.suffix in _FILES]
    if files and not any(one.stat().st_size for one in files):
        raise RecordingError(
            f'{files[0]} is empty: its recorder ended before it wrote anything; record again.'
        )
    unclosed = unclosed_file(bag)
    if unclosed is None and bag.is_dir() and not (bag / 'metadata.yaml').is_file():
        raise RecordingError(
            f'{bag} has no metadata.yaml, so it is no rosbag2 or was not closed. {what_to_do()}.'
        )
    if bag.is_file() and bag.suffix not in _FILES:
        raise RecordingError(
            f'{bag} is none of {", ".join(_FILES)}; give the folder of a rosbag2, or a single '
            'file of those kinds (`bag import` reads logs of other kinds).'
        )
    try:
        if bag.suffix == '.bag':
            with rosbag1.Reader(bag) as reader:
                yield reader, get_typestore(Stores.ROS1_NOETIC).deserialize_ros1
            return
        with (
            nullcontext(bag) if unclosed is None else closed_copy(unclosed) as path,
            rosbag2.Reader(path) as reader,
        ):
            yield reader, get_typestore(Stores.ROS2_JAZZY).deserialize_cdr
    except (RecordingError, MissingDependencyError):
        raise
    except Exception as error:
        # On bytes that end too soon rosbags and what is below it raise nearly anything
        # (TypeError from ord(b''), struct.error, apsw's own), so no narrower type would do.
        detail = ' '.join(str(error).split()) or type(error).__name__
        raise RecordingError(
            f'{bag} cannot be read, so it is cut short or damaged ({detail.rstrip(".")}). '
            f'{what_to_do()}.'
        ) from error


def choose_topic(reader: Any, bag: Path, topic: str | None) -> str:
    """Return the asked topic of joint states of an open bag, or the one that can be meant."""
    kinds = {(one.topic, one.msgtype) for one in reader.connections}
    candidates = sorted(name for name, kind in kinds if kind == JOINT_STATE)
    if candidates:
        there = f'joint states are on {", ".join(candidates)}'
    else:
        every = ', '.join(f'{name} ({kind})' for name, kind in sorted(kinds))
        there = f'it holds {every or "no topics at all"}'
    if topic is not None:
        requested = topic if topic.startswith('/') else f'/{topic}'
        if requested not in candidates:
            raise RecordingError(f'{bag} has no {JOINT_STATE} on {requested}; {there}.')
        return requested
    if DEFAULT_TOPIC in candidates:
        return DEFAULT_TOPIC
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        raise RecordingError(f'{bag} has no {DEFAULT_TOPIC}; {there}: choose one with --topic.')
    raise RecordingError(f'{bag} has no topic of type {JOINT_STATE}; {there}.')


class JointSelection(NamedTuple):
    """Columns of the arm's joints in a message, from base to tip, and their names there."""

    columns: NDArray[np.intp]
    names: tuple[str, ...]


def select_joints(
    present: Sequence[str],
    asked: Sequence[str],
    *,
    where: str,
) -> JointSelection | None:
    """
    Find the arm's joints among the names of a message.

    If none of `asked` is present, names that end like them and share another beginning are
    taken (`panda_joint1` ... for `fer_joint1` ...), provided that only one beginning has them
    all.

    Parameters
    ----------
    present : sequence of str
        Joint names of the message, in its order.
    asked : sequence of str
        The arm's joint names from base to tip.
    where : str
        Bag, topic and message, for the error.

    Returns
    -------
    JointSelection or None
        None if the message has nothing to do with the arm.

    Raises
    ------
    RecordingError
        If some of the arm's joints are missing, one appears twice, or several arms could be
        meant.

    """
    if any(name in present for name in asked):
        return _by_names(present, tuple(asked), where)
    beginning = _common_beginning(asked).rpartition('_')[0]
    tails = tuple(name[len(beginning) :] for name in asked)
    heads = {name[: -len(tails[0])] for name in present if name.endswith(tails[0])}
    complete = sorted(head for head in heads if all(head + tail in present for tail in tails))
    if len(complete) > 1:
        raise RecordingError(
            f'{where} has none of {asked[0]} ... {asked[-1]} but the joints of '
            f'{len(complete)} arms ({", ".join(head + tails[0] for head in complete)} ...); say '
            'which with --arm-prefix or --joint-names.'
        )
    if complete:
        names = tuple(complete[0] + tail for tail in tails)
        _require_no_shipped_arm(present, names, asked, where)
        return _by_names(present, names, where)
    return None


def _require_no_shipped_arm(
    present: Sequence[str], names: tuple[str, ...], asked: Sequence[str], where: str
) -> None:
    """Refuse to take one arm for another whose joints are merely named alike."""
    for arm in available_arms():
        theirs = load(arm).joint_names
        if any(
            known == arm and load(alias).joint_names == tuple(asked)
            for alias, known in ALIASES.items()
        ):
            continue  # the same arm by another name
        if names[0] in theirs and all(name in present for name in theirs):
            raise RecordingError(
                f'{where} has the joints of {arm}, {theirs[0]} ... {theirs[-1]}, not '
                f'{asked[0]} ... {asked[-1]}; give --arm {arm}, or say with --joint-names that '
                'they are to be read as this arm.'
            )


def _common_beginning(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    length = next(
        (i for i, (a, b) in enumerate(zip(first, last)) if a != b), min(len(first), len(last))
    )
    return first[:length]


def _by_names(present: Sequence[str], names: tuple[str, ...], where: str) -> JointSelection:
    for name in names:
        if name not in present:
            raise RecordingError(
                f'{where} has no joint {name}; it names '
                f'{", ".join(present)}. Every message must have all '
                f'{len(names)} joints of the arm.'
            )
        if list(present).count(name) > 1:
            raise RecordingError(
                f'{where} names the joint {name} more than once, so its state '
                'is ambiguous; fix the publisher.'
            )
    return JointSelection(np.array([present.index(name) for name in names]), names)
