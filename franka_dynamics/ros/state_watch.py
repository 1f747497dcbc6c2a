# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Why nothing happens while no joint state has come."""

from __future__ import annotations

from typing import Any

_FIRST_WARNING_S, _NEXT_WARNINGS_S = 2.0, 10.0


class MissingStates:
    """
    Says why nothing happens while no joint state has come: after 2 s, then every 10 s.

    Parameters
    ----------
    node : Node
        Whose graph is asked.

    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self._topic, self._next, self._began = 'joint_states', 0.0, 0.0

    def begin(self, topic: str, now: float) -> None:
        """Wait anew, on a topic by its full name, from a time of the steady clock [s] on."""
        self._topic, self._began, self._next = topic, now, now + _FIRST_WARNING_S

    def check(self, waiting: bool, now: float) -> str:
        """Return a sentence if one is due while `waiting`, or an empty text."""
        if not waiting or now < self._next:
            return ''
        self._next = now + _NEXT_WARNINGS_S
        infos = self._node.get_publishers_info_by_topic(self._topic)
        kinds = sorted({info.topic_type for info in infos})
        if not infos:
            advice = (
                'nobody publishes there: start the driver or the simulator in this '
                'ROS_DOMAIN_ID, or remap joint_states to its topic'
            )
        elif kinds != ['sensor_msgs/msg/JointState']:
            advice = f'its type is {", ".join(kinds)}, not sensor_msgs/msg/JointState'
        else:
            advice = (
                f'{len(infos)} publish there: is the driver in control of the arm, and does '
                'its quality of service fit a best-effort reader?'
            )
        return (
            f'no joint state on {self._topic} for {now - self._began:.0f} s; {advice} '
            '(franka-dynamics doctor lists what there is)'
        )
