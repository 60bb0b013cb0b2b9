// SPDX-License-Identifier: Apache-2.0
// Tells whether a signal went to our whole process group, so that the program that runs in it has it already,
// or to this process alone: the kernel does not say.
//
// Model: a child that does nothing but wait for signals, in our group.  What it gets as well was sent to all.
//
// Signals: saw() is for handlers, which the signals of the object do not interrupt.
// Threads: at most one object at a time, in a program with one thread when it is made.
// Owns: the child, which ends with the object, or with this process; a pipe, closed on exec.
// Failure: where there can be no child, nothing is ever seen.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>

namespace memprof::cli {

class GroupWitness {
 public:
  // Of these signals.  All signals are to be blocked meanwhile.
  explicit GroupWitness(const sigset_t& signals);
  ~GroupWitness();
  GroupWitness(const GroupWitness&) = delete;
  GroupWitness& operator=(const GroupWitness&) = delete;

  // Whether the group was sent the signal that has just come here; waits a moment for that.  Changes errno.
  bool saw(int signal);

 private:
  bool is_on_its_way(int signal) const;
  bool take_word(int signal);

  pid_t pid_ = -1;
  int words_ = -1;     // one byte for each signal that it got
  uint64_t seen_ = 0;  // signals of words that were read, as bits
  bool is_gone_ = false;
  char status_path_[32] = "";
};

}  // namespace memprof::cli
