// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/debuginfod.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace memprof::profile {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kProgressInterval = std::chrono::milliseconds(250);

const char* urls() {
  const char* value = std::getenv("DEBUGINFOD_URLS");
  return value != nullptr && value[std::strspn(value, " \t")] != '\0' ? value : nullptr;
}

}  // namespace

// libdebuginfod's functions (elfutils/debuginfod.h, version 0.179 and later).
struct Debuginfod::Library {
  using Progress = int (*)(void* client, long bytes, long total);
  void* (*begin)() = nullptr;
  void (*end)(void* client) = nullptr;
  using Find = int(void* client, const unsigned char* build_id, int size, char** path);
  Find* find_debuginfo = nullptr;
  Find* find_executable = nullptr;
  void (*set_progress)(void* client, Progress progress) = nullptr;
  void (*set_user_data)(void* client, void* data) = nullptr;
  void* (*get_user_data)(void* client) = nullptr;

  bool load() {
    // Never closed: libcurl, which it brings along, does not bear that.
    void* handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return false;
    const auto get = [handle](const char* name, auto& function) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(handle, name));
      return function != nullptr;
    };
    g_get_user_data = nullptr;
    const bool is_whole = get("debuginfod_begin", begin) && get("debuginfod_end", end) &&
                          get("debuginfod_find_debuginfo", find_debuginfo) &&
                          get("debuginfod_find_executable", find_executable) &&
                          get("debuginfod_set_progressfn", set_progress) &&
                          get("debuginfod_set_user_data", set_user_data) &&
                          get("debuginfod_get_user_data", get_user_data);
    g_get_user_data = get_user_data;
    return is_whole;
  }

  // For the callback, which gets the client only.
  static void* (*g_get_user_data)(void* client);
};

void* (*Debuginfod::Library::g_get_user_data)(void* client) = nullptr;

struct Debuginfod::Query {
  const Debuginfod* self;
  Clock::time_point begin;
  Clock::time_point last_byte;
  std::atomic<long> bytes{0};
  std::atomic<long> total{0};
  bool is_given_up = false;
};

// Shows how far a query is while it lasts, from a thread of its own: while a server does not answer, newer versions
// of the library call nobody.
class Debuginfod::Display {
 public:
  using Show = std::function<void(bool is_over)>;

  explicit Display(Show show) : show_(std::move(show)), thread_([this] { run(); }) {}
  ~Display() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
    if (was_shown_) show_(true);
  }
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;

 private:
  void run() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!changed_.wait_for(lock, kProgressInterval, [this] { return is_over_; })) {
      was_shown_ = true;
      show_(false);
    }
  }

  Show show_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  bool was_shown_ = false;
  std::thread thread_;
};

Debuginfod::Debuginfod(DebuginfodOptions options) : options_(std::move(options)) {}

Debuginfod::~Debuginfod() {
  if (client_ != nullptr) library_->end(client_);
}

bool Debuginfod::begin() {
  if (has_begun_) return client_ != nullptr;
  has_begun_ = true;
  library_ = std::make_unique<Library>();
  if (!library_->load()) {
    warning_ =
        "DEBUGINFOD_URLS is set, but libdebuginfod.so.1 cannot be loaded; install libdebuginfod1, or give "
        "--no-debuginfod";
    return false;
  }
  // Newer versions of the library wait without asking on_progress; they go by this, 90 s if nobody sets it.
  const auto silence = std::chrono::ceil<std::chrono::seconds>(options_.max_silence);
  setenv("DEBUGINFOD_TIMEOUT", std::to_string(std::max<int64_t>(silence.count(), 1)).c_str(), 0);
  setenv("DEBUGINFOD_RETRY_LIMIT", "0", 0);  // as long as that once, not three times
  client_ = library_->begin();
  if (client_ != nullptr) library_->set_progress(client_, on_progress);
  return client_ != nullptr;
}

int Debuginfod::on_progress(void* client, long bytes, long total) {
  auto* query = static_cast<Query*>(Library::g_get_user_data(client));
  return query != nullptr && query->self->is_given_up(query, bytes, total) ? 1 : 0;
}

bool Debuginfod::is_given_up(Query* query, long bytes, long total) const {
  const auto now = Clock::now();
  // Until the size is known, `bytes` counts the turns of libdebuginfod's waiting.
  if (total <= 0) bytes = 0;
  if (bytes != query->bytes) query->last_byte = now;
  query->bytes = bytes;
  query->total = total;
  if (now - query->last_byte > options_.max_silence || now - query->begin > options_.max_time) {
    query->is_given_up = true;
    return true;
  }
  return false;
}

std::string Debuginfod::find(const std::string& build_id, const std::string& path) {
  return find(Wanted::kDebuginfo, build_id, path);
}

std::string Debuginfod::find_executable(const std::string& build_id, const std::string& path) {
  return find(Wanted::kExecutable, build_id, path);
}

std::string Debuginfod::find(Wanted wanted, const std::string& build_id, const std::string& path) {
  if (build_id.empty() || urls() == nullptr || !begin()) return "";
  Query query;
  query.self = this;
  query.begin = query.last_byte = Clock::now();
  library_->set_user_data(client_, &query);
  std::optional<Display> display;
  if (options_.progress) {
    display.emplace([&](bool is_over) {
      options_.progress(path, static_cast<uint64_t>(std::max(query.bytes.load(), 0L)),
                        static_cast<uint64_t>(std::max(query.total.load(), 0L)), is_over);
    });
  }
  char* found = nullptr;
  // Size 0: the build id is hexadecimal text.
  Library::Find* const ask =
      wanted == Wanted::kDebuginfo ? library_->find_debuginfo : library_->find_executable;
  const int fd = ask(client_, reinterpret_cast<const unsigned char*>(build_id.c_str()), 0, &found);
  display.reset();
  library_->set_user_data(client_, nullptr);
  const std::unique_ptr<char, decltype(&std::free)> owned(found, &std::free);
  if (fd >= 0) ::close(fd);
  if (query.is_given_up || fd == -ETIME || fd == -ETIMEDOUT) {
    library_->end(client_);
    client_ = nullptr;  // not asked again
    warning_ = "debuginfod (" + std::string(urls()) +
               ") does not answer in time; names and lines without it (--no-debuginfod does not ask)";
    return "";
  }
  if (fd < 0 || found == nullptr) {
    if (fd != -ENOENT && warning_.empty()) {
      warning_ = "debuginfod (" + std::string(urls()) + "): " + std::strerror(-fd) +
                 "; names and lines without it (--no-debuginfod does not ask)";
    }
    return "";
  }
  return found;
}

}  // namespace memprof::profile
