// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Compares the arm's model with the one that the robot itself reports: M, C dq and g of franka_ros2's
// FrankaRobotModel, read in the control cycle. Built where franka_semantic_components is found.
#ifndef @GUARD@_ROBOT_MODEL_HPP
#define @GUARD@_ROBOT_MODEL_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#ifdef WITH_FRANKA_MODEL
#include "franka_semantic_components/franka_robot_model.hpp"
#endif

#include "@NAME@/terms.hpp"

namespace @NAME@
{

/// The largest difference between the robot's model and this package's since activation.
///
/// The robot knows the load set in Desk or by setLoad, and its own direction of gravity; compared
/// is therefore the model with the payload that the settings say is known to the robot, under
/// kGravity. Nothing is judged: no bound is known from real robots.
class RobotModel
{
public:
  /// Claim the model of the robot of this name, such as fr3; with '' none. Returns nullptr, or why
  /// that cannot be done. Allocates.
  const char * configure(const std::string & robot)
  {
    model_.reset();
    robot_ = robot;
    if (robot.empty()) {
      return nullptr;
    }
#ifdef WITH_FRANKA_MODEL
    if (kJoints != kRobotJoints) {
      return "robot_model is set, but the robot's model has seven joints, and @ARM@ has not";
    }
    make();
    return nullptr;
#else
    return "robot_model is set, but this package was built without franka_semantic_components";
#endif
  }

  bool claimed() const noexcept {return model_ != nullptr;}

#ifdef WITH_FRANKA_MODEL
  /// Names of the state interfaces to claim.
  std::vector<std::string> interfaces() const
  {
    return model_ ? model_->get_state_interface_names() : std::vector<std::string>{};
  }

  /// Take the claimed state interfaces. Returns nullptr, or why the robot's model cannot be read.
  /// Allocates.
  template<typename Interfaces>
  const char * activate(Interfaces & interfaces)
  {
    for (auto & each : largest_) {
      each = 0.0;
    }
    if (!model_) {
      return nullptr;
    }
    make();  // FrankaRobotModel keeps the pointers that it found first
    try {
      if (!model_->assign_loaned_state_interfaces(interfaces)) {
        return "the robot's model and state are not among the state interfaces";
      }
      model_->getMassMatrix();  // finds the model now, so that nothing is thrown in a cycle
    } catch (const std::exception &) {
      return "the robot's model cannot be read";
    }
    return nullptr;
  }

  void release()
  {
    if (model_) {
      model_->release_interfaces();
    }
  }

  /// Compare both models at the present state; for the control cycle.
  void compare(const TermModel & terms, const Vector & q, const Vector & dq) noexcept
  {
    if (!model_) {
      return;
    }
    Vector gravity, coriolis;
    Matrix mass;
    terms.known_to_robot(q, dq, gravity, coriolis, mass);
    const auto robots_gravity = model_->getGravityForceVector();
    const auto robots_coriolis = model_->getCoriolisForceVector();
    const auto robots_mass = model_->getMassMatrix();
    std::array<double, 3> found{};
    for (std::size_t i = 0; i < kCompared; ++i) {
      found[0] = std::max(found[0], std::abs(robots_gravity[i] - gravity[i]));
      found[1] = std::max(found[1], std::abs(robots_coriolis[i] - coriolis[i]));
      for (std::size_t j = 0; j < kCompared; ++j) {
        const double robots = robots_mass[kRobotJoints * j + i];
        found[2] = std::max(found[2], std::abs(robots - mass[i][j]));
      }
    }
    for (std::size_t k = 0; k < found.size(); ++k) {
      largest_[k] = std::max(largest_[k].load(), found[k]);
    }
  }
#else
  std::vector<std::string> interfaces() const {return {};}
  template<typename Interfaces>
  const char * activate(Interfaces &) {return nullptr;}
  void release() {}
  void compare(const TermModel &, const Vector &, const Vector &) noexcept {}
#endif

  /// The largest differences in words; for any thread. Allocates.
  std::string difference() const
  {
    char text[120];
    std::snprintf(
      text, sizeof text, "g %.3f N m, C dq %.3f N m, M %.4f kg m^2", largest_[0].load(),
      largest_[1].load(), largest_[2].load());
    return text;
  }

private:
  static constexpr std::size_t kRobotJoints = 7, kCompared = std::min(kJoints, kRobotJoints);
#ifdef WITH_FRANKA_MODEL
  using Model = franka_semantic_components::FrankaRobotModel;

  void make()
  {
    model_ = std::make_unique<Model>(robot_ + "/robot_model", robot_ + "/robot_state");
  }
#else
  struct Model {};
#endif
  std::string robot_;
  std::unique_ptr<Model> model_;
  static_assert(std::atomic<double>::is_always_lock_free);
  std::array<std::atomic<double>, 3> largest_{};
};

}  // namespace @NAME@

#endif  // @GUARD@_ROBOT_MODEL_HPP
