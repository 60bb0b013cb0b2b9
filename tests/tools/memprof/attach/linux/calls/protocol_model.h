// SPDX-License-Identifier: Apache-2.0
// A world in which the command, as the table of protocol.h has it, and a thread take turns in every order there is.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "memprof/attach/linux/calls/protocol.h"
#include "tests/tools/memprof/attach/linux/calls/protocol_world.h"

namespace memprof::cli::protocol::testing_tools {

class Model {
 public:
  std::vector<Rule> rules{std::begin(kRules), std::end(kRules)};
  std::vector<Operations> operations{std::begin(kOperations), std::end(kOperations)};

  Operations& operations_of(Action action) { return operations[static_cast<size_t>(action)]; }
  Rule& rule(Phase phase, Seen seen) {
    return *std::find_if(rules.begin(), rules.end(),
                         [&](const Rule& each) { return each.phase == phase && each.seen == seen; });
  }

  // "": nothing goes wrong in any interleaving.
  std::string explore() {
    numbers_[World{}] = 0;
    worlds_ = {World{}};
    before_.resize(1);
    for (size_t at = 0; at < worlds_.size() && wrong_.empty(); ++at) {
      const World from = worlds_[at];
      for (const World& to : successors(from)) {
        const auto [found, is_new] = numbers_.try_emplace(to, worlds_.size());
        if (is_new) {
          worlds_.push_back(to);
          before_.emplace_back();
        }
        // Nobody may have to be killed for it.
        const bool is_by_itself =
            (to.place == Place::kEnded) == (from.place == Place::kEnded) && to.is_alive == from.is_alive;
        if (is_by_itself) before_[found->second].push_back(at);
      }
    }
    if (wrong_.empty()) check_ends();
    return wrong_;
  }

  size_t count() const { return worlds_.size(); }
  bool has_used(const Rule& rule) const { return used_.count({rule.phase, rule.seen}) != 0; }
  // Whether some interleaving comes here.
  template <typename Ends>
  bool reaches(const Ends& ends) const {
    return std::any_of(worlds_.begin(), worlds_.end(), ends);
  }

 private:
  void is_wrong(const std::string& why) {
    if (wrong_.empty()) wrong_ = why;
  }

  static bool is_final(const World& world) {
    return is_one_of(world.place, {Place::kProgram, Place::kJumped, Place::kEnded}) && !world.is_stopped &&
           (!world.is_alive || world.is_over);
  }

  // From everywhere the thread can come back to its program, whoever is late or dead.
  void check_ends() {
    std::vector<bool> ends(worlds_.size());
    std::vector<size_t> open;
    for (size_t i = 0; i < worlds_.size(); ++i) {
      if (is_final(worlds_[i])) open.push_back(i);
    }
    while (!open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      if (ends[at]) continue;
      ends[at] = true;
      open.insert(open.end(), before_[at].begin(), before_[at].end());
    }
    if (!std::all_of(ends.begin(), ends.end(), [](bool is_end) { return is_end; })) {
      is_wrong("a thread that never comes back");
    }
  }

  World back_in_program(World world) {
    if (world.restored != 1) is_wrong("a thread restored " + std::to_string(world.restored) + " times");
    if (world.has_our_mask) is_wrong("the program runs with our signal mask");
    if (world.has_our_vectors) is_wrong("the program runs with our vectors");
    world.place = Place::kProgram;
    return world;
  }

  // rt_sigreturn: registers, vectors and the mask at once.
  World by_frame(World world) {
    world.has_our_mask = world.has_our_vectors = false;
    ++world.restored;
    return back_in_program(world);
  }

  std::vector<World> successors(const World& world) {
    std::vector<World> next;
    if (world.place != Place::kEnded) {
      World ended = world;
      ended.place = Place::kEnded;
      ended.is_stopped = false;
      next.push_back(ended);
    }
    if (!world.is_stopped) thread_steps(world, &next);
    if (world.is_alive && !world.is_over) {
      World killed = world;
      killed.is_alive = killed.is_stopped = false;
      next.push_back(killed);
      command_steps(world, &next);
    }
    return next;
  }

  void thread_steps(const World& world, std::vector<World>* next) {
    const auto goes_to = [&](Place place) {
      World to = world;
      to.place = place;
      next->push_back(to);
      return &next->back();
    };
    const bool is_ours = !is_one_of(world.place, {Place::kSafePoint, Place::kPutBack, Place::kProgram,
                                                  Place::kHandler, Place::kJumped, Place::kEnded});
    if (is_ours && !world.had_handler) {
      World* to = goes_to(Place::kHandler);
      to->below = world.place;
      to->had_handler = true;
    }
    switch (world.place) {
      case Place::kSafePoint: {
        World to = world;
        ++to.restored;  // it was never anything else
        next->push_back(back_in_program(to));
        break;
      }
      case Place::kPutBack:
        next->push_back(back_in_program(world));
        break;
      case Place::kInMap:
        goes_to(Place::kBehindMap);
        goes_to(Place::kBehindMapError);
        break;
      case Place::kInUnmap:
        goes_to(Place::kBehindUnmap);
        break;
      case Place::kBehindMap:
      case Place::kBehindMapError:
      case Place::kBehindUnmap:
        next->push_back(by_frame(world));
        break;
      case Place::kCalls: {
        if (!world.has_program) is_wrong("the thread executes a program that is not there");
        World* asks = goes_to(Place::kAsks);
        asks->word = Word::kWaits;
        asks->has_our_vectors = true;
        World* done = goes_to(Place::kDone);
        done->word = Word::kDone;
        done->has_our_vectors = true;
        break;
      }
      case Place::kAsks:  // answered, or its time is over, or its pauses are refused
        goes_to(Place::kCallsOn)->word = Word::kRuns;
        break;
      case Place::kCallsOn:
        goes_to(Place::kDone)->word = Word::kDone;
        break;
      case Place::kDone:
        goes_to(Place::kLeaving)->word = Word::kLeft;
        break;
      case Place::kLeaving:
        next->push_back(by_frame(world));
        goes_to(Place::kDone)->word = Word::kDone;  // it is not let
        break;
      case Place::kHandler:
        goes_to(world.below);
        goes_to(Place::kJumped);
        break;
      case Place::kProgram:
      case Place::kJumped:
      case Place::kEnded:
        break;
    }
  }

  void command_steps(const World& world, std::vector<World>* next) {
    if (!world.is_acting) {
      World to = world;
      const Rule rule = rule_for(rules.data(), rules.size(), world.phase, world.seen);
      used_.insert({world.phase, world.seen});
      to.is_acting = true;
      to.action = rule.action;
      to.phase = rule.next;
      to.operation = 0;
      next->push_back(to);
      return;
    }
    const Operation operation = operations[static_cast<size_t>(world.action)].list[world.operation];
    World done = world;
    ++done.operation;
    if (operation == Operation::kNothing || world.operation + 1 == kMaxOperations) {
      done.is_acting = false;
      done.is_over = done.phase == Phase::kOver;
      next->push_back(done);
    } else if (world.seen == Seen::kGone && operation != Operation::kLetGo) {
      next->push_back(done);
    } else if (world.place == Place::kEnded && operation != Operation::kReadResults) {
      done.seen = Seen::kGone;
      next->push_back(done);
    } else if (writes(operation)) {
      next->push_back(written(operation, done));
    } else {
      look(operation, done, next);
    }
  }

  World written(Operation operation, World world) {
    const auto needs = [&](std::initializer_list<Place> places) {
      if (!world.is_stopped || !is_one_of(world.place, places)) {
        is_wrong(std::string("not the command's thread: ") + name_of(operation) + " at place " +
                 std::to_string(static_cast<int>(world.place)));
      }
    };
    switch (operation) {
      case Operation::kEnterMap:
        needs({Place::kSafePoint});
        world.place = Place::kInMap;
        break;
      case Operation::kEnterUnmap:
        needs({Place::kDone});
        world.place = Place::kInUnmap;
        break;
      case Operation::kEnterStub:
        needs({Place::kBehindMap});
        world.place = Place::kCalls;
        break;
      case Operation::kBlockSignals:
        needs({Place::kSafePoint, Place::kInMap, Place::kDone, Place::kInUnmap});
        world.has_our_mask = true;
        break;
      case Operation::kWriteProgram:
        needs({Place::kBehindMap, Place::kCalls});
        world.has_program = true;
        world.word = Word::kRuns;
        break;
      case Operation::kWriteAnswer:
        needs({Place::kAsks});
        world.has_answer = world.has_answered = true;
        break;
      default:
        needs({Place::kBehindMap, Place::kBehindMapError, Place::kBehindUnmap, Place::kPutBack});
        if (operation == Operation::kPutVectors) world.has_our_vectors = false;
        if (operation == Operation::kPutMask) world.has_our_mask = false;
        if (operation == Operation::kPutRegisters) {
          world.place = Place::kPutBack;
          ++world.restored;
        }
    }
    return world;
  }

  // What the thread may do until it is stopped as it was asked for, or is not.
  static void let_come_to(const World& world, std::initializer_list<Place> places, Seen seen,
                          std::vector<World>* next, Seen by_handler = Seen::kUnknown) {
    for (const Place place : places) {
      World to = world;
      to.place = place;
      to.seen = place == Place::kBehindMapError ? Seen::kBehindError : seen;
      next->push_back(to);
    }
    World late = world;
    late.is_stopped = false;
    late.seen = Seen::kUnknown;
    next->push_back(late);
    if (world.had_handler) return;
    World handled = world;
    handled.below = *places.begin();
    handled.place = Place::kHandler;
    handled.had_handler = true;
    handled.seen = by_handler;
    next->push_back(handled);
  }

  static void look(Operation operation, World world, std::vector<World>* next) {
    switch (operation) {
      case Operation::kRunBehindCall:
        if (world.place == Place::kInMap) {
          let_come_to(world, {Place::kBehindMap, Place::kBehindMapError}, Seen::kBehindCall, next);
        } else {
          let_come_to(world, {Place::kBehindUnmap}, Seen::kBehindCall, next);
          let_come_to(world, {Place::kBehindUnmap}, Seen::kBehindError, next);
        }
        return;
      case Operation::kStopAsEvent:
        let_come_to(world, {world.place}, world.seen, next, world.seen);
        return;
      case Operation::kStop: {
        World late = world;
        late.seen = Seen::kUnknown;
        next->push_back(late);
        world.is_stopped = true;
        break;
      }
      case Operation::kReadWord:
        world.seen = world.word == Word::kRuns || (world.word == Word::kWaits && world.has_answered)
                         ? Seen::kRuns
                         : Seen::kWaits;
        if (world.seen == Seen::kRuns) {  // for too long
          World late = world;
          late.seen = Seen::kUnknown;
          next->push_back(late);
        }
        break;
      case Operation::kProve:
        if (world.is_stopped) world.seen = proven(world);
        break;
      case Operation::kLetRun:
      case Operation::kLetGo:
        world.is_stopped = false;
        break;
      default:
        break;
    }
    next->push_back(world);
  }

  static Seen proven(const World& world) {
    if (world.phase == Phase::kEnds) {
      return is_one_of(world.place, {Place::kBehindMap, Place::kBehindMapError, Place::kBehindUnmap})
                 ? Seen::kBehindCall
                 : Seen::kUnknown;
    }
    const bool is_in_stub = is_one_of(world.place, {Place::kAsks, Place::kDone, Place::kLeaving});
    switch (world.word) {
      case Word::kRuns:
        return Seen::kInCalls;
      case Word::kWaits:
        return world.has_answered ? Seen::kInCalls : is_in_stub ? Seen::kAsks : Seen::kInterrupted;
      case Word::kDone:
        return is_in_stub ? Seen::kIsDone : Seen::kInterrupted;
      case Word::kLeft:
        return Seen::kHasLeft;
    }
    return Seen::kUnknown;
  }

  std::string wrong_;
  std::map<World, size_t> numbers_;
  std::vector<World> worlds_;
  std::vector<std::vector<size_t>> before_;
  std::set<std::pair<Phase, Seen>> used_;
};

}  // namespace memprof::cli::protocol::testing_tools
