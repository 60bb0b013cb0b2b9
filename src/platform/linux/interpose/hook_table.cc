// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/interpose/hook_table.h"

#include "platform/linux/interpose/frame_tables.h"

// Of the hooks that are not declared elsewhere only the addresses are of interest here.
extern "C" {
__attribute__((visibility("hidden"))) void memprof_hook_malloc();
__attribute__((visibility("hidden"))) void memprof_hook_mmap();
__attribute__((visibility("hidden"))) void memprof_hook_mmap64();
__attribute__((visibility("hidden"))) void memprof_hook_munmap();
__attribute__((visibility("hidden"))) void memprof_hook_mremap();
__attribute__((visibility("hidden"))) void memprof_hook_brk();
__attribute__((visibility("hidden"))) void memprof_hook_sbrk();
__attribute__((visibility("hidden"))) void memprof_hook_free();
__attribute__((visibility("hidden"))) void memprof_hook_calloc();
__attribute__((visibility("hidden"))) void memprof_hook_realloc();
__attribute__((visibility("hidden"))) void memprof_hook_reallocarray();
__attribute__((visibility("hidden"))) void memprof_hook_posix_memalign();
__attribute__((visibility("hidden"))) void memprof_hook_aligned_alloc();
__attribute__((visibility("hidden"))) void memprof_hook_memalign();
__attribute__((visibility("hidden"))) void memprof_hook_valloc();
__attribute__((visibility("hidden"))) void memprof_hook_pvalloc();
__attribute__((visibility("hidden"))) void memprof_hook_free_sized();
__attribute__((visibility("hidden"))) void memprof_hook_free_aligned_sized();
__attribute__((visibility("hidden"))) void memprof_hook_malloc_usable_size();
// NOLINTBEGIN(readability-identifier-naming): mangled names
__attribute__((visibility("hidden"))) void memprof_hook__Znwm();
__attribute__((visibility("hidden"))) void memprof_hook__Znam();
__attribute__((visibility("hidden"))) void memprof_hook__ZnwmRKSt9nothrow_t();
__attribute__((visibility("hidden"))) void memprof_hook__ZnamRKSt9nothrow_t();
__attribute__((visibility("hidden"))) void memprof_hook__ZnwmSt11align_val_t();
__attribute__((visibility("hidden"))) void memprof_hook__ZnamSt11align_val_t();
__attribute__((visibility("hidden"))) void memprof_hook__ZnwmSt11align_val_tRKSt9nothrow_t();
__attribute__((visibility("hidden"))) void memprof_hook__ZnamSt11align_val_tRKSt9nothrow_t();
__attribute__((visibility("hidden"))) void memprof_hook__ZdlPv();
__attribute__((visibility("hidden"))) void memprof_hook__ZdaPv();
__attribute__((visibility("hidden"))) void memprof_hook__ZdlPvm();
__attribute__((visibility("hidden"))) void memprof_hook__ZdaPvm();
__attribute__((visibility("hidden"))) void memprof_hook__ZdlPvRKSt9nothrow_t();
__attribute__((visibility("hidden"))) void memprof_hook__ZdaPvRKSt9nothrow_t();
__attribute__((visibility("hidden"))) void memprof_hook__ZdlPvSt11align_val_t();
__attribute__((visibility("hidden"))) void memprof_hook__ZdaPvSt11align_val_t();
__attribute__((visibility("hidden"))) void memprof_hook__ZdlPvmSt11align_val_t();
__attribute__((visibility("hidden"))) void memprof_hook__ZdaPvmSt11align_val_t();
__attribute__((visibility("hidden"))) void memprof_hook__ZdlPvSt11align_val_tRKSt9nothrow_t();
__attribute__((visibility("hidden"))) void memprof_hook__ZdaPvSt11align_val_tRKSt9nothrow_t();
// NOLINTEND(readability-identifier-naming)
__attribute__((visibility("hidden"))) void memprof_hook_dlclose();
__attribute__((visibility("hidden"))) void memprof_hook__exit();
__attribute__((visibility("hidden"))) void memprof_hook_prctl();
__attribute__((visibility("hidden"))) void memprof_hook_syscall();
__attribute__((visibility("hidden"))) void memprof_hook___register_frame();
__attribute__((visibility("hidden"))) void memprof_hook___register_frame_info();
__attribute__((visibility("hidden"))) void memprof_hook___register_frame_info_bases();
__attribute__((visibility("hidden"))) void memprof_hook___register_frame_table();
__attribute__((visibility("hidden"))) void memprof_hook___register_frame_info_table();
__attribute__((visibility("hidden"))) void memprof_hook___register_frame_info_table_bases();
__attribute__((visibility("hidden"))) void memprof_hook___deregister_frame();
__attribute__((visibility("hidden"))) void memprof_hook___deregister_frame_info();
__attribute__((visibility("hidden"))) void memprof_hook___deregister_frame_info_bases();
}

namespace memprof::interpose {
namespace {

constexpr size_t frame_call(FrameCall call) {
  return static_cast<size_t>(call);
}

const HookEntry kHooks[] = {
    // the first ones in the order of kMallocHook and so on
    {"malloc", HookKind::kMemory, memprof_hook_malloc, offsetof(Forwards, real.malloc)},
    {"free", HookKind::kMemory, memprof_hook_free, offsetof(Forwards, real.free)},
    {"_Znwm", HookKind::kOperator, memprof_hook__Znwm, offsetof(Forwards, foreign.new_plain[0])},
    {"calloc", HookKind::kMemory, memprof_hook_calloc, offsetof(Forwards, real.calloc)},
    {"realloc", HookKind::kMemory, memprof_hook_realloc, offsetof(Forwards, real.realloc)},
    {"reallocarray", HookKind::kMemory, memprof_hook_reallocarray, kNoForward},
    {"posix_memalign", HookKind::kMemory, memprof_hook_posix_memalign,
     offsetof(Forwards, real.posix_memalign)},
    {"aligned_alloc", HookKind::kMemory, memprof_hook_aligned_alloc, offsetof(Forwards, real.aligned_alloc)},
    {"memalign", HookKind::kMemory, memprof_hook_memalign, offsetof(Forwards, real.memalign)},
    {"valloc", HookKind::kMemory, memprof_hook_valloc, offsetof(Forwards, real.valloc)},
    {"pvalloc", HookKind::kMemory, memprof_hook_pvalloc, offsetof(Forwards, real.pvalloc)},
    {"free_sized", HookKind::kMemory, memprof_hook_free_sized, offsetof(Forwards, real.free_sized)},
    {"free_aligned_sized", HookKind::kMemory, memprof_hook_free_aligned_sized,
     offsetof(Forwards, real.free_aligned_sized)},
    {"malloc_usable_size", HookKind::kMemory, memprof_hook_malloc_usable_size,
     offsetof(Forwards, real.malloc_usable_size)},
    {"_Znam", HookKind::kOperator, memprof_hook__Znam, offsetof(Forwards, foreign.new_plain[1])},
    {"_ZnwmRKSt9nothrow_t", HookKind::kOperator, memprof_hook__ZnwmRKSt9nothrow_t,
     offsetof(Forwards, foreign.new_nothrow[0])},
    {"_ZnamRKSt9nothrow_t", HookKind::kOperator, memprof_hook__ZnamRKSt9nothrow_t,
     offsetof(Forwards, foreign.new_nothrow[1])},
    {"_ZnwmSt11align_val_t", HookKind::kOperator, memprof_hook__ZnwmSt11align_val_t,
     offsetof(Forwards, foreign.new_aligned[0])},
    {"_ZnamSt11align_val_t", HookKind::kOperator, memprof_hook__ZnamSt11align_val_t,
     offsetof(Forwards, foreign.new_aligned[1])},
    {"_ZnwmSt11align_val_tRKSt9nothrow_t", HookKind::kOperator,
     memprof_hook__ZnwmSt11align_val_tRKSt9nothrow_t, offsetof(Forwards, foreign.new_aligned_nothrow[0])},
    {"_ZnamSt11align_val_tRKSt9nothrow_t", HookKind::kOperator,
     memprof_hook__ZnamSt11align_val_tRKSt9nothrow_t, offsetof(Forwards, foreign.new_aligned_nothrow[1])},
    {"_ZdlPv", HookKind::kOperator, memprof_hook__ZdlPv, offsetof(Forwards, foreign.delete_plain[0])},
    {"_ZdaPv", HookKind::kOperator, memprof_hook__ZdaPv, offsetof(Forwards, foreign.delete_plain[1])},
    {"_ZdlPvm", HookKind::kOperator, memprof_hook__ZdlPvm, offsetof(Forwards, foreign.delete_sized[0])},
    {"_ZdaPvm", HookKind::kOperator, memprof_hook__ZdaPvm, offsetof(Forwards, foreign.delete_sized[1])},
    {"_ZdlPvRKSt9nothrow_t", HookKind::kOperator, memprof_hook__ZdlPvRKSt9nothrow_t,
     offsetof(Forwards, foreign.delete_nothrow[0])},
    {"_ZdaPvRKSt9nothrow_t", HookKind::kOperator, memprof_hook__ZdaPvRKSt9nothrow_t,
     offsetof(Forwards, foreign.delete_nothrow[1])},
    {"_ZdlPvSt11align_val_t", HookKind::kOperator, memprof_hook__ZdlPvSt11align_val_t,
     offsetof(Forwards, foreign.delete_aligned[0])},
    {"_ZdaPvSt11align_val_t", HookKind::kOperator, memprof_hook__ZdaPvSt11align_val_t,
     offsetof(Forwards, foreign.delete_aligned[1])},
    {"_ZdlPvmSt11align_val_t", HookKind::kOperator, memprof_hook__ZdlPvmSt11align_val_t,
     offsetof(Forwards, foreign.delete_sized_aligned[0])},
    {"_ZdaPvmSt11align_val_t", HookKind::kOperator, memprof_hook__ZdaPvmSt11align_val_t,
     offsetof(Forwards, foreign.delete_sized_aligned[1])},
    {"_ZdlPvSt11align_val_tRKSt9nothrow_t", HookKind::kOperator,
     memprof_hook__ZdlPvSt11align_val_tRKSt9nothrow_t, offsetof(Forwards, foreign.delete_aligned_nothrow[0])},
    {"_ZdaPvSt11align_val_tRKSt9nothrow_t", HookKind::kOperator,
     memprof_hook__ZdaPvSt11align_val_tRKSt9nothrow_t, offsetof(Forwards, foreign.delete_aligned_nothrow[1])},
    {"dlopen", HookKind::kLoader, memprof_hook_dlopen, offsetof(Forwards, loader.dlopen)},
    {"dlmopen", HookKind::kLoader, memprof_hook_dlmopen, offsetof(Forwards, loader.dlmopen)},
    {"dlsym", HookKind::kLoader, memprof_hook_dlsym, offsetof(Forwards, loader.dlsym)},
    {"dlvsym", HookKind::kLoader, memprof_hook_dlvsym, offsetof(Forwards, loader.dlvsym)},
    {"dladdr", HookKind::kLoader, memprof_hook_dladdr, offsetof(Forwards, loader.dladdr)},
    {"dlclose", HookKind::kLoader, memprof_hook_dlclose, offsetof(Forwards, loader.dlclose)},
    {"_exit", HookKind::kLoader, memprof_hook__exit, kNoForward},
    {"_Exit", HookKind::kLoader, memprof_hook__exit, kNoForward},
    {"prctl", HookKind::kLoader, memprof_hook_prctl, kNoForward},
    {"syscall", HookKind::kLoader, memprof_hook_syscall, kNoForward},
    {"mmap", HookKind::kMapping, memprof_hook_mmap, offsetof(Forwards, mappings.mmap)},
    {"mmap64", HookKind::kMapping, memprof_hook_mmap64, offsetof(Forwards, mappings.mmap64)},
    {"munmap", HookKind::kMapping, memprof_hook_munmap, offsetof(Forwards, mappings.munmap)},
    {"mremap", HookKind::kMapping, memprof_hook_mremap, offsetof(Forwards, mappings.mremap)},
    {"brk", HookKind::kMapping, memprof_hook_brk, offsetof(Forwards, mappings.brk)},
    {"sbrk", HookKind::kMapping, memprof_hook_sbrk, offsetof(Forwards, mappings.sbrk)},
    {"__register_frame", HookKind::kFrames, memprof_hook___register_frame, frame_call(FrameCall::kRegister)},
    {"__register_frame_info", HookKind::kFrames, memprof_hook___register_frame_info,
     frame_call(FrameCall::kRegisterInfo)},
    {"__register_frame_info_bases", HookKind::kFrames, memprof_hook___register_frame_info_bases,
     frame_call(FrameCall::kRegisterInfoBases)},
    {"__register_frame_table", HookKind::kFrames, memprof_hook___register_frame_table,
     frame_call(FrameCall::kRegisterTable)},
    {"__register_frame_info_table", HookKind::kFrames, memprof_hook___register_frame_info_table,
     frame_call(FrameCall::kRegisterInfoTable)},
    {"__register_frame_info_table_bases", HookKind::kFrames, memprof_hook___register_frame_info_table_bases,
     frame_call(FrameCall::kRegisterInfoTableBases)},
    {"__deregister_frame", HookKind::kFrames, memprof_hook___deregister_frame,
     frame_call(FrameCall::kDeregister)},
    {"__deregister_frame_info", HookKind::kFrames, memprof_hook___deregister_frame_info,
     frame_call(FrameCall::kDeregisterInfo)},
    {"__deregister_frame_info_bases", HookKind::kFrames, memprof_hook___deregister_frame_info_bases,
     frame_call(FrameCall::kDeregisterInfoBases)},
};

}  // namespace

const HookEntry* const g_hooks = kHooks;
const uint32_t g_hook_count = sizeof(kHooks) / sizeof(kHooks[0]);

}  // namespace memprof::interpose
