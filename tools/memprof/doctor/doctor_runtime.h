// SPDX-License-Identifier: Apache-2.0
// Whether the functions and the objects of a language runtime are in the profile of a process, as the library
// says it (memprof_stats.runtimes).
//
// Threads: no state.
#pragma once

#include <string>

#include "memprof.h"
#include "memprof/doctor/doctor_checks.h"
#include "memprof/doctor/doctor_program.h"

namespace memprof::cli {

// One half of a line: what is found, and where it is not all, what to do.
struct Half {
  std::string found;
  std::string to_do;  // empty: all is seen
};
Half frames_half(const memprof_runtime_stats& seen);
Half objects_half(const memprof_runtime_stats& seen);

// "CPython 3.11.2: FRAMES; OBJECTS".
void check_halves(const std::string& name, const std::string& runtime, const Half& frames,
                  const Half& objects, Checks* checks);

// Those of a process that is profiled which have no check of their own (doctor_python.h).
void check_other_runtimes(const ProgramFiles& files, Checks* checks);

}  // namespace memprof::cli
