// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// A law of your own, whole: Cartesian impedance at the flange with damping in the null space, the
// arm's friction, and the guard. `torque` is called in each control cycle, by a loop on libfranka or
// by an effort controller of ros2_control. Compile it as docs/howto/my-controller.md says.
#include <algorithm>
#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "franka_dynamics_controllers/arm_file.hpp"
#include "franka_dynamics_controllers/cholesky.hpp"
#include "franka_dynamics_controllers/feedforward.hpp"
#include "franka_dynamics_controllers/kinematics.hpp"

namespace core = franka_dynamics_controllers;

class CartesianImpedance
{
public:
  // Of the flange: N/m and N s/m, N m/rad and N m s/rad; in the null space N m s/rad.
  double stiffness = 400.0, damping = 40.0;
  double turning_stiffness = 30.0, turning_damping = 3.0;
  double null_damping = 2.0;

  CartesianImpedance(const std::string & arm_file, const core::Target & target)
  : feedforward_(core::arm_from_file(arm_file))
  {
    core::Settings settings;
    settings.target = target;  // kFci: the robot adds g(q); kMujoco: nobody does
    settings.command = core::Command::law;
    settings.friction = feedforward_.arm().friction.kind != core::FrictionModel::Kind::none;
    // The law has no desired velocity, so friction counts at the measured one, which is noisy and
    // late: begin with a part of it.
    settings.friction_scale = 0.5;
    const std::string refused = feedforward_.configure(settings);
    if (!refused.empty()) {throw std::runtime_error(refused);}
  }

  /// Where the flange is to be, in the space frame; before the first call it is held where it is.
  void set_goal(const core::Pose & goal)
  {
    goal_ = goal;
    has_goal_ = true;
  }

  core::Pose flange(const core::Vector & q) const
  {
    return core::flange_at(feedforward_.arm(), q).pose;
  }

  /// The torque of a cycle `seconds` after the last one; `effort` are the measured torques, nullptr
  /// if there are none. False while there is no torque to send; why() says what is awaited.
  bool torque(
    const core::JointState & state, const core::Vector * effort, double seconds,
    core::Vector & tau)
  {
    core::Reference given;
    given.torque = law(state);
    given.dq = state.dq;
    return feedforward_.cycle(seconds, &state, &given, tau, effort);
  }

  /// What ended torques or keeps them from beginning; after a fault start() clears it.
  std::string why() {return feedforward_.why();}
  bool start() {return !feedforward_.start();}

private:
  static constexpr std::size_t kTask = 6;

  core::Vector law(const core::JointState & state)
  {
    const core::Arm & arm = feedforward_.arm();
    const core::Flange at = core::flange_at(arm, state.q);
    if (!has_goal_) {
      set_goal(at.pose);
    }
    // The columns of the Jacobian, and the flange's velocity.
    std::array<core::Vector, core::kMaxJoints> columns{};
    core::Vector velocity{};
    for (std::size_t i = 0; i < arm.n(); ++i) {
      const auto & [vx, vy, vz] = at.linear[i];
      const auto & [wx, wy, wz] = at.angular[i];
      columns[i] = {vx, vy, vz, wx, wy, wz};
      for (std::size_t k = 0; k < kTask; ++k) {
        velocity[k] += columns[i][k] * state.dq[i];
      }
    }
    const core::Vector wrench = impedance(at.pose, velocity);
    // Damping of dq in the null space: what remains of it after the flange's share is taken out,
    // weighted with M, so that the flange is not accelerated (Khatib 1987).
    core::Matrix M{};
    core::mass_matrix(feedforward_.terms().chain, state.q, M);
    core::Vector torque{};
    for (std::size_t i = 0; i < arm.n(); ++i) {
      torque[i] = -null_damping * state.dq[i];
    }
    if (core::factorize(M, arm.n())) {
      torque = without_flange(arm.n(), M, columns, torque);
    }
    for (std::size_t i = 0; i < arm.n(); ++i) {
      for (std::size_t k = 0; k < kTask; ++k) {
        torque[i] += columns[i][k] * wrench[k];
      }
    }
    return torque;
  }

  /// Force and moment at the flange that pull it to its goal.
  core::Vector impedance(const core::Pose & at, const core::Vector & velocity) const
  {
    const core::Three error = goal_.position + -1.0 * at.position;
    // Half the sum of the cross products of both frames' axes is the sine of the angle between the
    // frames, along the axis by which one turns to the other.
    core::Three turn{};
    const core::Rows now = core::transposed(at.rotation);
    const core::Rows wanted = core::transposed(goal_.rotation);
    for (std::size_t k = 0; k < 3; ++k) {
      turn = turn + 0.5 * core::cross(now[k], wanted[k]);
    }
    core::Vector wrench{error.x, error.y, error.z, turn.x, turn.y, turn.z};
    for (std::size_t k = 0; k < kTask; ++k) {
      const bool is_force = k < 3;
      wrench[k] = (is_force ? stiffness : turning_stiffness) * wrench[k] -
        (is_force ? damping : turning_damping) * velocity[k];
    }
    return wrench;
  }

  /// A torque less the part that would accelerate the flange; `factor` is that of M.
  static core::Vector without_flange(
    std::size_t n, const core::Matrix & factor,
    const std::array<core::Vector, core::kMaxJoints> & columns, core::Vector torque)
  {
    // Rows of J M^-1.
    std::array<core::Vector, kTask> rows{};
    for (std::size_t k = 0; k < kTask; ++k) {
      for (std::size_t i = 0; i < n; ++i) {
        rows[k][i] = columns[i][k];
      }
      core::solve(factor, n, rows[k]);
    }
    core::Matrix inverse_inertia{};  // of the flange, J M^-1 J^T
    core::Vector acceleration{};     // of the flange by the torque
    for (std::size_t k = 0; k < kTask; ++k) {
      for (std::size_t i = 0; i < n; ++i) {
        acceleration[k] += rows[k][i] * torque[i];
        for (std::size_t l = 0; l < kTask; ++l) {
          inverse_inertia[k][l] += rows[k][i] * columns[i][l];
        }
      }
      inverse_inertia[k][k] += 1e-4;  // it stays invertible where the arm is singular
    }
    if (!core::factorize(inverse_inertia, kTask)) {
      return torque;
    }
    core::solve(inverse_inertia, kTask, acceleration);  // now the wrench that would cause it
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < kTask; ++k) {
        torque[i] -= columns[i][k] * acceleration[k];
      }
    }
    return torque;
  }

  core::Feedforward feedforward_;
  core::Pose goal_{};
  bool has_goal_ = false;
};
