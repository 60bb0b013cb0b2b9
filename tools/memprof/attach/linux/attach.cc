// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/attach.h"

#include <dlfcn.h>
#include <linux/memfd.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <sstream>
#include <utility>

#include "memprof.h"
#include "memprof/attach/linux/calls/guarded_calls.h"
#include "memprof/attach/linux/calls/remote_call.h"
#include "memprof/attach/linux/haste.h"
#include "memprof/attach/linux/late_hooks.h"
#include "memprof/attach/linux/memory_file.h"
#include "memprof/attach/linux/signals_held_back.h"
#include "memprof/attach/linux/start_settings.h"
#include "memprof/attach/linux/system_call_filter.h"
#include "memprof/attach/linux/target/survey.h"
#include "memprof/attach/linux/thread/remote_stack.h"
#include "memprof/attach/linux/thread/running_threads.h"
#include "memprof/attach/linux/thread/safe_point.h"
#include "memprof/attach/linux/thread/traced_thread.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/host/program/find_library.h"

namespace memprof::cli {
namespace {

constexpr char kMemoryFileName[] = "libmemprof.so";
constexpr size_t kMaxErrorBytes = 400;

[[noreturn]] void fail(const Target& target, const std::string& why) {
  throw Failure("attach: " + target.shown + ": " + why, kRefused);
}

std::string with_end(const std::string& text) {
  return text + '\0';
}

// As survey() has it; where that found no memprof, *state, too.  Looks that contradict one another are taken again:
// somebody else attached between them, or the map of a process that maps and unmaps was read with a gap.
Target settled_survey(uint64_t pid, uint32_t* state) {
  constexpr int kLooks = 3;
  for (int look = 1;; ++look) {
    Target target = survey(pid);
    if (!target.memprof.empty()) return target;
    *state = state_there(pid);
    if (*state == MEMPROF_STATE_UNINITIALIZED || look == kLooks) return target;
  }
}

// One process, one of whose threads is to make calls.
class Session {
 public:
  // `before`: of the session that loaded the library.
  Session(uint64_t pid, const AttachOptions& options, const AttachResult& before = {})
      : options_(options),
        target_(settled_survey(pid, &state_)),
        library_(options.library),
        walker_(pid, TargetMemory(pid, TargetMemory::Access::kRead), target_.images, places_in(target_)),
        result_(before) {}

  bool has_library() const { return !target_.memprof.empty(); }

  void check_start() {
    if (has_library()) state_ = state_there(target_.pid);
    const std::string refusal = why_not_started(target_.pid, has_library(), state_, options_);
    if (!refusal.empty()) fail(target_, refusal);
    if (!target_.musl || has_library()) return;
    const MuslLibrary found = find_musl_dlopen_library(options_.library);
    if (found.path.empty()) {
      fail(target_, "it uses musl, and libmemprof.so was built for glibc; " + found.to_do);
    }
    library_ = found.path;
  }

  // The library is there.
  AttachResult start() {
    if (!has_library()) fail(target_, "it has executed another program meanwhile; try again");
    wait_for_running_threads(target_.pid);
    if (options_.inline_hooks) ask_for_hooks();
    start_recording();
    if (hooks_.patch_count != 0) hook();
    return result_;
  }

  // What the library there is to prepare, for its calls.
  void ask_for_hooks() {
    for (const uint64_t module : modules_with_allocators(target_)) {
      hooks_.modules[hooks_.module_count++] = module;
    }
  }

  void hook() {
    const SignalsHeldBack held_back;
    const Haste haste;
    const LateHooks written = write_late_hooks(target_, hooks_);
    result_.hooked_functions = written.functions;
    result_.pause_ns = std::max(result_.pause_ns, written.pause_ns);
    if (written.refused.empty()) return;
    for (const std::string& name : result_.hooked) {
      result_.refused.push_back(name + " is not seen: " + written.refused);
    }
    result_.hooked.clear();
  }

  void load() {
    result_.used_memory_file = !sees_file(target_.pid, library_);
    run([this](GuardedCalls* calls) {
      const std::string no_file = "/";  // that cannot be loaded, should nobody write another name
      const uint64_t path_at =
          calls->data(result_.used_memory_file ? no_file + std::string(60, '\0') : with_end(library_));
      size_t made = 0;
      if (result_.used_memory_file) {
        made = calls->system_call(SYS_memfd_create, calls->data(with_end(kMemoryFileName)),
                                  MFD_CLOEXEC | MFD_ALLOW_SEALING);
        calls->may_fail(made, CallStep::kIfNegative);
        calls->await();
        answer_ = [this, path_at, result_at = calls->address_of_result(made)](const TargetMemory& memory) {
          return fill(memory, result_at, path_at);
        };
      }
      const size_t opened = calls->function("dlopen", path_at, RTLD_NOW);
      if (result_.used_memory_file) calls->system_call_with_result(SYS_close, made);
      const size_t error = calls->function("dlerror");
      // musl tells of lookups by the library's own constructors, too; there the next step finds nothing where nothing was opened.
      if (!target_.musl) calls->may_fail(error, CallStep::kIfNotZero);
      const auto find = [&](const char* name) {
        const size_t found = calls->function_with_result("dlsym", opened, calls->data(with_end(name)));
        calls->may_fail(found, CallStep::kIfZero);
        return found;
      };
      const size_t init_at = find("memprof_init");
      const size_t prepare_at = find("memprof_attach_prepare_imports");
      const size_t init = calls->int_function_of_result(init_at, calls->data(library_options(options_)));
      const RemoteCall::Results read = read_calls(calls, {init});
      return [=](const std::string& image, const TargetMemory& memory) {
        if (result_.used_memory_file && result_of(image, made) < 0) {
          error_ =
              "it cannot make a file in memory: " + error_text(static_cast<int>(-result_of(image, made)));
        } else if (result_of(image, opened) == 0) {
          if (error_.empty())
            error_ = "it cannot load " + library_ + ": " + text_at(memory, result_of(image, error));
        } else if (result_of(image, prepare_at) == 0) {
          error_ = library_ + " is no library of memprof";
        } else {
          prepare_imports_at_ = static_cast<uint64_t>(result_of(image, prepare_at));
          read(image, memory);
        }
      };
    });
  }

  // Behind load(): points the process's imports at the library, which counts nothing yet.
  AttachResult prepare_imports() {
    run([this](GuardedCalls* calls) {
      return read_calls(calls, {calls->int_function(prepare_imports_at_, 0)});
    });
    return result_;
  }

  AttachResult stop() {
    if (!has_library()) fail(target_, not_loaded(target_.pid));
    run([this](GuardedCalls* calls) {
      const size_t stop = calls->int_function(target_.memprof.at("memprof_stop"), 0);
      return [this, stop](const std::string& image, const TargetMemory&) {
        if (result_of(image, stop) != MEMPROF_OK) error_ = kNotAtWork;
      };
    });
    return result_;
  }

 private:
  // Adds calls; returns what reads their results.
  using Build = std::function<RemoteCall::Results(GuardedCalls* calls)>;

  void run(const Build& build) {
    const SignalsHeldBack held_back;
    Haste haste;
    std::unique_ptr<TracedThread> thread;
    SafePoint point = reach_any_safe_point(target_, walker_, &thread);
    haste.more();
    result_.stops += point.stops;
    if (!options_.force) check_filters(target_, *thread);
    RemoteCall remote(target_, thread.get(), std::move(point), options_.times);
    GuardedCalls calls(target_, remote);
    const RemoteCall::Results results = build(&calls);
    remote.run(calls.finish(), std::exchange(answer_, nullptr), results, options_.observer);
    result_.pause_ns = std::max(result_.pause_ns, remote.pause_ns());
    if (!error_.empty()) fail(target_, error_);
  }

  void start_recording() {
    run([this](GuardedCalls* calls) {
      const uint64_t settings = calls->data(library_options(options_));
      const size_t init = calls->int_function(target_.memprof.at("memprof_init"), settings);
      const size_t rate = calls->int_function(target_.memprof.at("memprof_set_rate"), options_.rate_bytes);
      const size_t start = calls->int_function(target_.memprof.at("memprof_start"), 0);
      RemoteCall::Results read = read_calls(calls, {init, rate, start});
      const uint64_t prepare = target_.memprof.at("memprof_attach_prepare_hooks");
      if (!options_.inline_hooks || prepare == 0) return read;
      const uint64_t request = calls->data(hooks_as_data());
      const size_t prepared = calls->int_function(prepare, request);
      return read_hooks(read, prepared, request);
    });
  }

  std::string hooks_as_data() const { return {reinterpret_cast<const char*>(&hooks_), sizeof(hooks_)}; }

  static std::vector<std::string> lines_of(const char* text, size_t room) {
    std::vector<std::string> lines;
    std::istringstream in(std::string(text, strnlen(text, room)));
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

  // The answer, behind what `read` reads.
  RemoteCall::Results read_hooks(const RemoteCall::Results& read, size_t prepared, uint64_t request_at) {
    return [this, read, prepared, request_at](const std::string& image, const TargetMemory& memory) {
      read(image, memory);
      LatePatchRequest answer;
      if (!error_.empty() || result_of(image, prepared) != MEMPROF_OK ||
          !memory.read(request_at, &answer, sizeof(answer))) {
        return;
      }
      hooks_ = answer;
      result_.hooked = lines_of(answer.hooked, sizeof(answer.hooked));
      result_.refused = lines_of(answer.refused, sizeof(answer.refused));
    };
  }

  // Functions of memprof, of which each one needs those before it.
  RemoteCall::Results read_calls(GuardedCalls* calls, const std::vector<size_t>& steps) {
    for (const size_t step : steps) calls->may_fail(step, CallStep::kIfNegative);
    return [this, steps](const std::string& image, const TargetMemory&) {
      for (const size_t step : steps) {
        const auto error = static_cast<int>(result_of(image, step));
        if (error == MEMPROF_OK) continue;
        error_ = why_start_failed(target_.pid, error);
        return;
      }
    };
  }

  uint32_t fill(const TargetMemory& memory, uint64_t result_at, uint64_t path_at) {
    int64_t fd = -1;
    if (!memory.read(result_at, &fd, sizeof(fd))) return 1;
    error_ = fill_memory_file(target_.pid, fd, library_);
    const std::string path = with_end("/proc/self/fd/" + std::to_string(fd));
    if (error_.empty()) memory.write(path_at, path.data(), path.size());
    return 1;
  }

  static std::string text_at(const TargetMemory& memory, int64_t address) {
    std::string text(kMaxErrorBytes, '\0');
    text.resize(memory.read_some(static_cast<uint64_t>(address), text.data(), text.size()));
    return text.substr(0, text.find('\0'));
  }

  const AttachOptions& options_;
  uint32_t state_ = MEMPROF_STATE_UNINITIALIZED;  // of memprof there; to stop it nobody asks
  Target target_;
  std::string library_;  // the file to load
  RemoteStack walker_;
  AttachResult result_;
  RemoteCall::Answer answer_;
  uint64_t prepare_imports_at_ = 0;
  LatePatchRequest hooks_;
  std::string error_;
};

}  // namespace

AttachResult attach_and_start(uint64_t pid, const AttachOptions& options) {
  Session session(pid, options);
  session.check_start();
  if (session.has_library()) {
    AttachResult result = session.start();
    result.was_loaded = true;
    return result;
  }
  session.load();
  return Session(pid, options, session.prepare_imports()).start();
}

AttachResult attach_and_stop(uint64_t pid, const AttachOptions& options) {
  return Session(pid, options).stop();
}

}  // namespace memprof::cli
