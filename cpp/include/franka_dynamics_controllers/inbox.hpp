// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Commands in messages, without ROS: from one publisher at a time, checked for size and range, with
// a time-out.
//
// Real-time safe as feedforward.hpp is. One thread may call Inbox::receive() while another one runs
// the control cycle.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>

#include "franka_dynamics_controllers/newest.hpp"
#include "franka_dynamics_controllers/reference.hpp"
#include "franka_dynamics_controllers/settings.hpp"

namespace franka_dynamics_controllers
{

/// The number of values of a command to n joints: of a motion the positions, then the velocities,
/// then the accelerations of all joints; of a law the torques, then velocities and accelerations;
/// otherwise the torques.
constexpr std::size_t command_size(Command command, std::size_t n) noexcept
{
  return command == Command::motion || command == Command::law ? 3 * n : n;
}

/// Check the values of a command, and copy them into `reference` if they are accepted. Values must
/// be finite; torques within the torque limits, positions possible by Arm::within_range(),
/// velocities and accelerations within ten times their limits, which values in a wrong unit exceed.
inline Answer read_command(
  const Arm & arm, Command command, const double * values, std::size_t count,
  Reference & reference) noexcept
{
  constexpr double kMostOfLimit = 10.0;
  const std::size_t n = arm.n();
  if (count != command_size(command, n)) {
    return Answer::wrong_size;
  }
  if (!std::all_of(values, values + count, [](double x) {return std::isfinite(x);})) {
    return Answer::not_finite;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const bool is_possible = command == Command::motion ?
      arm.within_range(i, values[i]) : std::abs(values[i]) <= arm.effort[i];
    const bool has_possible_rates = count == n ||
      (std::abs(values[n + i]) <= kMostOfLimit * arm.velocity[i] &&
      std::abs(values[2 * n + i]) <= kMostOfLimit * arm.acceleration[i]);
    if (!is_possible || !has_possible_rates) {
      return Answer::out_of_bounds;
    }
  }
  Vector & first = command == Command::motion ? reference.q : reference.torque;
  std::copy_n(values, n, first.begin());
  if (count > n) {
    std::copy_n(values + n, n, reference.dq.begin());
    std::copy_n(values + 2 * n, n, reference.ddq.begin());
  }
  return Answer::heard;
}

/// The commands of one publisher at a time. Another publisher is accepted once the control cycle
/// has found that the accepted one was silent for longer than the time-out.
class Inbox
{
public:
  /// A publisher's GID in DDS.
  using Publisher = std::array<std::uint8_t, 16>;

  /// Commands of a kind for an arm, of which `timeout` seconds of silence are the end.
  Inbox(const Arm & arm, Command command, double timeout)
  : arm_(arm), command_(command), timeout_(timeout) {}

  /// Check and keep a message; for the thread that receives messages.
  Answer receive(const Publisher & from, const double * values, std::size_t count) noexcept
  {
    const bool is_followed_publisher_silent = silent_since_ == number_;
    const bool may_be_followed = from == publisher_ || is_followed_publisher_silent;
    Message message{{}, number_ + 1};
    const Answer answer = may_be_followed ?
      read_command(arm_, command_, values, count, message.reference) : Answer::other_publisher;
    count_answer(answer);
    if (answer == Answer::heard) {
      publisher_ = from;
      number_ = message.number;
      newest_.write(message);
    }
    return answer;
  }

  /// The newest command, or nullptr if there is none or it is older than the time-out. `elapsed`
  /// seconds have passed since the last call; for the control cycle. A new message counts as one
  /// that came just after the last call.
  const Reference * current(double elapsed) noexcept
  {
    const Message & message = newest_.read();
    age_ = (message.number == seen_ ? age_ : 0.0) + (elapsed > 0.0 ? elapsed : 0.0);
    seen_ = message.number;
    if (seen_ == 0 || !(age_ <= timeout_)) {
      silent_since_ = seen_;
      return nullptr;
    }
    return &message.reference;
  }

  /// Forget the messages so far; for the control cycle.
  void forget() noexcept
  {
    silent_since_ = seen_ = newest_.read().number;
    age_ = std::numeric_limits<double>::infinity();
  }

  /// Count the answer to a command that came by another way than a message; for any thread.
  void count_answer(Answer answer) noexcept {++counts_[static_cast<std::size_t>(answer)];}

  /// How many messages got this answer; for any thread.
  std::uint64_t count(Answer answer) const noexcept
  {
    return counts_[static_cast<std::size_t>(answer)];
  }

  /// The publisher of the last accepted message; for the thread that receives messages.
  const Publisher & publisher() const noexcept {return publisher_;}

private:
  struct Message
  {
    Reference reference;
    std::uint64_t number;  // accepted messages are counted from 1
  };

  const Arm arm_;
  const Command command_;
  const double timeout_;  // [s]
  Newest<Message> newest_{};
  std::array<std::atomic<std::uint64_t>, std::size(kAnswerWords)> counts_{};
  // Number of the last message before the time-out that the control cycle found.
  std::atomic<std::uint64_t> silent_since_{0};
  // For the receiving thread: publisher and number of the last accepted message.
  Publisher publisher_{};
  std::uint64_t number_ = 0;
  // For the control cycle: number and age [s] of the message that it read last.
  std::uint64_t seen_ = 0;
  double age_ = 0.0;
};

}  // namespace franka_dynamics_controllers
