// SPDX-License-Identifier: Apache-2.0
#include "platform/windows/modules/module_list.h"

#include <atomic>
#include <cstring>

#include "core/engine/profiler.h"
#include "platform/windows/process/text.h"
#include "platform/windows/system.h"

extern "C" BOOLEAN NTAPI RtlDllShutdownInProgress();

namespace memprof::platform {
namespace {

struct Range {
  std::atomic<uint64_t> start;
  std::atomic<uint64_t> limit;
  std::atomic<const KnownModule*> module;
};

constexpr uint32_t kMaxModules = 2048;
Range g_ranges[kMaxModules];  // sorted; relaxed: g_change says whether what was read belongs together
std::atomic<uint32_t> g_count{0};
std::atomic<uint32_t> g_change{0};  // odd: a writer is at it

uint64_t g_thread_start = 0;  // written before anything is recorded

// Memory that is never given back, for what is known of modules.
uint8_t* g_room = nullptr;
size_t g_room_left = 0;

void* take_room(size_t size_bytes) {
  constexpr size_t kRoomBytes = 64 * 1024;
  constexpr size_t kAlignment = 16;
  size_bytes = (size_bytes + kAlignment - 1) & ~(kAlignment - 1);
  if (size_bytes > g_room_left) {
    g_room =
        static_cast<uint8_t*>(VirtualAlloc(nullptr, kRoomBytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
    g_room_left = g_room != nullptr ? kRoomBytes : 0;
  }
  if (size_bytes > g_room_left) {
    return nullptr;
  }
  void* room = g_room;
  g_room += size_bytes;
  g_room_left -= size_bytes;
  return room;
}

const char* copy_path(const wchar_t* path, size_t length) {
  char text[4096];
  const size_t bytes = path_to_utf8(path, length, text, sizeof(text));
  auto* copy = static_cast<char*>(take_room(bytes + 1));
  if (copy != nullptr) {
    memcpy(copy, text, bytes + 1);
  }
  return copy;
}

class Change {
 public:
  Change() {
    g_change.fetch_add(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  ~Change() { g_change.fetch_add(1, std::memory_order_release); }
  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;
};

void move(uint32_t from, uint32_t to) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  g_ranges[to].start.store(g_ranges[from].start.load(kRelaxed), kRelaxed);
  g_ranges[to].limit.store(g_ranges[from].limit.load(kRelaxed), kRelaxed);
  g_ranges[to].module.store(g_ranges[from].module.load(kRelaxed), kRelaxed);
}

void remove_module(uint64_t start) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  const uint32_t count = g_count.load(kRelaxed);
  for (uint32_t i = 0; i < count; ++i) {
    if (g_ranges[i].start.load(kRelaxed) == start) {
      const Change change;
      for (uint32_t k = i + 1; k < count; ++k) {
        move(k, k - 1);
      }
      g_count.store(count - 1, kRelaxed);
      return;
    }
  }
}

void enter_module(uint64_t start, const wchar_t* path, size_t path_length) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  PeImage image;
  if (!image.open(start)) {
    return;
  }
  remove_module(start);  // where the loader told of it, and it was listed
  const uint32_t count = g_count.load(kRelaxed);
  auto* module = count < kMaxModules ? static_cast<KnownModule*>(take_room(sizeof(KnownModule))) : nullptr;
  const char* copy = module != nullptr ? copy_path(path, path_length) : nullptr;
  if (copy == nullptr) {
    return;
  }
  module->image = image;
  module->path = copy;
  module->build_id_size = image.read_build_id(module->build_id, kMaxBuildIdBytes);
  const Change change;
  uint32_t at = count;
  for (; at > 0 && g_ranges[at - 1].start.load(kRelaxed) > start; --at) {
    move(at - 1, at);
  }
  g_ranges[at].start.store(start, kRelaxed);
  g_ranges[at].limit.store(start + image.size_bytes(), kRelaxed);
  g_ranges[at].module.store(module, kRelaxed);
  g_count.store(count + 1, kRelaxed);
}

// Of LdrRegisterDllNotification, which Microsoft documents and no header declares.
struct DllNotice {
  ULONG flags;
  const UNICODE_STRING* path;
  const UNICODE_STRING* name;
  void* start;
  ULONG size_bytes;
};
constexpr ULONG kLoaded = 1;
using Callback = void(CALLBACK*)(ULONG reason, const DllNotice* notice, void* context);
using RegisterDllNotification = LONG(NTAPI*)(ULONG flags, Callback callback, void* context, void** cookie);

void CALLBACK on_dll(ULONG reason, const DllNotice* notice, void*) {
  if (reason == kLoaded) {
    enter_module(address_of(notice->start), notice->path->Buffer, notice->path->Length / sizeof(wchar_t));
  } else if (
      !RtlDllShutdownInProgress()) {  // wine tells of all DLLs at the end of a process, in which they stay
    remove_module(address_of(notice->start));
    profiler::code_was_unloaded();
  }
}

}  // namespace

void follow_loader() {
  const HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
  const auto follow = reinterpret_cast<RegisterDllNotification>(
      reinterpret_cast<void*>(GetProcAddress(ntdll, "LdrRegisterDllNotification")));
  static void* cookie;
  if (follow != nullptr) {
    follow(0, on_dll, nullptr, &cookie);
  }
  g_thread_start = address_of(reinterpret_cast<const void*>(GetProcAddress(ntdll, "RtlUserThreadStart")));
  const auto* process = reinterpret_cast<const PEB*>(thread_block_word(kProcessBlock));
  const LIST_ENTRY* head = &process->Ldr->InMemoryOrderModuleList;
  for (const LIST_ENTRY* link = head->Flink; link != head; link = link->Flink) {
    const auto* entry = CONTAINING_RECORD(link, const LDR_DATA_TABLE_ENTRY, InMemoryOrderLinks);
    enter_module(address_of(entry->DllBase), entry->FullDllName.Buffer,
                 entry->FullDllName.Length / sizeof(wchar_t));
  }
}

uint64_t thread_start_function() {
  return g_thread_start;
}

namespace {

// false: a writer is at it for longer than some tries take.
bool find_module_at(uint64_t address, const KnownModule** module) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  constexpr int kMaxTries = 1000;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const uint32_t change = g_change.load(std::memory_order_acquire);
    uint32_t low = 0;
    for (uint32_t count = g_count.load(kRelaxed); count > 0;) {
      const uint32_t half = count / 2;
      if (g_ranges[low + half].start.load(kRelaxed) <= address) {
        low += half + 1;
        count -= half + 1;
      } else {
        count = half;
      }
    }
    const KnownModule* found = nullptr;
    if (low != 0 && address < g_ranges[low - 1].limit.load(kRelaxed)) {
      found = g_ranges[low - 1].module.load(kRelaxed);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    if (change % 2 == 0 && g_change.load(kRelaxed) == change) {
      *module = found;
      return true;
    }
  }
  return false;
}

}  // namespace

const KnownModule* module_at(uint64_t address) {
  const KnownModule* module =
      nullptr;  // the writer is this thread, which a hook interrupted, or was suspended
  find_module_at(address, &module);
  return module;
}

const KnownModule* wait_for_module_at(uint64_t address) {
  constexpr int kMaxWaits = 1000;
  const KnownModule* module = nullptr;
  for (int waits = 0; !find_module_at(address, &module) && waits < kMaxWaits; ++waits) {
    Sleep(1);
  }
  return module;
}

bool find_module(uint64_t address, ModuleInfo* info) {
  const KnownModule* module = module_at(address);
  if (module == nullptr) {
    return false;
  }
  info->start = module->image.start();
  info->limit = module->image.start() + module->image.size_bytes();
  info->file_offset = 0;
  info->bias = module->image.start();
  info->path = module->path;
  info->build_id_size = module->build_id_size;
  memcpy(info->build_id, module->build_id, sizeof(info->build_id));
  return true;
}

// Language runtimes are found by what they export; they are not looked for on Windows yet.
bool find_exports_at(uint64_t, const char* const*, uint32_t, const void**) {
  return false;
}
bool find_exports(const char* const*, uint32_t, const void**) {
  return false;
}

bool find_symbol(uint64_t address, const char** name, uint64_t* start) {
  const KnownModule* module = module_at(address);
  *name = module != nullptr ? module->image.export_at(address, start) : nullptr;
  return *name != nullptr;
}

const char* find_other_copy() {
  return nullptr;
}

}  // namespace memprof::platform
