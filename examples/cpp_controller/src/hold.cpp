// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Holds the arm where it finds it, with the same stiffness per inertia in every joint:
//
//   tau = M(q) (kp (q_d - q) - kd dq) + C(q, dq) dq + g(q),
//
// M, C and g come from the topics of the feedforward node, whose own ~/command must not reach the
// arm. g is added only with the parameter add_gravity: under FCI the robot adds it.
//
// Without a valid torque for 50 ms, and at Ctrl-C, the torque fades to zero. Then nothing is
// published, so that a receiver with a time-out brakes the arm.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rclcpp/rclcpp.hpp"
#include "sensor_msgs/msg/joint_state.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"

namespace
{

using sensor_msgs::msg::JointState;
using std_msgs::msg::Float64MultiArray;

// Terms whose stamp differs from the state's by more than this are not used.
constexpr std::int64_t kOldestTermNs = 10'000'000;
// FCI's limit of the torque rate is 1 N m in each cycle of 1 ms.
constexpr double kLargestStep = 1.0;
constexpr std::chrono::milliseconds kCycle(1), kSilence(50), kDelivery(200);

volatile std::sig_atomic_t stop_requested = 0;

class Hold : public rclcpp::Node
{
public:
  Hold()
  : Node("hold")
  {
    kp_ = declare_parameter("kp", 100.0);  // 1/s^2
    kd_ = declare_parameter("kd", 20.0);   // 1/s
    add_gravity_ = declare_parameter("add_gravity", false);
    // Only the newest message is used, so a lost one need not be sent again.
    const auto qos = rclcpp::QoS(1).best_effort();
    mass_ = listen("feedforward/mass_matrix", qos);
    coriolis_ = listen("feedforward/coriolis_matrix", qos);
    gravity_ = listen("feedforward/gravity", qos);
    states_ = create_subscription<JointState>(
      "joint_states", qos, [this](JointState::ConstSharedPtr state) {on_state(*state);});
    command_ = create_publisher<Float64MultiArray>(
      "effort_controller/commands", rclcpp::QoS(1));
    timer_ = create_wall_timer(
      kCycle, [this] {if (Clock::now() - valid_ > kSilence) {fade();}});
  }

  /// Fade the torque out, a step every cycle, because a receiver may hold the last one for ever.
  void stop()
  {
    while (fade()) {std::this_thread::sleep_for(kCycle);}
    command_->wait_for_all_acked(kDelivery);
  }

private:
  using Clock = std::chrono::steady_clock;

  struct Term
  {
    rclcpp::Subscription<JointState>::SharedPtr subscription;
    JointState::ConstSharedPtr latest;
  };

  std::shared_ptr<Term> listen(const std::string & topic, const rclcpp::QoS & qos)
  {
    auto term = std::make_shared<Term>();
    std::weak_ptr<Term> weak = term;
    term->subscription = create_subscription<JointState>(
      topic, qos, [weak](JointState::ConstSharedPtr message) {
        if (const auto owner = weak.lock()) {owner->latest = message;}
      });
    return term;
  }

  // Whether a term has as many values as expected, and belongs to this state or one close to it.
  static bool usable(const Term & term, const JointState & state, std::size_t count)
  {
    if (!term.latest || term.latest->effort.size() != count) {return false;}
    const auto age = rclcpp::Time(state.header.stamp) - rclcpp::Time(term.latest->header.stamp);
    return std::abs(age.nanoseconds()) <= kOldestTermNs;
  }

  void on_state(const JointState & state)
  {
    // The terms are in the arm's joint order, which g's names give; the state may have another.
    if (!gravity_->latest) {return;}
    const auto & names = gravity_->latest->name;
    const std::size_t n = names.size();
    if (state.position.size() != state.name.size() || state.velocity.size() != state.name.size() ||
      !usable(*mass_, state, n * n) || !usable(*coriolis_, state, n * n) ||
      !usable(*gravity_, state, n))
    {
      return;
    }
    std::vector<double> q(n), dq(n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = std::find(state.name.begin(), state.name.end(), names[i]);
      if (at == state.name.end()) {return;}
      const auto k = static_cast<std::size_t>(at - state.name.begin());
      q[i] = state.position[k];
      dq[i] = state.velocity[k];
    }
    if (desired_.size() != n) {
      desired_ = q;
      last_.assign(n, 0.0);
    }
    std::vector<double> wanted(n);
    for (std::size_t i = 0; i < n; ++i) {
      double torque = add_gravity_ ? gravity_->latest->effort[i] : 0.0;
      for (std::size_t j = 0; j < n; ++j) {
        // Row-major: the value of row i and column j is the (n i + j)-th.
        const double acceleration = kp_ * (desired_[j] - q[j]) - kd_ * dq[j];
        torque += mass_->latest->effort[n * i + j] * acceleration;
        torque += coriolis_->latest->effort[n * i + j] * dq[j];
      }
      if (!std::isfinite(torque)) {return;}
      wanted[i] = torque;
    }
    valid_ = Clock::now();
    publish(wanted);
  }

  // Publish the torque nearest to the wanted one that the rate limit allows.
  void publish(const std::vector<double> & wanted)
  {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      last_[i] = std::clamp(wanted[i], last_[i] - kLargestStep, last_[i] + kLargestStep);
    }
    Float64MultiArray message;
    message.data = last_;
    command_->publish(message);
  }

  // Publish the next torque on the way to zero; return false once it is zero.
  bool fade()
  {
    if (last_.empty()) {return false;}
    publish(std::vector<double>(last_.size(), 0.0));
    if (std::any_of(last_.begin(), last_.end(), [](double torque) {return torque != 0.0;})) {
      return true;
    }
    // The next valid state is held anew, where the arm is then.
    desired_.clear();
    last_.clear();
    return false;
  }

  double kp_, kd_;
  bool add_gravity_;
  std::shared_ptr<Term> mass_, coriolis_, gravity_;
  rclcpp::Subscription<JointState>::SharedPtr states_;
  rclcpp::Publisher<Float64MultiArray>::SharedPtr command_;
  rclcpp::TimerBase::SharedPtr timer_;
  Clock::time_point valid_;
  std::vector<double> desired_, last_;
};

}  // namespace

int main(int argc, char ** argv)
{
  // With rclcpp's own handlers nothing could be published after Ctrl-C.
  rclcpp::init(argc, argv, rclcpp::InitOptions(), rclcpp::SignalHandlerOptions::None);
  for (const int number : {SIGINT, SIGTERM}) {
    std::signal(number, [](int) {stop_requested = 1;});
  }
  const auto node = std::make_shared<Hold>();
  rclcpp::executors::SingleThreadedExecutor executor;
  executor.add_node(node);
  while (!stop_requested) {
    executor.spin_once(kSilence);
  }
  node->stop();
  rclcpp::shutdown();
  return 0;
}
