// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "memprof/cli.h"
#include "memprof/host/process/roomy_thread.h"
#include "memprof/io/names/own_names.h"

namespace {

// Where there is no memory even to throw an exception, which then ends the process.
[[noreturn]] void say_and_end() {
  std::fputs(
      "memprof: cannot go on, probably for want of memory; where `ulimit -v` limits the address space, raise "
      "it\n",
      stderr);
  std::_Exit(2);
}

// Before anything of the program's or of a library's of C++ is initialised.
[[gnu::constructor(101)]] void before_all() {
  std::set_terminate(say_and_end);
}

}  // namespace

int main(int argc, char** argv) {
  return memprof::cli::run_with_room([&] {
    memprof::cli::open_own_names();
    const int status = memprof::cli::cli_main({argv + 1, argv + argc});
    memprof::cli::save_own_names();
    return status;
  });
}
