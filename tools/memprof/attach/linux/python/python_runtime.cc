// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/python/python_runtime.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "memprof/attach/linux/target/survey.h"
#include "memprof/console/failure.h"
#include "memprof/host/linux/process/proc_path.h"
#include "profile/symbolize/elf/elf_file.h"

namespace memprof::cli {
namespace {

constexpr char kSection[] = ".PyRuntime";
constexpr char kCookie[] = "xdebugpy";  // what the section begins with, since 3.13
constexpr uint64_t kMinScriptPath = 64;
constexpr uint64_t kMaxScriptPath = 4096;
constexpr int kMaxInterpreters = 10000;  // a list that somebody may change

// Of _Py_DebugOffsets, as indices of its words of 8 bytes (pycore_debug_offsets.h).
constexpr size_t kIsFreeThreaded = 2;
constexpr size_t kInterpretersHead = 5;  // of the runtime
constexpr size_t kId = 7;                // of an interpreter
constexpr size_t kNext = 8;
constexpr size_t kMainThread = 10;
// And those of debugger_support, from its begin on.
enum : size_t {
  kEvalBreaker,
  kSupport,
  kIsEnabled,
  kPendingCall,
  kScriptPath,
  kScriptPathBytes,
  kSupportWords
};

constexpr unsigned kFirstMinor = 14;
constexpr std::array<size_t, 2> kSupportAt = {89, 105};  // 3.14, 3.15

constexpr char kOtherWay[] = "; without --python it is attached to by ptrace";

[[noreturn]] void refuse(const std::string& shown, const std::string& why) {
  throw Failure("attach: --python: " + shown + " " + why, kRefused);
}

// Of a PY_VERSION_HEX.
uint64_t minor_of(uint64_t version) {
  return version >> 16 & 0xff;
}

std::string version_text(uint64_t version) {
  return std::to_string(version >> 24) + "." + std::to_string(minor_of(version));
}

struct CodeFile {
  std::string mapped;              // as in MemoryRange
  std::vector<std::string> paths;  // to open: it may be told as we see it, or as the process does
};

// First what is called after Python.
std::vector<CodeFile> code_files(uint64_t pid, const std::vector<MemoryRange>& ranges) {
  std::vector<CodeFile> files;
  std::set<std::string> known;
  const uint64_t begin = auxiliary_value(auxiliary_vector(pid), AT_PHDR);
  const MemoryRange* const executable = range_at(ranges, begin);
  if (executable != nullptr) {
    files.push_back({executable->path, {proc_path(pid, "exe")}});
    known.insert(executable->path);
  }
  for (const MemoryRange& range : ranges) {
    const bool is_file = !range.path.empty() && range.path[0] == '/';
    if (range.is_code && is_file && known.insert(range.path).second) {
      files.push_back({range.path, {proc_path(pid, "root") + range.path, range.path}});
    }
  }
  // In their order otherwise.
  const auto is_first = [](const CodeFile& file) { return file.mapped.find("python") != std::string::npos; };
  std::vector<CodeFile> sorted;
  std::copy_if(files.begin(), files.end(), std::back_inserter(sorted), is_first);
  std::remove_copy_if(files.begin(), files.end(), std::back_inserter(sorted), is_first);
  return sorted;
}

// The address of its section in the process; nothing: it has none.
std::optional<uint64_t> find_section(const std::vector<MemoryRange>& ranges, const CodeFile& of) {
  for (const std::string& path : of.paths) {
    std::string why;
    const auto file = profile::ElfFile::open(path, &why);
    const auto place = file != nullptr ? file->place_of_section(kSection) : std::nullopt;
    if (!place) continue;
    for (const MemoryRange& range : ranges) {
      const uint64_t end = range.offset + (range.end - range.start);
      // A page of the file may be mapped twice: with constants before it, and with what is written.
      if (range.path == of.mapped && range.is_writable && place->file_offset >= range.offset &&
          place->file_offset < end) {
        return range.start + (place->file_offset - range.offset);
      }
    }
  }
  return std::nullopt;
}

class Reader {
 public:
  Reader(const std::string& shown, const TargetMemory& memory) : shown_(shown), memory_(memory) {}

  template <typename Value>
  Value at(uint64_t address) const {
    Value value{};
    if (!memory_.read(address, &value, sizeof(value)))
      refuse(shown_, "has ended, or its memory cannot be read");
    return value;
  }

 private:
  const std::string& shown_;
  const TargetMemory& memory_;
};

// The interpreter that was made first.
uint64_t main_interpreter(const std::string& shown, const Reader& reader, uint64_t runtime,
                          const std::vector<uint64_t>& offsets) {
  uint64_t at = reader.at<uint64_t>(runtime + offsets[kInterpretersHead]);
  for (int i = 0; at != 0 && i < kMaxInterpreters; ++i) {
    if (reader.at<int64_t>(at + offsets[kId]) == 0) return at;
    at = reader.at<uint64_t>(at + offsets[kNext]);
  }
  refuse(shown, "has an interpreter that is not ready, or has ended; try again");
}

}  // namespace

PythonRuntime find_python_runtime(uint64_t pid, const std::string& shown, const TargetMemory& memory) {
  int error = 0;
  const std::vector<MemoryRange> ranges = memory_ranges(pid, &error);
  const Reader reader(shown, memory);
  std::string why =
      "is no CPython, or the file of its interpreter was removed or has no section " + std::string(kSection);
  uint64_t runtime = 0;
  uint64_t version = 0;
  for (const CodeFile& file : code_files(pid, ranges)) {
    const std::optional<uint64_t> found = find_section(ranges, file);
    if (!found) continue;
    const auto cookie = reader.at<std::array<char, sizeof(kCookie) - 1>>(*found);
    version = reader.at<uint64_t>(*found + cookie.size());
    if (std::memcmp(cookie.data(), kCookie, cookie.size()) != 0 || version >> 24 != 3 ||
        minor_of(version) < kFirstMinor) {
      why = "has a Python before 3.14, which runs no script for others";
    } else if (minor_of(version) - kFirstMinor >= kSupportAt.size()) {
      why = "has Python " + version_text(version) + ", which this memprof does not know yet";
    } else {
      runtime = *found;
      break;
    }
  }
  if (runtime == 0) refuse(shown, why + kOtherWay);
  const size_t support_at = kSupportAt[minor_of(version) - kFirstMinor];
  std::vector<uint64_t> offsets(support_at + kSupportWords);
  if (!memory.read(runtime, offsets.data(), offsets.size() * sizeof(uint64_t))) refuse(shown, "has ended");
  const uint64_t* const support = offsets.data() + support_at;
  const uint64_t interpreter = main_interpreter(shown, reader, runtime, offsets);
  if (reader.at<int32_t>(interpreter + support[kIsEnabled]) != 1) {
    refuse(
        shown,
        std::string("was started with -X disable-remote-debug or PYTHON_DISABLE_REMOTE_DEBUG, or built so") +
            kOtherWay);
  }
  const auto thread = reader.at<uint64_t>(interpreter + offsets[kMainThread]);
  if (thread == 0) refuse(shown, "has no main thread any more");
  PythonRuntime found;
  found.version = version_text(version);
  found.is_free_threaded = offsets[kIsFreeThreaded] != 0;
  found.eval_breaker = thread + support[kEvalBreaker];
  found.pending_call = thread + support[kSupport] + support[kPendingCall];
  found.script_path = thread + support[kSupport] + support[kScriptPath];
  found.script_path_bytes = support[kScriptPathBytes];
  if (found.script_path_bytes < kMinScriptPath || found.script_path_bytes > kMaxScriptPath) {
    refuse(shown, std::string("has a Python that is not as its version says") + kOtherWay);
  }
  return found;
}

}  // namespace memprof::cli
