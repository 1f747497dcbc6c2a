// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Loads the solver of franka_dynamics_controllers by pluginlib, as a controller would, and calls it
// for rows of positions, velocities and accelerations on standard input. Prints a row of M, C dq,
// g, friction and torques for each. Arguments: the number of joints, the namespace of the
// parameters, and the file of a URDF or ''.
#include <cstddef>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

#include <Eigen/Core>
#include "inverse_dynamics_solver/inverse_dynamics_solver.h"
#include "pluginlib/class_loader.hpp"
#include "rclcpp/rclcpp.hpp"

using Solver = inverse_dynamics_solver::InverseDynamicsSolver;

Eigen::VectorXd next_values(Eigen::Index n)
{
  Eigen::VectorXd values(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    std::cin >> values[i];
  }
  return values;
}

Eigen::VectorXd friction_of(const Solver & solver, const Eigen::VectorXd & dq)
{
  try {
    return solver.getFrictionVector(dq);
  } catch (const std::runtime_error & error) {
    std::cerr << error.what() << "\n";
    return Eigen::VectorXd::Constant(dq.size(), std::numeric_limits<double>::quiet_NaN());
  }
}

int main(int argc, char * argv[])
{
  rclcpp::init(argc, argv);
  int status = 0;
  try {
    const auto options = rclcpp::NodeOptions().automatically_declare_parameters_from_overrides(true);
    const auto node = std::make_shared<rclcpp::Node>("drive", options);
    const auto n = static_cast<Eigen::Index>(std::stoul(argv[1]));
    std::ifstream file(argv[3]);
    const std::string urdf{std::istreambuf_iterator<char>(file), {}};
    pluginlib::ClassLoader<Solver> loader("inverse_dynamics_solver",
      "inverse_dynamics_solver::InverseDynamicsSolver");
    const auto solver =
      loader.createSharedInstance("franka_dynamics_controllers/InverseDynamicsSolver");
    try {
      solver->getGravityVector(Eigen::VectorXd::Zero(n));
    } catch (const std::runtime_error & error) {
      std::cerr << error.what() << "\n";
    }
    solver->initialize(node->get_node_parameters_interface(), argv[2], urdf);
    std::cout.precision(17);
    while (std::cin >> std::ws && !std::cin.eof()) {
      const Eigen::VectorXd q = next_values(n);
      const Eigen::VectorXd dq = next_values(n);
      const Eigen::VectorXd ddq = next_values(n);
      const auto [M, coriolis, gravity] = solver->getDynamicParameters(q, dq);
      std::cout << M.reshaped<Eigen::RowMajor>().transpose() << " " << coriolis.transpose() << " " <<
        gravity.transpose() << " " << friction_of(*solver, dq).transpose() << " " <<
        solver->getTorques(q, dq, ddq).transpose() << "\n";
    }
  } catch (const std::exception & error) {
    std::cerr << error.what() << "\n";
    status = 1;
  }
  rclcpp::shutdown();
  return status;
}
