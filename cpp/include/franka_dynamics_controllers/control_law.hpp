// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// The torque that settings ask for at a state and a reference.
#pragma once

#include <algorithm>
#include <cstddef>

#include "franka_dynamics_controllers/friction.hpp"
#include "franka_dynamics_controllers/gain_delay.hpp"
#include "franka_dynamics_controllers/reference.hpp"
#include "franka_dynamics_controllers/terms.hpp"

namespace franka_dynamics_controllers
{

class ControlLaw
{
public:
  /// `is_exact`: joints have no other friction and rotors than `arm` says, as in a simulation.
  void configure(const Arm & arm, const Settings & given, bool is_exact) noexcept
  {
    settings = given;
    const auto any = [](const Vector & gains) {
        return std::any_of(gains.begin(), gains.end(), [](double gain) {return gain > 0.0;});
      };
    has_kp = any(given.kp);
    terms.configure(arm, given);
    friction.restart();
    gain_delay.configure(arm, terms, given, is_exact);
    offset.fill(0.0);
    const FrictionModel & model = arm.friction;
    if (given.offset && model.kind == FrictionModel::Kind::linear) {
      for (std::size_t i = 0; i < arm.n(); ++i) {
        offset[i] = given.target.adds_gravity ? model.receiver_offset[i] :
          model.coefficients[i][FrictionModel::kOffset];
      }
    }
  }

  /// Sum the gravity that the target does not add, `scale` times Coriolis, inertia and
  /// `friction_scale` times friction torque, the offset, and the PD torque or that of the caller's
  /// law [N m]. Without a `reference` inertia, friction and offset are zero, and the PD torque only
  /// damps.
  Vector torque(const Arm & arm, const StateTerms & state, const Desired * reference) const noexcept
  {
    const std::size_t n = arm.n();
    Vector total{};
    if (settings.friction && reference) {
      Vector load{};
      for (std::size_t i = 0; arm.friction.grows_with_load && i < n; ++i) {
        load[i] = state.gravity[i] + state.coriolis[i] + state.inertia[i];
      }
      const JointState measured{state.q, state.dq};
      friction.feedforward(arm, *reference, measured, load, total);
    }
    Vector gravity{};
    terms.gravity_to_command(state.q, state.gravity, gravity);
    for (std::size_t i = 0; i < n; ++i) {
      total[i] *= settings.friction_scale;
      total[i] += settings.coriolis ? state.coriolis[i] : 0.0;
      total[i] += settings.inertia ? state.inertia[i] : 0.0;
      total[i] = settings.scale * total[i] + gravity[i] + (reference ? offset[i] : 0.0);
      if (!reference) {
        total[i] -= settings.kd[i] * state.dq[i];
      } else if (reference->is_own_torque) {
        total[i] += reference->torque[i];
      } else {
        total[i] += settings.kp[i] * (reference->q[i] - state.q[i]);
        total[i] += settings.kd[i] * (reference->dq[i] - state.dq[i]);
      }
    }
    return total;
  }

  /// The terms of a joint state along a reference.
  StateTerms terms_at(double stamp, const JointState & state, const Desired * reference)
  const noexcept
  {
    return terms.at(stamp, state, reference ? &reference->ddq : nullptr);
  }

  Settings settings{};
  TermModel terms{};
  Friction friction{};
  GainDelay gain_delay{};
  /// What the arm needs beside the gravity torque that it gets; zero without `Settings::offset` [N m].
  Vector offset{};
  bool has_kp = false;
};

}  // namespace franka_dynamics_controllers
