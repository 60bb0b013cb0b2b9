// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/python/start_by_python.h"

#include <chrono>
#include <cstdlib>
#include <string>

#include "memprof.h"
#include "memprof/attach/linux/memory_file.h"
#include "memprof/attach/linux/python/python_script.h"
#include "memprof/attach/linux/start_settings.h"
#include "memprof/attach/linux/target/survey.h"
#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

constexpr std::chrono::seconds kWait{10};
constexpr char kLibrary[] = "libmemprof.so";
// What the script says where all went well, before the nanoseconds.
constexpr char kDone[] = "done ";
// And where a function of memprof failed, before its error.
constexpr char kFailed[] = "error ";

// Of the library, where it is loaded there already: a dictionary of Python, name to address.  "": it is not.
std::string functions_there(Target* target) {
  const TargetMemory memory = read_ranges(target);
  for (const TargetImage& image : read_images(memory, target->ranges)) {
    std::string functions;
    for (const auto& [name, address] : memprof_functions(image)) {
      functions.append("'").append(name).append("': ").append(std::to_string(address)).append(", ");
    }
    if (!functions.empty()) return "{" + functions + "}";
  }
  return {};
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
  Target target = find_target(pid);
  const std::string& shown = target.shown;
  AttachResult result;
  const std::string there = functions_there(&target);
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
  Target target = find_target(pid);
  const std::string& shown = target.shown;
  const std::string there = functions_there(&target);
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
