# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""Tables, pages and pictures: published rows, numbers whole, foreign text as it is."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from franka_dynamics.arm import JointKind, LinkInertia, load
from franka_dynamics.arm.inertia import tensor_from_elements
from franka_dynamics.parameters.base_parameters import base_parameters
from franka_dynamics.report import elements
from franka_dynamics.report.arm import (
    arm_tables,
    file_reading_notes,
    frame_origins,
    inertia_rows,
    rank_sentence,
)
from franka_dynamics.report.elements import Cell, Header, Table
from franka_dynamics.report.json_types import to_json_types
from franka_dynamics.report.payload import ellipsoid_axes
from franka_dynamics.report.replay import law_table, tracking_error_table
from franka_dynamics.tracking.law_tracking import LawPrediction
from franka_dynamics.tracking.tracking import TrackingPrediction
from franka_dynamics.validation.crosscheck import crosscheck

# [m] Of frames 1 to 7 and the flange of a Franka arm at q = 0, as Franka and both notes give them.
ORIGINS = np.zeros((8, 3))
ORIGINS[:, 0] = 0, 0, 0, 0.0825, 0, 0, 0.088, 0.088
ORIGINS[:, 2] = 0.333, 0.333, 0.649, 0.649, 1.033, 1.033, 1.033, 0.926


@pytest.mark.parametrize('name', ['fer', 'fr3'])
def test_origins_at_zero_are_those_of_the_derivations_figure(name):
    found = frame_origins(load(name), np.zeros(7))
    np.testing.assert_allclose(found, ORIGINS, rtol=0.0, atol=1e-14)


def test_steiner_relates_the_space_rows_two_reference_points():
    arm = load('fer')
    q = np.random.default_rng(1).uniform(-1.0, 1.0, 7)
    for row, point in zip(inertia_rows(arm, q), frame_origins(arm, q)):
        lever = row.center_of_mass - point
        expected = tensor_from_elements(row.inertia_at_center_of_mass)
        expected += row.mass * (lever @ lever * np.eye(3) - np.outer(lever, lever))
        found = tensor_from_elements(row.inertia)
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-13)


HOSTILE = '<script>alert("&")</script>'


def test_hostile_text_stays_text_on_a_page():
    plain, marked = (elements.paragraph_html(HOSTILE, style) for style in ('', 'bad'))
    texts = elements.heading_html(HOSTILE), plain, marked
    table = Table(HOSTILE, [HOSTILE], [[HOSTILE], [Cell(HOSTILE)]])
    image = elements.picture_html(elements.figure_of_size((1.0, 1.0)), HOSTILE)
    # The page is also XML, whose strict parser checks the tags.
    tree = ElementTree.fromstring(elements.html_page(HOSTILE, [*texts, image, table]))
    assert not list(tree.iter('script')) and ''.join(tree.itertext()).count(HOSTILE) == 9
    (image,) = tree.iter('img')
    assert image.get('alt') == HOSTILE


def test_commands_in_a_sentence_are_set_as_code():
    html = elements.paragraph_html('Call `identify plan`, or `bag replay <BAG>`.')
    tree = ElementTree.fromstring(html)
    assert [one.text for one in tree.iter('code')] == ['identify plan', 'bag replay <BAG>']
    assert '`' not in ''.join(tree.itertext())


@pytest.mark.parametrize(
    'value, deviation, texts',
    [
        (1.23456, 0.0234, ('1.235', '0.023')),
        (-1.23456, 0.5, ('-1.23', '0.50')),
        (0.00012345, 0.00000678, ('0.0001234', '0.0000068')),
        (1234.5, 56.0, ('1234', '56')),
        (1234.5, 567.0, ('1230', '570')),
        (0.5, 0.0996, ('0.50', '0.10')),
        (0.9999, 0.0996, ('1.00', '0.10')),
        (-0.001, 0.1, ('0.00', '0.10')),
        (3.14159265, 0.0, ('3.142', '0')),
        (3.14159265, float('nan'), ('3.142', 'nan')),
        (3.14159265, float('inf'), ('3.142', 'inf')),
    ],
)
def test_a_number_ends_where_its_deviation_ends(value, deviation, texts):
    assert elements.value_and_deviation_texts(value, deviation) == texts


MARKUP = 'a [red]name[/] \\[bold] with [/nothing] and <b>&</b>'


def shown(table, width):
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def test_foreign_text_is_shown_as_it_is():
    table = Table(MARKUP, [MARKUP, Header('E', 'N m')], [[MARKUP, Cell(MARKUP)]])
    assert shown(table, 300).count(MARKUP) == 4


def test_what_numpy_and_dataclasses_hold_becomes_json():
    given = {
        'kind': JointKind.REVOLUTE,
        'array': np.array([[1.0, np.nan], [3.0, 4.0]]),
        'numbers': (np.False_, np.float64('inf'), np.int64(3)),
        'head': Header('q', 'rad'),
        'others': (Path('a/b'), None, True),
    }
    assert to_json_types(given) == {
        'kind': 'revolute',
        'array': [[1.0, None], [3.0, 4.0]],
        'numbers': [False, None, 3],
        'head': {'name': 'q', 'unit': 'rad', 'format': ''},
        'others': ['a/b', None, True],
    }
    with pytest.raises(TypeError):
        to_json_types(object())


def test_a_solid_ellipsoids_own_half_axes_come_back():
    a = 0.3
    b = 0.2
    c = 0.1
    moments = 0.2 * 2.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    body = LinkInertia.from_center_of_mass(2.0, (0.1, 0.2, 0.3), np.diag(moments))
    half_axes, directions = ellipsoid_axes(body)
    np.testing.assert_allclose(half_axes, [a, b, c], rtol=1e-12, atol=0.0)
    np.testing.assert_allclose(np.abs(directions), np.eye(3), rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(
    ('name', 'unit', 'has_total'), [('fer', '[mrad]', True), ('stanford', 'mrad or mm', False)]
)
def test_tracking_errors_have_the_units_of_the_joints(name, unit, has_total):
    arm = load(name)
    gains = np.ones(arm.n)
    errors = np.full((1, arm.n), 1e-3)
    prediction = TrackingPrediction(arm.joint_names, gains, gains, ('g',), errors)
    table = tracking_error_table(prediction, arm)
    total = table.rows[0][1].value
    assert unit in table.title
    assert (total == pytest.approx(1.0)) if has_total else (total is None)


def test_lags_and_errors_of_laws_are_in_thousandths():
    arm = load('fer')
    each = np.full((1, arm.n), 0.002)
    one = np.array([0.003])
    prediction = LawPrediction(arm.joint_names, ('law',), each, one, each, 5.0 * one, one)
    lags, errors = law_table(prediction, arm).rows
    assert lags[3].value == pytest.approx(3.0) and lags[4:] == pytest.approx((2.0,) * arm.n)
    assert errors[2] == pytest.approx(15.0) and errors[4:] == pytest.approx((2.0,) * arm.n)


def test_the_bound_of_gautier_and_khalil_is_that_of_arms_without_rotors():
    arm = load('fer')
    without, with_rotors = (base_parameters(arm, rotor_inertia=own) for own in (False, True))
    assert '; at most 45 by Gautier and Khalil;' in rank_sentence(
        arm, without, len(without), 1e-15
    )
    assert 'Gautier' not in rank_sentence(arm, with_rotors, len(with_rotors), 1e-15)


def test_meshes_that_were_not_read_are_told():
    result = crosscheck('fr3', count=1)
    assert list(file_reading_notes(result, [])) == []
    (note,) = file_reading_notes(result, ['package://arm/link1.stl', 'link2.stl'])
    assert note.startswith('2 of its meshes were not read, such as package://arm/link1.stl')


@pytest.mark.parametrize(
    ('angle', 'text'),
    [(-np.pi / 2.0, '-pi/2'), (0.75 * np.pi, '3pi/4'), (1.57, '1.57'), (np.pi / 3.0, '1.0472')],
)
def test_an_angle_is_a_part_of_pi_where_it_is_exactly_that(angle, text):
    arm = load('fer')
    joints = tuple(replace(one, row=replace(one.row, alpha=angle)) for one in arm.joints)
    turned = replace(arm, joints=joints)
    table = next(iter(arm_tables(turned, inertia_rows(turned), None)))
    assert text in [*map(str, table.rows[0])]
