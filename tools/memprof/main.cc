// SPDX-License-Identifier: Apache-2.0
#include "memprof/cli.h"
#include "memprof/host/process/roomy_thread.h"

int main(int argc, char** argv) {
  return memprof::cli::run_with_room([&] { return memprof::cli::cli_main({argv + 1, argv + argc}); });
}
