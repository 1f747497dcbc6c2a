// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "feedforward_controller.hpp"
#include "pluginlib/class_loader.hpp"

using franka_dynamics_controllers::FeedforwardController;
using hardware_interface::CommandInterface;
using hardware_interface::StateInterface;
using lifecycle_msgs::msg::State;

#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
static thread_local int allocations = 0;  // the middleware's threads allocate, too
void * operator new(std::size_t size)
{
  ++allocations;
  if (void * const place = std::malloc(size)) {
    return place;
  }
  throw std::bad_alloc();
}
void operator delete(void * place) noexcept {std::free(place);}
void operator delete(void * place, std::size_t) noexcept {std::free(place);}

namespace
{
constexpr double kHolding = 9.81 * 2.0 * 0.5;  // N m of the rod when it is level

/// A rod of 2 kg and 1 m on a joint about y, 3 kg on a second joint that slides along the rod.
std::string urdf(const std::string & effort = "87")
{
  const auto inertial = [](const std::string & mass, const std::string & x) {
      return "<inertial><origin xyz=\"" + x + " 0 0\"/><mass value=\"" + mass + "\"/><inertia ixx=\"0.1\""
             " ixy=\"0\" ixz=\"0\" iyy=\"0.1\" iyz=\"0\" izz=\"0.1\"/></inertial>";
    };
  const std::string limit = "<limit lower=\"-2\" upper=\"2\" velocity=\"2\" effort=\"" + effort + "\"/>";
  return "<robot name=\"rod\"><link name=\"base\"/><link name=\"arm\">" + inertial("2", "0.5") +
         "</link><link name=\"slide\">" + inertial("3", "0") + "</link>"
         "<joint name=\"swing\" type=\"revolute\"><parent link=\"base\"/><child link=\"arm\"/>"
         "<axis xyz=\"0 1 0\"/>" + limit + "</joint>"
         "<joint name=\"extend\" type=\"prismatic\"><parent link=\"arm\"/><child link=\"slide\"/>"
         "<axis xyz=\"1 0 0\"/>" + limit + "</joint></robot>";
}

/// The controller with interfaces as a controller manager gives them.
class FeedforwardControllerTest : public testing::Test
{
protected:
  static void SetUpTestSuite() {rclcpp::init(0, nullptr);}
  static void TearDownTestSuite() {rclcpp::shutdown();}

  uint8_t configure(std::vector<rclcpp::Parameter> parameters, const std::string & text = urdf())
  {
    controller_interface::ControllerInterfaceParams given;
    given.controller_name = "feedforward";
    given.robot_description = text;
    given.node_options = controller_.define_custom_node_options();
    parameters.emplace_back("joints", std::vector<std::string>{"swing", "extend"});
    given.node_options.parameter_overrides(parameters);
    EXPECT_EQ(controller_.init(given), controller_interface::return_type::OK);
    return controller_.configure().id();
  }

  uint8_t activate(bool chained)
  {
    std::vector<hardware_interface::LoanedCommandInterface> commands;
    std::vector<hardware_interface::LoanedStateInterface> states;
    const auto parts = [](const std::string & name) {
        const auto slash = name.find('/');
        return std::pair{name.substr(0, slash), name.substr(slash + 1)};
      };
    for (const auto & name : controller_.command_interface_configuration().names) {
      efforts_.push_back(
        std::make_shared<CommandInterface>(parts(name).first, parts(name).second, &values_[name]));
      commands.emplace_back(efforts_.back(), nullptr);
    }
    for (const auto & name : controller_.state_interface_configuration().names) {
      states_.push_back(
        std::make_shared<StateInterface>(parts(name).first, parts(name).second, &values_[name]));
      states.emplace_back(states_.back(), nullptr);
    }
    references_ = controller_.export_reference_interfaces();
    controller_.assign_interfaces(std::move(commands), std::move(states));
    controller_.set_chained_mode(chained);
    return controller_.get_node()->activate().id();
  }

  void cycle(int count = 1)
  {
    const int before = allocations;
    auto done = controller_interface::return_type::OK;
    for (int k = 0; k < count && done == controller_interface::return_type::OK; ++k) {
      done = controller_.update(rclcpp::Time(), rclcpp::Duration::from_seconds(1e-3));
    }
    EXPECT_EQ(allocations, before);
    EXPECT_EQ(done, controller_interface::return_type::OK);
  }

  rcl_interfaces::msg::SetParametersResult set(const std::string & name, std::vector<double> value)
  {
    return controller_.get_node()->set_parameter({name, std::move(value)});
  }

  FeedforwardController controller_;
  std::map<std::string, double> values_;
  std::vector<CommandInterface::SharedPtr> efforts_, references_;
  std::vector<StateInterface::SharedPtr> states_;
};

// The package must be installed, as colcon does before it tests.
TEST_F(FeedforwardControllerTest, is_loaded_by_pluginlib)
{
  pluginlib::ClassLoader<controller_interface::ChainableControllerInterface> loader(
    "controller_interface", "controller_interface::ChainableControllerInterface");
  EXPECT_TRUE(loader.createSharedInstance("franka_dynamics_controllers/FeedforwardController"));
}

TEST_F(FeedforwardControllerTest, is_not_configured_without_torque_limits)
{
  EXPECT_EQ(configure({}, urdf("0")), State::PRIMARY_STATE_UNCONFIGURED);
}

TEST_F(FeedforwardControllerTest, walks_every_transition_and_holds_the_arm_at_its_end)
{
  ASSERT_EQ(configure({{"target", "mujoco"}}), State::PRIMARY_STATE_INACTIVE);
  ASSERT_EQ(activate(true), State::PRIMARY_STATE_ACTIVE);
  cycle(10);
  EXPECT_NEAR(values_["swing/effort"], -kHolding, 1e-9);
  EXPECT_EQ(controller_.get_node()->deactivate().id(), State::PRIMARY_STATE_INACTIVE);
  EXPECT_NEAR(values_["swing/effort"], -kHolding, 1e-9);
  EXPECT_EQ(controller_.get_node()->cleanup().id(), State::PRIMARY_STATE_UNCONFIGURED);
  EXPECT_EQ(controller_.configure().id(), State::PRIMARY_STATE_INACTIVE);
}

TEST_F(FeedforwardControllerTest, ends_torques_after_an_error)
{
  ASSERT_EQ(configure({{"target", "fci"}, {"reference", "torque"}}), State::PRIMARY_STATE_INACTIVE);
  ASSERT_EQ(activate(true), State::PRIMARY_STATE_ACTIVE);
  for (int k = 0; k < 300; ++k) {  // 20 joint states, then a ramp
    EXPECT_TRUE(references_[0]->set_value(1.0) && references_[1]->set_value(1.0));
    cycle();
    EXPECT_TRUE(k > 18 || values_["swing/effort"] == 0.0);
  }
  EXPECT_NEAR(values_["swing/effort"], 1.0, 1e-9);
  EXPECT_EQ(
    controller_.on_error(controller_.get_lifecycle_state()),
    controller_interface::CallbackReturn::SUCCESS);
  EXPECT_DOUBLE_EQ(values_["swing/effort"], 0.0);
}

TEST_F(FeedforwardControllerTest, adds_terms_to_torques_from_upstream_until_they_cease)
{
  ASSERT_EQ(configure({{"reference", "torque"}}), State::PRIMARY_STATE_INACTIVE);
  ASSERT_EQ(activate(true), State::PRIMARY_STATE_ACTIVE);
  for (int k = 0; k < 300; ++k) {
    EXPECT_TRUE(references_[0]->set_value(5.0) && references_[1]->set_value(-3.0));
    cycle();
  }
  EXPECT_NEAR(values_["swing/effort"], 5.0, 1e-9);
  EXPECT_NEAR(values_["extend/effort"], -3.0, 1e-9);
  cycle(400);  // the time-out, and a ramp
  EXPECT_NEAR(values_["swing/effort"], 0.0, 1e-9);
}

TEST_F(FeedforwardControllerTest, takes_a_payload_while_it_runs_and_refuses_an_impossible_one)
{
  ASSERT_EQ(configure({{"target", "mujoco"}}), State::PRIMARY_STATE_INACTIVE);
  ASSERT_EQ(activate(true), State::PRIMARY_STATE_ACTIVE);
  cycle(10);
  EXPECT_TRUE(set("payload", {1.0, 0.2, 0.0, 0.0}).successful);
  cycle(300);  // a ramp
  EXPECT_NEAR(values_["swing/effort"], -kHolding - 9.81 * 0.2, 1e-9);
  EXPECT_THAT(set("payload", {-1.0, 0.0, 0.0, 0.0}).reason, testing::HasSubstr("payload"));
  EXPECT_THAT(set("kp", {1.0, 2.0, 3.0}).reason, testing::HasSubstr("kp has 3 numbers"));
  EXPECT_FALSE(controller_.get_node()->set_parameter({"target", "fci"}).successful);
  cycle(300);
  EXPECT_NEAR(values_["swing/effort"], -kHolding - 9.81 * 0.2, 1e-9);
}

TEST_F(FeedforwardControllerTest, counts_references_from_upstream_that_it_refuses)
{
  ASSERT_EQ(configure({{"reference", "torque"}}), State::PRIMARY_STATE_INACTIVE);
  std::map<std::string, std::string> values;
  const auto listener = std::make_shared<rclcpp::Node>("listener");
  const auto heard = listener->create_subscription<diagnostic_msgs::msg::DiagnosticStatus>(
    "/feedforward/status", rclcpp::QoS(1).transient_local(),
    [&values](const diagnostic_msgs::msg::DiagnosticStatus & status) {
      for (const auto & value : status.values) {
        values[value.key] = value.value;
      }
    });
  ASSERT_EQ(activate(true), State::PRIMARY_STATE_ACTIVE);
  for (int k = 0; k < 30; ++k) {
    EXPECT_TRUE(references_[0]->set_value(1e3) && references_[1]->set_value(0.0));
    cycle();
  }
  cycle(30);  // in which nobody writes, which is no refusal
  rclcpp::executors::SingleThreadedExecutor executor;
  executor.add_node(controller_.get_node()->get_node_base_interface());
  executor.add_node(listener);
  for (int k = 0; k < 200 && values.empty(); ++k) {
    executor.spin_once(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(values["refused: out of bounds"], "30");
  EXPECT_EQ(values["refused: not finite"], "0");
}

TEST_F(FeedforwardControllerTest, says_what_ends_a_fault)
{
  ASSERT_EQ(configure({{"target", "mujoco"}}), State::PRIMARY_STATE_INACTIVE);
  std::string message;
  const auto listener = std::make_shared<rclcpp::Node>("listener");
  const auto heard = listener->create_subscription<diagnostic_msgs::msg::DiagnosticStatus>(
    "/feedforward/status", rclcpp::QoS(1).transient_local(),
    [&message](const diagnostic_msgs::msg::DiagnosticStatus & status) {message = status.message;});
  ASSERT_EQ(activate(true), State::PRIMARY_STATE_ACTIVE);
  cycle(50);
  values_["swing/position"] = 3.0;  // beyond its limit
  cycle(10);
  EXPECT_NEAR(values_["swing/effort"], -kHolding, 1e-9);
  rclcpp::executors::SingleThreadedExecutor executor;
  executor.add_node(controller_.get_node()->get_node_base_interface());
  executor.add_node(listener);
  for (int k = 0; k < 500 && message.find("/start") == std::string::npos; ++k) {
    executor.spin_once(std::chrono::milliseconds(10));
  }
  EXPECT_THAT(message, testing::HasSubstr("the position of swing is 3"));
  EXPECT_THAT(message, testing::HasSubstr("call /feedforward/start"));
}
}  // namespace
