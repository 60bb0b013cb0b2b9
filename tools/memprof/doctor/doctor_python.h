// SPDX-License-Identifier: Apache-2.0
// Whether the functions and the objects of a program's Python will be in its profile, or, of a process that
// is profiled, whether they are.
//
// Threads: no state.
#pragma once

#include "memprof/doctor/doctor_checks.h"
#include "memprof/doctor/doctor_program.h"

namespace memprof::cli {

// Nothing where there is no CPython: in the program, in a library that it needs or has loaded.
void check_python(const ProgramFiles& files, Checks* checks);

}  // namespace memprof::cli
