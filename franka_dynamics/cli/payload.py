# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
The work of `payload-from-mesh` and `identify payload`, which compute a load's parameters.

The load is that of a CAD mesh, or is found from recordings with and without it. `identify payload
--plan` writes the motion to record.
"""

from collections.abc import Sequence
from pathlib import Path
import shlex

import click
import numpy as np

from .choices import (
    ArmChoice,
    BagReader,
    forbid_options,
    forbid_without,
    require_installed,
)
from .console import (
    echo,
    echo_each,
    make_console,
    print_or_write,
    ProgressBar,
    write_json,
)
from .requests import MeshRequest, MOUNT_OFFSETS, PayloadRequest
from .trajectory_text import trajectory_yaml
from ..arm import ArmDescription, load
from ..arm.payload import desk_json, payload_array, payload_parameter_text
from ..arrays import Array
from ..errors import IdentificationError, SettingsError
from ..excitation.limits import ExcitationLimits
from ..excitation.rest_poses import plan_rest_poses
from ..files import write_text
from ..fit.payload import identify_payload
from ..mesh.mesh import mesh_inertia, mesh_volume
from ..mesh.mesh_file import load_mesh
from ..recordings.plausibility import plausibility_warnings
from ..recordings.preprocessing import Motion, to_motion
from ..recordings.recording import effort_scales
from ..report.payload import (
    deviation_sentences,
    draw_payload,
    effort_scale_sentence,
    inertia_sentences,
    payload_table,
)
from ..spatial import pose_from_xyz_rpy

_MAX_DENSITY_KG_M3 = 22600.0  # of osmium


def payload_from_mesh(request: MeshRequest) -> int:
    """Compute a tool's payload from its mesh, print it, write --output and others; return 0."""
    name = Path(request.mesh).name
    tool = Path(request.mesh).stem
    density = request.density
    if request.mass is not None:
        forbid_options('--mass, from which it follows', 'density')
    elif density is None:
        raise SettingsError('How heavy is it? Add --density KG_PER_M3 or --mass KG.')
    if request.plot:
        require_installed('Plots need matplotlib', 'mesh', 'matplotlib')
    arm = load(request.arm)
    with make_console().status(f'reading {name}'):
        file = load_mesh(request.mesh, unit=request.unit)
    volume = mesh_volume(file.mesh)
    if request.mass is not None:
        density = request.mass / volume
    assert density is not None  # without both the command has ended
    height, turn = MOUNT_OFFSETS[request.mount]
    flange = pose_from_xyz_rpy((0.0, 0.0, height), (0.0, 0.0, turn))
    mounted = file.mesh.expressed_in(flange @ pose_from_xyz_rpy(request.xyz, request.rpy))
    inertia = mesh_inertia(mounted, density)
    payload = payload_array(inertia)
    comment = f'{name}, {density:.6g} kg/m^3, mount {request.mount}'
    _write_payload_files(payload, comment, tool, request)
    if request.plot:
        title = f'{name}: {inertia.mass:.4g} kg, mount {request.mount}'
        draw_payload(mounted, inertia, request.plot, title)
        echo(f'written: {request.plot}')
    echo_each(file.notes)
    size = f'{len(mounted.faces)} faces, volume {volume * 1e6:.6g} cm^3'
    echo(f'{size}, density {density:.6g} kg/m^3, mass {inertia.mass:.6g} kg')
    if density > _MAX_DENSITY_KG_M3:
        dense = f'nothing is as dense as {density:.4g} kg/m^3'
        echo(f'{dense}; is the unit {file.unit} right?', 'warning')
    echo('in the flange frame: mass [kg], centre of mass [m], inertia about it xx xy ... [kg m^2]')
    _print_payload(arm, payload)
    return 0


def _write_payload_files(
    payload: Array, comment: str, tool_name: str, request: MeshRequest | PayloadRequest
) -> None:
    """
    Write a payload, shape (10,), to the files of --output and --desk, if given.

    `comment` is the first line of the parameter file, `tool_name` its name in Desk.
    """
    if request.output is not None:
        print_or_write(payload_parameter_text(payload, comment), request.output)
    if request.desk is not None:
        print_or_write(desk_json(payload, tool_name), request.desk)


def _print_payload(arm: ArmDescription, payload: Array) -> None:
    """Print a payload, shape (10,), and a warning if it exceeds the arm's rated load."""
    if arm.rated_load is not None and payload[0] > arm.rated_load:
        rated = f'{arm.rated_load:g} kg that {arm.name} is rated for'
        echo(f'{payload[0]:.4g} kg is above the {rated}', 'warning')
    echo('payload: [' + ', '.join(f'{number:.9g}' for number in payload) + ']')


def plan_or_identify_payload(
    choice: ArmChoice, reader: BagReader, limits: ExcitationLimits, request: PayloadRequest
) -> int:
    """Identify a payload from bags, or with --plan write the motion to record; return 0."""
    if request.plan is not None:
        of_recordings = ('without', 'loaded', 'known_mass', 'effort_scale', 'output', 'desk')
        of_reader = ('joint_names', 'topic', 'stamp_kind')
        forbid_options('--plan: nothing is recorded yet', *of_recordings, *of_reader)
        return _plan_rest_poses(choice, limits, request, request.plan)
    forbid_without('--plan', 'pose_count', 'start', 'table_height', 'clearance', 'tool_length')
    for name, bags in (('--without', request.without), ('--with', request.loaded)):
        if not bags:
            raise click.UsageError(f'Name recordings by {name}, or --plan their motion first.')
    return _identify_payload_from_bags(choice, reader, request)


def _plan_rest_poses(
    choice: ArmChoice, limits: ExcitationLimits, request: PayloadRequest, output: Path
) -> int:
    """Write a motion to poses at rest, print what it will tell and what to do; return 0."""
    arm = choice.load()
    start = request.start or arm.home
    if start is None:
        raise IdentificationError(f'{arm.name} has no home pose; give one with --start.')
    with ProgressBar() as bar:
        plan = plan_rest_poses(
            arm,
            limits,
            start,
            pose_count=request.pose_count,
            gravity=request.gravity,
            progress=bar.new_task('planning'),
        )
    states = np.moveaxis(plan.trajectory.states, 1, 0)
    write_text(output, trajectory_yaml(arm.joint_names, plan.times, states))
    write_json(request.json, plan)
    spread = 1e3 * float(np.max(plan.center_std))
    echo(
        f'{len(plan.poses)} poses, each approached from both sides, in {plan.times[-1]:.0f} s, '
        f'above z = {limits.table_height + limits.table_margin:g} m. For a load of 1 kg standard '
        f'deviations of {1e3 * plan.mass_std:.0f} g and, of its centre, {spread:.1f} mm are '
        'expected where the errors of torques are those of a good fit; `identify payload` states '
        'those of the recordings.'
    )
    file = shlex.quote(str(output))
    echo(
        f'trajectory: {output}; play it without the load and with it, then identify:\n'
        f'  franka-dynamics node play {file} --lead 5 --record bare\n'
        f'  franka-dynamics node play {file} --lead 5 --record mounted\n'
        '  franka-dynamics identify payload --without bare --with mounted --output payload.yaml '
        '--desk endeffector-config.json'
    )
    return 0


def _identify_payload_from_bags(
    choice: ArmChoice, reader: BagReader, request: PayloadRequest
) -> int:
    """Identify a payload from bags; print it with standard deviations, write it; return 0."""
    arm = reader.arm_in_bag(request.loaded[0], choice).load()
    scale = effort_scales(request.effort_scale, arm.n)

    def read_motions(bags: Sequence[str]) -> list[Motion]:
        """Return the resampled and filtered motions of bags; print their warnings and remarks."""
        recordings = [reader.read_recording(bag, arm, bar) for bag in bags]
        for recording in recordings:
            warnings = plausibility_warnings(recording, arm)
            echo_each((f'{recording.source}: {warning}' for warning in warnings), 'warning')
        motions = [to_motion(recording.with_scaled_effort(scale)) for recording in recordings]
        for motion in motions:
            echo_each(motion.remarks, 'note')
        return motions

    with ProgressBar() as bar:
        without = read_motions(request.without)
        loaded = read_motions(request.loaded)
        estimate = identify_payload(without, loaded, arm, gravity=request.gravity)
    write_json(request.json, estimate)
    comment = f'Identified by franka-dynamics from {", ".join(request.loaded)}'
    _write_payload_files(estimate.payload, comment, 'identified payload', request)
    make_console().print(payload_table(estimate))
    scale_sentence = effort_scale_sentence(estimate, request.known_mass, request.effort_scale)
    echo_each([*inertia_sentences(estimate), *deviation_sentences(estimate), scale_sentence])
    _print_payload(arm, estimate.payload)
    return 0
