// SPDX-License-Identifier: Apache-2.0
// The process and its threads (platform/process.h).  Nothing forks here: the owner's page is a variable.
#include "platform/process.h"

#include <cstring>

#include "platform/windows/process/file_time.h"
#include "platform/windows/process/text.h"
#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

OwnerPage g_page;
char g_environment[8192];  // of MEMPROF_*: NAME=VALUE, each with a NUL, and one more
bool g_has_environment = false;

bool is_ours(const wchar_t* entry) {
  constexpr wchar_t kPrefix[] = L"MEMPROF_";
  for (size_t i = 0; kPrefix[i] != 0; ++i) {
    if (entry[i] != kPrefix[i]) {
      return false;
    }
  }
  return true;
}

size_t length_of(const wchar_t* text) {
  size_t length = 0;
  while (text[length] != 0) {
    ++length;
  }
  return length;
}

// A copy: the program may change its own.
void read_environment() {
  wchar_t* const block = GetEnvironmentStringsW();
  size_t used = 0;
  for (const wchar_t* entry = block; entry != nullptr && *entry != 0;) {
    const size_t length = length_of(entry);
    constexpr size_t kMaxBytesOfUnit = 3;
    if (is_ours(entry) && used + length * kMaxBytesOfUnit + 2 < sizeof(g_environment)) {
      used += to_utf8(entry, length, g_environment + used, sizeof(g_environment) - used - 1) + 1;
    }
    entry += length + 1;
  }
  if (block != nullptr) {
    FreeEnvironmentStringsW(block);
  }
  g_environment[used] = '\0';
}

// The rules by which a C runtime takes a command line apart.  Units of the argument; *next: behind it.
size_t next_argument(const wchar_t* at, wchar_t* out, size_t units, const wchar_t** next) {
  size_t length = 0;
  const auto put = [&](wchar_t c) {
    if (length < units) out[length++] = c;
  };
  bool is_quoted = false;
  while (*at != 0 && (is_quoted || (*at != L' ' && *at != L'\t'))) {
    size_t slashes = 0;
    while (at[slashes] == L'\\') {
      ++slashes;
    }
    const bool before_quote = at[slashes] == L'"';
    for (size_t i = 0; i < (before_quote ? slashes / 2 : slashes); ++i) {
      put(L'\\');
    }
    at += slashes;
    if (before_quote && slashes % 2 != 0) {
      put(*at++);
    } else if (before_quote) {
      is_quoted = !is_quoted;
      ++at;
    } else if (slashes == 0) {
      put(*at++);
    }
  }
  while (*at == L' ' || *at == L'\t') {
    ++at;
  }
  *next = at;
  return length;
}

}  // namespace

OwnerPage* make_owner_page() {
  return &g_page;
}
void reset_in_child() {}
bool is_sandboxed() {
  return false;
}
void set_sandboxed(bool) {}

uint32_t thread_id() {
  return static_cast<uint32_t>(thread_block_word(kThreadId));
}
uint32_t process_id() {
  return GetCurrentProcessId();
}
uint64_t process_namespace() {
  return 0;
}
uint64_t process_start() {
  FILETIME made, ended, kernel, user;
  return GetProcessTimes(GetCurrentProcess(), &made, &ended, &kernel, &user) ? ticks_of(made) : 0;
}
uint64_t start_of_new_process() {
  FILETIME now;
  GetSystemTimePreciseAsFileTime(&now);
  return ticks_of(now);
}

const char* program_path() {
  static char path[4096];
  if (path[0] == '\0') {
    wchar_t wide[2048];
    const DWORD length = GetModuleFileNameW(nullptr, wide, 2048);
    path_to_utf8(wide, length, path, sizeof(path));
  }
  return path;
}

size_t program_arguments(char* text, size_t size_bytes) {
  size_t used = 0;
  wchar_t argument[1024];
  for (const wchar_t* at = GetCommandLineW(); *at != 0 && used + 1 < size_bytes;) {
    const size_t length = next_argument(at, argument, 1024, &at);
    used += to_utf8(argument, length, text + used, size_bytes - used) + 1;
  }
  return used;
}

size_t process_name(char*, size_t) {
  return 0;
}
bool is_privileged() {
  return false;
}

const char* environment(const char* name) {
  if (!g_has_environment) {
    read_environment();
    g_has_environment = true;
  }
  const size_t length = strlen(name);
  for (const char* entry = g_environment; *entry != '\0'; entry += strlen(entry) + 1) {
    if (strncmp(entry, name, length) == 0 && entry[length] == '=') {
      return entry + length + 1;
    }
  }
  return nullptr;
}

const char* arena_folder() {
  static char folder[1024];
  if (folder[0] == '\0') {
    wchar_t wide[MAX_PATH + 1];
    const DWORD length = GetTempPathW(MAX_PATH, wide);
    to_utf8(wide, length != 0 && length <= MAX_PATH ? length - 1 : 0, folder, sizeof(folder));
  }
  return folder;
}

void yield_thread() {
  SwitchToThread();
}
void pause_thread() {
  Sleep(1);  // the shortest there is
}
void order_all_threads() {
  FlushProcessWriteBuffers();
}

}  // namespace memprof::platform
