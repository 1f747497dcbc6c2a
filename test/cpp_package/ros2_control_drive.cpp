// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Drives the controller as ros2_control does, for test_ros2_control.py.
// Rows of numbers come in on standard input, rows go out on standard output.
//
// drive alone JOINT... URDF   a motion -> position, velocity, effort in each cycle of a whole
//                             controller_manager: feedforward -> mock hardware
// drive behind JOINT... URDF  the same of trajectory controller -> feedforward -> mock hardware
// drive receiver JOINT... URDF  until standard input ends: time of the steady clock and effort in
//                             each cycle of a whole controller_manager at 1 kHz: receiver -> mock
//                             hardware, its messages taken by a thread of their own
// drive terms JOINT... URDF   q, dq a row -> C dq, g, M of the arm in the URDF
// drive hold JOINT... URDF    q, dq a row: the example's controller is activated at the first and
//                             gets each for half a second -> efforts at its end; then deactivated
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "controller_manager/controller_manager.hpp"
#include "hardware_interface/resource_manager.hpp"
#include "rclcpp/rclcpp.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"
#include "trajectory_msgs/msg/joint_trajectory.hpp"

#include "hold_controller.cpp"
#include "franka_dynamics_controllers/arm_from_urdf.hpp"
#include "franka_dynamics_controllers/terms.hpp"

namespace
{
std::vector<std::string> arguments;  // of this process, without its name

bool read_row(std::vector<double> & row)
{
  for (double & value : row) {
    std::string word;  // streams do not read nan
    if (!(std::cin >> word)) {
      return false;
    }
    value = std::stod(word);
  }
  return true;
}

void print(double value, bool last = false) {std::printf("%.17g%c", value, last ? '\n' : ' ');}

int fail(const char * what)
{
  std::fprintf(stderr, "%s\n", what);
  return 1;
}

/// Opens the hardware to the test.
class OpenManager : public controller_manager::ControllerManager
{
public:
  using ControllerManager::ControllerManager;
  hardware_interface::ResourceManager & hardware() {return *resource_manager_;}
};

// A controller_manager on mock hardware, with active controllers.
class Manager
{
public:
  Manager(const std::vector<std::string> & joints, const std::string & urdf,
    const std::vector<std::string> & controllers)
  {
    // As ros2_control_node does: controllers get parameters from the manager's arguments alone.
    auto options = controller_manager::get_cm_node_options();
    options.arguments(arguments);
    cm = std::make_shared<OpenManager>(executor, urdf, true, "controller_manager", "", options);
    executor->add_node(cm);
    for (const auto & name : controllers) {
      if (!cm->load_controller(name)) {throw std::runtime_error("load");}
      if (cm->configure_controller(name) != controller_interface::return_type::OK) {
        throw std::runtime_error("configure");
      }
    }
    switch_to(controllers, {});
    for (const char * kind : {"position", "velocity", "effort"}) {
      for (const auto & joint : joints) {
        measured.push_back(cm->hardware().claim_state_interface(joint + "/" + kind));
      }
    }
  }

  ~Manager()
  {
    measured.clear();
    executor->remove_node(cm);
  }

  void cycle()
  {
    const auto period = rclcpp::Duration::from_seconds(1e-3);
    const rclcpp::Time time(now_, cm->get_trigger_clock()->get_clock_type());
    cm->read(time, period);
    cm->update(time, period);
    cm->write(time, period);
    now_ += 1'000'000;
  }

  // A switch is done by the cycle while another thread waits for it.
  void switch_to(const std::vector<std::string> & on, const std::vector<std::string> & off)
  {
    std::atomic<bool> ended = false, switched = false;
    std::thread asking([&]() {
        switched = cm->switch_controller(on, off, 2, true, rclcpp::Duration::from_seconds(5.0)) ==
          controller_interface::return_type::OK;
        ended = true;
      });
    while (!ended) {
      cycle();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    asking.join();
    if (!switched) {throw std::runtime_error("switch");}
  }

  template<typename Publisher>
  void wait_for_listener(const Publisher & publisher)
  {
    for (int waited = 0; publisher->get_subscription_count() == 0 && waited < 5000; ++waited) {
      executor->spin_some();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  /// Print the states from the given share of them on: positions, velocities, efforts.
  void print_states(std::size_t first = 0)
  {
    for (std::size_t i = first * measured.size() / 3; i < measured.size(); ++i) {
      print(measured[i].get_optional().value(), i + 1 == measured.size());
    }
  }

  void say_controllers()
  {
    for (const auto & found : cm->get_loaded_controllers()) {
      std::fprintf(
        stderr, "%s is %s%s\n", found.info.name.c_str(),
        found.c->get_lifecycle_state().label().c_str(),
        found.c->is_chainable() && found.c->is_in_chained_mode() ? ", chained" : "");
    }
  }

  const std::shared_ptr<rclcpp::Executor> executor =
    std::make_shared<rclcpp::executors::SingleThreadedExecutor>();
  std::shared_ptr<OpenManager> cm;
  std::vector<hardware_interface::LoanedStateInterface> measured;

private:
  int64_t now_ = 1'000'000'000;
};

int alone(const std::vector<std::string> & joints, const std::string & urdf)
{
  Manager manager(joints, urdf, {"feedforward"});
  const auto publisher = manager.cm->create_publisher<std_msgs::msg::Float64MultiArray>(
    "/feedforward/reference", 1);
  manager.wait_for_listener(publisher);
  std_msgs::msg::Float64MultiArray message;
  message.data.resize(3 * joints.size());
  if (!read_row(message.data)) {return fail("input");}
  manager.say_controllers();
  // 0.3 s without a reference, 0.6 s with one in every cycle, and 0.6 s without; then no controller.
  for (int k = 0; k < 1500; ++k) {
    if (k >= 300 && k < 900) {publisher->publish(message);}
    manager.executor->spin_some();
    manager.cycle();
    manager.print_states();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  manager.switch_to({}, {"feedforward"});
  manager.cycle();
  manager.print_states();
  manager.say_controllers();
  return 0;
}

int behind(const std::vector<std::string> & joints, const std::string & urdf)
{
  Manager manager(joints, urdf, {"feedforward", "trajectory"});
  const auto publisher = manager.cm->create_publisher<trajectory_msgs::msg::JointTrajectory>(
    "/trajectory/joint_trajectory", 1);
  std::vector<double> row(1 + 2 * joints.size());  // seconds of the motion; its end; efforts, or zeros for none
  if (!read_row(row)) {return fail("input");}
  // A trajectory with effort is refused where there is no interface for it.
  const bool with_effort = std::any_of(
    row.begin() + 1 + static_cast<std::ptrdiff_t>(joints.size()), row.end(),
    [](double effort) {return effort != 0.0;});
  trajectory_msgs::msg::JointTrajectory message;
  message.joint_names = joints;
  message.points.resize(2);
  for (std::size_t k = 0; k < 2; ++k) {
    auto & point = message.points[k];
    point.time_from_start = rclcpp::Duration::from_seconds(k == 0 ? 0.02 : row[0]);
    point.velocities.assign(joints.size(), 0.0);
    point.accelerations.assign(joints.size(), 0.0);
    for (std::size_t i = 0; i < joints.size(); ++i) {
      point.positions.push_back(
        k == 0 ? manager.measured[i].get_optional().value() : row[1 + i]);
      if (with_effort) {point.effort.push_back(k == 0 ? 0.0 : row[1 + joints.size() + i]);}
    }
  }
  manager.wait_for_listener(publisher);
  publisher->publish(message);
  for (int k = 0; k < 50; ++k) {  // until it has arrived
    manager.executor->spin_some();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  for (int k = 0; k < static_cast<int>(row[0] * 1e3) + 300; ++k) {
    manager.cycle();
    manager.print_states();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // controllers see the clock's time
  }
  manager.say_controllers();
  return 0;
}

int receiver(const std::vector<std::string> & joints, const std::string & urdf)
{
  using std::chrono::steady_clock;
  Manager manager(joints, urdf, {"receiver"});
  manager.say_controllers();
  std::atomic<bool> ended = false;
  std::thread waiting([&ended]() {
      while (std::cin.get() != std::char_traits<char>::eof()) {
      }
      ended = true;
    });
  std::thread spinning([&manager]() {manager.executor->spin();});
  for (auto next = steady_clock::now(); !ended; next += std::chrono::milliseconds(1)) {
    std::this_thread::sleep_until(next);
    manager.cycle();
    print(std::chrono::duration<double>(steady_clock::now().time_since_epoch()).count());
    manager.print_states(2);
  }
  manager.executor->cancel();
  spinning.join();
  waiting.join();
  return 0;
}


int terms(const std::vector<std::string> & joints, const std::string & urdf)
{
  using namespace franka_dynamics_controllers;  // NOLINT(google-build-using-namespace)
  std::vector<std::string> notes;
  const Arm arm = arm_from_urdf(urdf, joints, "", notes);
  for (const auto & note : notes) {
    std::fprintf(stderr, "%s\n", note.c_str());
  }
  Settings settings;
  settings.target = kMujoco;
  TermModel model;
  model.configure(arm, settings);
  const std::size_t n = joints.size();
  std::vector<double> row(2 * n);
  while (read_row(row)) {
    JointState state;
    Vector coriolis, gravity;
    Matrix M;
    std::copy_n(row.begin(), n, state.q.begin());
    std::copy_n(row.begin() + static_cast<std::ptrdiff_t>(n), n, state.dq.begin());
    model.coriolis(state, coriolis);
    model.gravity(state.q, gravity);
    mass_matrix(model.chain, state.q, M);
    for (const Vector & values : {coriolis, gravity}) {
      for (std::size_t i = 0; i < n; ++i) {print(values[i]);}
    }
    for (std::size_t k = 0; k < n * n; ++k) {
      print(M[k / n][k % n], k + 1 == n * n);
    }
  }
  return 0;
}

int hold(const std::vector<std::string> & joints, const std::string & urdf)
{
  using hardware_interface::CommandInterface;
  using hardware_interface::StateInterface;
  controller_interface::ControllerInterfaceParams given;
  given.controller_name = "hold";
  given.robot_description = urdf;
  HoldController controller;
  if (controller.init(given) != controller_interface::return_type::OK) {return fail("init");}
  if (controller.configure().label() != "inactive") {return fail("configure");}
  const std::size_t n = joints.size();
  std::vector<double> row(2 * n), efforts(n);
  std::vector<hardware_interface::LoanedCommandInterface> commands;
  std::vector<hardware_interface::LoanedStateInterface> states;
  std::vector<CommandInterface::SharedPtr> written;
  std::vector<StateInterface::SharedPtr> read;
  for (std::size_t i = 0; i < 2 * n; ++i) {
    const std::string kind = i < n ? "position" : "velocity";
    read.push_back(std::make_shared<StateInterface>(joints[i % n], kind, &row[i]));
    states.emplace_back(read.back(), nullptr);
  }
  for (std::size_t i = 0; i < n; ++i) {
    written.push_back(std::make_shared<CommandInterface>(joints[i], "effort", &efforts[i]));
    commands.emplace_back(written.back(), nullptr);
  }
  if (!read_row(row)) {return fail("input");}
  controller.assign_interfaces(std::move(commands), std::move(states));
  if (controller.get_node()->activate().label() != "active") {return fail("activate");}
  const auto print_efforts = [&efforts, n]() {
      for (std::size_t i = 0; i < n; ++i) {print(efforts[i], i + 1 == n);}
    };
  do {
    for (int k = 0; k < 500; ++k) {
      controller.update(rclcpp::Time(), rclcpp::Duration::from_seconds(1e-3));
    }
    print_efforts();
  } while (read_row(row));
  controller.get_node()->deactivate();
  print_efforts();
  return 0;
}
}  // namespace

int main(int argc, char ** argv)
{
  arguments.assign(argv + 1, argv + argc);
  // The manager's node knows ROS arguments only.
  arguments.erase(
    arguments.begin(), std::find(arguments.begin(), arguments.end(), "--ros-args"));
  const auto given = rclcpp::init_and_remove_ros_arguments(argc, argv);
  const std::string what = given.size() > 1 ? given[1] : "";
  const auto words = given.begin() + std::min<std::ptrdiff_t>(2, given.end() - given.begin());
  std::vector<std::string> joints(words, given.end());
  int code = 2;
  try {
    const std::pair<const char *, decltype(&alone)> modes[] = {
      {"alone", alone}, {"behind", behind}, {"receiver", receiver}, {"terms", terms},
      {"hold", hold}};
    for (const auto & [name, run] : modes) {
      if (what != name) {continue;}
      const std::string urdf = joints.back();
      joints.pop_back();
      code = run(joints, urdf);
    }
  } catch (const std::exception & error) {
    code = fail(error.what());
  }
  rclcpp::shutdown();
  return code;
}
