# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What all plots share: colours that the colour-blind tell apart, figures without a window."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import MissingDependencyError, OutputError
from ..files import complete_or_absent

MEASURED, PREDICTED, RESIDUAL = '#222222', '#0072b2', '#d55e00'


def save(figure: Any, path: str | Path) -> None:
    """
    Write a figure so that it appears complete or not at all; the suffix chooses the format.

    Raises
    ------
    OutputError
        If the suffix is no picture format or the file cannot be written.

    """
    suffix = Path(path).suffix.lstrip('.').lower()
    formats = figure.canvas.get_supported_filetypes()
    if suffix not in formats:
        raise OutputError(
            f'{path} cannot be written: {suffix or "no suffix"!r} is no picture '
            f'format; use one of {", ".join(sorted(formats))}.'
        )
    with complete_or_absent(path) as scratch:
        figure.savefig(scratch, dpi=120)


def figure_of_size(
    size: tuple[float, float],
    what: str = 'Plots need',
    extra: str = 'replay',
    otherwise: str = ', or leave them out with --no-plots',
) -> Any:
    """
    Return an empty figure that belongs to no window system.

    Parameters
    ----------
    size : tuple of 2 float
        Width and height [in].
    what : str
        For the message if matplotlib is not installed: what needs it, with the verb.
    extra : str
        The extra that brings it.
    otherwise : str
        What else one can do.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.

    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingDependencyError(
            f"{what} matplotlib: pip install 'franka_dynamics[{extra}]'{otherwise}."
        ) from error
    return Figure(figsize=size, layout='constrained')


def broken(values: NDArray[np.float64], piece: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return a curve with a NaN between pieces, so that no line bridges a gap."""
    return np.asarray(np.insert(values, np.flatnonzero(np.diff(piece)) + 1, np.nan))
