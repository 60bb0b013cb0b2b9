// SPDX-License-Identifier: Apache-2.0
#include "dump/run_tally.h"

#include <cstring>

#include "format/files/run_tally.h"
#include "platform/files.h"
#include "platform/process.h"

namespace memprof {
namespace {

RunTally* g_tally;

}  // namespace

void join_run(const char* arena_folder, uint64_t run_token) {
  char path[512];
  const size_t length = strlen(arena_folder);
  if (length == 0 || length + 1 + sizeof(kRunTallyName) > sizeof(path)) {
    return;
  }
  memcpy(path, arena_folder, length);
  path[length] = '/';
  memcpy(path + length + 1, kRunTallyName, sizeof(kRunTallyName));
  auto* const tally = static_cast<RunTally*>(platform::file_map(path, sizeof(RunTally)));
  if (tally != nullptr && tally->magic == RunTally::kMagic && tally->run_token == run_token) {
    g_tally = tally;
    tally->note(platform::process_id(), platform::process_start());
  }
}

void count_fork_child() {
  if (g_tally != nullptr && !platform::is_sandboxed()) {
    g_tally->note_new(platform::process_id(), platform::start_of_new_process());
  }
}

}  // namespace memprof
