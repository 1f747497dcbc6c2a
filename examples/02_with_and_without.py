# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Two simulated arms under the same PD controller, one with feedforward and one without.

Both arms compensate their own gravity, as a real Franka arm does, and follow the same periodic
motion. The left arm gets the PD torque alone, the right arm also C(q, dq) dq + M(q) ddq_d. The
simulated arm differs from the model: its inertias are about 10 % off, it has friction, elastic
gears, noisy sensors, and 0.2 kg on the flange that the model does not know. A third arm gets the
terms and the friction that are identified from a recording of it in another motion. A fourth also
compensates the 0.2 kg, as a real arm does once they are set in Desk.

For each stiffness and speed the program prints how far the flanges are off their paths; it draws
the first two arms (offscreen through EGL: apt install libegl1 libgl1-mesa-dri). With `--quick` it
prints only the first two numbers of the first case, and draws nothing.
"""

import argparse
from dataclasses import replace
from itertools import pairwise
import os

import numpy as np

if __name__ == '__main__':  # the process of whoever imports this may have no EGL
    os.environ.setdefault('MUJOCO_GL', 'egl')
try:
    from matplotlib import pyplot as plt
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    import mujoco
    from PIL import Image
except ImportError as error:
    needed = "pip install '.[sim,replay,identify]'"
    raise SystemExit(f'{error}; run, in the clone, {needed}') from None

import franka_dynamics as fd
from franka_dynamics.arm.shapes import load_shapes
from franka_dynamics.control.terms import FrictionFeedforward
from franka_dynamics.demo.controller_comparison import record_plant
from franka_dynamics.demo.random_plant import random_plant
from franka_dynamics.simulation.arm_simulation import ArmSimulation

ARM = fd.load('fr3')
MODEL = fd.Model(ARM)
# Stiffness of the first four joints [N m/rad] and how much slower the motion is: the picture's,
# others of libfranka's examples.
CASES = ((200.0, 1.0), (200.0, 2.0), (200.0, 3.0), (600.0, 1.0), (600.0, 2.0))
HEADS = (
    '| kp [N m/rad], fastest joint | PD | + C dq + M ddq_d | + identified friction | + the 0.2 kg '
    'declared |'
)
# Of all joints relative to the first; damping [N m s/rad] belongs to the root of the stiffness.
STIFFNESS_RATIO = np.array([1.0, 1.0, 1.0, 1.0, 0.6, 0.6, 0.3])
DAMPING_PER_ROOT = np.array([4.0, 4.0, 4.0, 4.0, 1.0, 1.0, 0.5]) / np.sqrt(40.0)
AMPLITUDE = np.array([0.55, 0.25, 0.15, 0.3, 0.4, 0.3, 0.5])  # rad
CYCLES = np.array([1, 2, 1, 2, 1, 2, 1])  # oscillations of each joint in PERIOD_S
PERIOD_S = 2.0  # the motion fades in during the first period, then repeats
STEP_S = 1e-3
FADE = np.polynomial.Polynomial([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
FADE_AND_DERIVATIVES = [FADE.deriv(k) / PERIOD_S**k for k in range(3)]
COLOURS = ((0.95, 0.45, 0.1), (0.1, 0.55, 0.95))
GREY = (0.7, 0.72, 0.76)
BLACK = (0.1, 0.1, 0.1)
# In pixels.
WIDTH = 640
HEIGHT = 330
PLOT_HEIGHT = 150
FRAME_STEPS = 50  # control steps between frames
POINT_STEPS = 20  # control steps between points of a path
WORLD = f"""<mujoco>
  <visual><global offwidth="{WIDTH}" offheight="{HEIGHT}" fovy="38"/>
  <headlight ambient="0.45 0.45 0.45" diffuse="0.5 0.5 0.5" specular="0 0 0"/></visual>
  <asset><texture type="skybox" builtin="flat" rgb1="1 1 1" width="8" height="8"/></asset>
  <worldbody><light directional="true" castshadow="false" dir="-2 -1 -4" diffuse="0.4 0.4 0.4"/>
  <geom type="plane" size="4 4 0.1" rgba="0.96 0.96 0.96 1"/></worldbody></mujoco>"""


def motion(time):
    """Return desired position, velocity and acceleration, (n,) each, at a time [s]."""
    rate = 2.0 * np.pi * CYCLES / PERIOD_S
    wave = AMPLITUDE * np.sin(rate * time)
    slope = AMPLITUDE * rate * np.cos(rate * time)
    s = min(time / PERIOD_S, 1.0)  # elapsed fraction of the first period
    fade, dfade, ddfade = (one(s) for one in FADE_AND_DERIVATIVES)
    ddq_d = ddfade * wave + 2.0 * dfade * slope - fade * rate**2 * wave
    return ARM.home + fade * wave, dfade * wave + fade * slope, ddq_d


def slowed(time, slowness):
    """Return position, velocity and acceleration of the motion, so many times slower."""
    q_d, dq_d, ddq_d = motion(time / slowness)
    return q_d, dq_d / slowness, ddq_d / slowness**2


def follow(stiffness, slowness, arm, known_load=False):
    """
    Return desired and true joint positions in the third period, (k, n) each [rad].

    The PD gets C dq + M ddq_d of `arm`, and its friction if it has one; None: nothing. With
    `known_load` the simulated arm compensates the weight of its load, too.
    """
    kp = stiffness * STIFFNESS_RATIO
    kd = np.sqrt(stiffness) * DAMPING_PER_ROOT
    plant = random_plant(ARM)
    settings = replace(plant.settings, gravity_compensation=True)
    if known_load:
        settings = replace(settings, payload=fd.LinkInertia.zero())
        plant = replace(plant, arm=plant.arm.with_payload(plant.settings.payload))
    simulated = ArmSimulation(plant.arm, settings)
    steps = round(slowness * PERIOD_S / STEP_S)
    rows = []
    model = arm and fd.Model(arm)
    friction = FrictionFeedforward(arm and arm.friction)
    for step in range(3 * steps):
        q_d, dq_d, ddq_d = slowed(step * STEP_S, slowness)
        state = simulated.read()
        q = state.position
        dq = state.velocity
        torque = kp * (q_d - q) + kd * (dq_d - dq)
        if arm:
            friction.update(step * STEP_S, q)
            torque += model.coriolis(q, dq) + model.mass_matrix(q) @ ddq_d
            torque += friction.torque(dq_d, dq, model.inverse_dynamics(q, dq, ddq_d))
            if arm.friction:
                torque += arm.friction.offset
        simulated.step(torque)
        rows.append((q_d, simulated.position))
    return np.array(rows[-steps:]).swapaxes(0, 1)


def flange_off(run):
    """Return the flange's distance from its path in a run, (k,) [mm]."""
    return 1e3 * np.linalg.norm(np.subtract(*MODEL.frames(run)[:, :, -1, :3, 3]), axis=-1)


def add_capsule(scene, ends, radius, colour):
    """Add a capsule between two `ends` [m] to a MuJoCo scene."""
    geom = scene.geoms[scene.ngeom]
    kind = mujoco.mjtGeom.mjGEOM_CAPSULE
    axes = np.eye(3).ravel()
    rgba = np.array((*colour, 1.0), dtype=np.float32)
    mujoco.mjv_initGeom(geom, kind, np.zeros(3), ends[0], axes, rgba)
    mujoco.mjv_connector(geom, kind, radius, *ends)
    scene.ngeom += 1


def add_arm(scene, run, k, offset, colour):
    """Add an arm at step k of a run, its desired path and its true path to a MuJoCo scene."""
    poses = [np.eye(4), *MODEL.frames(run[1][k])]
    for frame, shapes in load_shapes(ARM.name).items():
        for shape in shapes:  # a capsule along the z axis of its pose
            pose, (radius, length) = poses[frame] @ shape.pose, shape.size
            ends = [pose[:3, 3] + offset + half * length * pose[:3, 2] for half in (-0.5, 0.5)]
            add_capsule(scene, ends, radius, colour if frame >= 6 else GREY)
    for q, shade, radius in zip(run, (BLACK, colour), (0.004, 0.006)):
        path = MODEL.frames(q[::POINT_STEPS])[:, -1, :3, 3] + offset
        for start, end in pairwise([*path, path[0]]):
            add_capsule(scene, (start, end), radius, shade)


def draw(pair, stiffness):
    """Draw both arms and their flanges' distances from the path as a GIF."""
    world = mujoco.MjModel.from_xml_string(WORLD)
    camera = mujoco.MjvCamera()
    images = []
    mujoco.mj_forward(world, data := mujoco.MjData(world))
    camera.lookat[:] = 0.2, 0.0, 0.45
    camera.distance = 1.75
    camera.azimuth = 180.0
    camera.elevation = -18.0
    figure, ax = plt.subplots(figsize=(WIDTH / 100, PLOT_HEIGHT / 100), layout='constrained')
    canvas = FigureCanvasAgg(figure)
    for run, colour, label in zip(pair, COLOURS, ('PD', 'PD + feedforward')):
        off = flange_off(run)
        rms = np.sqrt(np.mean(off**2))
        times = STEP_S * np.arange(len(off))
        ax.plot(times, off, color=colour, label=f'{label}: {rms:.0f} mm off (rms)')
    ax.set(xlim=(0.0, PERIOD_S), ylim=(0.0, 55.0), ylabel='off [mm]')
    ax.set_xlabel(f'time [s]; kp {stiffness:g} N m/rad; black: the desired path')
    figure.legend(loc='outside upper center', ncols=2, fontsize=8, frameon=False)
    cursor = ax.axvline(0.0, color='black', linewidth=0.8)
    with mujoco.Renderer(world, HEIGHT, WIDTH, max_geom=2000) as renderer:
        for k in range(0, len(times), FRAME_STEPS):
            renderer.update_scene(data, camera)
            for run, colour, y in zip(pair, COLOURS, (-0.525, 0.525)):
                add_arm(renderer.scene, run, k, np.array([0.0, y, 0.0]), colour)
            cursor.set_xdata(times[[k, k]])
            canvas.draw()
            plot = np.asarray(canvas.buffer_rgba())[..., :3]
            images.append(Image.fromarray(np.vstack((renderer.render(), plot))).quantize(64))
    name = 'with_and_without.gif'
    pause = 1e3 * FRAME_STEPS * STEP_S  # ms
    images[0].save(name, save_all=True, append_images=images[1:], duration=pause, loop=0)


def rms_off(stiffness, slowness, arms):
    """Return the errors (rms) [mm] of PD controllers with the terms of `arms`, and the runs."""
    runs = [follow(stiffness, slowness, arm) for arm in arms]
    return [np.sqrt(np.mean(flange_off(run) ** 2)) for run in runs], runs


def fastest(slowness):
    """Return the fastest joint's speed in a period of the motion [rad/s]."""
    times = PERIOD_S * (1.0 + np.linspace(0.0, 1.0, 200))
    return max(np.abs(motion(one)[1]).max() for one in times) / slowness


def main():
    """Print the flange's errors in each case, and draw the arms of the first."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument('--quick', action='store_true', help='the first two numbers alone')
    quick = parser.parse_args().quick
    print(f'Flange off its path, rms [mm]\n\n{HEADS}\n|---|---|---|---|---|')
    arms = [None, ARM] if quick else [None, ARM, fd.identify([record_plant(ARM)], ARM).arm]
    for stiffness, slowness in CASES[:1] if quick else CASES:
        errors, runs = rms_off(stiffness, slowness, arms)
        if not quick:
            declared = follow(stiffness, slowness, arms[-1], known_load=True)
            errors.append(np.sqrt(np.mean(flange_off(declared) ** 2)))
        is_drawn = (stiffness, slowness) == CASES[0]
        name = f'{stiffness:g}, {fastest(slowness):.1f} rad/s' + ' (the picture)' * is_drawn
        print(f'| {name} | {" | ".join(f"{error:.1f}" for error in errors)} |', flush=True)
        if is_drawn and not quick:
            draw(runs[:2], stiffness)


if __name__ == '__main__':
    main()
