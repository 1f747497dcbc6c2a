// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Compares the arm's model with the one that the robot itself reports: M and g of franka_ros2's
// FrankaRobotModel, read in the control cycle. Built where franka_semantic_components is found.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "franka_dynamics_controllers/terms.hpp"
#include "franka_dynamics_controllers/text.hpp"
#ifdef WITH_FRANKA_MODEL
#include "franka_semantic_components/franka_robot_model.hpp"
#endif

namespace franka_dynamics_controllers
{

constexpr std::size_t kRobotJoints = 7;

#ifdef WITH_FRANKA_MODEL
constexpr bool kHasFrankaModel = true;
using FrankaModel = franka_semantic_components::FrankaRobotModel;
#else
constexpr bool kHasFrankaModel = false;
struct FrankaModel  // stands for the class that is not there, and is never made
{
  FrankaModel(const std::string &, const std::string &) {}
  static std::vector<std::string> get_state_interface_names() {return {};}
  template<typename Interfaces>
  static bool assign_loaned_state_interfaces(Interfaces &) {return false;}
  static void release_interfaces() {}
  static std::array<double, kRobotJoints> getGravityForceVector() {return {};}
  static std::array<double, kRobotJoints * kRobotJoints> getMassMatrix() {return {};}
};
#endif

/// Faster than this [rad/s] no joint of an arm at rest moves: the tolerance of
/// joint_trajectory_controller for a motion's end (stopped_velocity_tolerance).
constexpr double kRobotModelRestSpeedRadS = 0.01;

/// The largest difference between the robot's model and this one, at rest, since activation.
///
/// The robot knows the load set in Desk or by setLoad, and its own direction of gravity. Therefore
/// the model is taken with the payload that the settings say is known to the robot, under the
/// gravity that it compensates. M and g are compared while the arm rests: FrankaRobotModel keeps a
/// state for a millisecond, so that in motion its terms may be those of the cycle before. C dq is
/// not compared, because it is zero at rest. Nothing is judged: no bound is known from real robots.
class RobotModel
{
public:
  /// Claim the model of the robot of this name, such as fr3; with '' none. Returns '', or why that
  /// cannot be done.
  std::string configure(const std::string & robot, std::size_t joints)
  {
    model_.reset();
    robot_ = robot;
    if (robot.empty()) {
      return "";
    }
    if (!kHasFrankaModel) {
      return "robot_model is set, but this package was built without franka_semantic_components";
    }
    if (joints != kRobotJoints) {
      return "robot_model is set, but the robot's model has seven joints, and this arm has not";
    }
    make();
    return "";
  }

  bool claimed() const noexcept {return model_ != nullptr;}

  /// Names of the state interfaces to claim.
  std::vector<std::string> interfaces() const
  {
    return model_ ? model_->get_state_interface_names() : std::vector<std::string>{};
  }

  /// Take the claimed state interfaces. Returns '', or why the robot's model cannot be read.
  template<typename Interfaces>
  std::string activate(Interfaces & interfaces)
  {
    largest_gravity_ = 0.0;
    largest_mass_ = 0.0;
    rested_ = false;
    if (!model_) {
      return "";
    }
    make();  // FrankaRobotModel keeps the pointers that it found first
    try {
      if (model_->assign_loaned_state_interfaces(interfaces)) {
        model_->getMassMatrix();  // finds the model now, so that nothing is thrown in a cycle
        return "";
      }
    } catch (const std::exception & error) {
      return std::string("the robot's model cannot be read: ") + error.what();
    }
    return "the robot's model and state are not among the state interfaces";
  }

  void release()
  {
    if (model_) {
      model_->release_interfaces();
    }
  }

  /// Compare both models if the arm rests; for the control cycle.
  void compare(const TermModel & terms, const JointState & state) noexcept
  {
    if (!model_) {
      return;
    }
    for (std::size_t i = 0; i < kRobotJoints; ++i) {
      if (!(std::abs(state.dq[i]) <= kRobotModelRestSpeedRadS)) {
        return;
      }
    }
    Vector gravity;
    Matrix mass;
    terms.of_robot().gravity(state.q, gravity);
    mass_matrix(terms.of_robot().chain, state.q, mass);
    const auto robots_gravity = model_->getGravityForceVector();
    const auto robots_mass = model_->getMassMatrix();
    double gravity_difference = largest_gravity_;
    double mass_difference = largest_mass_;
    for (std::size_t i = 0; i < kRobotJoints; ++i) {
      gravity_difference =
        std::max(gravity_difference, std::abs(robots_gravity[i] - gravity[i]));
      for (std::size_t j = 0; j < kRobotJoints; ++j) {
        const double robots_entry = robots_mass[kRobotJoints * j + i];  // by columns
        mass_difference = std::max(mass_difference, std::abs(robots_entry - mass[i][j]));
      }
    }
    largest_gravity_ = gravity_difference;
    largest_mass_ = mass_difference;
    rested_ = true;
  }

  /// The largest differences in words; for any thread.
  std::string difference() const
  {
    if (!rested_) {
      return "none yet: the arm has not rested";
    }
    return "g " + as_text(largest_gravity_) + " N m, M " + as_text(largest_mass_) +
           " kg m^2 (at rest)";
  }

private:
  void make()
  {
    model_ = std::make_unique<FrankaModel>(robot_ + "/robot_model", robot_ + "/robot_state");
  }

  std::string robot_;
  std::unique_ptr<FrankaModel> model_;
  static_assert(std::atomic<double>::is_always_lock_free);
  std::atomic<double> largest_gravity_{0.0};  // difference of g [N m]
  std::atomic<double> largest_mass_{0.0};     // difference of M [kg m^2]
  std::atomic<bool> rested_{false};           // since activation
};

}  // namespace franka_dynamics_controllers
