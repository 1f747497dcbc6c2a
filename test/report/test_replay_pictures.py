# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""The pictures of a replay: nothing covers anything, friction is said."""

import pytest

pytest.importorskip('matplotlib')
pytest.importorskip('scipy')


from franka_dynamics.arm import load
from franka_dynamics.recordings.preprocessing import prepare
from franka_dynamics.recordings.replay import fit_all, friction_column
from franka_dynamics.report import replay


@pytest.fixture
def drawn(simulate, monkeypatch, tmp_path):
    """Draw a simulated motion; return the figure in a list."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figures = []
    monkeypatch.setattr(replay, 'save', lambda figure, _path: figures.append(figure))
    arm = load('fer')
    motion = prepare(simulate(arm, friction=arm.friction), columns=friction_column(arm.friction))
    arms = [(load('fer', hand=hand), False) for hand in ('none', 'franka_hand')]
    fits = fit_all(arms, motion)
    replay.plot_torques(motion, fits, arm.joint_names, 'a bag on an arm', tmp_path / 'a.png')
    for figure in figures:
        FigureCanvasAgg(figure).draw()
    return figures


def test_the_legend_covers_neither_title_nor_axes(drawn):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    for figure in drawn:
        renderer = FigureCanvasAgg(figure).get_renderer()
        (legend,) = figure.legends
        box = legend.get_window_extent(renderer)
        assert not box.overlaps(figure._suptitle.get_window_extent(renderer))
        assert not any(box.overlaps(axes.get_tightbbox(renderer)) for axes in figure.axes)


def test_no_text_lies_on_a_residual(drawn):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    (figure,) = drawn
    renderer = FigureCanvasAgg(figure).get_renderer()
    for axes in figure.axes[1::2]:
        texts = [*axes.texts, axes.title, axes._left_title, axes._right_title]
        boxes = [text.get_window_extent(renderer) for text in texts if text.get_text()]
        assert boxes
        assert not any(box.overlaps(axes.get_window_extent(renderer)) for box in boxes)
