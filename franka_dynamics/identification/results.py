# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The result of an identification, which writes the arm file."""

from dataclasses import dataclass
from pathlib import Path

from .arm_text import identified_arm_text
from .identification_record import IdentificationRecord
from ..arm.payload import PayloadLike
from ..errors import IdentificationError
from ..files import write_text


@dataclass(frozen=True, eq=False)
class Identification(IdentificationRecord):
    """All results of an identification, of which the accepted arm can be saved."""

    def save(
        self,
        path: str | Path,
        *,
        payload: PayloadLike | None = None,
        anyway: bool = False,
    ) -> None:
        """
        Write the `accepted_arm` to a file (.yaml), or with `anyway` at least the identified arm.

        `payload`, on the flange during the recordings and given as for `load`, is subtracted from
        the arm. Raises IdentificationError if no arm was accepted, unless `anyway`, or if the arm
        states a smaller payload, and OutputError if the file cannot be written.
        """
        if not anyway and self.accepted_arm is None:
            reason = 'it does not predict torques better than the published sets'
            if not self.verdict.sound:
                reason = 'its recordings are not sound, as its verdict says'
            elif self.open_questions:
                reason = 'its verdict asks a question, which no option answers yet'
            raise IdentificationError(
                f'{path} is not written: the identified arm was not accepted, because {reason}. '
                'Use the published set, or write the file with anyway=True.'
            )
        write_text(path, identified_arm_text(self, payload))
