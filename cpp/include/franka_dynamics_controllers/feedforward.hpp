// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Feedforward torques of one arm, without ROS: follows motions or the torques of a law, compares
// each joint state with the model, brakes the arm, and keeps the limits of torque and torque rate.
//
// Real-time safe: no allocation, no lock, no exception and no system call in cycle(), step(),
// tick(), apply(), start(), stop() and restart(). SI units; arrays in joint order.
// tau = M(q) ddq + C(q, dq) dq + g(q).
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "franka_dynamics_controllers/acting_law.hpp"
#include "franka_dynamics_controllers/control_law.hpp"
#include "franka_dynamics_controllers/disturbance.hpp"
#include "franka_dynamics_controllers/newest.hpp"
#include "franka_dynamics_controllers/reasons.hpp"
#include "franka_dynamics_controllers/reference.hpp"
#include "franka_dynamics_controllers/repeated_positions.hpp"
#include "franka_dynamics_controllers/speed_watcher.hpp"
#include "franka_dynamics_controllers/state_check.hpp"
#include "franka_dynamics_controllers/stopping.hpp"
#include "franka_dynamics_controllers/torque_output.hpp"
#include "franka_dynamics_controllers/transitions.hpp"

namespace franka_dynamics_controllers
{

/// What a user's stop leads to; kinds as Stop of franka_dynamics/control/core_table.py.
enum class Stop {let_go, hold, to_zero, pause, final_stop};

/// Computes each control cycle's torque, as Feedforward of franka_dynamics/control does; the page
/// docs/reference/what-stops-the-arm.md says when torques begin and end. One object per arm. One thread
/// calls it; one thread, perhaps another one, may call status(), and any thread state().
///
/// Other than in Python, commands come beside each joint state. A motion that ceases is held where
/// it ended; where torques of a law cease, the arm is braked, and without them none begin.
class Feedforward
{
public:
  /// The arm must be one that refuse() accepts.
  explicit Feedforward(const Arm & arm, const StateLimits & limits = {})
  : arm_(arm), states_(arm_, limits), output_(limits), disturbances_(arm_, limits)
  {
    law_.request(law_of(Settings{}));
    law_.act();
    restart();
  }

  /// Use other settings, gradually where a torque is applied. Returns '', or why they are refused;
  /// the present settings then stay in use. Allocates.
  std::string configure(const Settings & settings)
  {
    const double period = kPeriodMarginFactor * states_.period();
    if (std::string reason = refusal(settings, period, states_.median_age()); !reason.empty()) {
      return reason;
    }
    return text_of(apply(law_of(settings)), arm_);
  }

  /// Why settings cannot be used with joint states of a period and an age [s], or ''; for any
  /// thread. Allocates.
  std::string refusal(const Settings & settings, double period, double age = 0.0) const
  {
    if (std::string reason = refuse(arm_, settings); !reason.empty()) {
      return reason;
    }
    if (settings.command == Command::total_torque) {
      return "total torques are applied by a TorqueReceiver (receiver.hpp)";
    }
    const Reason unstable =
      law_of(settings).gain_delay.instability(arm_.n(), period, age);
    return settings.guard && unstable ? text_of(unstable, arm_) : "";
  }

  /// The control law of settings that refuse() accepts, for apply().
  ControlLaw law_of(const Settings & settings) const noexcept
  {
    ControlLaw law;
    law.configure(arm_, settings, is_exact(settings));
    return law;
  }

  /// Why a law cannot follow one of other settings now: its kp would pull a joint that is far from
  /// the motion that is followed. For any thread.
  Reason pull_refusal(const Settings & present, const Settings & settings) const noexcept
  {
    const std::uint32_t far_joints = state_ == CoreState::running ? far_joints_.load() : 0;
    for (std::size_t i = 0; i < arm_.n(); ++i) {
      if (((far_joints >> i) & 1U) != 0U && settings.kp[i] > present.kp[i]) {
        return Reason::of_joint(ReasonCode::kp_pulls, i, {kMaxStartDistanceRad});
      }
    }
    return {};
  }

  /// Use another law; for the control cycle. Returns why it cannot be used now, no reason if it
  /// is: it would change target or command while torques are sent, or pull_refusal().
  Reason apply(const ControlLaw & law) noexcept
  {
    const Settings & present = law_.requested().settings;
    const Settings & settings = law.settings;
    const bool is_same_interface = settings.command == present.command &&
      settings.target.name == present.target.name;
    if (state_ != CoreState::silent && !is_same_interface) {
      return Reason::of_caller("target and command cannot change while torques are sent");
    }
    if (const Reason pulled = pull_refusal(present, settings); pulled) {
      return pulled;
    }
    if (!is_given_ && pulls_more(law)) {
      reference_.reset();  // a person may have guided the arm away
    }
    law_.request(law);
    if (!states_.has_stamp() && output_.count() == 0) {  // nothing has been computed yet
      law_.act();
    }
    happen(Event::change, states_.arrival_time(), ending_);
    publish_status();
    return {};
  }

  const Arm & arm() const noexcept {return arm_;}
  /// The settings that were asked for last; changed ones may act later, and gradually.
  const Settings & settings() const noexcept {return law_.requested().settings;}
  /// The terms by which torques go out.
  const TermModel & terms() const noexcept {return law_.acting().terms;}
  CoreState state() const noexcept {return state_;}
  /// Whether the latest state or tick gave a new torque to send.
  bool sends() const noexcept {return output_.is_new();}
  const DisturbanceMonitor & disturbances() const noexcept {return disturbances_;}
  const StateCheck & states() const noexcept {return states_;}
  /// What is followed, if something is.
  const std::optional<Desired> & reference() const noexcept {return reference_;}
  /// How often torques ended by a fault, by lost states, and because commands ceased.
  std::uint64_t faults() const noexcept {return fault_count_;}
  std::uint64_t losses() const noexcept {return loss_count_;}
  std::uint64_t timeouts() const noexcept {return timeout_count_;}

  /// The state, and what ended torques or keeps them from beginning; while torques go out, why
  /// the acting gains do not bear the delay that joint states have now.
  struct Status
  {
    CoreState state = CoreState::silent;
    Ending ending{};
    Reason note{};
  };
  const Status & status() noexcept {return status_.read();}
  /// Why torques have ended or do not begin, '' while they go out; allocates.
  std::string why() noexcept(false) {return text_of(status().ending, arm_);}

  /// Forget everything but the settings, as before the first cycle.
  void restart() noexcept
  {
    is_stop_requested_ = false;
    law_.set_agreed(false);
    ending_ = Ending::by(Cause::torque_awaited, Reason::of(ReasonCode::no_state));
    reset();
  }

  /// Forget states, torques and faults, for reset simulations; a user's stop stays.
  void reset() noexcept
  {
    const Ending former = ending_;
    if (former.remedy != Remedy::configure && former.reaction != Reaction::zero) {
      ending_ = Ending::by(Cause::torque_awaited, Reason::of(ReasonCode::no_state));
      if (is_stop_requested_) {
        const Ending stopped = Ending::by(Cause::stop_requested, {});
        ending_ = former;
        ending_.reaction = stopped.reaction;
        ending_.remedy = stopped.remedy;
      }
    }
    happen(is_stop_requested_ ? Event::reset_stopped : Event::reset, -kInfinity, former);
    has_latest_ = false;
    desired_.reset();
    own_torque_.reset();
    clear_reference();
    states_.reset();
    law_.end();
    disturbances_.forget_states();
    speeds_.reset();
    repeated_positions_.reset();
    open_loop_stop_.reset();
    output_.reset();
    law_.acting_for_states().friction.restart();
    is_status_new_ = true;
    publish_status();
  }

  // A step --------------------------------------------------------------------------------------

  /// Compute the torque `tau` [N m] of a loop's cycle, `elapsed` seconds after the last one; a
  /// negative time or NaN counts as zero. Returns false while there is no torque to send: before a
  /// joint state has agreed with the settings.
  ///
  /// `measured` is nullptr if the joint states could not be read, `given` if there is no command,
  /// `effort` if no torque is measured.
  bool cycle(
    double elapsed, const JointState * measured, const Reference * given, Vector & tau,
    const Vector * effort = nullptr) noexcept
  {
    // Of a longer cycle no more matters than that it was long.
    clock_ += elapsed > 0.0 ? std::min(elapsed, kMaxBrakingTimeS) : 0.0;
    if (measured) {
      StateSample sample;
      sample.q = measured->q;
      sample.dq = measured->dq;
      sample.stamp = clock_;
      sample.now = clock_;
      if (effort) {
        sample.effort = *effort;
      }
      tau = step(sample, given);
    } else {
      tau = reject_state("a joint state could not be read", clock_);
    }
    return state_ != CoreState::silent || law_.have_agreed();
  }

  /// Take one joint state, and a command beside it or nullptr; send the next torque if it is new,
  /// and return it [N m]. A stamp that is no number makes a state that cannot be used.
  Vector step(const StateSample & given_sample, const Reference * given) noexcept
  {
    StateSample sample = given_sample;
    if (sample.effort && !all_numbers(*sample.effort)) {
      sample.effort.reset();  // none is measured
    }
    if (sample.age && std::isnan(*sample.age)) {
      sample.age.reset();
    }
    if (!std::isfinite(sample.stamp) || !std::isfinite(sample.received_at())) {
      return reject_state("the time of a joint state is no number", states_.arrival_time());
    }
    take_command(sample, given);
    Vector torque{};
    switch (states_.stamp_order(sample)) {
      case StampOrder::set_back:
        torque = follow_set_back_clock(sample);
        break;
      case StampOrder::out_of_order: {
          record_wait_for_states();
          const auto [now, silence] = states_.tick_arguments(sample);
          torque = tick(now, silence);
          break;
        }
      default:
        torque = take_new_state(sample);
    }
    record_far_joints();
    record_delay_note();
    publish_status();
    return torque;
  }

  /// Return the torque while no joint state comes [N m]; after the time-out stop the arm. `silence`
  /// is the time since the last state by the clock of stamps [s], as in simulated time; nullopt: by
  /// `now`, the clock of arrivals [s].
  Vector tick(double now, std::optional<double> silence = std::nullopt) noexcept
  {
    const double seconds = std::abs(silence.value_or(now - states_.arrival_time()));
    Vector torque{};
    if (!(seconds <= states_.silence_timeout()) && is_active()) {
      torque = lose_states(
        Ending::of_state(Reason::of(ReasonCode::silence, {1e3 * seconds})), now);
    } else {
      torque = torque_without_state(now);
    }
    publish_status();
    return torque;
  }

  /// Reject a joint state that cannot be read or trusted, for a reason that must last; return the
  /// next torque [N m]. `faulty`: another source sends joint states, too.
  Vector reject_state(const char * why, double now, bool faulty = false) noexcept
  {
    const Cause cause = faulty ? Cause::second_source : Cause::states_lost;
    const Ending ending = Ending::by(cause, Reason::of_caller(why));
    states_.reject(ending.last);
    const Vector torque = lose_states(ending, now);
    publish_status();
    return torque;
  }

  // What users ask for --------------------------------------------------------------------------

  /// Let no torque begin for a reason, which must last, as when nobody applies it; nullptr: let it.
  void block(const char * why) noexcept
  {
    blocked_ = why ? Reason::of_caller(why) : Reason{};
  }

  /// Clear a fault, and let the law begin when the arm allows it; a held arm is started at once.
  /// Returns why it may not be started, no reason if it may.
  Reason start() noexcept
  {
    const bool is_held = state_ == CoreState::holding && ending_.remedy != Remedy::configure;
    const bool is_running = state_ == CoreState::running;
    if (is_held) {
      if (const Reason why_not = held_arm_refusal(); why_not) {
        return why_not;
      }
    }
    if (!happen(Event::start, states_.arrival_time(), ending_)) {
      return Reason::of_caller(
        ending_.remedy == Remedy::configure ?
        "the model is not the arm: configure the controller again" :
        "the arm is still to be braked and held; try again");
    }
    is_stop_requested_ = false;
    if (!is_held && !is_running) {
      record_wait(states_.problem() ? states_.problem() : blocked());
    }
    publish_status();
    return {};
  }

  /// End torques for a reason, which must last.
  void stop(const char * reason, Stop then = Stop::let_go) noexcept
  {
    constexpr Cause kCausesOfStops[] = {Cause::stop_requested, Cause::hold_requested,
      Cause::wrong_receiver, Cause::receiver_pauses, Cause::model_changed};
    is_stop_requested_ = is_stop_requested_ || then != Stop::pause;
    Cause cause = kCausesOfStops[static_cast<std::size_t>(then)];
    const bool is_held = is_active() || ending_.reaction == Reaction::hold;
    if (then == Stop::hold && !is_held) {  // nothing that rests is caught
      cause = Cause::hold_without_torque;
    }
    end(Ending::by(cause, Reason::of_caller(reason)), states_.arrival_time());
    publish_status();
  }

  /// End at once, without further cycles: `tau` is the resting torque. Returns false if there was
  /// no torque.
  bool end_at_once(Vector & tau) noexcept
  {
    const bool was_sent = state_ != CoreState::silent || law_.have_agreed();
    tau = within_limits(arm_, resting_torque(clock_));
    stop("the controller ends");
    return was_sent;
  }

private:
  bool is_exact(const Settings & settings) const noexcept
  {
    // In a loop's simulation joints have the rotor inertia and friction that the arm states.
    return output_.in_loop() && settings.target.name == kMujoco.name;
  }

  bool guards() const noexcept {return law_.requested().settings.guard;}
  bool is_active() const noexcept
  {
    return state_ == CoreState::running || state_ == CoreState::braking || state_ == CoreState::holding;
  }
  bool takes_motions() const noexcept
  {
    return law_.requested().settings.command == Command::motion;
  }
  /// Why nothing may begin yet.
  Reason blocked() const noexcept
  {
    return blocked_ || takes_motions() || own_torque_ ?
           blocked_ : Reason::of_caller("no torque is commanded");
  }
  bool all_numbers(const Vector & values) const noexcept
  {
    return std::none_of(
      values.begin(), values.begin() + arm_.n(), [](double x) {return std::isnan(x);});
  }

  // Commands ------------------------------------------------------------------------------------

  void take_command(const StateSample & sample, const Reference * given) noexcept
  {
    had_own_torque_ = own_torque_.has_value();
    own_torque_.reset();
    if (takes_motions()) {
      follow_or_hold(given);
    } else if (given) {
      own_torque_ = own_torque(sample, *given);
    }
    disturbances_.set_own_torque(own_torque_.has_value());
  }

  void follow_or_hold(const Reference * given) noexcept
  {
    if (state_ != CoreState::running) {
      return;
    }
    if (given) {
      reference_.emplace();
      static_cast<Reference &>(*reference_) = *given;
    } else if (is_given_) {
      reference_->dq.fill(0.0);
      reference_->ddq.fill(0.0);
    }
    is_given_ = given != nullptr;
  }

  /// The torque of the caller's law. A value that is not finite makes all of it not finite.
  Desired own_torque(const StateSample & sample, const Reference & given) const noexcept
  {
    const std::size_t n = arm_.n();
    Desired own;
    own.is_own_torque = true;
    own.q = sample.q;
    own.dq = sample.dq;
    const bool has_rates = law_.requested().settings.command == Command::law;
    const bool is_finite = all_finite(given.torque, n) &&
      (!has_rates || (all_finite(given.dq, n) && all_finite(given.ddq, n)));
    if (!is_finite) {
      own.torque.fill(std::numeric_limits<double>::quiet_NaN());
      return own;
    }
    own.torque = given.torque;
    if (has_rates) {
      own.dq = given.dq;
      own.ddq = given.ddq;
    }
    return own;
  }

  void clear_reference() noexcept
  {
    reference_.reset();
    is_given_ = false;
  }

  /// Record which joints are far from the motion that is given.
  void record_far_joints() noexcept
  {
    std::uint32_t far_joints = 0;
    for (std::size_t i = 0; i < arm_.n() && is_given_ && desired_; ++i) {
      const bool is_far = std::abs(desired_->q[i] - states_.q()[i]) > kMaxStartDistanceRad;
      far_joints |= static_cast<std::uint32_t>(is_far) << i;
    }
    far_joints_ = far_joints;
  }

  /// Whether a law raises kp at a joint that had none, or that is far from the reference.
  bool pulls_more(const ControlLaw & law) const noexcept
  {
    for (std::size_t i = 0; i < arm_.n(); ++i) {
      const double former_kp = law_.requested().settings.kp[i];
      const bool is_far = reference_ && states_.has_position() &&
        std::abs(reference_->q[i] - states_.q()[i]) > kMaxStartDistanceRad;
      if (law.settings.kp[i] > former_kp && (former_kp == 0.0 || is_far)) {
        return true;
      }
    }
    return false;
  }

  // 1. Can the state be used? -------------------------------------------------------------------

  Vector take_new_state(const StateSample & sample) noexcept
  {
    const double now = sample.received_at();
    const bool was_active = is_active();
    Repetition repetition = Repetition::none;
    if (guards()) {
      const RepeatedPositions::Sent sent{output_.last(), was_active,
        desired_ && desired_->is_own_torque, disturbances_.may_brakes_hold(sample.stamp)};
      repeated_positions_.record(
        arm_.n(), sample, states_.has_position() ? &states_.q() : nullptr, sent,
        arm_.stiction, desired_ && desired_->is_moving(arm_.n()));
      repetition = repeated_positions_.latest();
    }
    const bool is_old = repetition == Repetition::old_state;
    const double timeout = states_.silence_timeout();
    const bool is_too_long = repeated_positions_.repeat_time() > timeout;
    // A late state cannot show yet what the latest torques do.
    const bool is_driven = repeated_positions_.driven_time() > timeout + states_.age();
    const bool is_frozen = was_active && (repetition == Repetition::frozen || is_driven);
    if (is_too_long && (is_old || is_frozen)) {
      states_.reject(frozen_positions());
      if (was_active) {
        return lose_states(Ending::of_state(states_.problem()), now);
      }
    }
    if (is_old) {  // it is dropped, as if none had come
      record_wait_for_states();
      return torque_without_state(now);
    }
    const Reason problem = states_.check(sample, now, guards());
    if (problem) {
      record_unusable_state(sample);
      return lose_states(Ending::of_state(problem), now);
    }
    if (repetition == Repetition::none) {  // else its velocity may be an old one
      // The velocities of an arm that is not trusted may have been the fault.
      const Vector dq =
        ending_.reaction == Reaction::leave ? states_.velocity_by_positions() : sample.dq;
      open_loop_stop_.record_state(sample.q, dq, now);
    }
    latest_ = terms_at(sample);
    has_latest_ = true;
    const DisturbanceMonitor::SentTorques sent(output_, states_.age_in_periods());
    if (!was_active) {
      observe(sample, sent, state_ == CoreState::silent);
      const Reason contradiction = begin_or_wait(now);
      end_if_wrong(static_cast<bool>(contradiction));
      return torque_at_state(now);
    }
    follow_own_law(now);
    // The torque goes out before the rest is computed; what is found changes the next one.
    const Vector torque = torque_at_state(now);
    // A frozen state tells nothing of the arm.
    if (guards() && repetition != Repetition::frozen) {
      observe(sample, sent, false);
      end_if_wrong(false);
    }
    return torque;
  }

  Reason frozen_positions() const noexcept
  {
    return Reason::of(
      ReasonCode::frozen_positions, {1e3 * repeated_positions_.repeat_time()});
  }

  /// A possible state with its terms, along the reference.
  StateTerms terms_at(const StateSample & sample) noexcept
  {
    desired_ = takes_motions() ? reference_ : own_torque_;
    if (law_.acting().settings.friction) {
      law_.acting_for_states().friction.follow(arm_, sample.stamp, sample.q);
    }
    return law_.acting().terms_at(sample.stamp, sample, desired_ ? &*desired_ : nullptr);
  }

  /// Record what an unusable state says nevertheless: its terms, and where the arm is.
  void record_unusable_state(const StateSample & sample) noexcept
  {
    has_latest_ = states_.has_possible_values();
    if (has_latest_) {
      latest_ = terms_at(sample);
    }
    const double now = sample.received_at();
    const bool is_driven = is_active() || open_loop_stop_.stops(now);
    if (states_.is_velocity_wrong()) {
      open_loop_stop_.record_state(sample.q, states_.velocity_by_positions(), now);
    } else if (states_.is_position_known() && !is_driven) {
      // The state is late, but right: an arm that nothing drives rests there.
      open_loop_stop_.record_state(sample.q, {}, now);
    }
  }

  /// Forget what came before the clock of stamps was set back.
  Vector follow_set_back_clock(const StateSample & sample) noexcept
  {
    const double now = sample.received_at();
    output_.set_clock(now);
    states_.forget_times();
    disturbances_.forget_states();
    speeds_.reset();
    const Reason problem = Reason::of(ReasonCode::clock_set_back);
    states_.reject(problem);
    // A simulation that was reset has put the arm elsewhere.
    if (!states_.check_values(sample)) {
      open_loop_stop_.record_state(sample.q, sample.dq, now);
    }
    return lose_states(Ending::of_state(problem), now);
  }

  /// End active torques, as a state is missing or cannot be used.
  Vector lose_states(const Ending & ending, double now) noexcept
  {
    if (is_active()) {
      ++loss_count_;
      end(ending, now);
    }
    record_wait_for_states();
    return torque_without_state(now);
  }

  // 2. May torques begin? -----------------------------------------------------------------------

  /// Let torques begin at a usable state, silent or stopping, if they may. Returns why the state
  /// contradicts the settings by which they would begin.
  Reason begin_or_wait(double now) noexcept
  {
    const ControlLaw & law = law_.candidate();
    Reason contradiction;
    if (guards()) {
      contradiction = disturbances_.contradiction(
        arm_, law_.acting().terms, law.terms, law.settings.target.name);
    }
    if (!contradiction) {
      if (&law == &law_.requested()) {
        use_requested_law(now);
      }
      law_.set_agreed(true);
    }
    if (ending_.reaction == Reaction::hold) {
      if (states_.has_enough_states() && !blocked()) {
        happen(Event::seen, now, ending_);
      }
    } else if (ending_.begins_alone()) {
      Reason why_not = blocked();
      if (!why_not) {
        why_not = contradiction;
      }
      if (!why_not) {
        why_not = start_refusal();
      }
      if (!why_not) {
        happen(Event::begin, now, ending_);
      } else if (state_ == CoreState::silent) {
        record_wait(why_not);
      }
    }
    return contradiction;
  }

  /// Why joint states or gains do not allow a first torque yet.
  Reason start_refusal() const noexcept
  {
    if (!guards()) {
      return {};
    }
    const Reason refusal = states_.start_refusal();
    return refusal ? refusal : law_.requested().gain_delay.instability(
      arm_.n(), states_.period(), states_.median_age());
  }

  /// Why the law must not take over the arm that is held.
  Reason held_arm_refusal() noexcept
  {
    Reason why_not = blocked();
    if (!why_not) {
      why_not = start_refusal();
    }
    if (!why_not && guards()) {
      const ControlLaw & law = law_.is_requested_acting() ? law_.acting() : law_.requested();
      why_not = disturbances_.violation_at_start(
        arm_, law_.acting().terms, law.terms, law.settings.target.name);
    }
    return why_not;
  }

  /// Record why no first torque is sent yet.
  void record_wait(const Reason & why) noexcept
  {
    const Ending wait = Ending::by(
      Cause::torque_awaited, why ? why : Reason::of(ReasonCode::states_awaited));
    if (ending_.reaction == Reaction::zero) {  // which lasts until the law begins
      ending_ = ending_.joined_with(wait);
      ending_.remedy = wait.remedy;
    } else {
      ending_ = wait;
    }
    is_status_new_ = true;
  }

  /// Record why states allow no first torque, if one is awaited.
  void record_wait_for_states() noexcept
  {
    if (state_ == CoreState::silent && ending_.begins_alone() && states_.problem()) {
      record_wait(states_.problem());
    }
  }

  /// Brake a moving arm whose own law ceases; let that law go on if it returns.
  void follow_own_law(double now) noexcept
  {
    if (state_ == CoreState::running) {
      if (had_own_torque_ && !own_torque_ && latest_.is_moving(arm_.n())) {
        ++timeout_count_;
        end(Ending::by(Cause::own_law_ceased, Reason::of(ReasonCode::own_law_ceased)), now);
      }
    } else if (state_ == CoreState::braking && own_torque_) {
      if (ending_.begins_alone() && !blocked() && !start_refusal()) {
        happen(Event::own_law_returns, now, ending_);
      }
    }
  }

  // 3. Must torques end? ------------------------------------------------------------------------

  /// Let the observer see a usable state, with the torques that were `sent` before it.
  void observe(
    const StateSample & sample, const DisturbanceMonitor::SentTorques & sent, bool is_silent)
  noexcept
  {
    disturbances_.update(
      arm_, law_.acting().terms, latest_, sample.effort, sent, is_silent);
  }

  /// End the torques, to hold the arm, if it is too fast or disturbed.
  void end_if_wrong(bool contradicts) noexcept
  {
    const Vector * const bound = guards() ? watched_bound(contradicts) : nullptr;
    if (!bound) {
      return;
    }
    const double elapsed = states_.elapsed();
    const TermModel & terms = law_.acting().terms;
    const char * const target = law_.acting().settings.target.name;
    const Reason disturbed = disturbances_.check_bounds(
      arm_, terms, latest_, elapsed, *bound, target);
    Reason too_fast = speeds_.check(arm_, latest_, elapsed, desired_ ? &*desired_ : nullptr);
    if (too_fast) {
      const Reason excess = disturbances_.violation(
        arm_, terms, terms, disturbances_.start_bound(), target);
      too_fast.has_causes = excess.has_causes;
      too_fast.compared = excess.compared;
      too_fast.along = excess.along;
      too_fast.has_own_torque = excess.has_own_torque;
      // Gains may be so low that a load within all bounds moves the arm.
      too_fast.load =
        excess ? excess.load : disturbances_.load_beyond_declared(arm_, terms, terms);
      too_fast.target = target;
      end(Ending::by(Cause::joint_too_fast, too_fast), states_.arrival_time());
    } else if (disturbed) {
      end(Ending::by(Cause::lasting_disturbance, disturbed), states_.arrival_time());
    }
  }

  /// The bound on unexplained torques that holds now; nullptr: none.
  const Vector * watched_bound(bool contradicts) const noexcept
  {
    if (state_ == CoreState::running) {
      return &disturbances_.running_bound();
    }
    if (is_active()) {
      return nullptr;  // the brake watches itself
    }
    if (!output_.in_loop()) {
      return nullptr;  // a node's torques no longer act
    }
    if (!ending_.is_watched()) {
      return nullptr;
    }
    if (!latest_.is_moving(arm_.n())) {
      return nullptr;
    }
    // Settings that have agreed once are not doubted while they wait for start().
    const bool may_begin = ending_.begins_alone() || !law_.have_agreed();
    if (contradicts && may_begin && ending_.reaction != Reaction::hold) {
      return &disturbances_.start_bound();
    }
    // The arm moves under the resting torque: this core carries it only if that is g(q).
    const bool is_carried = !law_.acting().terms.adds_gravity() && law_.have_agreed();
    return is_carried ? &disturbances_.running_bound() : nullptr;
  }

  // Changes of the state ------------------------------------------------------------------------

  /// End the torques by an ending, joined with the present one if that must last.
  void end(const Ending & now_ending, double now) noexcept
  {
    fault_count_ += now_ending.is_fault();
    const Ending former = ending_;
    const bool has_ended = former.reaction == Reaction::zero || !former.begins_alone() ||
      state_ == CoreState::braking || state_ == CoreState::holding;
    ending_ = has_ended ? former.joined_with(now_ending) : now_ending;
    is_status_new_ = true;
    if (former.reaction != Reaction::hold) {
      brake_.forget_disturbance();
    }
    happen(event_of(now_ending.cause), now, former);
  }

  /// Let an event change the state, the torque and the settings by its row of the table. `former`
  /// is what had ended torques before. Returns false, and changes nothing, if the row refuses.
  bool happen(Event event, double now, const Ending & former) noexcept
  {
    const Row * const row = row_of(state_, event, former.reaction, former.remedy);
    if (!row) {
      return true;
    }
    if (!row->to) {
      return false;
    }
    const CoreState before = state_;
    state_ = *row->to;
    if (before == CoreState::running && state_ != CoreState::running) {
      clear_reference();
      desired_.reset();
      law_.end();
    }
    law_.wait(row->settings);
    if (row->settings == Acting::requested) {
      use_requested_law(now);
    }
    if (row->torque != TorqueOfEvent::same) {
      torque_ = row->torque;
      prepare_torque(now);
    }
    is_status_new_ = true;
    return true;
  }

  /// Prepare the torque that an event brings.
  void prepare_torque(double now) noexcept
  {
    const ControlLaw & law = law_.acting();
    if (torque_ == TorqueOfEvent::law_from_g || torque_ == TorqueOfEvent::law_from_last) {
      Vector start_torque = output_.last();
      if (torque_ == TorqueOfEvent::law_from_g) {
        law.terms.gravity_to_command(latest_.q, latest_.gravity, start_torque);
        output_.begin_at(arm_, law.terms.adds_gravity() ? Vector{} : start_torque);
        disturbances_.reset_at_first_torque(latest_.stamp);
        if (output_.in_loop()) {
          law_.add_ramp(arm_.n(), now, start_torque);
        }
      }
      law_.begin(start_torque);
      speeds_.reset();
      ending_ = Ending{};
      law_.set_agreed(true);
    } else if (torque_ == TorqueOfEvent::brake) {
      brake_ =
        BrakingController(disturbances_.disturbance(), law.settings.kp, law.settings.kd);
      law_.set_agreed(true);
      // Where the arm was seen last, not where its model has taken it since: hence no time.
      output_.begin_at(arm_, resting_torque(-kInfinity));
    } else if (torque_ == TorqueOfEvent::stop_by_model) {
      open_loop_stop_.begin_stop(arm_.n(), now);
    }
  }

  /// Let the requested law act; d takes up the difference.
  void use_requested_law(double now) noexcept
  {
    if (law_.is_requested_acting()) {
      return;
    }
    const std::size_t n = arm_.n();
    const ControlLaw & before = law_.acting();
    const ControlLaw & after = law_.requested();
    Vector change = resting_torque(now);
    if (before.terms.adds_gravity() != after.terms.adds_gravity() && !output_.in_loop()) {
      output_.reset();  // another receiver: of what was sent nothing acts
    }
    const bool has_new_load = before.settings.payload != after.settings.payload;
    disturbances_.change_terms(before.terms, after.terms, has_new_load);
    law_.act();
    if (!is_active() && output_.in_loop()) {
      const Vector resting = resting_torque(now);
      for (std::size_t i = 0; i < n; ++i) {
        change[i] -= resting[i];
      }
      law_.add_to_ramp(n, change, now);
    }
    if (has_latest_) {
      latest_ = law_.acting().terms_at(
        latest_.stamp, {latest_.q, latest_.dq}, desired_ ? &*desired_ : nullptr);
    }
  }

  /// Record whether the acting gains bear the delay that states have now.
  void record_delay_note() noexcept
  {
    Reason note;
    if (state_ == CoreState::running && guards()) {
      note = law_.acting().gain_delay.instability(
        arm_.n(), states_.period(), states_.median_age());
    }
    // It is said where it begins and ends, not with each of its numbers.
    is_status_new_ = is_status_new_ || static_cast<bool>(note) != static_cast<bool>(delay_note_);
    delay_note_ = note;
  }

  void publish_status() noexcept
  {
    if (is_status_new_) {
      status_.write({state_, ending_, state_ == CoreState::running ? delay_note_ : Reason{}});
      is_status_new_ = false;
    }
  }

  // The torque of each state --------------------------------------------------------------------

  /// Send the torque of the law or the brake at the latest state.
  Vector torque_at_state(double now) noexcept
  {
    if (!is_active()) {
      return torque_without_state(now);
    }
    const Vector desired =
      torque_ == TorqueOfEvent::brake ? braking_torque(now) : law_torque(now);
    if (is_active() && !all_finite(desired, arm_.n())) {
      end(Ending::by(Cause::torque_not_finite, Reason::of(ReasonCode::torque_not_finite)), now);
    }
    if (!is_active()) {  // the torque has ended torques
      return torque_without_state(now);
    }
    const Vector torque = output_.send_at_state(
      arm_, desired, now, states_.elapsed(), states_.is_arrival_given());
    brake_.record_limited_torque(desired, torque);
    return torque;
  }

  /// The torque of the law; without a motion kp holds the arm here.
  Vector law_torque(double now) noexcept
  {
    const bool is_given = takes_motions() && is_given_;
    const Vector torque = law_.torque(arm_, latest_, desired_, is_given, now);
    if (takes_motions() && law_.acting().has_kp && !desired_) {
      reference_.emplace();
      reference_->q = latest_.q;
    }
    return torque;
  }

  /// The torque that brakes or holds the arm; note where that ends.
  Vector braking_torque(double now) noexcept
  {
    const TermModel & terms = law_.acting().terms;
    const Vector torque = brake_.torque(
      arm_, latest_, terms, disturbances_.disturbance(), states_.elapsed(), states_.age());
    if (brake_.failure()) {
      end(Ending::by(Cause::braking_failed, brake_.failure()), now);
    } else if (state_ == CoreState::braking && brake_.at_rest()) {
      if (ending_.reaction != Reaction::hold && guards()) {  // also after a start()
        const Reason excess = disturbances_.violation(
          arm_, terms, terms, disturbances_.start_bound(), law_.acting().settings.target.name);
        if (excess) {
          Reason why = excess;
          why.code = ReasonCode::not_carried;
          ending_ = ending_.joined_with(Ending::by(Cause::not_carried, why));
        }
      }
      const bool is_held = ending_.reaction == Reaction::hold;
      happen(is_held ? Event::at_rest_held : Event::at_rest, now, ending_);
    }
    return torque;
  }

  /// The torque without a joint state, sent unless a node is silent.
  Vector torque_without_state(double now) noexcept
  {
    if (is_active() || (state_ == CoreState::silent && !output_.in_loop())) {
      return output_.repeat_last();
    }
    const Vector resting = resting_torque(now);
    Vector desired = resting;
    const bool is_stopping = state_ == CoreState::stopping;
    const bool is_by_model =
      torque_ == TorqueOfEvent::stop_by_model && open_loop_stop_.stops(now);
    if (is_stopping && is_by_model) {
      const Vector torque = open_loop_stop_.stopping_torque(law_.acting().terms, now);
      desired = all_finite(torque, arm_.n()) ? torque : resting;
    }
    const Vector sent = output_.send_by_clock(arm_, desired, now);
    const bool rests = std::equal(sent.begin(), sent.begin() + arm_.n(), resting.begin());
    if (is_stopping && !is_by_model && rests) {
      happen(Event::at_resting_torque, now, ending_);
    }
    return sent;
  }

  /// The torque on which the arm rests, with what is left of the ramp.
  Vector resting_torque(double now) const noexcept
  {
    Vector torque = torque_at_rest(now);
    if (output_.in_loop()) {
      law_.add_ramp(arm_.n(), now, torque);
    }
    return all_finite(torque, arm_.n()) ? torque : Vector{};
  }

  /// g(q) where the arm is or probably is, with d after Reaction::hold; or zero.
  Vector torque_at_rest(double now) const noexcept
  {
    Vector torque{};
    const TermModel & terms = law_.acting().terms;
    const bool is_zero = terms.adds_gravity() || torque_ == TorqueOfEvent::zero;
    if (!open_loop_stop_.known() || is_zero || !law_.have_agreed()) {
      return torque;
    }
    terms.gravity(open_loop_stop_.probable_state(now).q, torque);
    for (std::size_t i = 0; i < arm_.n() && ending_.reaction == Reaction::hold; ++i) {
      torque[i] += brake_.disturbance()[i];
    }
    return torque;
  }

  const Arm arm_;

  // What any thread may read.
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
  std::atomic<CoreState> state_{CoreState::silent};
  std::atomic<std::uint64_t> fault_count_{0};
  std::atomic<std::uint64_t> loss_count_{0};
  std::atomic<std::uint64_t> timeout_count_{0};
  Newest<Status> status_{};
  bool is_status_new_ = true;  // and not yet written
  std::atomic<std::uint32_t> far_joints_{0};  // a bit for each joint far from a given motion
  Reason delay_note_{};

  Reason blocked_{};
  ActingLaw law_{};
  TorqueOfEvent torque_ = TorqueOfEvent::resting;  // what the latest event brought

  // Joint states, and what guards them.
  double clock_ = 0.0;  // [s] sum of the cycles' times, because system clocks can be set back
  StateCheck states_;
  TorqueOutput output_;
  DisturbanceMonitor disturbances_;
  SpeedWatcher speeds_{};
  RepeatedPositions repeated_positions_{};
  StateTerms latest_{};
  bool has_latest_ = false;  // with possible values

  // What is followed: a motion's point or a held position, or the torque of the caller's law.
  std::optional<Desired> reference_{};
  std::optional<Desired> own_torque_{};
  bool had_own_torque_ = false;       // at the state before
  std::optional<Desired> desired_{};  // at the latest state
  bool is_given_ = false;  // the reference is a motion that was given with the latest state

  // Why torques ended, and how the arm is stopped.
  Ending ending_{};
  bool is_stop_requested_ = false;  // by the user, and not started since
  BrakingController brake_{};
  OpenLoopStop open_loop_stop_{};
};

}  // namespace franka_dynamics_controllers
