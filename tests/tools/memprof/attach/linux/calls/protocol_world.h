// SPDX-License-Identifier: Apache-2.0
// One moment of the command and the thread that it makes call functions, for the model of protocol.h.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <tuple>

#include "memprof/attach/linux/calls/protocol.h"

namespace memprof::cli::protocol::testing_tools {

// Where the thread is; what it executes next.
enum class Place : uint8_t {
  kSafePoint,
  kInMap,
  kBehindMap,
  kBehindMapError,
  kCalls,
  kAsks,
  kCallsOn,  // behind the wait for an answer
  kDone,
  kLeaving,  // has written that it leaves
  kInUnmap,
  kBehindUnmap,
  kPutBack,  // its registers are its own again, by the command
  kProgram,  // executes the program
  kHandler,  // of a signal that is not blocked
  kJumped,   // out of such a handler, by longjmp: the program's own doing
  kEnded
};

enum class Word : uint8_t { kRuns, kWaits, kDone, kLeft };

struct World {
  // The thread.
  Place place = Place::kSafePoint;
  Place below = Place::kSafePoint;  // what a handler interrupted
  bool is_stopped = true;
  bool had_handler = false;  // one is enough
  bool has_our_mask = false;
  bool has_our_vectors = false;
  uint8_t restored = 0;
  // Its memory.
  bool has_program = false;
  Word word = Word::kRuns;
  bool has_answer = false;
  // The command.
  bool is_alive = true;
  bool has_answered = false;
  bool is_over = false;
  Phase phase = Phase::kStopped;
  Seen seen = Seen::kSafePoint;
  bool is_acting = false;
  Action action = Action::kLeave;
  uint8_t operation = 0;

  auto key() const {
    return std::make_tuple(place, below, is_stopped, had_handler, has_our_mask, has_our_vectors, restored,
                           has_program, word, has_answer, is_alive, has_answered, is_over, phase, seen,
                           is_acting, action, operation);
  }
  bool operator<(const World& other) const { return key() < other.key(); }
};

inline bool is_one_of(Place place, std::initializer_list<Place> places) {
  return std::find(places.begin(), places.end(), place) != places.end();
}

}  // namespace memprof::cli::protocol::testing_tools
