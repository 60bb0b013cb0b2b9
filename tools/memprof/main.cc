// SPDX-License-Identifier: Apache-2.0
#include "memprof/cli.h"

int main(int argc, char** argv) {
  return memprof::cli::cli_main({argv + 1, argv + argc});
}
