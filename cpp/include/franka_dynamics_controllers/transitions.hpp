// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Looks up in the core's table what an event changes.
#pragma once

#include <cstddef>

#include "franka_dynamics_controllers/core_table.hpp"

namespace franka_dynamics_controllers
{

/// The row of a state and an event after a reaction and a remedy; nullptr if nothing changes.
constexpr const Row * row_of(CoreState state, Event event, Reaction reaction, Remedy remedy) noexcept
{
  const Row * found = nullptr;
  for (const Row & row : kRows) {
    if (row.state != state || row.event != event) {
      continue;
    }
    const bool is_named = row.after_reaction == reaction || row.after_remedy == remedy;
    const bool is_for_others = !row.after_reaction && !row.after_remedy;
    if (is_named || (is_for_others && !found)) {
      found = &row;
    }
  }
  return found;
}

/// The event that an ending by a cause is.
constexpr Event event_of(Cause cause) noexcept
{
  switch (kCauses[static_cast<std::size_t>(cause)].reaction) {
    case Reaction::release:
      return Event::release;
    case Reaction::hold:
      return Event::hold;
    case Reaction::rest:
      return Event::rest;
    case Reaction::leave:
      return cause == Cause::state_impossible || cause == Cause::second_source ?
             Event::impossible : Event::leave;
    default:
      return Event::zero;
  }
}

}  // namespace franka_dynamics_controllers
