# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
# The CMakeLists.txt of solver_drive.cpp.
cmake_minimum_required(VERSION 3.16)
project(solver_drive CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(Eigen3 REQUIRED)
find_package(inverse_dynamics_solver REQUIRED)
find_package(pluginlib REQUIRED)
find_package(rclcpp REQUIRED)
add_executable(solver_drive drive.cpp)
target_include_directories(solver_drive SYSTEM PRIVATE ${inverse_dynamics_solver_INCLUDE_DIRS})
target_link_libraries(solver_drive Eigen3::Eigen pluginlib::pluginlib rclcpp::rclcpp)
install(TARGETS solver_drive)
