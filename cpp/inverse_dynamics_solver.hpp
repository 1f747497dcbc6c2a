// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#ifndef @GUARD@_INVERSE_DYNAMICS_SOLVER_HPP
#define @GUARD@_INVERSE_DYNAMICS_SOLVER_HPP

#include <string>

#include <Eigen/Core>

#include "inverse_dynamics_solver/inverse_dynamics_solver.h"

#include "@NAME@/feedforward.hpp"

namespace @NAME@
{

/// The dynamics of @ARM@ as a plugin of inverse_dynamics_solver (Salerno's interface).
///
/// Parameters below the given namespace: gravity_vector (three numbers) and payload (ten), both
/// optional. Friction torque is that of steady sliding; zero if the arm file has no friction.
class InverseDynamicsSolver : public inverse_dynamics_solver::InverseDynamicsSolver
{
public:
  void initialize(
    rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr parameters = nullptr,
    const std::string & param_namespace = "", const std::string & robot_description = "") override;
  Eigen::MatrixXd getInertiaMatrix(const Eigen::VectorXd & joint_positions) const override;
  Eigen::VectorXd getCoriolisVector(
    const Eigen::VectorXd & joint_positions,
    const Eigen::VectorXd & joint_velocities) const override;
  Eigen::VectorXd getGravityVector(const Eigen::VectorXd & joint_positions) const override;
  Eigen::VectorXd getFrictionVector(const Eigen::VectorXd & joint_velocities) const override;

private:
  TermModel terms_;
};

}  // namespace @NAME@

#endif  // @GUARD@_INVERSE_DYNAMICS_SOLVER_HPP
