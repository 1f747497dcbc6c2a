# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Torques by term as an HTML table, one row a joint, with a bar for the share of the limit."""

from __future__ import annotations

from html import escape

import numpy as np

from .state import COLUMNS, share_of_limit, ViewState
from ..arm import ArmDescription

_STYLE = ('<style>.fd{border-collapse:collapse;font:12px/1.6 monospace;width:100%}'
          '.fd td,.fd th{text-align:right;padding:0 .3em;white-space:nowrap}'
          '.fd td:first-child,.fd th:first-child{text-align:left}</style>')
_UNKNOWN = '–'
# Shares from which a torque is near its limit, and at it.
NEAR, FULL = 0.7, 0.99
COLOURS = {'fine': (120, 160, 200), 'near': (230, 160, 40), 'full': (220, 50, 50)}


def colour_of(share: float) -> tuple[int, int, int]:
    """Return the colour that stands for a share of the torque limit."""
    return COLOURS['full' if share >= FULL else 'near' if share >= NEAR else 'fine']


def torque_table(state: ViewState, description: ArmDescription) -> str:
    """Return the table; what is unknown is a dash."""
    shares = share_of_limit(state, description)
    head = ''.join(f'<th>{escape(name)}</th>' for name in ('', 'q', *COLUMNS, 'limit'))
    rows = []
    for i, name in enumerate(description.joint_names):
        cells = [f'<abbr title="{escape(name)}">{i + 1}</abbr>', f'{state.q[i]:.2f}']
        cells += [_UNKNOWN if column not in state.torques
                  else _one_decimal(state.torques[column][i]) for column in COLUMNS]
        rows.append(''.join(f'<td>{cell}</td>' for cell in cells)
                    + _bar(None if shares is None else float(shares[i])))
    body = ''.join(f'<tr>{row}</tr>' for row in rows)
    return (f'{_STYLE}<table class="fd"><tr>{head}</tr>{body}</table>'
            f'<small>t = {state.time:.2f} s; q in rad, torques in N m; ext. = meas. - model; '
            'limit: share of the torque limit</small>')


def _one_decimal(torque: float) -> str:
    # Adding zero makes 0.0 of -0.0, which would flicker.
    return f'{round(float(torque), 1) + 0.0:.1f}'


def _bar(share: float | None) -> str:
    if share is None or not np.isfinite(share):
        return f'<td>{_UNKNOWN}</td>'
    colour = f'rgb{colour_of(share)}'
    width = min(100.0 * share, 100.0)
    return (f'<td style="background:linear-gradient(to right,{colour} {width:.0f}%,'
            f'transparent {width:.0f}%)">{100.0 * share:.0f} %</td>')
