# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
# The CMakeLists.txt of ros2_control_drive.cpp.
cmake_minimum_required(VERSION 3.16)
project(drive CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(controller_manager REQUIRED)
find_package(pluginlib REQUIRED)
find_package(std_msgs REQUIRED)
find_package(trajectory_msgs REQUIRED)
find_package(my_arm REQUIRED)
find_package(inverse_dynamics_solver QUIET)
find_package(Eigen3 QUIET)
add_executable(drive drive.cpp)
install(TARGETS drive)
target_link_libraries(drive controller_manager::controller_manager pluginlib::pluginlib
  ${std_msgs_TARGETS} ${trajectory_msgs_TARGETS} my_arm::core)
if(inverse_dynamics_solver_FOUND)
  target_compile_definitions(drive PRIVATE WITH_SOLVER)
  target_include_directories(drive PRIVATE ${inverse_dynamics_solver_INCLUDE_DIRS})
  target_link_libraries(drive Eigen3::Eigen)
endif()
