// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Gravity, Coriolis and inertia torque of an arm with its payload, and the part of the gravity
// torque that the target does not add.
#ifndef FRANKA_DYNAMICS_CONTROLLERS__TERMS_HPP_
#define FRANKA_DYNAMICS_CONTROLLERS__TERMS_HPP_

#include <array>
#include <cstddef>

#include "franka_dynamics_controllers/settings.hpp"

namespace franka_dynamics_controllers
{

/// A body's parameters about its frame's origin, from mass, centre of mass and inertia about it.
constexpr Body about_origin(const std::array<double, 10> & given) noexcept
{
  const Three centre{given[1], given[2], given[3]};
  const Body body{given[0], {}, symmetric({given[4], given[5], given[6], given[7], given[8], given[9]})};
  return Pose{kIdentity, centre} * body;
}

/// Gravity, Coriolis and inertia torque with the settings' payload and gravity.
class TermModel
{
public:
  void configure(const Arm & arm, const Settings & settings) noexcept
  {
    true_ = receiver_ = {arm.chain, settings.gravity(arm)};
    receiver_.gravity = settings.gravity_of_robot(arm);
    adds_gravity_ = settings.target.adds_gravity;
    same_ = Settings::same(true_.gravity, receiver_.gravity);
    if (settings.payload[0] != 0.0) {
      const std::size_t last = arm.n() - 1;
      Body & body = true_.chain.links[last].body;
      body = body + arm.flange * about_origin(settings.payload);
      if (settings.payload_known_to_robot) {
        receiver_.chain.links[last].body = body;
      }
      same_ = same_ && settings.payload_known_to_robot;
    }
  }

  void gravity(const Vector & q, Vector & tau) const noexcept {true_.weight(q, tau);}

  /// The part of g(q) that the target does not add by itself.
  void gravity_to_command(const Vector & q, Vector & tau) const noexcept
  {
    if (adds_gravity_ && same_) {
      tau.fill(0.0);
      return;
    }
    gravity(q, tau);
    if (adds_gravity_) {
      Vector added;
      receiver_.weight(q, added);
      for (std::size_t i = 0; i < true_.chain.n; ++i) {
        tau[i] -= added[i];
      }
    }
  }

  /// C(q, dq) dq.
  void coriolis(const JointState & state, Vector & tau) const noexcept
  {
    inverse_dynamics(true_.chain, {state.q, state.dq, {}}, {}, tau);
  }

  void mass_matrix(const Vector & q, Matrix & M) const noexcept
  {
    franka_dynamics_controllers::mass_matrix(true_.chain, q, M);
  }

  /// M(q) ddq.
  void inertia(const Vector & q, const Vector & ddq, Vector & tau) const noexcept
  {
    inverse_dynamics(true_.chain, {q, {}, ddq}, {}, tau);
  }

  /// g, C dq and M of the model that a robot which compensates gravity has: with the payload and
  /// the mount that it knows.
  void known_to_robot(
    const JointState & state, Vector & gravity, Vector & coriolis, Matrix & M) const noexcept
  {
    receiver_.weight(state.q, gravity);
    inverse_dynamics(receiver_.chain, {state.q, state.dq, {}}, {}, coriolis);
    franka_dynamics_controllers::mass_matrix(receiver_.chain, state.q, M);
  }

private:
  struct Model
  {
    Chain chain{};
    Three gravity{};

    void weight(const Vector & q, Vector & tau) const noexcept
    {
      inverse_dynamics(chain, {q, {}, {}}, gravity, tau);
    }
  };

  Model true_{}, receiver_{};
  bool adds_gravity_ = true, same_ = true;
};

}  // namespace franka_dynamics_controllers

#endif  // FRANKA_DYNAMICS_CONTROLLERS__TERMS_HPP_
