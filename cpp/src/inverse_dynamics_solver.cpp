// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// The dynamics of an arm as a plugin of the package inverse_dynamics_solver, for controllers that
// load one by pluginlib. Built where that package is found.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <Eigen/Core>
#include "inverse_dynamics_solver/exceptions.h"
#include "inverse_dynamics_solver/inverse_dynamics_solver.h"
#include "pluginlib/class_list_macros.hpp"
#include "rclcpp/rclcpp.hpp"

#include "franka_dynamics_controllers/arm_file.hpp"
#include "franka_dynamics_controllers/arm_from_urdf.hpp"
#include "franka_dynamics_controllers/terms.hpp"

namespace franka_dynamics_controllers
{

namespace
{
using ParametersInterface = rclcpp::node_interfaces::NodeParametersInterface;
using inverse_dynamics_solver::InvalidParameterValueException;
using inverse_dynamics_solver::ParameterUninitializedException;

/// The parameters of a solver, which its node has declared; each has a default.
class SolverParameters
{
public:
  SolverParameters(ParametersInterface::ConstSharedPtr node, const std::string & space)
  : node_(std::move(node)), prefix_(space.empty() ? "" : space + ".")
  {
  }

  std::string name(const std::string & parameter) const {return prefix_ + parameter;}

  /// The value of a parameter, or else its default. Throws InvalidParameterTypeException with the
  /// parameter's name if it has another type.
  template<typename Value>
  Value value(const std::string & parameter, const Value & default_value) const
  {
    rclcpp::Parameter given;
    const bool is_given = node_ && node_->has_parameter(name(parameter)) &&
      node_->get_parameter(name(parameter), given) &&
      given.get_type() != rclcpp::ParameterType::PARAMETER_NOT_SET;
    if (!is_given) {
      return default_value;
    }
    return given.get_value<Value>();
  }

  /// The numbers of a parameter, of which there must be `count` or `short_count`; zeros follow.
  template<std::size_t Size>
  void fill(
    const std::string & parameter, std::size_t short_count, std::array<double, Size> & place) const
  {
    const auto given = value<std::vector<double>>(parameter, {place.begin(), place.end()});
    if (given.size() != short_count && given.size() != Size) {
      const std::string choice = short_count == Size ? "" : std::to_string(short_count) + " or ";
      throw InvalidParameterValueException(
              name(parameter) + " has " + std::to_string(given.size()) + " numbers; it takes " +
              choice + std::to_string(Size));
    }
    std::copy(given.begin(), given.end(), place.begin());
  }

private:
  ParametersInterface::ConstSharedPtr node_;
  std::string prefix_;
};

/// The arm of the parameter arm_file or, if that is empty, of a URDF.
Arm arm_of(const SolverParameters & parameters, const std::string & robot_description)
{
  const auto file = parameters.value<std::string>("arm_file", "");
  const auto joints = parameters.value<std::vector<std::string>>("joints", {});
  if (!file.empty() && !joints.empty()) {
    throw std::runtime_error(
            parameters.name("joints") + " is for an arm of robot_description; the joints of " +
            file + " are those of the file, in its order");
  }
  if (!file.empty()) {
    return arm_from_file(file);
  }
  if (robot_description.empty()) {
    throw ParameterUninitializedException(
            parameters.name("arm_file") + " is empty, and there is no robot_description");
  }
  std::vector<std::string> notes;
  Arm arm = arm_from_urdf(
    robot_description, joints, parameters.value<std::string>("flange", ""), notes);
  for (const std::string & note : notes) {
    RCLCPP_INFO(
      rclcpp::get_logger("franka_dynamics_controllers"), "robot_description: %s.", note.c_str());
  }
  return arm;
}

/// Add the friction torque [N m] of sliding joints at velocities, with its offset, to a torque.
/// `load` is the torque of the rigid bodies [N m], which counts where friction grows with it.
void add_friction(
  const FrictionModel & model, std::size_t n, const Vector & dq, const Vector & load,
  Vector & torque) noexcept
{
  for (std::size_t i = 0; i < n; ++i) {
    const auto & coefficients = model.coefficients[i];
    if (model.kind == FrictionModel::Kind::sigmoid) {
      const auto logistic = [](double x) {return 0.5 * (1.0 + std::tanh(0.5 * x));};
      const auto [amplitude, slope, offset] =
        std::tuple{coefficients[0], coefficients[1], coefficients[2]};
      torque[i] += amplitude * (logistic(slope * (dq[i] + offset)) - logistic(slope * offset));
    }
    if (model.kind == FrictionModel::Kind::linear) {
      const double sliding = std::tanh(dq[i] / model.width);
      torque[i] += coefficients[0] * dq[i] + coefficients[1] * sliding;
      torque[i] += coefficients[FrictionModel::kOffset];
      // Along a sliding joint each Maxwell-slip element is at its end.
      for (std::size_t e = 0; e < model.elements; ++e) {
        torque[i] += coefficients[FrictionModel::kSliding + e] * sliding;
      }
      if (model.falls_with_speed) {
        const double coefficient = coefficients[FrictionModel::kSliding + model.elements];
        torque[i] += model.falling(coefficient, sliding, dq[i]);
      }
      if (model.grows_with_load) {
        torque[i] += coefficients[model.count() - 1] * sliding * std::abs(load[i]);
      }
    }
  }
}
}  // namespace

/// An arm, also an identified one, with a payload. Parameters, in the namespace that initialize()
/// is given:
///
/// - arm_file: as `franka-dynamics arm export --format controller` writes it; if it is empty, the
///   arm is that of robot_description, without friction;
/// - joints: the joints of robot_description from base to tip;
/// - flange: the link in whose frame the payload is given, as for the controller;
/// - payload: ten numbers, or the first four, as for the controller;
/// - gravity_vector: in the base frame [m/s^2];
/// - terms.friction: whether getTorques contains the friction (false).
///
/// Positions, velocities and torques have the order of the arm's joints.
class InverseDynamicsSolver : public inverse_dynamics_solver::InverseDynamicsSolver
{
public:
  /// Throws InvalidParameterValueException with a sentence about what is wrong,
  /// InvalidParameterTypeException for a parameter of another type, and
  /// ParameterUninitializedException if there is no arm.
  void initialize(
    ParametersInterface::ConstSharedPtr parameters_interface, const std::string & param_namespace,
    const std::string & robot_description) override
  {
    const SolverParameters parameters(parameters_interface, param_namespace);
    std::string urdf = robot_description;
    if (urdf.empty()) {
      urdf = SolverParameters(parameters_interface, "").value<std::string>("robot_description", "");
    }
    Arm arm;
    try {
      arm = arm_of(parameters, urdf);
    } catch (const ParameterUninitializedException &) {
      throw;
    } catch (const std::runtime_error & error) {
      throw InvalidParameterValueException(error.what());
    }
    require(refuse(arm));
    Settings settings;
    settings.target = kMujoco;  // one that adds nothing
    std::array<double, 3> gravity{kGravity.x, kGravity.y, kGravity.z};
    parameters.fill("gravity_vector", gravity.size(), gravity);
    settings.gravity_vector = {gravity[0], gravity[1], gravity[2]};
    parameters.fill("payload", 4, settings.payload);
    settings.friction = parameters.value("terms.friction", false);
    require(refuse(arm, settings));
    arm_ = std::move(arm);
    model_.configure(arm_, settings);
    is_friction_added_ = settings.friction;
    is_initialized_ = true;
  }

  /// M(q), (n, n).
  Eigen::MatrixXd getInertiaMatrix(const Eigen::VectorXd & joint_positions) const override
  {
    Matrix rows;
    mass_matrix(model_.chain, joint_values(joint_positions, "positions"), rows);
    const auto n = size();
    Eigen::MatrixXd M(n, n);
    for (Eigen::Index i = 0; i < n; ++i) {
      for (Eigen::Index j = 0; j < n; ++j) {
        M(i, j) = rows[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
      }
    }
    return M;
  }

  /// C(q, dq) dq [N m].
  Eigen::VectorXd getCoriolisVector(
    const Eigen::VectorXd & joint_positions,
    const Eigen::VectorXd & joint_velocities) const override
  {
    Vector torque;
    const Vector q = joint_values(joint_positions, "positions");
    model_.coriolis({q, joint_values(joint_velocities, "velocities")}, torque);
    return as_eigen(torque);
  }

  /// g(q) [N m].
  Eigen::VectorXd getGravityVector(const Eigen::VectorXd & joint_positions) const override
  {
    Vector torque;
    model_.gravity(joint_values(joint_positions, "positions"), torque);
    return as_eigen(torque);
  }

  /// The friction torque of sliding joints, with its offset [N m]; zero without a friction model.
  /// Throws std::runtime_error if friction grows with the load, which velocities do not tell.
  Eigen::VectorXd getFrictionVector(const Eigen::VectorXd & joint_velocities) const override
  {
    const Vector dq = joint_values(joint_velocities, "velocities");
    if (arm_.friction.grows_with_load) {
      throw std::runtime_error(
              "the friction of " + arm_.name + " grows with the load, which the velocities do not "
              "tell: set terms.friction and call getTorques, or identify the arm without that");
    }
    Vector torque{};
    add_friction(arm_.friction, arm_.n(), dq, {}, torque);
    return as_eigen(torque);
  }

  /// M ddq + C dq + g, and with terms.friction the friction torque [N m].
  Eigen::VectorXd getTorques(
    const Eigen::VectorXd & joint_positions, const Eigen::VectorXd & joint_velocities,
    const Eigen::VectorXd & joint_accelerations) const override
  {
    const Motion motion{
      joint_values(joint_positions, "positions"), joint_values(joint_velocities, "velocities"),
      joint_values(joint_accelerations, "accelerations")};
    Vector rigid;
    inverse_dynamics(model_.chain, motion, model_.weight, rigid);
    Vector torque = rigid;
    if (is_friction_added_) {
      add_friction(arm_.friction, arm_.n(), motion.dq, rigid, torque);
    }
    return as_eigen(torque);
  }

private:
  static void require(const std::string & reason)
  {
    if (!reason.empty()) {
      throw InvalidParameterValueException(reason);
    }
  }

  Eigen::Index size() const {return static_cast<Eigen::Index>(arm_.n());}

  /// A number for each joint. Throws UninitializedException before initialize(), and
  /// std::invalid_argument for another number of joints.
  Vector joint_values(const Eigen::VectorXd & values, const std::string & what) const
  {
    if (!is_initialized_) {
      throw inverse_dynamics_solver::UninitializedException();
    }
    if (values.size() != size()) {
      throw std::invalid_argument(
              std::to_string(values.size()) + " joint " + what + " instead of the " +
              std::to_string(size()) + " of " + arm_.name);
    }
    Vector found{};
    std::copy(values.begin(), values.end(), found.begin());
    return found;
  }

  Eigen::VectorXd as_eigen(const Vector & values) const
  {
    return Eigen::Map<const Eigen::VectorXd>(values.data(), size());
  }

  Arm arm_;
  TermModel model_;
  bool is_friction_added_ = false;
  bool is_initialized_ = false;
};

}  // namespace franka_dynamics_controllers

PLUGINLIB_EXPORT_CLASS(
  franka_dynamics_controllers::InverseDynamicsSolver,
  inverse_dynamics_solver::InverseDynamicsSolver)
