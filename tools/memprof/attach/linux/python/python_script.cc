// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/python/python_script.h"

#include <thread>

#include "memprof/attach/linux/python/python_runtime.h"
#include "memprof/attach/linux/signals_held_back.h"
#include "memprof/attach/linux/target/survey.h"
#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr char kScript[] = "memprof.py";
constexpr char kResult[] = "result";
constexpr char kUnfinished[] = "result.part";
constexpr milliseconds kPause{2};
// For a script that began in the moment when it was taken back.
constexpr milliseconds kGrace{200};

// What makes the interpreter look: bits of its eval_breaker (pycore_ceval.h).  It changes them while we write, so one that
// it sets may get lost.  Therefore all are written that nobody sets again: it finds nothing to do for the others, and
// clears them.
constexpr uint8_t kSignals = 1U << 1;
constexpr uint8_t kCalls = 1U << 2;
constexpr uint8_t kException = 1U << 3;
constexpr uint8_t kStop = 1U << 5;
// Where there is no lock of the interpreter; elsewhere nobody would clear it.
constexpr uint8_t kMerge = 1U << 6;
constexpr uint8_t kLook = kSignals | kCalls | kException | kStop;

std::string script_of(const std::string& body, const std::string& folder) {
  return "import os\n\n\n"
         "def run():\n" +
         body +
         "\n\n"
         "try:\n"
         "    said = run()\n"
         "except Exception as error:\n"
         "    said = type(error).__name__ + ': ' + str(error)\n"
         "folder = " +
         python_path(folder) +
         "\n"
         "with open(folder + '/" +
         kUnfinished +
         "', 'w', encoding='utf-8', errors='replace') as file:\n"
         "    file.write(said + '\\n')\n"
         "os.rename(folder + '/" +
         kUnfinished + "', folder + '/" + kResult + "')\n";
}

class Request {
 public:
  Request(const TargetMemory& memory, const PythonRuntime& runtime) : memory_(memory), runtime_(runtime) {}

  bool is_waiting() const {
    int32_t pending = 0;
    return read(&pending) && pending != 0;
  }
  // The program, or it was replaced by another one.
  bool has_ended() const {
    int32_t pending = 0;
    return !read(&pending);
  }
  bool place(const std::string& script) const {
    return memory_.write(runtime_.script_path, script.c_str(), script.size() + 1) && set_pending(1) &&
           interrupt();
  }
  void take_back() const { set_pending(0); }

 private:
  bool read(int32_t* pending) const { return memory_.read(runtime_.pending_call, pending, sizeof(*pending)); }
  bool set_pending(int32_t pending) const {
    return memory_.write(runtime_.pending_call, &pending, sizeof(pending));
  }
  // The low byte alone: the others belong to the interpreter's own versions of code.
  bool interrupt() const {
    uint8_t bits = 0;
    if (!memory_.read(runtime_.eval_breaker, &bits, sizeof(bits))) return false;
    bits |= kLook;
    bits |= runtime_.is_free_threaded ? kMerge : 0;
    return memory_.write(runtime_.eval_breaker, &bits, sizeof(bits));
  }

  const TargetMemory& memory_;
  const PythonRuntime& runtime_;
};

// Until `is_done`, or for so long.
template <typename IsDone>
bool wait_until(milliseconds longest, IsDone is_done) {
  const auto end = steady_clock::now() + longest;
  while (!is_done()) {
    if (steady_clock::now() >= end) return false;
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

}  // namespace

std::string python_bytes(const std::string& bytes) {
  static const char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    hex += kDigits[static_cast<unsigned char>(c) >> 4];
    hex += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return "bytes.fromhex('" + hex + "')";
}

std::string python_path(const std::string& path) {
  return "os.fsdecode(" + python_bytes(path) + ")";
}

std::string run_python_script(uint64_t pid, const std::string& shown, milliseconds wait,
                              const std::function<std::string(SharedFolder* folder)>& body) {
  const TargetMemory memory(pid, TargetMemory::Access::kReadAndWrite);
  if (memory.error() != 0) throw Failure(ptrace_refusal(pid, shown, memory.error()), kRefused);
  const PythonRuntime runtime = find_python_runtime(pid, shown, memory);
  const Request request(memory, runtime);
  if (request.is_waiting()) {
    throw Failure("attach: --python: " + shown +
                      " has a script of another program before it, which its main thread did not "
                      "run yet; try again when it has",
                  kRefused);
  }
  const SignalsHeldBack held_back;
  SharedFolder folder(pid, shown, {kResult, kUnfinished});
  folder.put(kScript, script_of(body(&folder), folder.path()));
  folder.give();
  std::string said;
  const auto is_done = [&] { return !(said = folder.read(kResult)).empty() || request.has_ended(); };
  if (!request.place(folder.path() + "/" + kScript))
    throw Failure("attach: " + shown + " has ended", kRefused);
  if (!wait_until(wait, is_done)) {
    // It waits, or it has begun and is not through.
    const bool has_begun = !request.is_waiting();
    request.take_back();
    wait_until(has_begun ? wait : kGrace, is_done);
  }
  if (!said.empty()) return said.substr(0, said.find('\n'));
  if (request.has_ended()) throw Failure("attach: " + shown + " has ended", kRefused);
  throw Failure("attach: --python: the main thread of " + shown + " ran no Python code for " +
                    std::to_string(std::chrono::duration_cast<std::chrono::seconds>(wait).count()) +
                    " s: it waits, or is in other code; try again, or without --python",
                kRefused);
}

}  // namespace memprof::cli
