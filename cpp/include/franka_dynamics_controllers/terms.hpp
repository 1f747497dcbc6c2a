// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Gravity, Coriolis and inertia torque of an arm with its payload, and the part of the gravity
// torque that the target does not add.
#pragma once

#include <array>
#include <cstddef>

#include "franka_dynamics_controllers/settings.hpp"

namespace franka_dynamics_controllers
{

/// An arm with a load, under a gravity.
struct Model
{
  Chain chain{};
  Three weight{};  ///< gravity in the axes of the space frame [m/s^2]

  /// g(q).
  void gravity(const Vector & q, Vector & tau) const noexcept
  {
    inverse_dynamics(chain, {q, {}, {}}, weight, tau);
  }
  /// C(q, dq) dq.
  void coriolis(const JointState & state, Vector & tau) const noexcept
  {
    inverse_dynamics(chain, {state.q, state.dq, {}}, {}, tau);
  }
  /// M(q) ddq.
  void inertia(const Vector & q, const Vector & ddq, Vector & tau) const noexcept
  {
    inverse_dynamics(chain, {q, {}, ddq}, {}, tau);
  }
};

/// The true model of an arm with the settings' payload and gravity, and the robot's own.
class TermModel : public Model
{
public:
  /// Take the arm with the settings' payload; the control cycle may call it.
  void configure(const Arm & arm, const Settings & settings) noexcept
  {
    chain = arm.chain;
    robot_.chain = arm.chain;
    weight = settings.gravity_in_space(arm);
    robot_.weight = settings.gravity_assumed_by_receiver(arm);
    adds_gravity_ = settings.target.adds_gravity;
    robot_has_same_model_ = weight == robot_.weight;
    const auto & [mass, x, y, z, xx, xy, xz, yy, yz, zz] = settings.payload;
    const Body at_centre{mass, {}, symmetric({xx, xy, xz, yy, yz, zz})};
    Body & last = chain.links[arm.n() - 1].body;
    Body & robots_last = robot_.chain.links[arm.n() - 1].body;
    if (mass != 0.0) {
      last = last + arm.flange * Pose{kIdentity, {x, y, z}} * at_centre;
    }
    if (settings.payload_known_to_robot) {
      robots_last = last;
    } else if (mass != 0.0 || arm.payload.mass != 0.0) {
      // The robot knows neither the payload of the settings nor the one in the arm's last link.
      robots_last = robots_last + -1.0 * (arm.flange * arm.payload);
      robot_has_same_model_ = false;
    }
  }

  /// The model that a robot which compensates gravity has: with the payload that it knows, under
  /// the gravity that it assumes.
  const Model & of_robot() const noexcept {return robot_;}

  /// The part of g(q) that the target does not add by itself.
  void gravity_to_command(const Vector & q, Vector & tau) const noexcept
  {
    tau.fill(0.0);
    if (adds_gravity_ && robot_has_same_model_) {
      return;
    }
    gravity(q, tau);
    if (adds_gravity_) {
      Vector added;
      robot_.gravity(q, added);
      for (std::size_t i = 0; i < chain.n; ++i) {
        tau[i] -= added[i];
      }
    }
  }

private:
  Model robot_{};
  bool adds_gravity_ = true;
  bool robot_has_same_model_ = true;
};

}  // namespace franka_dynamics_controllers
