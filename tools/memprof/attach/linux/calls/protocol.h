// SPDX-License-Identifier: Apache-2.0
// Who owns the thread while it makes calls for the command, as a table (decision 0099).  RemoteCall executes this table;
// protocol_test.cc executes it too, over all interleavings of the command, the thread, a kill and a delay at each step.
//
// Model: the thread's own code in the process, the stub, leaves by itself when nobody takes the thread in time.  The command may be
// late by any time, or dead.  So whoever is in possession of the thread is told by two things that are looked at together
// while the thread is stopped: where it is, and a word that the stub writes before it leaves.  Nothing is written,
// neither registers nor memory, unless such a look has proven it; a thread of which nothing is proven is left alone, and goes on
// by its frame.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::cli::protocol {

// What the command has made the thread do.
enum class Phase : uint8_t {
  kStopped,  // nothing: it stands at its safe point
  kMaps,     // to map a page for the stub
  kCalls,    // to execute the program of calls
  kAsked,    // likewise, and its word says that it waits for the command, which has stopped it to look
  kUnmaps,   // to unmap the page
  kEnds,     // to come to a stop from which it can be put back
  kOver      // it goes on
};

// What the command knows of the thread after an action.
enum class Seen : uint8_t {
  kSafePoint,    // stopped where it was found
  kBehindCall,   // stopped behind the system call that it was to make, which succeeded
  kBehindError,  // likewise; it failed
  kRuns,         // its word says that it executes calls
  kWaits,        // its word says that it waits for the command or has left; it runs, so this proves nothing
  kInCalls,      // stopped, and its word says that it executes calls
  kInterrupted,  // stopped outside of the stub, while its word says that it waits: in a signal handler
  kAsks,         // stopped in the stub, which waits for an answer
  kIsDone,       // stopped in the stub, which has made all calls
  kHasLeft,      // its word says that it has left
  kUnknown,      // nothing is proven
  kGone
};

// What the command does, in the order of kOperations.
enum class Action : uint8_t {
  kMap,
  kBegin,
  kWait,
  kLook,
  kAnswer,
  kGoOn,
  kUnmap,
  kToEnd,
  kPutBack,
  kTakeResults,
  kLeave
};

// Parts of an action.  Between two of them anything may happen: the command is late, or killed.
enum class Operation : uint8_t {
  kNothing,
  // These write what the thread has: only of a thread that is proven to be the command's.
  kEnterMap,      // registers: at a system call of the C library's, which returns into the frame
  kEnterUnmap,    // registers: likewise
  kEnterStub,     // registers
  kBlockSignals,  // its signal mask
  kWriteProgram,  // memory: the stub and the program of calls
  kWriteAnswer,   // memory, when the command has done what it was asked for
  kPutVectors,
  kPutMask,
  kPutRegisters,
  // These write nothing.
  kReadResults,
  kRunBehindCall,  // lets it run until it stands behind the system call
  kStopAsEvent,    // lets it come to an event stop, before any code of the program
  kLetRun,
  kReadWord,  // of a thread that runs
  kStop,      // wherever it is
  kProve,     // looks at a stopped thread: where it is, and its word
  kLetGo      // for good
};

constexpr const char* name_of(Operation operation) {
  constexpr const char* kNames[] = {
      "nothing",   "enter mmap",  "enter munmap", "enter the stub", "block signals", "write the program",
      "answer",    "put vectors", "put mask",     "put registers",  "read results",  "run behind the call",
      "stop anew", "let run",     "read word",    "stop",           "prove",         "let go"};
  return kNames[static_cast<size_t>(operation)];
}

constexpr bool writes(Operation operation) {
  return operation >= Operation::kEnterMap && operation <= Operation::kPutRegisters;
}

constexpr size_t kMaxOperations = 6;
struct Operations {
  Operation list[kMaxOperations];
};

// The order is what makes each moment one in which the command may be killed: the registers come first on the way in
// and last on the way back, because only with ours in it does the thread return by its frame, which has the rest.
constexpr Operations kOperations[] = {
    /* kMap */ {{Operation::kEnterMap, Operation::kBlockSignals, Operation::kRunBehindCall}},
    /* kBegin */
    {{Operation::kWriteProgram, Operation::kEnterStub, Operation::kLetRun, Operation::kReadWord}},
    /* kWait */ {{Operation::kReadWord}},
    /* kLook */ {{Operation::kStop, Operation::kProve}},
    /* kAnswer */ {{Operation::kWriteAnswer, Operation::kLetRun, Operation::kReadWord}},
    /* kGoOn */ {{Operation::kLetRun, Operation::kReadWord}},
    /* kUnmap */
    {{Operation::kReadResults, Operation::kEnterUnmap, Operation::kBlockSignals, Operation::kRunBehindCall}},
    /* kToEnd */ {{Operation::kStopAsEvent, Operation::kProve}},
    /* kPutBack */
    {{Operation::kPutVectors, Operation::kPutMask, Operation::kPutRegisters, Operation::kLetGo}},
    /* kTakeResults */ {{Operation::kReadResults, Operation::kLetGo}},
    /* kLeave */ {{Operation::kLetGo}},
};

struct Rule {
  Phase phase;
  Seen seen;
  Action action;
  Phase next;
};

constexpr Rule kRules[] = {
    {Phase::kStopped, Seen::kSafePoint, Action::kMap, Phase::kMaps},
    {Phase::kMaps, Seen::kBehindCall, Action::kBegin, Phase::kCalls},
    {Phase::kMaps, Seen::kBehindError, Action::kToEnd, Phase::kEnds},
    {Phase::kCalls, Seen::kRuns, Action::kWait, Phase::kCalls},
    {Phase::kCalls, Seen::kWaits, Action::kLook, Phase::kAsked},
    {Phase::kAsked, Seen::kAsks, Action::kAnswer, Phase::kCalls},
    {Phase::kAsked, Seen::kInCalls, Action::kGoOn, Phase::kCalls},
    {Phase::kAsked, Seen::kInterrupted, Action::kGoOn, Phase::kCalls},
    {Phase::kAsked, Seen::kIsDone, Action::kUnmap, Phase::kUnmaps},
    {Phase::kAsked, Seen::kHasLeft, Action::kTakeResults, Phase::kOver},
    // That the page could not be unmapped is no reason not to put the thread back.
    {Phase::kUnmaps, Seen::kBehindCall, Action::kToEnd, Phase::kEnds},
    {Phase::kUnmaps, Seen::kBehindError, Action::kToEnd, Phase::kEnds},
    {Phase::kEnds, Seen::kBehindCall, Action::kPutBack, Phase::kOver},
};

// What is in no rule: nothing is proven.
constexpr Rule rule_for(const Rule* rules, size_t count, Phase phase, Seen seen) {
  for (size_t i = 0; i < count; ++i) {
    if (rules[i].phase == phase && rules[i].seen == seen) return rules[i];
  }
  return {phase, seen, Action::kLeave, Phase::kOver};
}

constexpr Rule rule_for(Phase phase, Seen seen) {
  return rule_for(kRules, sizeof(kRules) / sizeof(kRules[0]), phase, seen);
}

constexpr const Operations& operations_of(Action action) {
  return kOperations[static_cast<size_t>(action)];
}
static_assert(sizeof(kOperations) / sizeof(kOperations[0]) == static_cast<size_t>(Action::kLeave) + 1);

}  // namespace memprof::cli::protocol
