// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// The torque that settings ask for at a state and a reference.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>

#include "franka_dynamics_controllers/friction.hpp"
#include "franka_dynamics_controllers/terms.hpp"

namespace franka_dynamics_controllers
{

inline void add(Vector & total, const Vector & part) noexcept
{
  std::transform(total.begin(), total.end(), part.begin(), total.begin(), std::plus<double>());
}

class ControlLaw
{
public:
  void configure(const Arm & arm, const Settings & given) noexcept
  {
    settings = given;
    const auto any = [](const Vector & gains) {
        return std::any_of(gains.begin(), gains.end(), [](double gain) {return gain > 0.0;});
      };
    has_gains = any(given.kp) || any(given.kd);
    terms.configure(arm, given);
    friction.restart();
  }

  /// Sum the gravity that the target does not add, `scale` times Coriolis, inertia and friction
  /// torque, and the PD torque. Without a `reference` inertia and friction torque are zero, and the
  /// PD torque only damps.
  void torque(
    const Arm & arm, const JointState & state, const Motion * reference,
    Vector & total) const noexcept
  {
    Vector part{};
    total.fill(0.0);
    if (settings.friction && reference) {
      // Friction at the measured velocity would follow the sensor's noise.
      Vector load{};
      if (arm.friction.grows_with_load) {
        terms.gravity(state.q, load);
        terms.coriolis(state, part);
        add(load, part);
        terms.inertia(state.q, reference->ddq, part);
        add(load, part);
      }
      const bool adds = settings.target.adds_gravity;
      friction.feedforward(arm, *reference, state, settings.kp, adds, load, total);
    }
    if (settings.coriolis) {
      terms.coriolis(state, part);
      add(total, part);
    }
    if (settings.inertia && reference) {
      terms.inertia(state.q, reference->ddq, part);
      add(total, part);
    }
    terms.gravity_to_command(state.q, part);
    for (std::size_t i = 0; i < arm.n(); ++i) {
      total[i] = settings.scale * total[i] + part[i];
      if (has_gains && reference) {
        total[i] += settings.kp[i] * (reference->q[i] - state.q[i]);
        total[i] += settings.kd[i] * (reference->dq[i] - state.dq[i]);
      } else if (has_gains) {
        total[i] -= settings.kd[i] * state.dq[i];
      }
    }
  }

  Settings settings{};
  TermModel terms{};
  Friction friction{};
  bool has_gains = false;
};

}  // namespace franka_dynamics_controllers
