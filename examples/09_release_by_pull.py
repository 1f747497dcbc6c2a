# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
"""
Release a held object: the gripper opens when somebody pulls at it, and not when it is bumped.

An arm in MuJoCo with elastic joints, friction and noisy sensors holds an object whose mass and
inertia the controller knows. The wrench estimated from the external torque says how hard somebody
pulls. A pull of more than 5 N for 0.1 s opens the gripper; the controller then removes the object
from its model. The pull stays below the bounds of the controller's guard, which stops an arm that
is pushed harder. Run `python examples/09_release_by_pull.py`; it prints the times of the events
and writes `release_by_pull.png`. On a real arm feed `Releaser` with the feedforward node's
`~/external_torque`, and open the gripper by franka_gripper's `move` action.
"""

from dataclasses import dataclass, field

import numpy as np

from franka_dynamics.arm import LinkInertia, load
from franka_dynamics.control.feedforward import Feedforward, StateLimits
from franka_dynamics.control.settings import Settings
from franka_dynamics.dynamics.external_torque import WrenchEstimator
from franka_dynamics.simulation.arm_simulation import (
    ArmSimulation,
    Push,
    SimulationSettings,
)
from franka_dynamics.simulation.joint_elasticity import franka_elasticity

ARM = load('fer')
STEP_S = 1e-3
PULL_N = 5.0  # least force of a pull
PULL_S = 0.1  # and its least duration
LOAD_S = 0.5  # time constant of the filter that follows the torque of model errors [s]
SETTLED_S = 1.0  # time for the arm to come to rest under its gains
OPENING_S = 0.05  # from the command to open until the gripper's fingers have let go [s]
# Mass, centre of mass and inertia of the object, as arguments of libfranka's setLoad.
OBJECT = (0.8, 0.0, 0.0, 0.12, 0.002, 0.0, 0.0, 0.002, 0.0, 0.001)
KP = (400.0,) * 4 + (100.0,) * 3
KD = (25.0,) * 4 + (5.0,) * 3
# Forces in the base's axes [N]: a bump of 15 N for 30 ms, then a pull that grows to 12 N within
# 0.2 s.
BUMP = Push((0.0, 15.0, 0.0), 1.5, 0.03)
PULL_AT = 3.0
PULL_RISE_S = 0.2
PULL = np.array([10.0, 0.0, 6.6])


class Releaser:
    """Says when to let go: somebody has pulled with more than PULL_N for PULL_S."""

    def __init__(self, estimator: WrenchEstimator) -> None:
        self._estimator = estimator  # of the wrench about the object's centre of mass
        self._load = np.zeros(ARM.n)
        self._since: float | None = None
        self.pull = np.zeros(3)  # force with which somebody pulls, in the base frame [N]

    def update(self, stamp: float, q: np.ndarray, external: np.ndarray) -> bool:
        """Return whether to let go, from the external torque (n,) [N m] at a position (n,)."""
        # libfranka's external force is the arm's on the person; a pull is the person's on the arm.
        self.pull = -self._estimator.estimate(q, external - self._load).wrench[:3]
        if np.linalg.norm(self.pull) < PULL_N:
            self._since = None
            # While nobody pulls, slow changes of the external torque are model errors.
            self._load = self._load + STEP_S / LOAD_S * (external - self._load)
        elif self._since is None:
            self._since = stamp
        return self._since is not None and stamp - self._since >= PULL_S


@dataclass
class Run:
    """Times [s], true and estimated forces of a person [N], flange positions [m]; events [s]."""

    time: list[float] = field(default_factory=list)
    pulled: list[np.ndarray] = field(default_factory=list)
    told: list[np.ndarray] = field(default_factory=list)
    flange: list[np.ndarray] = field(default_factory=list)
    events: dict[str, float] = field(default_factory=dict)


def pulled_at(time: float, released: bool) -> Push:
    """Return the person's push at a time [s]: from PULL_AT to the release the pull, else BUMP."""
    if released or time < PULL_AT:
        return BUMP
    force = PULL * min((time - PULL_AT) / PULL_RISE_S, 1.0)
    return Push((force[0], force[1], force[2]), PULL_AT, 1e9)


def run(duration: float = 5.0, seed: int = 0) -> Run:
    """Simulate holding the object, a bump, a pull, and letting go."""
    settings = Settings(target='mujoco', kp=KP, kd=KD, payload=OBJECT)
    simulation = ArmSimulation(
        ARM,
        SimulationSettings(
            payload=settings.payload_inertia(),
            friction=True,
            elasticity=franka_elasticity(ARM),
            position_noise=2e-6,
            velocity_noise=3e-3,
            effort_noise=0.05,
            brake_release_after=0.1,
            seed=seed,
        ),
    )
    limits = StateLimits(effort_friction='included')
    controller = Feedforward(ARM, limits=limits, **vars(settings))

    releaser = Releaser(
        WrenchEstimator(controller.requested_law.terms.true_model, offset=settings.payload[1:4])
    )
    found = Run()
    order = float('inf')
    for step in range(round(duration / STEP_S)):
        reading = simulation.read()
        time = reading.time
        external = controller.disturbances.external_torque
        torque = controller.step(reading.position, reading.velocity, time, effort=reading.effort)
        if order > time > SETTLED_S and releaser.update(time, reading.position, external):
            found.events['gripper told to open'] = order = time
        if time >= order + OPENING_S and 'object released' not in found.events:
            found.events['object released'] = time
            simulation.set_payload(LinkInertia.zero())
            controller.change(payload=(0.0,) * 10)
        released = 'object released' in found.events
        simulation.push = pulled_at(time, released)
        if step % 4 == 0:
            found.time.append(time)
            active = simulation.push.is_active(time)
            found.pulled.append(np.array(simulation.push.force) * active)
            found.told.append(np.zeros(3) if released else releaser.pull)
            found.flange.append(
                controller.requested_law.terms.true_model.frames(simulation.position)[-1][:3, 3]
            )
        simulation.step(torque)
    return found


def draw(found: Run) -> None:
    """Draw the true and the estimated pull, and the motion of the flange."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5.5), layout='constrained')
    force, place = figure.subplots(2, 1, sharex=True)
    force.plot(found.time, np.linalg.norm(found.pulled, axis=1), label='pull', color='black')
    force.plot(
        found.time,
        np.linalg.norm(found.told, axis=1),
        label='estimate',
        color='tab:red',
    )
    flange = 1e3 * (np.array(found.flange) - found.flange[np.searchsorted(found.time, 1.4)])
    place.plot(found.time, flange, label=['x', 'y', 'z'])
    force.set(ylabel='force [N]', title='Lines: gripper told to open, object released')
    place.set(ylabel='flange [mm]', xlabel='time [s]', xlim=(1.0, found.time[-1]))
    for axis in (force, place):
        for at in found.events.values():
            axis.axvline(at, color='tab:blue', lw=0.8)
        axis.legend(loc='upper right')
    figure.savefig('release_by_pull.png', dpi=110)


if __name__ == '__main__':
    run_of_arm = run()
    print({'pull begins': PULL_AT, **run_of_arm.events})  # [s]
    draw(run_of_arm)
