// SPDX-License-Identifier: Apache-2.0
// The calls that a stopped thread makes for us, as data: steps that the stub (processor.h) executes one after the
// other.  A step that fails goes on at another one, so that the last steps, which put things back, always run.
//
//   header | steps ... kEnd | texts and structs that the steps point to
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace memprof::cli {

// The stubs (stub_*.cc) have these offsets in their instructions.
struct CallStep {
  enum Kind : uint32_t {
    kEnd = 0,
    kFunction = 1,    // calls `function`
    kSystemCall = 2,  // `function` is its number
    kLoad = 3,        // the 32 bits at arguments[0]
    kStore = 4,       // the low 32 bits of arguments[1], to arguments[0]
    kAwait = 5,       // until the attacher answers, at most CallHeader::looks pauses; 0: he did not
  };
  enum Failure : uint32_t { kNone = 0, kIfZero = 1, kIfNegative = 2, kIfNotZero = 3 };
  // `function` or an argument is the address of the value, such as the result of an earlier step.
  enum Indirect : uint32_t { kIndirectFunction = 1, kIndirectFirst = 2, kIndirectSecond = 4 };

  uint32_t kind = kEnd;
  uint32_t failure = kNone;
  uint32_t indirect = 0;
  uint32_t is_int = 0;  // 1: the result has 32 bits, with a sign
  uint64_t function = 0;
  uint64_t arguments[4] = {};
  uint64_t result = 0;
  uint64_t on_failure = 0;  // address of the step to go on at
};
static_assert(sizeof(CallStep) == 72 && offsetof(CallStep, failure) == 4 &&
              offsetof(CallStep, indirect) == 8 && offsetof(CallStep, is_int) == 12 &&
              offsetof(CallStep, function) == 16 && offsetof(CallStep, arguments) == 24 &&
              offsetof(CallStep, result) == 56 && offsetof(CallStep, on_failure) == 64);

struct CallHeader {
  // Whose the thread is.  The stub writes it, the attacher reads it (calls/protocol.h).
  enum State : uint32_t {
    kRuns = 0,   // it executes calls
    kDone = 1,   // all are made; it waits for the attacher to put it back
    kWaits = 2,  // for the answer
    kLeaves = 3  // nobody came: it restores itself, and is the program's own from now on
  };

  uint32_t state = kRuns;
  uint32_t answer = 0;               // the attacher's, for kAwait
  uint64_t context = 0;              // stack pointer for rt_sigreturn, should no attacher be there at the end
  int64_t pause[2] = {0, 50000};     // between two looks for the attacher: seconds, nanoseconds
  uint64_t looks = 10'000;           // at most so many: half a second and more
  uint64_t spins = 1000;             // in place of a pause that the system refuses (a filter)
  uint64_t no_signals = 0;           // the empty set
  uint32_t vector_control = 0x1f80;  // x86's MXCSR as functions expect it
  uint32_t padding = 0;
};
static_assert(sizeof(CallHeader) == 64 && CallHeader::kDone == 1 && CallHeader::kWaits == 2 &&
              CallHeader::kLeaves == 3 && offsetof(CallHeader, answer) == 4 &&
              offsetof(CallHeader, context) == 8 && offsetof(CallHeader, pause) == 16 &&
              offsetof(CallHeader, looks) == 32 && offsetof(CallHeader, spins) == 40 &&
              offsetof(CallHeader, no_signals) == 48 && offsetof(CallHeader, vector_control) == 56);

// Builds the image of a program that will lie at `address`.
class CallProgram {
 public:
  static constexpr size_t kMaxSteps = 20;
  static constexpr size_t kBytes = 8192;

  // `looks`: 0, or in place of CallHeader::looks.
  CallProgram(uint64_t address, uint64_t context, uint64_t looks = 0);

  // Returns the number of the step.  At most kMaxSteps - 1.
  size_t add(const CallStep& step);
  // The step `from` goes on at `to` if it fails.
  void on_failure(size_t from, CallStep::Failure failure, size_t to);
  // Copies it behind the steps; returns its address.  Throws std::length_error.
  uint64_t add_data(std::string_view data);

  uint64_t address() const { return address_; }
  uint64_t address_of_step(size_t step) const;
  uint64_t address_of_result(size_t step) const;
  static uint64_t offset_of_result(size_t step);
  static constexpr uint64_t kOffsetOfState = offsetof(CallHeader, state);
  static constexpr uint64_t kOffsetOfAnswer = offsetof(CallHeader, answer);

  const std::string& image() const { return image_; }

 private:
  uint64_t address_;
  size_t steps_ = 0;
  std::string image_;
};

}  // namespace memprof::cli
