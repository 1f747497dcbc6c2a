// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#include "@NAME@/inverse_dynamics_solver.hpp"

#include <algorithm>
#include <stdexcept>

#include "pluginlib/class_list_macros.hpp"

namespace @NAME@
{

namespace
{
Vector joint_vector(const Eigen::VectorXd & values, const char * what)
{
  if (values.size() != static_cast<Eigen::Index>(kJoints)) {
    throw std::invalid_argument(
            std::string(what) + " has " + std::to_string(values.size()) + " elements; @ARM@ has " +
            std::to_string(kJoints) + " joints");
  }
  Vector vector;
  std::copy(values.data(), values.data() + values.size(), vector.begin());
  return vector;
}

Eigen::VectorXd eigen(const Vector & values)
{
  return Eigen::Map<const Eigen::VectorXd>(values.data(), kJoints);
}
}  // namespace

void InverseDynamicsSolver::initialize(
  rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr parameters,
  const std::string & param_namespace, const std::string &)
{
  Settings settings;
  // The interface asks for the whole gravity torque, so the target is one that adds none.
  settings.target = kMujoco;
  const std::string prefix = param_namespace.empty() ? "" : param_namespace + ".";
  const auto read = [&](const std::string & name, auto & place) {
      if (!parameters || !parameters->has_parameter(prefix + name)) {
        return;
      }
      const auto values = parameters->get_parameter(prefix + name).as_double_array();
      if (values.size() != place.size()) {
        throw std::invalid_argument(
                prefix + name + " takes " + std::to_string(place.size()) + " numbers");
      }
      std::copy(values.begin(), values.end(), place.begin());
    };
  read("gravity_vector", settings.gravity_vector);
  read("payload", settings.payload);
  if (const char * wrong = refuse(settings)) {
    throw std::invalid_argument(wrong);
  }
  terms_.configure(settings);
}

Eigen::MatrixXd InverseDynamicsSolver::getInertiaMatrix(const Eigen::VectorXd & positions) const
{
  Matrix M;
  terms_.mass_matrix(joint_vector(positions, "joint_positions"), M);
  Eigen::MatrixXd matrix(kJoints, kJoints);
  for (std::size_t i = 0; i < kJoints; ++i) {
    for (std::size_t j = 0; j < kJoints; ++j) {
      matrix(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) = M[i][j];
    }
  }
  return matrix;
}

Eigen::VectorXd InverseDynamicsSolver::getCoriolisVector(
  const Eigen::VectorXd & positions, const Eigen::VectorXd & velocities) const
{
  Vector tau;
  terms_.coriolis(
    joint_vector(positions, "joint_positions"), joint_vector(velocities, "joint_velocities"), tau);
  return eigen(tau);
}

Eigen::VectorXd InverseDynamicsSolver::getGravityVector(const Eigen::VectorXd & positions) const
{
  Vector tau;
  terms_.gravity(joint_vector(positions, "joint_positions"), tau);
  return eigen(tau);
}

Eigen::VectorXd InverseDynamicsSolver::getFrictionVector(const Eigen::VectorXd & velocities) const
{
  Vector tau;
  Friction::steady(joint_vector(velocities, "joint_velocities"), tau);
  return eigen(tau);
}

}  // namespace @NAME@

PLUGINLIB_EXPORT_CLASS(
  @NAME@::InverseDynamicsSolver, inverse_dynamics_solver::InverseDynamicsSolver)
