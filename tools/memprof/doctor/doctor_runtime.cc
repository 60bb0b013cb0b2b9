// SPDX-License-Identifier: Apache-2.0
#include "memprof/doctor/doctor_runtime.h"

namespace memprof::cli {

Half frames_half(const memprof_runtime_stats& seen) {
  switch (seen.stacks) {
    case MEMPROF_STACKS_READ:
      return {"its functions and lines are in stacks", ""};
    case MEMPROF_STACKS_UNKNOWN_VERSION:
      return {"stacks are native ones only, because memprof does not know this version",
              "use a version that this memprof knows, or a newer memprof"};
    case MEMPROF_STACKS_UNKNOWN_LAYOUT:
      return {"stacks are native ones only, because it is not laid out as its version says",
              "use a build without changes to its structures"};
    default:  // no sample has shown it yet
      return {"its functions and lines will be in stacks", ""};
  }
}

Half objects_half(const memprof_runtime_stats& seen) {
  switch (seen.objects) {
    case MEMPROF_OBJECTS_HOOKED:
      return {"its objects are seen by hooks of its allocators", ""};
    case MEMPROF_OBJECTS_BY_MALLOC:
      return {"its objects come from malloc, and are seen there", ""};
    case MEMPROF_OBJECTS_REFUSED:
      return {"its objects are not seen, because its allocators could not be replaced", ""};
    default:
      return {"objects that it does not get from malloc are not seen", ""};
  }
}

void check_halves(const std::string& name, const std::string& runtime, const Half& frames,
                  const Half& objects, Checks* checks) {
  const std::string found = runtime + ": " + frames.found + "; " + objects.found;
  if (frames.to_do.empty() && objects.to_do.empty()) {
    checks->yes(name, found);
  } else {
    const std::string both = frames.to_do.empty() || objects.to_do.empty() ? "" : "; ";
    checks->note(name, found, frames.to_do + both + objects.to_do);
  }
}

void check_other_runtimes(const ProgramFiles& files, Checks* checks) {
  if (!files.runtimes_seen) return;
  for (uint32_t id = 1; id <= MEMPROF_MAX_RUNTIMES; ++id) {
    const memprof_runtime_stats& seen = (*files.runtimes_seen)[id - 1];
    if (id == MEMPROF_RUNTIME_CPYTHON || id == MEMPROF_RUNTIME_V8 || seen.version == 0) continue;
    const std::string known = memprof_runtime_name(id);
    const std::string name = known.empty() ? "runtime " + std::to_string(id) : known;
    const std::string version = std::to_string(seen.version >> 8) + "." + std::to_string(seen.version & 0xff);
    check_halves(name, name + " " + version, frames_half(seen), objects_half(seen), checks);
  }
}

}  // namespace memprof::cli
