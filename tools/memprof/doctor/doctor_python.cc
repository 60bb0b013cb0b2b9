// SPDX-License-Identifier: Apache-2.0
#include "memprof/doctor/doctor_python.h"

#include <cstdio>

#include "memprof.h"
#include "memprof/doctor/doctor_runtime.h"
#include "memprof/host/program/python_facts.h"

namespace memprof::cli {
namespace {

constexpr char kKnown[] = "3.11 to 3.15";

struct FoundPython {
  PythonFacts facts;
  std::string where;  // " in libpython3.11.so.1.0"; empty: in the program
};

FoundPython find_python(const ProgramFiles& files) {
  const auto facts_of = [](const std::string& path) {
    std::string why;
    const auto file = profile::ElfFile::open(path, &why);
    return file != nullptr ? read_python_facts(*file) : PythonFacts();
  };
  FoundPython found{facts_of(files.path), ""};
  for (const std::string& path : files.libraries) {
    if (found.facts.is_there) break;
    found = {facts_of(path), " in " + path.substr(path.rfind('/') + 1)};
  }
  return found;
}

std::string name_of(const FoundPython& found) {
  const PythonFacts& facts = found.facts;
  char version[64] = "";
  if (facts.version != 0) {
    std::snprintf(version, sizeof(version), " %u.%u.%u%s", facts.version >> 24, facts.version >> 16 & 0xff,
                  facts.version >> 8 & 0xff, facts.is_free_threaded ? " (free-threaded)" : "");
  }
  return (facts.version == 0 ? "CPython before 3.11" : "CPython" + std::string(version)) + found.where;
}

// What lies in memory that memprof does not see, when nothing tells it of objects.
std::string unseen_objects(const PythonFacts& facts) {
  return facts.is_free_threaded ? "its objects are not seen" : "its objects of up to 512 bytes are not seen";
}

Half unknown_frames(const PythonFacts& facts) {
  const bool is_known_version = PythonFacts{true, facts.version, false, true}.has_readable_frames();
  if (is_known_version) {
    return {"stacks are native ones only, because it is not laid out as its version says",
            "use a build of CPython without changes to its structures"};
  }
  return {std::string("stacks are native ones only, because Python's frames are read of ") + kKnown,
          std::string("use one of ") + kKnown + " for its functions in stacks"};
}

Half expected_python_frames(const PythonFacts& facts) {
  if (facts.has_readable_frames()) return {"its functions and lines will be in stacks", ""};
  return unknown_frames(facts);
}

Half expected_objects(const ProgramFiles& files, const PythonFacts& facts) {
  if (files.python_malloc == "malloc" && !facts.is_free_threaded) {
    return {"its objects come from malloc (PYTHONMALLOC)", ""};
  }
  if (files.memprof_python == "stacks") {
    return {unseen_objects(facts) + " (MEMPROF_PYTHON=stacks)", "unset MEMPROF_PYTHON"};
  }
  return {"its objects are seen by hooks of its allocators", ""};
}

Half frames_in(const memprof_runtime_stats& seen, const PythonFacts& facts) {
  switch (seen.stacks) {
    case MEMPROF_STACKS_READ:
      return frames_half(seen);
    case MEMPROF_STACKS_UNKNOWN_VERSION:
    case MEMPROF_STACKS_UNKNOWN_LAYOUT:
      return unknown_frames(facts);
    default:  // no sample has shown it yet
      return expected_python_frames(facts);
  }
}

Half objects_in(const ProgramFiles& files, const memprof_runtime_stats& seen, const PythonFacts& facts) {
  switch (seen.objects) {
    case MEMPROF_OBJECTS_HOOKED:
    case MEMPROF_OBJECTS_BY_MALLOC:
      return objects_half(seen);
    case MEMPROF_OBJECTS_REFUSED:
      return {unseen_objects(facts) + ", because its allocators could not be replaced",
              facts.is_free_threaded ? "use a build with the GIL" : "set PYTHONMALLOC=malloc to see each"};
    default:
      return {unseen_objects(facts) + ": memprof was told to leave its allocators alone",
              files.memprof_python.empty() ? "leave memprof_options.python at 0" : "unset MEMPROF_PYTHON"};
  }
}

}  // namespace

void check_python(const ProgramFiles& files, Checks* checks) {
  const FoundPython python = find_python(files);
  if (!python.facts.is_there) return;
  const char* const name = "Python";
  if (files.memprof_python == "0") {
    checks->note(name,
                 name_of(python) + " is left alone (MEMPROF_PYTHON=0): " + unseen_objects(python.facts) +
                     ", and stacks are native ones only",
                 "unset MEMPROF_PYTHON");
    return;
  }
  const memprof_runtime_stats* const seen =
      files.runtimes_seen ? &(*files.runtimes_seen)[MEMPROF_RUNTIME_CPYTHON - 1] : nullptr;
  check_halves(
      name, name_of(python),
      seen != nullptr ? frames_in(*seen, python.facts) : expected_python_frames(python.facts),
      seen != nullptr ? objects_in(files, *seen, python.facts) : expected_objects(files, python.facts),
      checks);
}

}  // namespace memprof::cli
