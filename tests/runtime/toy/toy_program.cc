// SPDX-License-Identifier: Apache-2.0
// Profiles a program in the toy language.  usage: toy_program PROFILE
#include <cstdio>

#include "memprof.h"
#include "tests/runtime/toy/toy_code.h"

int main(int argc, char** argv) {
  memprof_options options{};
  int error = argc == 2 ? memprof_options_init(&options, sizeof(options)) : MEMPROF_ERR_INVALID;
  options.rate_bytes = 0;
  options.private_memory = 1;
  error = error != MEMPROF_OK ? error : memprof_init(&options);
  error = error != MEMPROF_OK ? error : memprof_start();
  if (error == MEMPROF_OK) {
    toy::run(toy::kMain);
    error = memprof_write_profile(argv[1], 0);
  }
  if (error != MEMPROF_OK) {
    std::fprintf(stderr, "toy_program: %s\n", memprof_strerror(error));
  }
  return error == MEMPROF_OK ? 0 : 1;
}
