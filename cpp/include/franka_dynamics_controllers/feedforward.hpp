// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Feedforward torques of one arm, without ROS: follows motions or torques from upstream, brakes the
// arm when they cease, and keeps the limits of torque and torque rate.
//
// Real-time safe: no allocation, no lock, no exception and no system call in cycle() and apply().
// SI units; arrays in joint order. tau = M(q) ddq + C(q, dq) dq + g(q).
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "franka_dynamics_controllers/control_law.hpp"
#include "franka_dynamics_controllers/reference.hpp"
#include "franka_dynamics_controllers/state_check.hpp"
#include "franka_dynamics_controllers/stopping.hpp"
#include "franka_dynamics_controllers/torque_ramp.hpp"

namespace franka_dynamics_controllers
{

// Why torques ended; joint states are other reasons (state_check.hpp).
constexpr const char * kBrakingFailed =
  "a joint is too fast in spite of braking: torques do not act as they are sent";
constexpr const char * kTorqueNotFinite = "the computed torque is not finite";

/// Computes each control cycle's torque. One object per arm. One thread calls it; any thread may
/// read state(), fault(), latched() and timeouts().
///
/// It does what the docstring of franka_dynamics/control/core_step.py says, without the guard:
///
/// - It has no momentum observer: d is zero, and no torque counts as unexplained.
/// - A joint state is judged by itself (state_check.hpp). States have no stamps and ages, and
///   nobody looks whether positions leap, repeat or contradict velocities, or whether a joint is
///   too fast for the motion. The brake alone notices that a joint gets faster.
/// - Torques begin at the first usable state, and nobody looks whether gains bear a delay.
///
/// Its functions have the names of those in control/torque_state_machine.py, its states those of the
/// Python receiver (State in constants.hpp); the names of core_step.py are in brackets:
///
///   state      torque
///   waiting    none (SILENT)
///   following  the law, or the torques from upstream (RUNNING)
///   braking    the brake (BRAKING)
///   holding    the brake holds the arm (HOLDING)
///   stopped    zero, or the torque of end() (SILENT)
///   fault      a stop by the model, then the resting torque (STOPPING, SILENT)
///
///   from                event                                                to
///   waiting             a command; with motions the first usable state       following
///   any other           a command                                            following
///   following           the command ceases, but for motions; or brake()      braking
///   fault               it is over; or brake(), unless it is latched         braking
///   braking             the arm is at rest, and the target adds no gravity   holding
///   braking             the arm is at rest, and the target adds gravity      stopped
///   following, braking  a needed joint state cannot be used                  fault
///   holding             the same                                             fault
///   braking, holding    braking fails                                        fault, latched
///   any but waiting     the torque is not finite                             fault, latched
///   any                 end()                                                stopped
///   any                 restart()                                            waiting
///
/// A command begins at a usable state only, and after a fault once that is over: after
/// kMinGoodStateCount usable states in a row, unless the fault is latched. A fault by an impossible
/// state is latched, one by a missing state is not. If commands are total torques, following needs
/// no joint state, a command ends any fault, and no model stops the arm.
class Feedforward
{
public:
  /// The arm must be one that refuse() accepts.
  explicit Feedforward(const Arm & arm)
  : arm_(arm)
  {
    law_.configure(arm_, Settings{});
  }

  /// Use other settings from the next cycle on. With Command::motion and Command::law the torque
  /// changes by a ramp, with Command::torque as fast as the torque rate allows. Returns '', or why
  /// the settings are refused; the present settings then stay in use. Allocates.
  std::string configure(const Settings & settings)
  {
    std::string reason = refuse(arm_, settings);
    if (reason.empty() && !apply(settings)) {
      return "target and command cannot change after the first torque; restart() before";
    }
    return reason;
  }

  /// Use settings that refuse() accepts; for the control cycle. Returns false if they would change
  /// target or command after the first torque.
  bool apply(const Settings & settings) noexcept
  {
    const Settings & present = law_.settings;
    const bool is_same_interface = settings.command == present.command &&
      settings.target.adds_gravity == present.target.adds_gravity;
    if (state_ != State::waiting && !is_same_interface) {
      return false;
    }
    if (!former_law_) {
      former_law_ = law_;
    }
    law_.configure(arm_, settings);
    return true;
  }

  const Arm & arm() const noexcept {return arm_;}
  const Settings & settings() const noexcept {return law_.settings;}
  const TermModel & terms() const noexcept {return law_.terms;}
  State state() const noexcept {return state_;}
  /// Why the state is State::fault; else nullptr.
  const char * fault() const noexcept
  {
    return state_ == State::fault ? fault_reason_.load() : nullptr;
  }
  /// Whether usable states do not end the latest fault.
  bool latched() const noexcept {return is_latched_;}
  /// How often torques ceased while they were followed.
  std::uint64_t timeouts() const noexcept {return timeout_count_;}

  /// Forget everything but the settings, as before the first cycle.
  void restart() noexcept
  {
    change_state(State::waiting);
    former_law_.reset();
    is_latched_ = false;
    open_loop_stop_.reset();
    states_.reset();
    last_torque_.fill(0.0);
    law_.friction.restart();
  }

  /// Compute the torque `tau` [N m] of a cycle, `elapsed` seconds after the last cycle; a negative
  /// time or NaN counts as zero. Returns false while there is no torque to send.
  ///
  /// `measured` is nullptr if the joint states could not be read, `given` is nullptr if there is no
  /// command. An arm that awaits motions is held from the first cycle on.
  bool cycle(
    double elapsed, const JointState * measured, const Reference * given, Vector & tau) noexcept
  {
    // A ramp, the brake and a stop are over after kMaxBrakingTimeS: a longer cycle changes no more.
    const double seconds = elapsed > 0.0 ? std::min(elapsed, kMaxBrakingTimeS) : 0.0;
    clock_ += seconds;
    const char * const problem = states_.check(arm_, measured);
    if (!problem) {
      record_state(*measured);
    }
    begin_or_end(given, problem);
    if (state_ == State::waiting) {
      return false;
    }
    Vector desired = desired_torque(given, seconds);
    if (!all_finite(desired, arm_.n())) {
      end_by_fault(kTorqueNotFinite, true);
      desired = resting_torque();
    }
    send_torque(desired, seconds);
    tau = last_torque_;
    return true;
  }

  /// Brake the arm in the next cycles, until a command is given.
  void brake() noexcept
  {
    if (state_ == State::following || (state_ == State::fault && !is_latched_)) {
      brake_ = BrakingController(law_.settings);
      change_state(State::braking);
    }
  }

  /// End at once, without further cycles: `tau` is the resting torque. Returns false if there was
  /// no torque.
  bool end(Vector & tau) noexcept
  {
    const bool was_sent = state_ != State::waiting;
    stop();
    last_torque_ = stopped_torque_;
    tau = stopped_torque_;
    return was_sent;
  }

private:
  // States -------------------------------------------------------------------------------------

  /// Whether commands are followed without a joint state.
  bool needs_no_state() const noexcept {return law_.settings.command == Command::total_torque;}

  void record_state(const JointState & measured) noexcept
  {
    std::copy_n(measured.q.begin(), arm_.n(), state_seen_.q.begin());
    std::copy_n(measured.dq.begin(), arm_.n(), state_seen_.dq.begin());
    law_.friction.follow(arm_, clock_, state_seen_.q);
    // Where no joint state is needed no model stops the arm: it counts as seen at rest.
    const JointState seen_at_rest{state_seen_.q, {}};
    open_loop_stop_.record_state(needs_no_state() ? seen_at_rest : state_seen_, clock_);
  }

  /// Change the state as the command and the joint state ask; `problem` is that of the joint state.
  void begin_or_end(const Reference * given, const char * problem) noexcept
  {
    const bool follows_motions = law_.settings.command == Command::motion;
    const bool is_commanded = given || (follows_motions && state_ == State::waiting);
    const bool is_fault = state_ == State::fault;
    const bool is_fault_over = is_fault && !is_latched_ && states_.has_enough_states();
    const bool may_begin = needs_no_state() || (!problem && (!is_fault || is_fault_over));
    if (is_commanded && may_begin) {
      if (state_ != State::following) {
        begin();
      }
    } else if (state_ == State::following && !given && !follows_motions) {
      ++timeout_count_;
      brake();
    } else if (is_fault_over) {
      brake();
    }
    const bool needs_state = state_ == State::braking || state_ == State::holding ||
      (state_ == State::following && !needs_no_state());
    if (needs_state && problem) {
      open_loop_stop_.begin_stop(clock_);
      end_by_fault(problem, problem == kStateImpossible);
    }
  }

  /// Begin to follow. The law's torque then comes by a ramp from the torque of a held arm, or from
  /// the gravity torque to command; torques from upstream come as fast as the torque rate allows.
  void begin() noexcept
  {
    if (state_ == State::waiting) {
      last_torque_ = resting_torque();
    }
    const bool is_held = state_ == State::braking || state_ == State::holding;
    Vector start_torque = last_torque_;
    if (!is_held && open_loop_stop_.known()) {
      law_.terms.gravity_to_command(state_seen_.q, start_torque);
    }
    ramp_.begin(start_torque);
    former_law_.reset();
    change_state(State::following);
  }

  void end_by_fault(const char * reason, bool is_latched) noexcept
  {
    fault_reason_ = reason;
    is_latched_ = is_latched;
    change_state(State::fault);
  }

  void stop() noexcept
  {
    stopped_torque_ = resting_torque();
    change_state(State::stopped);
  }

  void change_state(State state) noexcept
  {
    state_ = state;
    reference_.clear();
  }

  // Torques ------------------------------------------------------------------------------------

  /// The torque of the present state, without limits [N m].
  Vector desired_torque(const Reference * given, double seconds) noexcept
  {
    switch (state_.load()) {
      case State::following:
        return following_torque(given);
      case State::braking:
      case State::holding:
        return braking_torque(seconds);
      case State::fault:
        return stopping_torque();
      default:
        return stopped_torque_;
    }
  }

  /// Set the last torque to the one nearest to `desired` [N m] within the torque limits that may
  /// follow after `elapsed` seconds, of which at most kMaxStepS counts.
  void send_torque(const Vector & desired, double elapsed) noexcept
  {
    for (std::size_t i = 0; i < arm_.n(); ++i) {
      const double within_limits = std::clamp(desired[i], -arm_.effort[i], arm_.effort[i]);
      const double rate = std::min(arm_.effort_rate[i], kMaxTorqueRateNmS);
      const double step = rate * std::min(elapsed, kMaxStepS);
      last_torque_[i] = std::clamp(within_limits, last_torque_[i] - step, last_torque_[i] + step);
    }
    brake_.record_limited_torque(desired, last_torque_);
  }

  /// The torque at which the arm stays if nothing is computed any more [N m].
  Vector resting_torque() const noexcept
  {
    Vector torque{};
    if (law_.settings.target.adds_gravity) {
      return torque;
    }
    if (!open_loop_stop_.known()) {
      return last_torque_;
    }
    law_.terms.gravity_to_command(open_loop_stop_.probable_state(clock_).q, torque);
    for (std::size_t i = 0; i < arm_.n(); ++i) {
      torque[i] = std::clamp(torque[i], -arm_.effort[i], arm_.effort[i]);
    }
    return torque;
  }

  /// The torque that follows a command; only motions may cease (nullptr).
  Vector following_torque(const Reference * given) noexcept
  {
    switch (law_.settings.command) {
      case Command::total_torque:
        return given->torque;
      case Command::torque:
        return law_torque(law_, nullptr, given->torque);
      case Command::law:
        return own_law_torque(*given);
      default:
        return motion_torque(given);
    }
  }

  /// The torque of a law's terms and gains along a reference, plus a torque from upstream [N m].
  Vector law_torque(
    const ControlLaw & law, const Motion * reference, const Vector & own_torque) const noexcept
  {
    Vector torque{};
    law.torque(arm_, state_seen_, reference, torque);
    add(torque, own_torque);
    return torque;
  }

  /// The torque of somebody else's law with this model's terms.
  Vector own_law_torque(const Reference & given) noexcept
  {
    Vector torque = law_torque(law_, &given, given.torque);
    std::optional<Vector> former_torque;
    if (former_law_) {
      former_torque = law_torque(*former_law_, &given, given.torque);
    }
    ramp_.apply(clock_, former_torque, torque);
    former_law_.reset();
    return torque;
  }

  /// The torque that follows a given motion, or holds the arm where the last one was left.
  Vector motion_torque(const Motion * given) noexcept
  {
    const ReferenceFollower former = reference_;
    follow_or_hold(given);
    Vector torque = law_torque(law_, reference_.desired(), {});
    const bool begins_or_ends = former.is_given() != reference_.is_given();
    std::optional<Vector> former_torque;
    if (former_law_ || begins_or_ends) {
      // A motion that goes on makes no step: only the law has changed.
      const bool goes_on = former.is_given() && reference_.is_given();
      const Motion * const reference = goes_on ? reference_.desired() : former.desired();
      former_torque = law_torque(former_law_ ? *former_law_ : law_, reference, {});
    }
    ramp_.apply(clock_, former_torque, torque);
    former_law_.reset();
    if (law_.has_gains && !reference_.desired()) {
      reference_.hold(state_seen_.q);
    }
    return torque;
  }

  void follow_or_hold(const Motion * given) noexcept
  {
    const Motion * const desired = reference_.desired();
    if (given) {
      reference_.follow(*given);
    } else if (desired && former_law_ && pulls_more(desired->q)) {
      reference_.clear();  // a person may have guided the arm away
    } else if (reference_.is_given()) {
      reference_.hold(desired->q);  // perhaps in mid-motion
    }
  }

  /// Whether changed settings raise kp at a joint that had none, or that is far from a reference.
  bool pulls_more(const Vector & reference_q) const noexcept
  {
    for (std::size_t i = 0; i < arm_.n(); ++i) {
      const double former_kp = former_law_->settings.kp[i];
      const bool is_far = std::abs(reference_q[i] - state_seen_.q[i]) > kMaxStartDistanceRad;
      if (law_.settings.kp[i] > former_kp && (former_kp == 0.0 || is_far)) {
        return true;
      }
    }
    return false;
  }

  /// The torque that brakes the arm and then holds it or, if the target adds gravity, ends.
  Vector braking_torque(double seconds) noexcept
  {
    Vector torque{};
    Vector coriolis{};
    Vector slowing{};
    brake_.torque(arm_, state_seen_, law_.terms, seconds, slowing);
    law_.terms.gravity_to_command(state_seen_.q, torque);
    law_.terms.coriolis(state_seen_, coriolis);
    add(torque, coriolis);
    add(torque, slowing);
    if (brake_.fails()) {
      end_by_fault(kBrakingFailed, true);
      return resting_torque();
    }
    if (brake_.at_rest() && law_.settings.target.adds_gravity) {
      stop();
      return stopped_torque_;
    }
    if (brake_.at_rest()) {
      change_state(State::holding);
    }
    return torque;
  }

  /// The torque that stops the arm by its model, and then the resting torque.
  Vector stopping_torque() const noexcept
  {
    if (!open_loop_stop_.stops(clock_)) {
      return resting_torque();
    }
    Vector torque{};
    open_loop_stop_.stopping_torque(law_.terms, clock_, torque);
    return torque;
  }

  const Arm arm_;

  // What any thread may read.
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  std::atomic<State> state_{State::waiting};
  std::atomic<const char *> fault_reason_{nullptr};  // of the latest fault
  std::atomic<bool> is_latched_{false};  // the latest fault
  std::atomic<std::uint64_t> timeout_count_{0};

  // Joint states.
  double clock_ = 0.0;  // [s] sum of the cycles' times, because system clocks can be set back
  StateCheck states_{};
  JointState state_seen_{};  // the last usable one

  // What is followed, and by which law.
  ControlLaw law_{};
  std::optional<ControlLaw> former_law_{};  // of the last torque, while another one is to follow
  ReferenceFollower reference_{};
  TorqueRamp ramp_{};

  // How the arm is stopped.
  BrakingController brake_{};
  OpenLoopStop open_loop_stop_{};

  // Torques [N m].
  Vector last_torque_{};
  Vector stopped_torque_{};  // in State::stopped
};

}  // namespace franka_dynamics_controllers
