// SPDX-License-Identifier: Apache-2.0
// The libraries as bytes in the command.  carried_files.h, which carry.cmake makes, says which.
#include "memprof/host/program/carried_libraries.h"
#include "memprof/one_file/carried_files.h"

// NOLINTBEGIN(bugprone-macro-parentheses, readability-identifier-naming): names of the assembler
#define MEMPROF_CARRY(name, file)                                                                        \
  __asm__(".section .rodata.memprof_carried,\"a\"\n.balign 64\n" #name ":\n.incbin \"" file "\"\n" #name \
          "_end:\n.byte 0\n.previous\n");                                                                \
  extern "C" __attribute__((visibility("hidden"))) const unsigned char name[], name##_end[]

MEMPROF_CARRY(memprof_carried_glibc, MEMPROF_CARRIED_GLIBC);
#ifdef MEMPROF_CARRIED_MUSL
MEMPROF_CARRY(memprof_carried_musl, MEMPROF_CARRIED_MUSL);
#endif
#ifdef MEMPROF_CARRIED_MUSL_DLOPEN
MEMPROF_CARRY(memprof_carried_musl_dlopen, MEMPROF_CARRIED_MUSL_DLOPEN);
#endif
// NOLINTEND(bugprone-macro-parentheses, readability-identifier-naming)

namespace memprof::cli {

const Carried& carried_by_this_command() {
  static const CarriedFile kFiles[] = {
      {"libmemprof.so", memprof_carried_glibc,
       static_cast<size_t>(memprof_carried_glibc_end - memprof_carried_glibc), CarriedFor::kGlibc},
#ifdef MEMPROF_CARRIED_MUSL
      {"memprof/musl/libmemprof.so", memprof_carried_musl,
       static_cast<size_t>(memprof_carried_musl_end - memprof_carried_musl), CarriedFor::kMusl},
#endif
#ifdef MEMPROF_CARRIED_MUSL_DLOPEN
      {"memprof/musl/libmemprof-dlopen.so", memprof_carried_musl_dlopen,
       static_cast<size_t>(memprof_carried_musl_dlopen_end - memprof_carried_musl_dlopen),
       CarriedFor::kRunningMusl},
#endif
  };
  static const Carried kCarried{MEMPROF_CARRIED_ID, kFiles, sizeof(kFiles) / sizeof(kFiles[0])};
  return kCarried;
}

}  // namespace memprof::cli
