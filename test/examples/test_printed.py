# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""What the examples print, with units; their help and their exit codes."""

import importlib.util
from pathlib import Path
import re
import sys

import numpy as np
import pytest

from ..scripts import example as file_of

EXAMPLES = Path(__file__).parents[2] / 'examples'
# Those that need no ROS; test/ros/test_examples.py has the other two.
ALONE = ('dual_arm', 'five_bar', 'lqr_at_ready_pose', 'mppi_reach', 'rpr_workspace')
NEEDS = {
    'five_bar': ('scipy', 'matplotlib'),
    'lqr_at_ready_pose': ('scipy', 'matplotlib'),
    'mppi_reach': ('mujoco', 'matplotlib'),
    'rpr_workspace': ('matplotlib',),
}


@pytest.fixture
def example(monkeypatch):
    """Return a function that imports an example by its name."""

    def imported(name):
        for library in NEEDS.get(name, ()):
            pytest.importorskip(library)
        spec = importlib.util.spec_from_file_location(name, file_of(name))
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)  # dataclass looks it up by name
        spec.loader.exec_module(module)
        return module

    return imported


def numbers(pattern, text):
    """Return the numbers of the only place that a pattern fits."""
    (found,) = re.findall(pattern, text)
    return tuple(map(float, [found] if isinstance(found, str) else found))


def test_there_is_no_example_without_a_test():
    # Named in a test, or after it.
    tests = [
        path.name + path.read_text('utf-8') for path in EXAMPLES.parent.glob('test/**/test_*.py')
    ]
    untested = [
        path.name
        for path in EXAMPLES.glob('*.py')
        if not any(path.stem[3:] in text for text in tests)
    ]
    assert untested == []


@pytest.mark.parametrize('name', ALONE)
def test_given_help_when_asked_then_it_says_what_it_does(name, example, capsys):
    module = example(name)
    with pytest.raises(SystemExit) as ended:
        module.main(['--help'])
    assert ended.value.code == 0
    said = ' '.join(capsys.readouterr().out.split())
    assert ' '.join(module.__doc__.split())[:60] in said


@pytest.mark.parametrize(
    'name, arguments, sentence',
    [
        ('rpr_workspace', ['--points', '-3'], '--points is -3; a section needs at least 2'),
        ('rpr_workspace', ['--plot', '/dev/null/x.png'], '/dev/null/x.png cannot be written'),
        ('mppi_reach', ['--duration', '0'], '--duration is 0 s; it must be within 0.02 and 60'),
        ('five_bar', ['--end', '120', '20', '--samples', '21'], 'The loops cannot be closed'),
        ('five_bar', ['--iterations', '0'], '--iterations is 0; it must be at least 1'),
        ('five_bar', ['--design-plot', '/dev/null/x.png'], 'x.png cannot be written'),
        (
            'lqr_at_ready_pose',
            ['--plot', '/dev/null/x.png'],
            '/dev/null/x.png cannot be written',
        ),
        ('mppi_reach', ['--plot', '/dev/null/x.png'], '/dev/null/x.png cannot be written'),
    ],
)
def test_options_without_sense_when_run_then_2_and_a_sentence(
    name, arguments, sentence, example, capsys
):
    with pytest.raises(SystemExit) as ended:
        example(name).main(arguments)
    assert ended.value.code == 2
    assert sentence in capsys.readouterr().err


def test_given_the_rpr_arm_when_drawn_then_its_reach_is_printed(example, capsys, tmp_path):
    picture = tmp_path / 'reach.png'
    module = example('rpr_workspace')
    module.main(['--points', '24', '--plot', str(picture)])
    said = capsys.readouterr().out
    reached, of, out, up, most = numbers(
        r'(\d+) of (\d+) points reached, out to (\S+) m .* up to (\S+) m, in at most (\d+)', said
    )
    kinematics = module.RprKinematics.from_description(module.load('rpr'))
    assert 0 < reached < of == 24 * 24
    assert up <= kinematics.d0 + kinematics.a3 and 0.3 < out <= 1.15 and most in (1, 2, 3, 4)
    assert f'written: {picture}' in said and picture.stat().st_size > 1000


def test_the_regulator_when_tried_then_the_way_home_is_printed(example, capsys, tmp_path):
    module, picture = example('lqr_at_ready_pose'), tmp_path / 'lqr.png'
    module.main(['--plot', str(picture)])
    said = capsys.readouterr().out
    result = module.trial()
    within, off, share = numbers(
        r'0\.1 rad off: after 2\.0 s within (\S+) rad; .* off by (\S+) rad at most .* '
        r'torque limit (\d+)%',
        said,
    )
    np.testing.assert_allclose(
        (within, off),
        (np.abs(result.simulated[-1]).max(), np.abs(result.simulated - result.predicted).max()),
        rtol=0.05,
        atol=0.0,
    )
    assert share == pytest.approx(100.0 * np.abs(result.torques / module.LIMIT).max(), abs=0.5)
    assert picture.exists()


def test_a_short_reach_when_sampled_then_the_way_is_printed(
    example, capsys, tmp_path, monkeypatch
):
    module, picture = example('mppi_reach'), tmp_path / 'reach.png'
    monkeypatch.setattr(module, 'ROLLOUTS', 100)
    module.main(['--duration', '0.1', '--plot', str(picture)])
    said = capsys.readouterr().out
    assert 'x = 0.45, y = 0.3, z = 0.35 m in MuJoCo, for 0.1 s' in said
    first, last = numbers(r'(\S+) mm away at first, (\S+) mm at the end', said)
    start = module.PinocchioModel(module.ARM).frames(module.ARM.home)[-1][:3, 3]
    assert first == pytest.approx(1e3 * np.linalg.norm(start - module.GOAL), abs=1.0)
    assert 0.0 < last < 1.1 * first
    assert 0.0 < numbers(r'torques of at most (\d+)% of their limits', said)[0] <= 100.0
    assert picture.exists()


def test_one_step_of_design_prints_the_torques(example, capsys, tmp_path):
    module, motion, picture = example('five_bar'), tmp_path / 'motion.png', tmp_path / 'design.png'
    pictures = ['--plot', str(motion), '--design-plot', str(picture)]
    module.main(['--iterations', '1', '--samples', '21', *pictures])
    said = capsys.readouterr().out
    assert '165 variables: 52 vertices of link 2 and 3 axes' in said
    assert numbers(r'central differences: (\S+) relative', said)[0] < 1e-6
    before, _, change = numbers(r'torque: (\S+) -> (\S+) N m \((\S+) %\)', said)
    start = np.zeros(module.Objective().size)
    values = module.torques(module.Objective(), start)[1]
    assert before == pytest.approx(np.sqrt((values**2).sum(axis=1).mean()), abs=1e-4)
    assert np.isfinite(change) and picture.exists() and motion.exists()
    assert 'loop open by at most' in said


def test_given_two_arms_when_compared_then_each_way_is_printed(example, capsys):
    module = example('dual_arm')
    module.main([])
    said = capsys.readouterr().out
    assert numbers(r'base parameters: (\d+) of 150; rank at other states (\d+)', said) == (
        99.0,
        99.0,
    )
    worst = [float(value) for value in re.findall(r': (\S+) N m from Pinocchio', said)]
    assert len(worst) >= 3 and max(worst) < 1e-11
    assert 'multiplications' in said
