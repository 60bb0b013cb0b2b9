// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/loader_watch.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "platform/code/relocation.h"
#include "platform/linux/inline_hooks/code/callback_stub.h"
#include "platform/linux/inline_hooks/code/code_writer.h"
#include "platform/linux/inline_hooks/code/near_pages.h"
#include "platform/linux/inline_hooks/code/register_gate.h"
#include "platform/linux/inline_hooks/late_patches.h"
#include "platform/linux/inline_hooks/slow_paths.h"
#include "platform/linux/memory/own_pages.h"

namespace memprof::platform {
namespace {

void (*g_changed)(LoaderChange);
const r_debug* g_debug;
uint64_t g_watched;  // 0: not yet; a tracer writes 1

void on_loader_state() {
  if (__atomic_load_n(&g_watched, __ATOMIC_RELAXED) == 0) {
    return;
  }
  if (g_debug->r_state == r_debug::RT_ADD) {
    g_changed(LoaderChange::kBegins);
  } else if (g_debug->r_state == r_debug::RT_CONSISTENT) {
    g_changed(LoaderChange::kIsDone);
  }
}

constexpr size_t kStubPage = 4096;

// The place of the jump, and the page that it leads to; 0: there can be none.
struct WatchJump {
  uint64_t at;
  uint64_t page;
};

WatchJump prepare_jump(uint64_t function) {
  const auto* code = reinterpret_cast<const uint8_t*>(function);
  const Relocation r = relocate(code, bytes_of_empty(code), function, function);
  const uint64_t gate = slow_paths() != 0 ? gate_of_callbacks() : 0;
  const bool has_room = gate != 0 && bytes_of_empty(code) != 0 && r.refusal == Refusal::kNone;
  void* page = has_room ? map_near(function, function, kStubPage) : nullptr;
  if (page == nullptr) {
    return {};
  }
  write_callback_stub(static_cast<uint8_t*>(page), on_loader_state, gate);
  if (mprotect(page, kStubPage, PROT_READ | PROT_EXEC) != 0) {
    unmap_own(page, kStubPage);
    return {};
  }
  return {function + r.entry_bytes, reinterpret_cast<uint64_t>(page)};
}

// The loader's function; 0: there is none.
uint64_t find_function() {
  g_debug = static_cast<const r_debug*>(dlsym(RTLD_DEFAULT, "_r_debug"));
  return g_debug != nullptr ? g_debug->r_brk : 0;
}

bool put_jump(uint64_t function) {
  const WatchJump jump = prepare_jump(function);
  const SignalsBlocked blocked;
  if (jump.at == 0 || write_jump(jump.at, jump.page)) {
    return jump.at != 0;
  }
  unmap_own(reinterpret_cast<void*>(jump.page), kStubPage);
  return false;
}

}  // namespace

bool watch_loader(void (*changed)(LoaderChange)) {
  const uint64_t function = find_function();
  g_changed = changed;
  g_watched = function != 0 && put_jump(function) ? 1 : 0;
  return g_watched != 0;
}

uint32_t prepare_loader_watch(void (*changed)(LoaderChange), LatePatch (&patches)[2]) {
  constexpr uint64_t kOne = 1;
  static bool is_prepared = false;
  const uint64_t function = is_prepared || g_watched != 0 ? 0 : find_function();
  const WatchJump jump = function != 0 ? prepare_jump(function) : WatchJump{};
  if (jump.at == 0) {
    return 0;
  }
  is_prepared = true;
  g_changed = changed;
  uint8_t bytes[kJumpBytes];
  encode_jump(jump.at, jump.page, bytes);
  patches[0] = code_patch(jump.at, kJumpBytes, bytes);
  patches[1] = data_patch(reinterpret_cast<uint64_t>(&g_watched), sizeof(g_watched), &kOne);
  return 2;
}

}  // namespace memprof::platform
