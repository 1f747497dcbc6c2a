# Copyright 2026 The franka_dynamics authors
# SPDX-License-Identifier: Apache-2.0
# The CMakeLists.txt of ros2_control_drive.cpp; EXAMPLES is the folder of hold_controller.cpp.
cmake_minimum_required(VERSION 3.16)
project(drive CXX)
set(CMAKE_CXX_STANDARD 17)
find_package(controller_manager REQUIRED)
find_package(franka_dynamics_controllers REQUIRED)
find_package(std_msgs REQUIRED)
find_package(trajectory_msgs REQUIRED)
add_executable(drive drive.cpp)
target_include_directories(drive PRIVATE ${EXAMPLES})
install(TARGETS drive)
target_link_libraries(drive controller_manager::controller_manager
  franka_dynamics_controllers::franka_dynamics_controllers
  ${std_msgs_TARGETS} ${trajectory_msgs_TARGETS})
