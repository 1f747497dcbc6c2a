# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Derivations step by step: every formula holds, and a wrong one is noticed."""

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from franka_dynamics.arm import Convention, load
from franka_dynamics.arm.sampling import random_arm

sp = pytest.importorskip('sympy', reason='the [symbolic] extra is not installed')

from franka_dynamics.rpr import symbolic as rpr_symbolic  # noqa: E402
from franka_dynamics.symbolic import checked, checked_rpr, derivations  # noqa: E402
from franka_dynamics.symbolic.chain import Kinematics  # noqa: E402
from franka_dynamics.symbolic.html_page import as_html  # noqa: E402
from franka_dynamics.symbolic.rendering import as_latex, as_text  # noqa: E402

# Relative to max(1, |value|); measured 2e-14 for potential energies of some 100 J.
WORST = 1e-12
UNCLOSED = ('meta', 'br')


def formulas_of(derivation):
    return {
        formula.name: formula for section in derivation.sections for formula in section.formulas
    }


@pytest.fixture(scope='module')
def franka():
    return checked.step_by_step(load('fer'), count=2)


@pytest.fixture(scope='module')
def report():
    return checked_rpr.rpr_step_by_step(load('rpr'))


def test_every_formula_of_the_fers_derivation_holds(franka):
    assert franka.worst < WORST
    found = formulas_of(franka)
    # Rows, transforms and poses of 7 joints and the flange; xi, J, J_m; M and C in full; g.
    expected = [f'{name}_{i}' for name in ('DH', 'A', 'T', 'J') for i in range(1, 9)]
    expected += [f'{name}{i}' for name in ('xi_', 'J_m', 'g') for i in range(1, 8)]
    expected += [f'{name}{i}{j}' for name in 'MC' for i in range(1, 8) for j in range(1, 8)]
    expected += ['J_space', 'J_body', 'Ic_7', 'hc_7', 'omega_7']
    for name in expected:
        assert found[name].note, name
    assert franka.compared == sum(bool(formula.note) for formula in found.values())


def test_every_section_of_the_rpr_report_has_compared_lines(report):
    assert report.worst < WORST
    for section in report.sections[1:]:
        assert any(formula.note for formula in section.formulas), section.title
    unchecked = [name for name, formula in formulas_of(report).items() if not formula.note]
    # The printed tensor of the box is another box.
    assert unchecked == ['I2x_printed']


@pytest.mark.parametrize('seed', range(3))
def test_every_formula_of_a_random_arms_derivation_holds(seed):
    arm = random_arm(np.random.default_rng(seed), joints=3, convention=tuple(Convention)[seed % 2])
    assert checked.step_by_step(arm, count=2).worst < WORST


def test_a_wrong_sign_in_a_pose_shows_in_its_formula(monkeypatch):
    right = Kinematics.pose

    def wrong(self, frame):
        pose = sp.Matrix(right(self, frame))
        pose[0, 3] = -pose[0, 3]
        return pose

    monkeypatch.setattr(Kinematics, 'pose', wrong)
    derivation = checked.step_by_step(replace(load('stanford'), inertial_set='x'), count=2)
    assert derivation.worst > 0.01
    found = formulas_of(derivation)
    assert float(found['T_3'].note.split(': ')[1]) > 0.01
    assert float(found['J_3'].note.split(': ')[1]) < WORST


def test_the_reports_printed_jacobian_is_noticed_as_wrong(monkeypatch):
    printed = sp.Matrix(rpr_symbolic.geometric_jacobian())
    printed[2, 2] = -printed[2, 2]  # the report prints -a3 C3
    monkeypatch.setattr(rpr_symbolic, 'geometric_jacobian', lambda: printed)
    assert checked_rpr.rpr_step_by_step(load('rpr')).worst > 0.01


class Balanced(HTMLParser):
    """Fails where tags do not close in order, and collects what is written."""

    def __init__(self):
        super().__init__()
        self.open, self.text = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in UNCLOSED:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_a_pages_tags_close_and_it_needs_no_network(report):
    page = as_html(report.sections)
    reader = Balanced()
    reader.feed(page)
    assert not reader.open
    assert 'http' not in page.replace('http://www.w3.org/1998/Math/MathML', '')
    assert '<script' not in page
    text = ''.join(reader.text)
    for formula in formulas_of(report).values():
        assert formula.note in text


def test_a_written_derivation_has_its_notes_beside(report):
    text = as_text(report.sections)
    assert '  # Pinocchio: ' in text
    compile(text, 'derivation', 'exec')
    latex = as_latex(report.sections)
    assert r'\tag*{\footnotesize Pinocchio: ' in latex
    assert latex.count('{') == latex.count('}')


def test_an_unchecked_derivation_is_written_as_a_page_too():
    page = as_html(derivations.kinematics(load('stanford'), 'LOCAL'))
    assert 'axes of the frame' in page and page.count('<math') == page.count('</math>')
