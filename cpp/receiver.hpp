// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Receives commands, without ROS: from one publisher at a time, checked for size and range. When
// the commands cease, the arm is braked, stopped or held.
//
// Real-time safe as feedforward.hpp is. One thread may call Inbox::receive() while another one runs
// the control cycle.
#ifndef @GUARD@_RECEIVER_HPP
#define @GUARD@_RECEIVER_HPP

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "@NAME@/feedforward.hpp"

namespace @NAME@
{

/// What the values of a command mean.
enum class Command
{
  motion,       ///< positions, then velocities, then accelerations of all joints
  torque,       ///< a torque for each joint, to which the model's torque terms are added
  total_torque  ///< a torque for each joint, to which nothing is added
};

constexpr std::size_t command_size(Command command)
{
  return command == Command::motion ? 3 * kJoints : kJoints;
}

/// The values of a command; a torque command uses the first kJoints.
using Values = std::array<double, 3 * kJoints>;

/// Whether a message was accepted (heard), or why it was refused.
enum class Answer {heard, other_publisher, wrong_size, not_finite, out_of_bounds};
constexpr std::size_t kAnswers = 5;

/// Check the values of a command. Values must be finite; torques within the torque limits,
/// positions possible by within_range(), velocities and accelerations within ten times their
/// limits, which values in a wrong unit exceed.
inline Answer judged(Command command, const double * values, std::size_t count) noexcept
{
  constexpr double kMostOfLimit = 10.0;
  if (count != command_size(command)) {
    return Answer::wrong_size;
  }
  if (!std::all_of(values, values + count, [](double x) {return std::isfinite(x);})) {
    return Answer::not_finite;
  }
  for (std::size_t i = 0; i < kJoints; ++i) {
    const bool possible = command == Command::motion ?
      within_range(i, values[i]) &&
      std::abs(values[kJoints + i]) <= kMostOfLimit * kVelocity[i] &&
      std::abs(values[2 * kJoints + i]) <= kMostOfLimit * kAcceleration[i] :
      std::abs(values[i]) <= kEffort[i];
    if (!possible) {
      return Answer::out_of_bounds;
    }
  }
  return Answer::heard;
}

/// Passes the newest value from one thread to another without either of them waiting (triple
/// buffer: one slot is written, one is read, one is exchanged).
template<typename T>
class Newest
{
public:
  void write(const T & value) noexcept
  {
    slots_[written_] = value;
    written_ = between_.exchange(written_ | kNew) & ~kNew;
  }

  const T & read() noexcept
  {
    if (between_.load() & kNew) {
      read_ = between_.exchange(read_) & ~kNew;
    }
    return slots_[read_];
  }

private:
  static constexpr unsigned kNew = 4;
  std::array<T, 3> slots_{};
  std::atomic<unsigned> between_{1};
  unsigned written_ = 0, read_ = 2;
};

/// The commands of one publisher at a time. Another publisher is accepted once the control cycle
/// has found that the accepted one was silent for longer than the time-out.
class Inbox
{
public:
  /// A publisher's GID in DDS.
  using Publisher = std::array<std::uint8_t, 16>;

  /// Set the kind of command and the time-out [s]; call it before the first message.
  void configure(Command command, double timeout) noexcept
  {
    command_ = command;
    timeout_ = timeout;
  }

  /// Check and keep a message; for the thread that receives messages.
  Answer receive(const Publisher & from, const double * values, std::size_t count) noexcept
  {
    const bool anybody = silent_since_ == number_;
    const Answer answer = !anybody && from != publisher_ ?
      Answer::other_publisher : judged(command_, values, count);
    ++counts_[static_cast<std::size_t>(answer)];
    if (answer == Answer::heard) {
      publisher_ = from;
      Message message{{}, ++number_};
      std::copy(values, values + count, message.values.begin());
      newest_.write(message);
    }
    return answer;
  }

  /// The newest command, or nullptr if there is none or it is older than the time-out. `elapsed`
  /// seconds have passed since the last call; for the control cycle.
  const Values * current(double elapsed) noexcept
  {
    const Message & message = newest_.read();
    age_ = message.number == seen_ ? age_ + elapsed : 0.0;
    seen_ = message.number;
    if (seen_ == 0 || !(age_ <= timeout_)) {
      silent_since_ = seen_;
      return nullptr;
    }
    return &message.values;
  }

  /// Forget the messages so far; for the control cycle.
  void forget() noexcept
  {
    silent_since_ = seen_ = newest_.read().number;
    age_ = std::numeric_limits<double>::infinity();
  }

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
    Values values;
    std::uint64_t number;  // accepted messages are counted from 1
  };

  Command command_ = Command::motion;
  double timeout_ = 0.05;
  Newest<Message> newest_{};
  std::array<std::atomic<std::uint64_t>, kAnswers> counts_{};
  // Number of the last message before the time-out that the control cycle found.
  std::atomic<std::uint64_t> silent_since_{0};
  // For the receiving thread: publisher and number of the last accepted message.
  Publisher publisher_{};
  std::uint64_t number_ = 0;
  // For the control cycle: number and age [s] of the message that it read last.
  std::uint64_t seen_ = 0;
  double age_ = 0.0;
};

/// What the arm is doing.
enum class State
{
  waiting,    ///< nothing was commanded yet
  following,  ///< a command is followed
  braking,    ///< the torques ceased, or a fault: the arm is brought to rest by its model
  holding,    ///< held at rest, or at the last desired position, until a command comes
  stopped,    ///< the stop sequence runs or has ended
  fault       ///< stopped until restart(); Receiver::fault() says why
};

/// Computes each control cycle's torque from commands that come from upstream.
class Receiver
{
public:
  /// Call configure() before the first cycle. Returns nullptr, or why the settings are refused.
  const char * configure(Settings settings, Command command, double timeout) noexcept
  {
    if (!(timeout > 0.0 && timeout <= kLongestTimeout)) {
      return "reference_timeout must be above 0 and at most 1 s";
    }
    settings.torque_from_upstream = command != Command::motion;
    if (command == Command::total_torque) {
      settings.gravity = settings.coriolis = settings.inertia = settings.friction = false;
    }
    if (const char * reason = feedforward_.configure(settings)) {
      return reason;
    }
    command_ = command;
    inbox.configure(command, timeout);
    return nullptr;
  }

  const Feedforward & feedforward() const noexcept {return feedforward_;}

  // For any thread.
  State state() const noexcept {return state_;}
  const char * fault() const noexcept {return fault_;}
  /// The number of time-outs while commands were followed.
  std::uint64_t timeouts() const noexcept {return timeouts_;}

  /// Start again; commands received so far are forgotten.
  void restart() noexcept
  {
    feedforward_.restart();
    inbox.forget();
    fault_ = nullptr;
    state_ = State::waiting;
  }

  /// Compute the torque `tau` [N m] of a cycle, `elapsed` seconds after the last cycle. Returns
  /// false before the first torque, while there is no torque to write.
  ///
  /// `q` and `dq` are nullptr if the joint states could not be read. `values` is the command of
  /// this cycle or nullptr: inbox.current(elapsed), or values from elsewhere that judged() has
  /// accepted.
  bool cycle(
    double elapsed, const Vector * q, const Vector * dq, const Values * values,
    Vector & tau) noexcept
  {
    clock_ += elapsed > 0.0 ? std::min(elapsed, kLongestTimeout) : 0.0;
    const bool is_motion = command_ == Command::motion;
    if (!q || !dq) {
      feedforward_.stop();
    } else if (!values && !is_motion) {
      timeouts_ += state_ == State::following;
      feedforward_.brake();
    } else if (values && !is_motion) {
      feedforward_.resume();
    }
    tau = feedforward_.last();
    bool commanded = false;
    if (q && dq && (values || is_motion || feedforward_.braking())) {
      Reference reference{};
      Vector torque{};
      if (values && is_motion) {
        const auto part = values->begin();
        std::copy(part, part + kJoints, reference.q.begin());
        std::copy(part + kJoints, part + 2 * kJoints, reference.dq.begin());
        std::copy(part + 2 * kJoints, part + 3 * kJoints, reference.ddq.begin());
      } else if (values) {
        std::copy(values->begin(), values->begin() + kJoints, torque.begin());
      }
      commanded = feedforward_.update(
        clock_, *q, *dq, values && is_motion ? &reference : nullptr, tau,
        is_motion ? nullptr : &torque) == Outcome::command;
    }
    if (!commanded) {
      feedforward_.stop_step(elapsed, tau);
    }
    fault_ = feedforward_.fault();
    state_ = found(commanded, values != nullptr);
    return feedforward_.started();
  }

  /// End the stop sequence at once, without further cycles; `tau` is the sequence's last torque.
  bool end(Vector & tau) noexcept
  {
    feedforward_.stop();
    tau = feedforward_.last();
    while (feedforward_.stop_step(kLongestStep, tau)) {
    }
    state_ = State::stopped;
    return feedforward_.started();
  }

  Inbox inbox{};

private:
  // Largest time-out [s], during which the arm follows the last torque.
  static constexpr double kLongestTimeout = 1.0;

  State found(bool commanded, bool given) const noexcept
  {
    if (feedforward_.braking()) {
      return feedforward_.holding() ? State::holding : State::braking;
    }
    if (commanded) {
      return given ? State::following : State::holding;
    }
    if (feedforward_.fault()) {
      return State::fault;
    }
    return feedforward_.started() ? State::stopped : State::waiting;
  }

  Feedforward feedforward_{};
  Command command_ = Command::motion;
  double clock_ = 0.0;  // [s] sum of the cycles' times, because system clocks can be set back
  std::atomic<State> state_{State::waiting};
  std::atomic<const char *> fault_{nullptr};
  std::atomic<std::uint64_t> timeouts_{0};
};

}  // namespace @NAME@

#endif  // @GUARD@_RECEIVER_HPP
