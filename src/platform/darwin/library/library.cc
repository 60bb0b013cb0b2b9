// SPDX-License-Identifier: Apache-2.0
// libmemprof.dylib in a process: its beginning and its end.
#include "core/engine/profiler.h"
#include "platform/darwin/hooks/malloc_log.h"
#include "platform/darwin/modules/image_list.h"
#include "platform/darwin/process/thread_data.h"
#include "platform/messages.h"
#include "platform/process.h"

namespace {

// Where the library was inserted (DYLD_INSERT_LIBRARIES): before the constructors of the program and its libraries, but for
// libSystem's.
__attribute__((constructor(101))) void begin() {
  using namespace memprof;
  platform::has_own_thread_data();
  platform::follow_images();
  profiler::adopt_process();
  platform::program_path();
  autostart();
  if (profiler::state() == State::kActive && !platform::set_malloc_logger()) {
    const char* const parts[] = {"not profiling: the process has no pthread key left", nullptr};
    platform::message(parts);
  }
}

__attribute__((destructor)) void end() {
  memprof::end_of_process();
}

}  // namespace
