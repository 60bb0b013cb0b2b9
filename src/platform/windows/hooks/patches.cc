// SPDX-License-Identifier: Apache-2.0
#include "platform/windows/hooks/patches.h"

#include <cstring>

#include "platform/code/relocation.h"
#include "platform/windows/hooks/threads.h"
#include "platform/windows/memory/pages.h"
#include "platform/windows/modules/module_list.h"
#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

constexpr size_t kPage = 4096;
constexpr int kMaxTries = 200;

// In the page, of each function: the jump to the hook, and the moved instructions.
struct Moved {
  uint8_t jump[6];  // jmp [rip + 0]
  uint8_t hook[8];
  uint8_t copy[kMaxCopyBytes];
};

void put_relative_jump(uint64_t at, uint64_t target, uint8_t* bytes) {
  const auto distance = static_cast<int32_t>(target - (at + kJumpBytes));
  bytes[0] = 0xe9;
  memcpy(bytes + 1, &distance, sizeof(distance));
}

// Of the function's first part: compilers move what is rarely run behind other functions.
const char* prepare(Patch* patch, Moved* moved) {
  const KnownModule* module = wait_for_module_at(patch->function);
  const auto offset = module != nullptr ? static_cast<uint32_t>(patch->function - module->image.start()) : 0;
  const FunctionRange* range =
      module != nullptr ? find_function(module->image.functions(), module->image.function_count(), offset)
                        : nullptr;
  if (range == nullptr || range->begin != offset) {
    return "is not described by its module's unwind information";
  }
  const Relocation r = relocate(reinterpret_cast<const uint8_t*>(patch->function), range->end - offset,
                                patch->function, address_of(moved->copy));
  if (r.refusal != Refusal::kNone) {
    return refusal_text(r.refusal);
  }
  const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0};
  memcpy(moved->jump, jump, sizeof(jump));
  memcpy(moved->hook, &patch->hook, sizeof(moved->hook));
  memcpy(moved->copy, r.copy, r.copy_bytes);
  patch->function += r.entry_bytes;
  patch->window_bytes = static_cast<uint8_t>(r.window_bytes);
  memcpy(patch->before, reinterpret_cast<const void*>(patch->function), kJumpBytes);
  put_relative_jump(patch->function, address_of(moved), patch->after);
  *patch->original = address_of(moved->copy);
  return nullptr;
}

bool write_code(uint64_t at, const uint8_t* bytes) {
  DWORD protection;
  void* const code = reinterpret_cast<void*>(at);
  if (!VirtualProtect(code, kJumpBytes, PAGE_EXECUTE_READWRITE, &protection)) {
    return false;
  }
  memcpy(code, bytes, kJumpBytes);
  DWORD ignored;
  VirtualProtect(code, kJumpBytes, protection, &ignored);
  FlushInstructionCache(GetCurrentProcess(), code, kJumpBytes);
  return memcmp(code, bytes, kJumpBytes) == 0;
}

// One that is left out is as it is to be.
bool write_patch(const Patch& patch, const uint8_t* bytes) {
  return patch.function == 0 || write_code(patch.function, bytes);
}

// true: no thread was between the instructions that change, and they are changed; else nothing is.
template <typename Write>
bool write_all(const Patch* patches, uint32_t count, bool* is_refused, const Write& write) {
  const ThreadsSuspended suspended;
  if (!suspended.is_complete()) {
    return false;
  }
  for (uint32_t i = 0; i < count; ++i) {
    if (suspended.is_any_inside(patches[i].function, patches[i].window_bytes)) {
      return false;
    }
  }
  *is_refused = !write();
  return true;
}

template <typename Write>
bool write_stopped(const Patch* patches, uint32_t count, bool* is_refused, const Write& write) {
  for (int tries = 0; tries < kMaxTries; ++tries) {
    if (write_all(patches, count, is_refused, write)) {
      return true;
    }
    Sleep(1);
  }
  return false;
}

}  // namespace

const char* install_patches(const wchar_t* module_name, Patch* patches, uint32_t count,
                            const char** culprit) {
  const HMODULE library = GetModuleHandleW(module_name);
  for (uint32_t i = 0; i < count; ++i) {
    *culprit = patches[i].name;
    patches[i].function = address_of(reinterpret_cast<const void*>(GetProcAddress(library, patches[i].name)));
    if (patches[i].function == 0 && !patches[i].is_optional) {
      return "is not exported by its module";
    }
  }
  const KnownModule* module = wait_for_module_at(patches[0].function);
  if (module == nullptr) {
    return "is in no module that the loader lists";
  }
  const uint64_t start = module->image.start();
  auto* moved = static_cast<Moved*>(map_near(start, start + module->image.size_bytes(), kPage));
  if (moved == nullptr || count * sizeof(Moved) > kPage) {
    return "is too far from free memory";
  }
  for (uint32_t i = 0; i < count; ++i) {
    *culprit = patches[i].name;
    const char* const reason = patches[i].function != 0 ? prepare(&patches[i], &moved[i]) : nullptr;
    if (reason != nullptr && patches[i].is_optional) {
      patches[i].refusal = reason;
      patches[i].function = 0;
    } else if (reason != nullptr) {
      VirtualFree(moved, 0, MEM_RELEASE);
      return reason;
    }
  }
  DWORD ignored;
  if (!VirtualProtect(moved, kPage, PAGE_EXECUTE_READ, &ignored)) {
    VirtualFree(moved, 0, MEM_RELEASE);
    return "cannot be hooked: the process is not allowed to make code (a mitigation policy)";
  }
  FlushInstructionCache(GetCurrentProcess(), moved, kPage);
  bool is_refused = false;
  uint32_t written = 0;
  const bool is_done = write_stopped(patches, count, &is_refused, [&] {
    while (written < count && write_patch(patches[written], patches[written].after)) {
      ++written;
    }
    if (written == count) {
      return true;
    }
    *culprit = patches[written].name;
    for (; written > 0; --written) {
      write_patch(patches[written - 1], patches[written - 1].before);
    }
    return false;
  });
  if (is_done && !is_refused) {
    return nullptr;
  }
  return is_done ? "cannot be hooked: its code may not be changed (a mitigation policy)"
                 : "cannot be hooked: a thread stays in its first instructions";
}

bool remove_patches(Patch* patches, uint32_t count) {
  bool is_refused = false;
  const bool is_done = write_stopped(patches, count, &is_refused, [&] {
    bool all = true;
    for (uint32_t i = 0; i < count; ++i) {
      const Patch& patch = patches[i];
      const bool is_ours = patch.function == 0 || memcmp(reinterpret_cast<const void*>(patch.function),
                                                         patch.after, kJumpBytes) == 0;
      all = is_ours && write_patch(patch, patch.before) && all;
    }
    return all;
  });
  return is_done && !is_refused;
}

}  // namespace memprof::platform
