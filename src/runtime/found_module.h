// SPDX-License-Identifier: Apache-2.0
// A language runtime that some module of the process is or has: found by what the module exports, hidden while
// modules are unloaded.
//
// Model: what was found is published once, whole, by a release store; hooks read the published pointer by an acquire
// load.  One entry for each that was ever found: a thread may still read the one before.  While something is unloaded
// nothing is published; afterwards it is again, if its module stayed.
//
// Traits says what is found:
//     using Found = ...;                               functions and variables of the runtime
//     static constexpr uint32_t kMaxFound             entries; a module that is loaded at ever new places is not followed
//                                                      for ever
//     static constexpr uint32_t kNames                 how many exports are looked for
//     static const char* const* names()                the first says which module it is
//     static bool fill(const void* const* addresses, Found*)      false: it is none that can be used
//     static bool is_the_same(const Found&, const Found&)
//     static const void* place(const Found&)           an address in its module
//     static std::atomic<const Found*>& published()    what hooks read
//     static uint32_t& suspensions()                   of the calling thread: a fork child has no others
//
// Threads: any.  Two that find it at once find the same.
// Signals, fork: safe; a fork child inherits what is known, and nobody's suspensions but its own thread's.
// Allocates: never.  Owns: the entries; zero-initialised, so valid before any code of ours ran.
// Failure: nullptr.
#pragma once

#include <atomic>
#include <cstdint>

#include "platform/modules.h"

namespace memprof::runtimes {

template <typename Traits>
class FoundModule {
 public:
  using Found = typename Traits::Found;

  // Looks in all modules.  Must not be called from a hook: takes the loader's lock.
  const Found* find() {
    const Found* known = known_.load(std::memory_order_acquire);
    const void* addresses[Traits::kNames];
    if (known == nullptr && platform::find_exports(Traits::names(), Traits::kNames, addresses)) {
      known = note(addresses);
    }
    return known;
  }

  // Looks in the module that `address` lies in.
  const Found* find_at(uint64_t address) {
    const Found* known = known_.load(std::memory_order_acquire);
    const void* addresses[Traits::kNames];
    if (known == nullptr && platform::find_exports_at(address, Traits::names(), Traits::kNames, addresses)) {
      known = note(addresses);
    }
    return known;
  }

  // Around an unload of modules.  Nests, and threads may be at it at the same time.
  void suspend() {
    ++Traits::suspensions();
    suspensions_.fetch_add(1);
    Traits::published().store(nullptr);
  }

  void resume() {
    const Found* known = known_.load(std::memory_order_acquire);
    if (known != nullptr) {
      const void* addresses[Traits::kNames];
      Found now{};
      if (!platform::find_exports_at(reinterpret_cast<uint64_t>(Traits::place(*known)), Traits::names(),
                                     Traits::kNames, addresses) ||
          !Traits::fill(addresses, &now) || !Traits::is_the_same(now, *known)) {
        known_.compare_exchange_strong(known, nullptr, std::memory_order_acq_rel);
      }
    }
    --Traits::suspensions();
    if (suspensions_.fetch_sub(1) == 1) {
      publish(known_.load(std::memory_order_acquire));
    }
  }

  // In a fork child: ends what other threads had suspended and what they were at.
  void reset_in_child() {
    is_busy_.store(false, std::memory_order_release);
    uint32_t& own = Traits::suspensions();
    if (suspensions_.load() != own) {
      suspensions_.store(own++ + 1);
      resume();
    }
  }

 private:
  // Nobody is to see it between a suspension and its end: whoever comes in between takes it back, and looks
  // again, because the end may have come meanwhile.
  void publish(const Found* found) {
    do {
      Traits::published().store(found);
      if (suspensions_.load() == 0) {
        return;
      }
      Traits::published().store(nullptr);
    } while (suspensions_.load() == 0);
  }

  // The entry of it, made if need be; nullptr: there are too many.
  const Found* enter(const Found& fresh) {
    for (uint32_t i = 0; i < count_; ++i) {
      if (Traits::is_the_same(found_[i], fresh)) {
        return &found_[i];  // it came back to where it was
      }
    }
    if (count_ == Traits::kMaxFound) {
      return nullptr;
    }
    found_[count_] = fresh;
    return &found_[count_++];
  }

  // nullptr also when another thread is at it: it finds what there is.
  const Found* note(const void* const* addresses) {
    Found fresh{};
    if (!Traits::fill(addresses, &fresh) || is_busy_.exchange(true, std::memory_order_acquire)) {
      return nullptr;
    }
    const Found* known = known_.load(std::memory_order_acquire);
    if (known == nullptr) {
      known = enter(fresh);
      known_.store(known, std::memory_order_release);
      publish(known);
    }
    is_busy_.store(false, std::memory_order_release);
    return known;
  }

  Found found_[Traits::kMaxFound];  // written by the one that is at it, before it is published
  uint32_t count_;
  std::atomic<bool> is_busy_;  // acquire and release
  // What is published while nothing is unloaded.  Release in note(), acquire everywhere.
  std::atomic<const Found*> known_;
  std::atomic<uint32_t> suspensions_;  // sequentially consistent, with what is published
};

// An export as the member of its type.
template <typename Function>
void set_function(Function*& slot, const void* address) {
  slot = reinterpret_cast<Function*>(reinterpret_cast<uintptr_t>(address));
}

}  // namespace memprof::runtimes
