# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""A rosbag2 opened without ROS: its files, its topics, and one arm's joints in its messages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..arm import available_arms, load
from ..arm.arm_file import ALIASES
from ..errors import MissingDependencyError, RecordingError

JOINT_STATE = 'sensor_msgs/msg/JointState'
DEFAULT_TOPIC = '/joint_states'
FIX = (
    'A recorder that was killed leaves such a file: try `ros2 bag reindex`, for MCAP '
    '`mcap recover`, or record again'
)


class OpenBag:
    """A rosbag2 opened with rosbags; what rosbags raises on damage becomes one sentence."""

    def __init__(self, bag: Path) -> None:
        try:
            from rosbags.rosbag2 import Reader
            from rosbags.typesys import get_typestore, Stores
        except ImportError as error:
            raise MissingDependencyError(
                "Reading bags needs rosbags: pip install 'franka_dynamics[replay]'."
            ) from error
        self._bag = bag
        # JointState has been the same in every ROS 2 release, whichever recorded the bag.
        self._types = get_typestore(Stores.ROS2_JAZZY)
        self._require_files()
        with self._damage_explained():
            self._reader = Reader(bag)
            self._reader.open()

    def __enter__(self) -> OpenBag:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()

    def choose_topic(self, topic: str | None) -> str:
        """Return the asked topic, or the one that can be meant."""
        candidates = sorted(
            {c.topic for c in self._reader.connections if c.msgtype == JOINT_STATE}
        )
        if topic is not None:
            requested = topic if topic.startswith('/') else f'/{topic}'
            if requested not in candidates:
                raise RecordingError(
                    f'{self._bag} has no {JOINT_STATE} on {requested}; '
                    f'{self._topics_there_are(candidates)}.'
                )
            return requested
        if DEFAULT_TOPIC in candidates:
            return DEFAULT_TOPIC
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            raise RecordingError(
                f'{self._bag} has no {DEFAULT_TOPIC} but joint states on '
                f'{", ".join(candidates)}; choose one with --topic.'
            )
        raise RecordingError(
            f'{self._bag} has no topic of type {JOINT_STATE}; '
            f'{self._topics_there_are(candidates)}.'
        )

    def message_count(self, topic: str) -> int:
        """Return how many messages the bag's index promises on a topic."""
        return sum(c.msgcount for c in self._reader.connections if c.topic == topic)

    def messages(self, topic: str) -> Iterator[tuple[int, Any]]:
        """Yield the recorder's time [ns] and the message, in recorded order."""
        connections = [
            c for c in self._reader.connections if c.topic == topic and c.msgtype == JOINT_STATE
        ]
        with self._damage_explained():
            for connection, received_ns, data in self._reader.messages(connections):
                yield received_ns, self._types.deserialize_cdr(data, connection.msgtype)

    def _topics_there_are(self, candidates: list[str]) -> str:
        if candidates:
            return f'joint states are on {", ".join(candidates)}'
        topics = sorted({f'{c.topic} ({c.msgtype})' for c in self._reader.connections})
        return f'it holds {", ".join(topics)}' if topics else 'it holds no topics at all'

    def _require_files(self) -> None:
        if not self._bag.exists():
            raise RecordingError(
                f'{self._bag} does not exist; give the folder of a rosbag2, or '
                'a single .mcap or .db3 file.'
            )
        if self._bag.is_dir() and not (self._bag / 'metadata.yaml').is_file():
            raise RecordingError(
                f'{self._bag} has no metadata.yaml, so it is no rosbag2 or was not closed. {FIX}.'
            )
        if self._bag.is_file() and self._bag.suffix not in ('.mcap', '.db3'):
            raise RecordingError(
                f'{self._bag} is neither a .mcap nor a .db3 file; give the '
                'folder of a rosbag2, or a single file of those kinds.'
            )

    def _damage_explained(self) -> _DamageExplained:
        return _DamageExplained(self._bag)


class _DamageExplained:
    """Turn whatever a reader raises on a damaged file into a RecordingError."""

    def __init__(self, bag: Path) -> None:
        self._bag = bag

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: object
    ) -> None:
        # On bytes that end too soon rosbags and what is below it raise nearly anything
        # (TypeError from ord(b''), struct.error, apsw's own), so no narrower type would do.
        if isinstance(error, Exception) and not isinstance(error, RecordingError):
            detail = ' '.join(str(error).split()) or type(error).__name__
            raise RecordingError(
                f'{self._bag} cannot be read, so it is cut short or damaged '
                f'({detail.rstrip(".")}). {FIX}.'
            ) from error


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
