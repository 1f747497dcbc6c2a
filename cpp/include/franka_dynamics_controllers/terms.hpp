// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Gravity, Coriolis and inertia torque of an arm with its payload, and the part of the gravity
// torque that the target does not add.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
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

/// A joint state with its torque terms [N m]: g(q), C(q, dq) dq, and M(q) ddq of a reference.
struct StateTerms
{
  double stamp = 0.0;  ///< [s]
  Vector q{}, dq{};
  Vector gravity{}, coriolis{}, inertia{};

  /// Whether a joint is faster than one at rest.
  bool is_moving(std::size_t n) const noexcept
  {
    return std::any_of(
      dq.begin(), dq.begin() + n, [](double speed) {return std::abs(speed) > kMaxRestSpeedRadS;});
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
    efforts_contain_friction_ = settings.target.efforts_contain_friction;
    robot_has_same_model_ = weight == robot_.weight;
    const auto & [mass, x, y, z, xx, xy, xz, yy, yz, zz] = settings.payload;
    const Body at_centre{mass, {}, symmetric({xx, xy, xz, yy, yz, zz})};
    Body & last = chain.links[arm.n() - 1].body;
    Body & robots_last = robot_.chain.links[arm.n() - 1].body;
    payload_ = arm.payload;
    if (mass != 0.0) {
      const Body added = Pose{kIdentity, {x, y, z}} * at_centre;
      payload_ = payload_ + added;
      last = last + arm.flange * added;
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

  /// The payload of the settings and the arm, in the frame of the flange.
  const Body & payload() const noexcept {return payload_;}
  /// Whether the target adds gravity.
  bool adds_gravity() const noexcept {return adds_gravity_;}
  /// Whether the target's measured torques contain joint friction.
  bool efforts_contain_friction() const noexcept {return efforts_contain_friction_;}

  /// The part of g(q) that the target does not add by itself.
  void gravity_to_command(const Vector & q, Vector & tau) const noexcept
  {
    Vector whole{};
    if (!adds_gravity_ || !robot_has_same_model_) {
      gravity(q, whole);
    }
    gravity_to_command(q, whole, tau);
  }

  /// The same, if `whole` is g(q).
  void gravity_to_command(const Vector & q, const Vector & whole, Vector & tau) const noexcept
  {
    tau.fill(0.0);
    if (adds_gravity_ && robot_has_same_model_) {
      return;
    }
    tau = whole;
    if (adds_gravity_) {
      Vector added{};
      robot_.gravity(q, added);
      for (std::size_t i = 0; i < chain.n; ++i) {
        tau[i] -= added[i];
      }
    }
  }

  /// The terms of a joint state; `acceleration` is that of a reference, nullptr without one.
  StateTerms at(double stamp, const JointState & state, const Vector * acceleration) const noexcept
  {
    StateTerms terms{stamp, state.q, state.dq, {}, {}, {}};
    gravity(state.q, terms.gravity);
    coriolis(state, terms.coriolis);
    if (acceleration) {
      inertia(state.q, *acceleration, terms.inertia);
    }
    return terms;
  }

private:
  Model robot_{};
  Body payload_{};
  bool adds_gravity_ = true;
  bool efforts_contain_friction_ = true;
  bool robot_has_same_model_ = true;
};

}  // namespace franka_dynamics_controllers
