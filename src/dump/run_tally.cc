// SPDX-License-Identifier: Apache-2.0
#include "dump/run_tally.h"

#include <cstring>

#include "core/engine/profiler.h"
#include "format/files/run_tally.h"
#include "platform/clock.h"
#include "platform/files.h"
#include "platform/memory.h"
#include "platform/process.h"

namespace memprof {
namespace {

RunTally* g_tally;

// Who noted this process; a vfork child sees those of its parent.
uint32_t g_id;
uint64_t g_start;
bool g_notes_programs;

void note_self(uint64_t start, const RunTally& tally) {
  g_id = platform::process_id();
  g_start = start;
  g_notes_programs = platform::process_namespace() == tally.pid_namespace;
}

// The path of a program as it is noted.  What was given to exec may be no memory at all: the kernel says so.
class NotedPath {
 public:
  explicit NotedPath(const char* path)
      : is_noted_(g_tally != nullptr && g_notes_programs && path != nullptr && !platform::is_sandboxed() &&
                  platform::copy_text(path, text_, sizeof(text_))) {}

  bool is_noted() const { return is_noted_; }
  const char* text() const { return text_; }

 private:
  char text_[sizeof(RunTally::Program::path) + 1];
  bool is_noted_;
};

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
    note_self(platform::process_start(), *tally);
    g_tally = tally;
    tally->note(g_id, g_start);
  }
}

void count_fork_child() {
  if (g_tally != nullptr && !platform::is_sandboxed()) {
    note_self(platform::start_of_new_process(), *g_tally);
    g_tally->note_new(g_id, g_start);
  }
}

uint32_t begin_program(const char* path) {
  const NotedPath noted(path);
  if (!noted.is_noted()) {
    return 0;
  }
  const uint32_t id = platform::process_id();
  const bool is_counted = id == g_id;
  g_tally->note_program(id, is_counted ? g_start : platform::start_of_new_process(), is_counted, noted.text(),
                        platform::monotonic_ns());
  return id;
}

void program_did_not_begin(uint32_t begun) {
  if (begun != 0) {
    g_tally->take_program_back(begun);
  }
}

void program_was_spawned(uint32_t id, uint64_t start, const char* path) {
  const NotedPath noted(path);
  if (noted.is_noted()) {
    g_tally->note_spawned(id, start, noted.text(), platform::monotonic_ns());
  }
}

}  // namespace memprof
