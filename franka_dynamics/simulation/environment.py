# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
A gymnasium environment: joint targets at 30 Hz, followed with feedforward torques at 1 kHz.

    >>> import gymnasium
    >>> environment = gymnasium.make('franka_dynamics.simulation.environment:FrankaReach-v0')
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .mujoco_model import import_mujoco, TIMESTEP_S
from ..arm.shapes import load_shapes
from ..arm_io import as_description
from ..control.feedforward import Feedforward, State
from ..control.settings import Terms
from ..errors import ReferenceRefusedError, require_extra
from ..typing import Array
from ..urdf.mjcf_writer import mjcf_text

with require_extra('The environment needs gymnasium', 'gym'):
    import gymnasium
    from gymnasium import spaces

FRAME_RATE_HZ = 30
_CYCLES = round(1.0 / (FRAME_RATE_HZ * TIMESTEP_S))  # torques per action
_START_CYCLES = 100  # in which torques begin; 20 states are needed
# Rate at which the PD's kd makes velocities decay [1/s]: soft gains.
_MAX_DECAY_RATE = 50.0
# How far the goal is from the home pose, in joint space [rad], and when it is reached [m].
_GOAL_DISTANCE, _REACHED_DISTANCE_M = 0.4, 0.01
# A target is taken at most this far from the last one [rad]: `follow` refuses a first target 0.1
# away, and the arm could not follow it anyway.
_MAX_TARGET_STEP = 0.09
# Bounds of what can be observed: beyond a position limit [rad], of a flange [m].
_MAX_BEYOND_LIMIT, _MAX_FLANGE_DISTANCE_M = 0.2, 2.0
_PIXELS = 480, 640
_GOAL_COLOR = 0.9, 0.1, 0.1, 1.0  # red, green, blue, opaque


class FrankaReach(gymnasium.Env):
    """
    Gymnasium environment: joint targets at 30 Hz move a simulated arm's flange to a point.

    An action is the target of each joint, shape (n,) [rad], as policies for Franka arms give them
    (DROID, LeRobot). `Feedforward` makes a smooth motion of the targets, about 90 ms late, and
    commands M ddq + C dq + g and a soft PD torque, 1,000 times a second. Observed are joint
    positions [rad], velocities [rad/s], and the positions of flange and goal in the base frame
    [m], in this order, shape (2 n + 6,). The reward is minus their distance [m]; within 1 cm the
    episode terminates.

    Parameters
    ----------
    arm : ArmDescription, str or Path
        A shipped arm, its file, or an arm.
    feedforward : bool
        Whether M ddq + C dq is commanded beside gravity and PD torque.
    render_mode : 'rgb_array' or None
        What `render` returns: a picture, (480, 640, 3), or nothing.

    Raises MissingDependencyError without MuJoCo, and DescriptionError for an unknown arm.

    """

    metadata = {'render_modes': ['rgb_array'], 'render_fps': FRAME_RATE_HZ}  # noqa: RUF012

    def __init__(
        self, arm: Any = 'fr3', *, feedforward: bool = True, render_mode: str | None = None
    ) -> None:
        self._mujoco = import_mujoco()
        self.arm, self.render_mode = as_description(arm), render_mode
        self._renderer: Any = None
        shapes = load_shapes(self.arm.name)
        self.model = self._mujoco.MjModel.from_xml_string(
            mjcf_text(self.arm, shapes=shapes, ideal=True)
        )
        self.model.opt.timestep = TIMESTEP_S
        self.model.opt.disableflags |= int(self._mujoco.mjtDisableBit.mjDSBL_CONTACT)
        self.data = self._mujoco.MjData(self.model)
        terms = Terms(coriolis=feedforward, inertia=feedforward)
        self.controller = Feedforward(self.arm, 'mujoco', soft_gains=_MAX_DECAY_RATE, terms=terms)
        self._home, self._goal = self.arm.home_position, np.zeros(3)
        self._target = self._home
        self._low, self._high = low, high = self.arm.limit('lower'), self.arm.limit('upper')
        self.action_space = spaces.Box(low, high, dtype=np.float64)
        fastest, furthest = 2.0 * self.arm.limit('velocity'), np.full(6, _MAX_FLANGE_DISTANCE_M)
        least = np.concatenate((low - _MAX_BEYOND_LIMIT, -fastest, -furthest))
        most = np.concatenate((high + _MAX_BEYOND_LIMIT, fastest, furthest))
        self.observation_space = spaces.Box(least, most, dtype=np.float64)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Put the arm at its home pose and draw a goal; return observation and an empty dict."""
        super().reset(seed=seed, options=options)
        self._mujoco.mj_resetData(self.model, self.data)
        away = self.np_random.uniform(-_GOAL_DISTANCE, _GOAL_DISTANCE, self.arm.n)
        self.data.qpos[:] = np.clip(self._home + away, self._low, self._high)
        self._mujoco.mj_forward(self.model, self.data)
        self._goal = self._flange()
        self.data.qpos[:], self._target = self._home, self._home
        self._mujoco.mj_forward(self.model, self.data)
        self.controller.reset()
        self._pass(_START_CYCLES)
        return self._observed(), {}

    def step(self, action: Array) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """
        Follow joint targets `action`, (n,) [rad], for 33 ms; return gymnasium's five values.

        The info says why the controller stopped the arm (`stopped`), if it did; the episode is
        truncated then. If the arm cannot follow a target within its limits, it goes on to the one
        before, and the info says why (`refused`). Raises JointVectorError unless the action has a
        number per joint, or for degrees.
        """
        action = self.arm.joint_vector(action, 'action')
        self.controller.states.refuse_degrees(action)
        away = np.clip(action - self._target, -_MAX_TARGET_STEP, _MAX_TARGET_STEP)
        target = np.clip(self._target + away, self._low, self._high)
        info: dict[str, Any] = {}
        if self.controller.state is State.RUNNING:
            try:
                self.controller.follow(target)
                self._target = target
            except ReferenceRefusedError as error:
                info['refused'] = str(error)
        self._pass(_CYCLES)
        distance = float(np.linalg.norm(self._flange() - self._goal))
        running = self.controller.state is State.RUNNING
        if not running:
            info['stopped'] = str(self.controller.status)
        return self._observed(), -distance, distance < _REACHED_DISTANCE_M, not running, info

    def render(self) -> Any:
        """
        Return a picture of arm and goal, (480, 640, 3); None unless the mode is rgb_array.

        On a machine without a screen, MuJoCo needs the environment variable MUJOCO_GL=egl.
        """
        if self.render_mode != 'rgb_array':
            return None
        if self._renderer is None:
            self.model.vis.headlight.ambient[:] = self.model.vis.headlight.diffuse[:] = 0.5
            self._renderer = self._mujoco.Renderer(self.model, *_PIXELS)
        self._renderer.update_scene(self.data)
        scene, sphere = self._renderer.scene, self._mujoco.mjtGeom.mjGEOM_SPHERE
        scene.ngeom += 1  # the goal
        self._mujoco.mjv_initGeom(
            scene.geoms[scene.ngeom - 1],
            sphere,
            np.full(3, 2.0 * _REACHED_DISTANCE_M),
            self._goal,
            np.eye(3).ravel(),
            np.array(_GOAL_COLOR, dtype=np.float32),
        )
        return self._renderer.render()

    def close(self) -> None:
        """Close MuJoCo's renderer, if `render` has made one."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    def _pass(self, cycles: int) -> None:
        for _ in range(cycles):
            self.data.ctrl[:] = self.controller.step(
                self.data.qpos, self.data.qvel, self.data.time
            )
            self._mujoco.mj_step(self.model, self.data)

    def _flange(self) -> Array:
        return np.array(self.data.site_xpos[-1])

    def _observed(self) -> Array:
        return np.concatenate((self.data.qpos, self.data.qvel, self._flange(), self._goal))


gymnasium.register(
    id='FrankaReach-v0', entry_point=f'{__name__}:FrankaReach', max_episode_steps=300
)
