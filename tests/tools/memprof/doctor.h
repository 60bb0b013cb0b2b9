// SPDX-License-Identifier: Apache-2.0
// What doctor says of programs that are fixtures.
#pragma once

#include <gtest/gtest.h>

#include "memprof/doctor/doctor_checks.h"
#include "memprof/doctor/doctor_program.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli::testing_tools {

inline ProgramFiles program(const char* name) {
  ProgramFiles files;
  files.path = files.shown = fixture(name);
  return files;
}

// What `check` says, which is one thing.
inline Check only_check(void (*check)(const ProgramFiles&, Checks*), const ProgramFiles& files) {
  Checks checks;
  check(files, &checks);
  EXPECT_EQ(checks.all().size(), 1u) << files.path;
  return checks.all().empty() ? Check() : checks.all()[0];
}

}  // namespace memprof::cli::testing_tools
