// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// What ends torques, and what an event changes: written by `make generated` from
// franka_dynamics/control/core_table.py, which explains it.
#pragma once

#include <optional>

namespace franka_dynamics_controllers
{

enum class CoreState {
  silent,
  running,
  braking,
  holding,
  stopping,
};
enum class Reaction {
  release,
  hold,
  rest,
  leave,
  zero,
};
enum class Remedy {
  none,
  wait,
  start,
  clear,
  configure,
};
enum class Cause {
  torque_awaited,
  stop_requested,
  own_law_ceased,
  states_lost,
  state_impossible,
  second_source,
  torque_not_finite,
  braking_failed,
  lasting_disturbance,
  joint_too_fast,
  hold_requested,
  hold_without_torque,
  not_carried,
  wrong_receiver,
  receiver_pauses,
  model_changed,
};
enum class Event {
  release,
  own_law_ceases,
  hold,
  rest,
  impossible,
  leave,
  zero,
  pause,
  begin,
  seen,
  at_rest,
  at_rest_held,
  at_resting_torque,
  own_law_returns,
  start,
  reset,
  reset_stopped,
  change,
};
enum class TorqueOfEvent {
  same,
  law_from_g,
  law_from_last,
  law_from_former_law,
  brake,
  resting,
  stop_by_model,
  zero,
};
enum class From {
  at_once,
  next,
};
enum class Acting {
  same,
  requested,
  when_agreed,
  waiting,
};

/// What the arm gets after torques have ended.
struct ReactionColumns
{
  const char * words;
  bool replaces_former;
  bool is_watched;
};

/// What the user must do before torques begin again.
struct RemedyColumns
{
  const char * words;
  bool begins_alone;
  bool is_fault;
};

/// What ends torques or keeps them waiting.
struct CauseColumns
{
  const char * words;
  Reaction reaction;
  Remedy remedy;
};

/// What an event changes in a state, or in any. The row holds for any reaction and remedy that
/// another row of this state and event does not name. Without `to` the call is refused.
struct Row
{
  std::optional<CoreState> state;
  Event event;
  std::optional<Reaction> after_reaction;
  std::optional<Remedy> after_remedy;
  std::optional<CoreState> to;
  TorqueOfEvent torque;
  From since;
  Acting settings;
};

constexpr ReactionColumns kReactions[] = {
  {"braked to rest, then the resting torque", true, true},
  {"braked to rest, then held", true, true},
  {"the resting torque until joint states can be used", false, true},
  {"the resting torque; joint states are not trusted", true, false},
  {"zero torque", true, false},
};

constexpr RemedyColumns kRemedies[] = {
  {"", true, false},
  {"correct what it names, or wait", true, false},
  {"start()", false, false},
  {"remove the cause, then clear the fault by start()", false, true},
  {"configure again", false, true},
};

constexpr CauseColumns kCauses[] = {
  {"torques that have not begun yet", Reaction::rest, Remedy::wait},
  {"a stop", Reaction::release, Remedy::start},
  {"a law of one's own that ceases while the arm moves", Reaction::release, Remedy::wait},
  {"joint states that cease or cannot be used", Reaction::rest, Remedy::wait},
  {"impossible joint states", Reaction::leave, Remedy::clear},
  {"joint states of two sources", Reaction::leave, Remedy::clear},
  {"a computed torque that is not finite", Reaction::leave, Remedy::clear},
  {"braking that makes the arm faster", Reaction::leave, Remedy::clear},
  {"a lasting disturbance torque", Reaction::hold, Remedy::clear},
  {"a joint that is too fast", Reaction::hold, Remedy::clear},
  {"a stop that is to hold the arm", Reaction::hold, Remedy::clear},
  {"a stop that is to hold an arm at its resting torque", Reaction::leave, Remedy::clear},
  {"a stop of an arm that g(q) does not carry", Reaction::hold, Remedy::start},
  {"a receiver that is not the target", Reaction::zero, Remedy::clear},
  {"a receiver that is unknown or applies no torque", Reaction::zero, Remedy::wait},
  {"a model that is not the arm", Reaction::release, Remedy::configure},
};

constexpr Row kRows[] = {
  {CoreState::silent, Event::begin, std::nullopt, std::nullopt,
   CoreState::running, TorqueOfEvent::law_from_g, From::at_once, Acting::requested},
  {CoreState::silent, Event::seen, std::nullopt, std::nullopt,
   CoreState::braking, TorqueOfEvent::brake, From::at_once, Acting::same},
  {CoreState::silent, Event::release, std::nullopt, std::nullopt,
   CoreState::silent, TorqueOfEvent::same, From::next, Acting::waiting},
  {CoreState::silent, Event::hold, std::nullopt, std::nullopt,
   CoreState::silent, TorqueOfEvent::same, From::next, Acting::waiting},
  {CoreState::silent, Event::leave, std::nullopt, std::nullopt,
   CoreState::silent, TorqueOfEvent::same, From::next, Acting::waiting},
  {CoreState::silent, Event::zero, std::nullopt, std::nullopt,
   CoreState::silent, TorqueOfEvent::zero, From::next, Acting::waiting},
  {CoreState::silent, Event::pause, std::nullopt, std::nullopt,
   CoreState::silent, TorqueOfEvent::zero, From::next, Acting::same},
  {CoreState::silent, Event::start, std::nullopt, std::nullopt,
   CoreState::silent, TorqueOfEvent::same, From::next, Acting::when_agreed},
  {CoreState::silent, Event::start, Reaction::hold, std::nullopt,
   std::nullopt, TorqueOfEvent::same, From::next, Acting::same},
  {CoreState::silent, Event::start, std::nullopt, Remedy::configure,
   std::nullopt, TorqueOfEvent::same, From::next, Acting::same},
  {CoreState::running, Event::release, std::nullopt, std::nullopt,
   CoreState::braking, TorqueOfEvent::brake, From::next, Acting::waiting},
  {CoreState::running, Event::own_law_ceases, std::nullopt, std::nullopt,
   CoreState::braking, TorqueOfEvent::brake, From::at_once, Acting::when_agreed},
  {CoreState::running, Event::hold, std::nullopt, std::nullopt,
   CoreState::braking, TorqueOfEvent::brake, From::next, Acting::waiting},
  {CoreState::running, Event::rest, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::stop_by_model, From::at_once, Acting::when_agreed},
  {CoreState::running, Event::impossible, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::stop_by_model, From::at_once, Acting::waiting},
  {CoreState::running, Event::leave, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::resting, From::at_once, Acting::waiting},
  {CoreState::running, Event::zero, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::zero, From::next, Acting::waiting},
  {CoreState::running, Event::pause, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::zero, From::next, Acting::when_agreed},
  {CoreState::running, Event::change, std::nullopt, std::nullopt,
   CoreState::running, TorqueOfEvent::law_from_former_law, From::next, Acting::requested},
  {CoreState::braking, Event::at_rest, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::resting, From::at_once, Acting::same},
  {CoreState::braking, Event::at_rest_held, std::nullopt, std::nullopt,
   CoreState::holding, TorqueOfEvent::same, From::at_once, Acting::same},
  {CoreState::braking, Event::own_law_returns, std::nullopt, std::nullopt,
   CoreState::running, TorqueOfEvent::law_from_last, From::at_once, Acting::requested},
  {CoreState::braking, Event::release, std::nullopt, std::nullopt,
   CoreState::braking, TorqueOfEvent::same, From::next, Acting::waiting},
  {CoreState::braking, Event::hold, std::nullopt, std::nullopt,
   CoreState::braking, TorqueOfEvent::same, From::next, Acting::waiting},
  {CoreState::braking, Event::rest, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::stop_by_model, From::at_once, Acting::same},
  {CoreState::braking, Event::impossible, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::stop_by_model, From::at_once, Acting::waiting},
  {CoreState::braking, Event::leave, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::resting, From::at_once, Acting::waiting},
  {CoreState::braking, Event::zero, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::zero, From::next, Acting::waiting},
  {CoreState::braking, Event::pause, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::zero, From::next, Acting::same},
  {CoreState::braking, Event::start, std::nullopt, std::nullopt,
   CoreState::braking, TorqueOfEvent::same, From::next, Acting::when_agreed},
  {CoreState::braking, Event::start, Reaction::hold, std::nullopt,
   std::nullopt, TorqueOfEvent::same, From::next, Acting::same},
  {CoreState::braking, Event::start, std::nullopt, Remedy::configure,
   std::nullopt, TorqueOfEvent::same, From::next, Acting::same},
  {CoreState::holding, Event::start, std::nullopt, std::nullopt,
   CoreState::running, TorqueOfEvent::law_from_last, From::next, Acting::requested},
  {CoreState::holding, Event::start, std::nullopt, Remedy::configure,
   std::nullopt, TorqueOfEvent::same, From::next, Acting::same},
  {CoreState::holding, Event::release, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::resting, From::next, Acting::waiting},
  {CoreState::holding, Event::hold, std::nullopt, std::nullopt,
   CoreState::holding, TorqueOfEvent::same, From::next, Acting::waiting},
  {CoreState::holding, Event::rest, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::stop_by_model, From::at_once, Acting::same},
  {CoreState::holding, Event::impossible, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::stop_by_model, From::at_once, Acting::waiting},
  {CoreState::holding, Event::leave, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::resting, From::at_once, Acting::waiting},
  {CoreState::holding, Event::zero, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::zero, From::next, Acting::waiting},
  {CoreState::holding, Event::pause, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::zero, From::next, Acting::same},
  {CoreState::stopping, Event::at_resting_torque, std::nullopt, std::nullopt,
   CoreState::silent, TorqueOfEvent::same, From::at_once, Acting::same},
  {CoreState::stopping, Event::begin, std::nullopt, std::nullopt,
   CoreState::running, TorqueOfEvent::law_from_g, From::at_once, Acting::requested},
  {CoreState::stopping, Event::seen, std::nullopt, std::nullopt,
   CoreState::braking, TorqueOfEvent::brake, From::at_once, Acting::same},
  {CoreState::stopping, Event::release, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::same, From::next, Acting::waiting},
  {CoreState::stopping, Event::hold, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::same, From::next, Acting::waiting},
  {CoreState::stopping, Event::leave, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::same, From::next, Acting::waiting},
  {CoreState::stopping, Event::zero, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::zero, From::next, Acting::waiting},
  {CoreState::stopping, Event::pause, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::zero, From::next, Acting::same},
  {CoreState::stopping, Event::start, std::nullopt, std::nullopt,
   CoreState::stopping, TorqueOfEvent::same, From::next, Acting::when_agreed},
  {CoreState::stopping, Event::start, Reaction::hold, std::nullopt,
   std::nullopt, TorqueOfEvent::same, From::next, Acting::same},
  {CoreState::stopping, Event::start, std::nullopt, Remedy::configure,
   std::nullopt, TorqueOfEvent::same, From::next, Acting::same},
  {std::nullopt, Event::reset, std::nullopt, std::nullopt,
   CoreState::silent, TorqueOfEvent::resting, From::next, Acting::when_agreed},
  {std::nullopt, Event::reset, Reaction::zero, std::nullopt,
   CoreState::silent, TorqueOfEvent::zero, From::next, Acting::same},
  {std::nullopt, Event::reset_stopped, std::nullopt, std::nullopt,
   CoreState::silent, TorqueOfEvent::resting, From::next, Acting::waiting},
  {std::nullopt, Event::reset_stopped, Reaction::zero, std::nullopt,
   CoreState::silent, TorqueOfEvent::zero, From::next, Acting::same},
  {std::nullopt, Event::reset_stopped, std::nullopt, Remedy::configure,
   CoreState::silent, TorqueOfEvent::resting, From::next, Acting::same},
};

}  // namespace franka_dynamics_controllers
