// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Applies torques that somebody else computes, and stops the arm when they cease.
//
// Real-time safe: no allocation, no lock, no exception and no system call in cycle() and apply().
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "franka_dynamics_controllers/reference.hpp"
#include "franka_dynamics_controllers/state_check.hpp"
#include "franka_dynamics_controllers/stopping.hpp"
#include "franka_dynamics_controllers/torque_output.hpp"

namespace franka_dynamics_controllers
{

/// Applies total torques within the arm's limits, as TorqueReceiver of
/// franka_dynamics/simulation/receiver.py does. The sender has the guard. One object per arm; one
/// thread calls it, and any thread may read state(), fault(), latched() and timeouts().
///
///   state      torque
///   waiting    none
///   following  the commanded one
///   braking    the brake
///   holding    the brake holds the arm
///   stopped    zero
///   fault      the resting torque: zero, or g(q) if the target adds none
///
///   from                event                                                to
///   any                 a command                                            following
///   following           the command ceases                                   braking
///   fault               it is over, unless it is latched                     braking
///   braking             the arm is at rest, and the target adds no gravity   holding
///   braking             the arm is at rest, and the target adds gravity      stopped
///   braking, holding    a joint state cannot be used                         fault
///   braking, holding    braking fails                                        fault, latched
///   any but waiting     the torque is not finite                             fault, latched
///   any                 end()                                                stopped
///   any                 restart()                                            waiting
///
/// Following needs no joint state. A fault by a missing state is over after kMinGoodStateCount
/// usable states in a row; one by an impossible state is latched, and a command ends it.
class TorqueReceiver
{
public:
  /// The arm must be one that refuse() accepts.
  explicit TorqueReceiver(const Arm & arm)
  : arm_(arm), values_(arm_, StateLimits{})
  {
    Settings settings;
    settings.command = Command::total_torque;
    apply(settings);
  }

  /// Use other settings. Returns '', or why they are refused.
  std::string configure(const Settings & settings)
  {
    if (settings.command != Command::total_torque) {
      return "a receiver takes total torques; a Feedforward (feedforward.hpp) takes others";
    }
    std::string reason = refuse(arm_, settings);
    if (reason.empty() && !apply(settings)) {
      return "target cannot change after the first torque; restart() before";
    }
    return reason;
  }

  /// Use settings that refuse() accepts; for the control cycle. Returns false if they would change
  /// the target after the first torque.
  bool apply(const Settings & settings) noexcept
  {
    const bool is_same_target = settings.target.name == settings_.target.name;
    if (state_ != ReceiverState::waiting && !is_same_target) {
      return false;
    }
    settings_ = settings;
    terms_.configure(arm_, settings);
    return true;
  }

  const Arm & arm() const noexcept {return arm_;}
  const Settings & settings() const noexcept {return settings_;}
  const TermModel & terms() const noexcept {return terms_;}
  ReceiverState state() const noexcept {return state_;}
  /// Why the state is ReceiverState::fault; else nullptr.
  const char * fault() const noexcept
  {
    return state_ == ReceiverState::fault ? fault_reason_.load() : nullptr;
  }
  /// Whether usable states do not end the latest fault.
  bool latched() const noexcept {return is_latched_;}
  /// How often torques ceased while they were followed.
  std::uint64_t timeouts() const noexcept {return timeout_count_;}

  /// Forget everything but the settings, as before the first cycle.
  void restart() noexcept
  {
    state_ = ReceiverState::waiting;
    is_latched_ = false;
    seen_.reset();
    good_state_count_ = 0;
    last_torque_.fill(0.0);
  }

  /// Compute the torque `tau` [N m] of a cycle, `elapsed` seconds after the last cycle; a negative
  /// time or NaN counts as zero. Returns false while there is no torque to send.
  ///
  /// `measured` is nullptr if the joint states could not be read, `given` if there is no command.
  bool cycle(
    double elapsed, const JointState * measured, const Reference * given, Vector & tau) noexcept
  {
    // The brake is over after kMaxBrakingTimeS: a longer cycle changes no more.
    const double seconds = elapsed > 0.0 ? std::min(elapsed, kMaxBrakingTimeS) : 0.0;
    const char * const problem = check(measured);
    begin_or_end(given, problem);
    if (state_ == ReceiverState::waiting) {
      return false;
    }
    Vector desired = desired_torque(given, seconds);
    if (!all_finite(desired, arm_.n())) {
      end_by_fault(kTorqueNotFinite, true);
      desired = resting_torque();
    }
    last_torque_ = limited_torque(arm_, desired, last_torque_, std::min(seconds, kMaxStepS));
    brake_.record_limited_torque(desired, last_torque_);
    tau = last_torque_;
    return true;
  }

  /// End at once, without further cycles: `tau` is the resting torque. Returns false if there was
  /// no torque.
  bool end_at_once(Vector & tau) noexcept
  {
    const bool was_sent = state_ != ReceiverState::waiting;
    state_ = ReceiverState::stopped;
    last_torque_ = resting_torque();
    tau = last_torque_;
    return was_sent;
  }

private:
  static constexpr const char * kStatesLost = "a joint state is missing or not finite";
  static constexpr const char * kStateImpossible = "a joint's position or velocity is impossible";
  static constexpr const char * kBrakingFailed =
    "a joint is too fast in spite of braking: torques do not act as they are sent";
  static constexpr const char * kTorqueNotFinite = "the computed torque is not finite";

  /// Record a usable state, and count them; return why it cannot be used, or nullptr.
  const char * check(const JointState * measured) noexcept
  {
    const char * problem = measured ? nullptr : kStatesLost;
    if (measured) {
      StateSample sample;
      sample.q = measured->q;
      sample.dq = measured->dq;
      const Reason wrong = values_.check_values(sample);
      if (wrong) {
        const bool is_lost = cause_of(wrong.code) == Cause::states_lost;
        problem = is_lost ? kStatesLost : kStateImpossible;
      } else {
        seen_.emplace();
        std::copy_n(measured->q.begin(), arm_.n(), seen_->q.begin());
        std::copy_n(measured->dq.begin(), arm_.n(), seen_->dq.begin());
      }
    }
    good_state_count_ = problem ? 0 : std::min(good_state_count_ + 1, kMinGoodStateCount);
    return problem;
  }

  /// Change the state as the command and the joint state ask.
  void begin_or_end(const Reference * given, const char * problem) noexcept
  {
    const bool is_fault_over = state_ == ReceiverState::fault && !is_latched_ &&
      good_state_count_ == kMinGoodStateCount;
    if (given && state_ != ReceiverState::following) {
      if (state_ == ReceiverState::waiting) {
        last_torque_ = resting_torque();
      }
      state_ = ReceiverState::following;
    } else if (!given && state_ == ReceiverState::following) {
      ++timeout_count_;
      brake();
    } else if (!given && is_fault_over) {
      brake();
    }
    const bool is_braked =
      state_ == ReceiverState::braking || state_ == ReceiverState::holding;
    if (is_braked && problem) {
      end_by_fault(problem, problem == kStateImpossible);
    }
  }

  void brake() noexcept
  {
    brake_ = BrakingController();
    state_ = ReceiverState::braking;
  }

  void end_by_fault(const char * reason, bool is_latched) noexcept
  {
    fault_reason_ = reason;
    is_latched_ = is_latched;
    state_ = ReceiverState::fault;
  }

  /// The torque of the present state, without limits [N m].
  Vector desired_torque(const Reference * given, double seconds) noexcept
  {
    switch (state_.load()) {
      case ReceiverState::following:
        return given->torque;
      case ReceiverState::braking:
      case ReceiverState::holding:
        return braking_torque(seconds);
      default:
        return resting_torque();
    }
  }

  /// The torque that brakes the arm and then holds it or, if the target adds gravity, ends.
  Vector braking_torque(double seconds) noexcept
  {
    const StateTerms state = terms_.at(0.0, *seen_, nullptr);
    const Vector torque = brake_.torque(arm_, state, terms_, Vector{}, seconds, 0.0);
    if (brake_.failure()) {
      end_by_fault(kBrakingFailed, true);
      return resting_torque();
    }
    if (brake_.at_rest() && terms_.adds_gravity()) {
      state_ = ReceiverState::stopped;
      return resting_torque();
    }
    if (brake_.at_rest()) {
      state_ = ReceiverState::holding;
    }
    return torque;
  }

  /// The torque at which the arm stays if nothing is computed any more [N m].
  Vector resting_torque() const noexcept
  {
    Vector torque{};
    if (terms_.adds_gravity()) {
      return torque;
    }
    if (!seen_) {
      return last_torque_;
    }
    terms_.gravity(seen_->q, torque);
    return within_limits(arm_, torque);
  }

  const Arm arm_;
  Settings settings_{};
  TermModel terms_{};

  // What any thread may read.
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  std::atomic<ReceiverState> state_{ReceiverState::waiting};
  std::atomic<const char *> fault_reason_{nullptr};  // of the latest fault
  std::atomic<bool> is_latched_{false};  // the latest fault
  std::atomic<std::uint64_t> timeout_count_{0};

  StateCheck values_;
  std::optional<JointState> seen_{};  // the last usable one
  int good_state_count_ = 0;          // in a row, at most kMinGoodStateCount
  BrakingController brake_{};
  Vector last_torque_{};
};

}  // namespace franka_dynamics_controllers
