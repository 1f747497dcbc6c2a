#!/usr/bin/env python3
# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Two simulated arms under the same PD controller, one with feedforward and one without.

Both arms compensate their own gravity, as a real Franka arm does, and follow the same periodic
motion. The left arm gets the PD torque alone, the right arm also C(q, dq) dq + M(q) ddq_d. The
simulated arm differs from the model: its inertias are about 10 % off, it has friction, elastic
gears, noisy sensors, and 0.2 kg on the flange that the model does not know.

For each stiffness of the first joints (200 N m/rad; 600, as in libfranka's example; 40, soft) the
program prints how far the flanges are off their paths. `--output FILE.gif` draws the arms under
the first stiffness, and the distances under all (offscreen through EGL, on Debian and Ubuntu: apt
install libegl1 libgl1-mesa-dri).
"""

import argparse
from dataclasses import replace
from itertools import pairwise
import os
from pathlib import Path

import numpy as np

os.environ.setdefault('MUJOCO_GL', 'egl')
try:
    import mujoco
except ImportError as error:
    raise SystemExit(f"{error}; this example needs pip install '.[sim]' in the clone") from None

import franka_dynamics as fd
from franka_dynamics.arm.shapes import load_shapes, ShapeKind
from franka_dynamics.demo.model_trial import draw_plant
from franka_dynamics.simulation.arm_simulation import ArmSimulation

STIFFNESSES = (200.0, 600.0, 40.0)  # N m/rad, of the first four joints
# Of all joints relative to the first; damping [N m s/rad] belongs to the root of the stiffness.
STIFFNESS_RATIO = np.array([1.0, 1.0, 1.0, 1.0, 0.6, 0.6, 0.3])
DAMPING_PER_ROOT = np.array([4.0, 4.0, 4.0, 4.0, 1.0, 1.0, 0.5]) / np.sqrt(40.0)
AMPLITUDE = np.array([0.55, 0.25, 0.15, 0.3, 0.4, 0.3, 0.5])  # rad
CYCLES = np.array([1, 2, 1, 2, 1, 2, 1])  # oscillations of each joint in PERIOD_S
PERIOD_S, STEP_S = 2.0, 1e-3  # the motion fades in during the first period, then repeats

GEOMS = {
    ShapeKind.CAPSULE: mujoco.mjtGeom.mjGEOM_CAPSULE,
    ShapeKind.CYLINDER: mujoco.mjtGeom.mjGEOM_CYLINDER,
    ShapeKind.SPHERE: mujoco.mjtGeom.mjGEOM_SPHERE,
}
LABELS = ('PD', 'PD + feedforward')
COLOURS = ((0.95, 0.45, 0.1, 1.0), (0.1, 0.55, 0.95, 1.0))
GREY, DESIRED = (0.7, 0.72, 0.76, 1.0), (0.1, 0.1, 0.1, 1.0)
SPACING_M = 1.05  # between the two arms' bases
WIDTH, HEIGHT, PLOT_HEIGHT, FRAMES_PER_S, POINTS_PER_S = 640, 330, 150, 20, 50
WORLD = f"""
<mujoco>
  <visual>
    <global offwidth="{WIDTH}" offheight="{HEIGHT}" fovy="38"/>
    <headlight ambient="0.45 0.45 0.45" diffuse="0.5 0.5 0.5" specular="0 0 0"/>
  </visual>
  <asset><texture type="skybox" builtin="flat" rgb1="1 1 1" width="8" height="8"/></asset>
  <worldbody>
    <light directional="true" pos="2 1 3" dir="-0.5 -0.2 -1" diffuse="0.4 0.4 0.4"/>
    <geom type="plane" size="4 4 0.1" rgba="0.96 0.96 0.96 1"/>
  </worldbody>
</mujoco>
"""


def motion(arm, time):
    """Return desired position, velocity and acceleration, (n,) each, at a time [s]."""
    rate = 2.0 * np.pi * CYCLES / PERIOD_S
    wave, slope = AMPLITUDE * np.sin(rate * time), AMPLITUDE * rate * np.cos(rate * time)
    bend = -(rate**2) * wave
    x = min(time / PERIOD_S, 1.0)  # elapsed fraction of the first period
    fade = x**3 * (10.0 - 15.0 * x + 6.0 * x**2)
    faster = 30.0 * x**2 * (1.0 - x) ** 2 / PERIOD_S
    bent = 60.0 * x * (1.0 - x) * (1.0 - 2.0 * x) / PERIOD_S**2
    return (
        arm.home + fade * wave,
        faster * wave + fade * slope,
        bent * wave + 2.0 * faster * slope + fade * bend,
    )


def follow(arm, feedforward, stiffness):
    """Return desired and true joint positions in the third period, (k, n) each [rad]."""
    kp, kd = stiffness * STIFFNESS_RATIO, np.sqrt(stiffness) * DAMPING_PER_ROOT
    model, plant = fd.Model(arm), draw_plant(arm)
    simulated = ArmSimulation(plant.arm, replace(plant.settings, gravity_compensation=True))
    steps = round(PERIOD_S / STEP_S)
    desired, true = [], []
    for step in range(3 * steps):
        q_d, dq_d, ddq_d = motion(arm, step * STEP_S)
        state = simulated.read()
        q, dq = state.position, state.velocity
        torque = kp * (q_d - q) + kd * (dq_d - dq)
        if feedforward:
            torque += model.coriolis(q, dq) + model.mass_matrix(q) @ ddq_d
        simulated.step(torque)
        desired.append(q_d)
        true.append(simulated.position)
    return np.array(desired[-steps:]), np.array(true[-steps:])


def flange_paths(model, run):
    """Return the flange's desired and true paths in the base frame, (k, 3) each [m]."""
    return tuple(model.frames(q)[:, -1, :3, 3] for q in run)


def draw(arm, every, path):
    """
    Write the animation of both arms as a GIF that repeats one period.

    `every` has, by stiffness, the runs without and with feedforward. The arms are drawn under the
    first stiffness.
    """
    from PIL import Image, ImageDraw, ImageFont

    model, shapes = fd.Model(arm), load_shapes(arm.name)
    (stiffness, runs), *_ = every.items()
    below, cursors = plotted(model, every)
    world = mujoco.MjModel.from_xml_string(WORLD)
    data = mujoco.MjData(world)
    mujoco.mj_forward(world, data)
    camera = mujoco.MjvCamera()
    camera.lookat[:], camera.distance = (0.2, 0.0, 0.45), 1.75
    camera.azimuth, camera.elevation = 180.0, -18.0
    font = ImageFont.load_default(17)
    paths = [flange_paths(model, run) for run in runs]
    thin = round(1.0 / (POINTS_PER_S * STEP_S))
    frames = []
    with mujoco.Renderer(world, HEIGHT, WIDTH, max_geom=2000) as renderer:
        for k in range(0, len(runs[0][0]), round(1.0 / (FRAMES_PER_S * STEP_S))):
            renderer.update_scene(data, camera)
            renderer.scene.flags[mujoco.mjtRndFlag.mjRND_SHADOW] = False
            for side, run, lines, colour in zip((-1.0, 1.0), runs, paths, COLOURS):
                offset = np.array([0.0, side * 0.5 * SPACING_M, 0.0])
                add_arm(renderer.scene, model, shapes, run[1][k], offset, colour)
                wanted, flown = (np.vstack((line[::thin], line[:1])) for line in lines)
                add_line(renderer.scene, wanted + offset, DESIRED, 0.004)
                add_line(renderer.scene, flown + offset, colour, 0.006)
            image = Image.new('RGB', (WIDTH, HEIGHT + PLOT_HEIGHT))
            image.paste(Image.fromarray(renderer.render()))
            image.paste(below, (0, HEIGHT))
            draw_on = ImageDraw.Draw(image)
            for left, right, top, bottom in cursors:
                x = left + (right - left) * k / len(runs[0][0])
                draw_on.line((x, HEIGHT + top, x, HEIGHT + bottom), fill='black')
            for i, (label, (wanted, flown), colour) in enumerate(zip(LABELS, paths, COLOURS)):
                off = 1e3 * rms(wanted - flown)
                draw_on.text(
                    (WIDTH * (0.27 + 0.46 * i), 12),
                    f'{label}: {off:.0f} mm off',
                    font=font,
                    anchor='ma',
                    fill=tuple(int(200 * part) for part in colour[:3]),
                )
            asked = f'kp {stiffness:g} N m/rad; black: the path that was asked for'
            draw_on.text((WIDTH / 2, HEIGHT - 24), asked, font=font, anchor='ma', fill='black')
            frames.append(image.quantize(64, dither=Image.Dither.NONE))
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=1000 // FRAMES_PER_S, loop=0
    )
    print(f'written: {path}, {Path(path).stat().st_size / 1e6:.2f} MB')


def plotted(model, every):
    """
    Return an image of the flanges' distances under each stiffness, and the axes' edges in it.

    The edges are left, right, top and bottom [pixels] of each stiffness's axes.
    """
    import matplotlib as mpl

    mpl.use('Agg')
    from matplotlib import pyplot as plt
    from PIL import Image

    figure, axes = plt.subplots(
        1, len(every), figsize=(WIDTH / 100, PLOT_HEIGHT / 100), dpi=100, squeeze=False
    )
    for ax, (stiffness, runs) in zip(axes[0], every.items()):
        for run, colour in zip(runs, COLOURS):
            off = np.linalg.norm(np.subtract(*flange_paths(model, run)), axis=1)
            ax.plot(STEP_S * np.arange(len(off)), 1e3 * off, color=colour)
        without, with_it = errors(model, runs)
        ax.set_title(f'kp {stiffness:g}: {without:.1f} and {with_it:.1f} mm', fontsize=8)
        ax.set_xlim(0.0, PERIOD_S)
        ax.set_ylim(0.0)
        ax.tick_params(labelsize=7)
        ax.set_xlabel('time [s]', fontsize=7)
    axes[0, 0].set_ylabel('flange off [mm]', fontsize=7)
    figure.tight_layout(pad=0.4)
    figure.canvas.draw()
    image = Image.fromarray(np.asarray(figure.canvas.buffer_rgba())).convert('RGB')
    boxes = [ax.get_position() for ax in axes[0]]
    plt.close(figure)
    return image, [
        (WIDTH * box.x0, WIDTH * box.x1, PLOT_HEIGHT * (1 - box.y1), PLOT_HEIGHT * (1 - box.y0))
        for box in boxes
    ]


def add_arm(scene, model, shapes, q, offset, colour):
    """Add an arm's shapes to a MuJoCo scene, its last two links coloured."""
    poses = [np.asarray(model.description.base), *model.frames(q)]
    for frame, group in shapes.items():
        for shape in group:
            pose = poses[frame] @ shape.pose
            radius, length = (*shape.size, 0.0)[:2]
            add(
                scene,
                GEOMS[shape.kind],
                np.array([radius, radius, 0.5 * length]),
                pose[:3, 3] + offset,
                pose[:3, :3],
                colour if frame >= 6 else GREY,
            )


def add_line(scene, points, colour, radius):
    """Add a line through points (k, 3) [m] to a MuJoCo scene."""
    for start, end in pairwise(points):
        geom = add(scene, mujoco.mjtGeom.mjGEOM_CAPSULE, np.zeros(3), start, np.eye(3), colour)
        mujoco.mjv_connector(geom, mujoco.mjtGeom.mjGEOM_CAPSULE, radius, start, end)


def add(scene, kind, size, position, rotation, colour):
    """Add one shape to a MuJoCo scene and return the shape's geom."""
    geom = scene.geoms[scene.ngeom]
    mujoco.mjv_initGeom(geom, kind, size, position, rotation.ravel(), np.float32(colour))
    scene.ngeom += 1
    return geom


def rms(distance):
    """Return the root mean square length of vectors (k, 3)."""
    return float(np.sqrt(np.mean(np.sum(distance**2, axis=1))))


def errors(model, runs):
    """Return the flange's root mean square distance in each run [mm]."""
    return [1e3 * rms(np.subtract(*flange_paths(model, run))) for run in runs]


def main(argv=None) -> int:
    """Print both arms' flange errors; return 1 unless feedforward halves each error."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument('--arm', default='fr3', help='a shipped Franka arm (default: fr3)')
    parser.add_argument(
        '--stiffness',
        type=float,
        nargs='+',
        default=STIFFNESSES,
        metavar='KP',
        help='stiffness of the first joints, the others in proportion [N m/rad] '
        '(default: 200 600 40)',
    )
    parser.add_argument('--output', help='the animation, a GIF')
    arguments = parser.parse_args(argv)
    arm = fd.load(arguments.arm)
    model = fd.Model(arm)
    every, halved = {}, True
    for stiffness in arguments.stiffness:
        runs = [follow(arm, feedforward, stiffness) for feedforward in (False, True)]
        every[stiffness] = runs
        without, with_it = errors(model, runs)
        halved &= with_it < 0.5 * without
        print(
            f'kp {stiffness:g} N m/rad: the flange is {without:.1f} mm rms off its path with PD, '
            f'{with_it:.1f} mm with PD + feedforward: {without / with_it:.1f} times less'
        )
    if arguments.output:
        draw(arm, every, arguments.output)
    return int(not halved)


if __name__ == '__main__':
    raise SystemExit(main())
