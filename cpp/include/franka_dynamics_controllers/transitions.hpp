// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Looks up in the core's table what an event changes.
#pragma once

#include <cstddef>

#include "franka_dynamics_controllers/core_table.hpp"

namespace franka_dynamics_controllers
{

/// The row of a state and an event after a reaction and a remedy; nullptr if nothing changes. Rows
/// of the state come before those of any state.
constexpr const Row * row_of(CoreState state, Event event, Reaction reaction, Remedy remedy) noexcept
{
  const Row * of_state = nullptr;
  const Row * of_any = nullptr;
  bool has_state = false;
  for (const Row & row : kRows) {
    const bool is_of_state = row.state == state;
    if (row.event != event || (row.state && !is_of_state)) {
      continue;
    }
    has_state = has_state || is_of_state;
    const bool is_named = row.after_reaction == reaction || row.after_remedy == remedy;
    const bool is_for_others = !row.after_reaction && !row.after_remedy;
    const Row *& found = is_of_state ? of_state : of_any;
    const bool has_named = found && (found->after_reaction || found->after_remedy);
    if ((is_named && !has_named) || (is_for_others && !found)) {
      found = &row;
    }
  }
  return has_state ? of_state : of_any;
}

/// The event that an ending by a cause is.
constexpr Event event_of(Cause cause) noexcept
{
  switch (cause) {
    case Cause::own_law_ceased:
      return Event::own_law_ceases;
    case Cause::state_impossible:
    case Cause::second_source:
      return Event::impossible;
    case Cause::receiver_pauses:
      return Event::pause;
    default:
      break;
  }
  switch (kCauses[static_cast<std::size_t>(cause)].reaction) {
    case Reaction::release:
      return Event::release;
    case Reaction::hold:
      return Event::hold;
    case Reaction::rest:
      return Event::rest;
    case Reaction::leave:
      return Event::leave;
    default:
      return Event::zero;
  }
}

}  // namespace franka_dynamics_controllers
