# SPDX-License-Identifier: Apache-2.0
# Builds the library for musl, on MEMPROF_PROCESSOR (this machine's, if it is not given), by zig's compiler (MEMPROF_ZIG: its path;
# ./dev musl fetches it), which brings musl's headers and start files itself.
# MEMPROF_ZIG_TARGET: the same for another C library: x86_64-linux-gnu.2.17, of which releases have it (tools/release).
if(NOT MEMPROF_ZIG)
  message(FATAL_ERROR "musl: no compiler; set MEMPROF_ZIG to the path of zig, or run ./dev musl, which fetches it")
endif()
if(NOT MEMPROF_PROCESSOR)
  set(MEMPROF_PROCESSOR ${CMAKE_HOST_SYSTEM_PROCESSOR})
endif()
if(NOT MEMPROF_ZIG_TARGET)
  set(MEMPROF_ZIG_TARGET ${MEMPROF_PROCESSOR}-linux-musl)
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MEMPROF_ZIG MEMPROF_ZIG_TARGET MEMPROF_PROCESSOR)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${MEMPROF_PROCESSOR})
set(zig_target ${MEMPROF_ZIG_TARGET})
include(${CMAKE_CURRENT_LIST_DIR}/by_zig.cmake)
# It links statically else.
set(CMAKE_EXE_LINKER_FLAGS_INIT -dynamic)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -dynamic)
set(CMAKE_MODULE_LINKER_FLAGS_INIT -dynamic)
