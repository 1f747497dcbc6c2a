// Copyright 2026 The franka_dynamics authors
// SPDX-License-Identifier: Apache-2.0
//
// Passes values between two threads without either of them waiting.
#pragma once

#include <array>
#include <atomic>

namespace franka_dynamics_controllers
{

/// Passes the newest value from one thread to another without either of them waiting.
///
/// Of three slots the writer has one and the reader another. The third is exchanged: it is free, or
/// has a new value, as its flag kNew says.
template<typename T>
class Newest
{
public:
  /// For the writing thread.
  void write(const T & value) noexcept
  {
    slots_[writers_slot_] = value;
    writers_slot_ = exchanged_slot_.exchange(writers_slot_ | kNew) & ~kNew;
  }

  /// The newest value; for the reading thread.
  const T & read() noexcept
  {
    if (has_new()) {
      readers_slot_ = exchanged_slot_.exchange(readers_slot_) & ~kNew;
    }
    return slots_[readers_slot_];
  }

  /// Whether a value was written since the last one was read.
  bool has_new() const noexcept {return (exchanged_slot_.load() & kNew) != 0;}

private:
  static constexpr unsigned kNew = 4;  // a flag beside the slot's number
  std::array<T, 3> slots_{};
  unsigned writers_slot_ = 0;
  std::atomic<unsigned> exchanged_slot_{1};
  unsigned readers_slot_ = 2;
};

}  // namespace franka_dynamics_controllers
