// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/python/start_by_python.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "memprof.h"
#include "memprof/attach/memory_file.h"
#include "memprof/attach/python/python_script.h"
#include "memprof/attach/start_settings.h"
#include "memprof/attach/target/survey.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/host/process/running_process.h"

namespace memprof::cli {
namespace {

constexpr std::chrono::seconds kWait{10};
constexpr char kLibrary[] = "libmemprof.so";
// What the script says where all went well, before the nanoseconds.
constexpr char kDone[] = "done ";
// And where a function of memprof failed, before its error.
constexpr char kFailed[] = "error ";

// Of the library, where it is loaded there already: a dictionary of Python, name to address.  "": it is not.
std::string functions_there(uint64_t pid) {
  int error = 0;
  const std::vector<MemoryRange> ranges = memory_ranges(pid, &error);
  const TargetMemory memory(pid, TargetMemory::Access::kRead);
  for (const MemoryRange& range : ranges) {
    const std::string name = range.path.substr(range.path.rfind('/') + 1);
    TargetImage image;
    if (name.rfind(kLibrary, 0) != 0 || !read_image(memory, ranges, range.start, &image)) continue;
    std::string functions;
    for (const char* function : kMemprofCalls) {
      functions += std::string("'") + function + "': " + std::to_string(image.function(function)) + ", ";
    }
    return "{" + functions + "}";
  }
  return {};
}

// The process, in messages; it may be looked at, and is not this one.
std::string check(uint64_t pid) {
  if (!is_running(pid)) throw Failure("attach: process " + std::to_string(pid) + " does not exist", kRefused);
  const std::string shown = describe_process(pid);
  if (pid == static_cast<uint64_t>(getpid()))
    throw Failure("attach: " + shown + " is this command itself", kRefused);
  int error = 0;
  if (memory_ranges(pid, &error).empty()) {
    throw Failure("attach: " + shown +
                      (error == EACCES || error == EPERM
                           ? " is not yours: " + error_text(error) + "; try as its user, or as root"
                           : std::string(" has ended, or is a kernel thread")),
                  kRefused);
  }
  return shown;
}

// Lines of Python that call functions of the library, each of which returns an error.  `begin` makes `find`, which finds
// them by name and arguments.
std::string calls(const std::string& begin, const std::string& list) {
  return "    import ctypes, time\n"
         "    begun = time.perf_counter_ns()\n" +
         begin + "    for name, arguments in (" + list +
         "):\n"
         "        error = find(name, arguments)(*arguments)\n"
         "        if error != 0:\n"
         "            return '" +
         kFailed +
         "' + str(error)\n"
         "    return '" +
         kDone + "' + str(time.perf_counter_ns() - begun)\n";
}

std::string load(const std::string& library) {
  return "    library = ctypes.CDLL(" + python_path(library) +
         ")\n"
         "    find = lambda name, arguments: getattr(library, name)\n";
}

std::string find_at(const std::string& functions) {
  return "    addresses = " + functions +
         "\n"
         "    find = lambda name, arguments: ctypes.CFUNCTYPE(ctypes.c_int, *map(type, arguments))(addresses[name])\n";
}

// Number behind `word`; false: it says something else.
bool says(const std::string& said, const char* word, int64_t* number) {
  const std::string begin = word;
  if (said.compare(0, begin.size(), begin) != 0) return false;
  *number = std::strtoll(said.c_str() + begin.size(), nullptr, 10);
  return true;
}

}  // namespace

AttachResult start_by_python(uint64_t pid, const AttachOptions& options) {
  const std::string shown = check(pid);
  AttachResult result;
  const std::string there = functions_there(pid);
  result.was_loaded = !there.empty();
  const std::string refusal = why_not_started(pid, result.was_loaded, state_there(pid), options);
  if (!refusal.empty()) throw Failure("attach: " + shown + ": " + refusal, kRefused);
  const std::string said = run_python_script(pid, shown, kWait, [&](SharedFolder* folder) {
    std::string begin = find_at(there);
    if (!result.was_loaded) {
      result.used_memory_file = !sees_file(pid, options.library);
      if (result.used_memory_file) folder->put_copy(kLibrary, options.library);
      begin = load(result.used_memory_file ? folder->path() + "/" + kLibrary : options.library);
    }
    return calls(begin, "('memprof_init', (ctypes.c_char_p(" + python_bytes(library_options(options)) +
                            "),)), ('memprof_set_rate', (ctypes.c_uint64(" +
                            std::to_string(options.rate_bytes) + "),)), ('memprof_start', ())");
  });
  int64_t error = 0;
  if (says(said, kFailed, &error)) {
    throw Failure("attach: " + shown + ": " + why_start_failed(pid, static_cast<int>(error)), kRefused);
  }
  if (!says(said, kDone, &result.pause_ns)) {
    throw Failure("attach: " + shown + ": its Python cannot load " + options.library + ": " + said, kRefused);
  }
  return result;
}

AttachResult stop_by_python(uint64_t pid, const AttachOptions& options) {
  static_cast<void>(options);
  const std::string shown = check(pid);
  const std::string there = functions_there(pid);
  if (there.empty()) throw Failure("attach: " + shown + ": " + not_loaded(pid), kRefused);
  AttachResult result;
  result.was_loaded = true;
  const std::string said = run_python_script(
      pid, shown, kWait, [&](SharedFolder*) { return calls(find_at(there), "('memprof_stop', ()),"); });
  int64_t error = 0;
  if (says(said, kFailed, &error)) throw Failure("attach: " + shown + ": " + kNotAtWork, kRefused);
  if (!says(said, kDone, &result.pause_ns)) throw Failure("attach: " + shown + ": " + said, kRefused);
  return result;
}

}  // namespace memprof::cli
