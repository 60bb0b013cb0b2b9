# SPDX-License-Identifier: Apache-2.0
# Builds the library for macOS, on MEMPROF_PROCESSOR (x86_64 or aarch64), by zig's compiler (MEMPROF_ZIG: its path; ./dev macos
# fetches it), which brings declarations and symbol lists of macOS's libSystem itself.
if(NOT MEMPROF_ZIG OR NOT MEMPROF_PROCESSOR)
  message(FATAL_ERROR "macos: no compiler; set MEMPROF_ZIG to the path of zig and MEMPROF_PROCESSOR, or run ./dev macos, which fetches it")
endif()
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MEMPROF_ZIG MEMPROF_PROCESSOR)
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR ${MEMPROF_PROCESSOR})
set(CMAKE_OSX_SYSROOT "" CACHE STRING "")
set(CMAKE_OSX_ARCHITECTURES "" CACHE STRING "")
set(CMAKE_OSX_DEPLOYMENT_TARGET "" CACHE STRING "") # in the compiler's target
set(CMAKE_INSTALL_NAME_TOOL true CACHE FILEPATH "") # nothing that is installed is changed
# 11.0: the oldest that has both processors.
set(zig_target ${MEMPROF_PROCESSOR}-macos.11.0)
include(${CMAKE_CURRENT_LIST_DIR}/by_zig.cmake)
