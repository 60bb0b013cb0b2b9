// SPDX-License-Identifier: Apache-2.0
// The shadow stack of a traced program, and the signal handler that keeps it (shadow.cc sets both up).
//
// Threads: one.  Signals: on_trap calls nothing of a traced library, because a breakpoint in a handler ends
// the process.
#pragma once

#include <signal.h>

#include <cstdint>

namespace shadow {

inline constexpr uint64_t kLogWords = uint64_t{1} << 23;
inline constexpr uint32_t kMaxEntries = 1 << 16;
inline constexpr int kMaxFiles = 64;
inline constexpr uint8_t kBreakpoint = 0xCC;
inline constexpr uint8_t kPushRbp = 0x55;
inline constexpr uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e,
                                       0xfa};  // where functions begin that were built with -fcf-protection

struct Log {  // shadow_test.py reads it
  uint64_t used_words;
  uint64_t samples;
  uint64_t calls;
  uint64_t returns;
  uint64_t passed_over;       // entries left otherwise: our own functions return untraced; longjmp
  uint64_t without_partner;   // returns to traced code that no call was seen for
  uint64_t changed;           // returns to another address than was pushed
  uint64_t lost;              // samples for which there was no room
  uint64_t words[kLogWords];  // for each sample: number of frames, frames
};

struct Entry {
  uint64_t slot;  // where on the stack the return address is
  uint64_t return_address;
  bool is_sampled;  // the call of a hook that was sampled
};

struct File {
  uint64_t start;  // of the code segment
  uint64_t limit;
  const uint8_t* original;  // its bytes
  const uint64_t* sites;    // addresses in the file
  uint64_t site_count;
  uint64_t bias;
};

struct Tracer {
  Log* log;
  File files[kMaxFiles];
  int file_count;
  uint64_t event;   // push %rbp, with which the function begins that is entered once a sample
  uint64_t libc;    // an address in it
  uint64_t forget;  // leave out every n-th call; 0: none
  uint32_t depth;
  Entry entries[kMaxEntries];
};
extern Tracer g_tracer;

void on_trap(int signal, siginfo_t* information, void* context);

// A handler was entered, whose return address is at `slot`: it, and what was interrupted, are frames.
void push_signal_frame(uint64_t* slot, void* context);

// Ends the process: a line on standard error, status 99.
[[noreturn]] void fail(const char* text);

}  // namespace shadow
