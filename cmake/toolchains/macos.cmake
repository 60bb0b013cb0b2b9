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

# Nothing is linked to find out about the compiler: that would build a C++ library, which takes minutes. So it is said.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
foreach(language C CXX)
  set(CMAKE_${language}_COMPILER_ID_RUN TRUE)
  set(CMAKE_${language}_COMPILER_ID Clang)
  set(CMAKE_${language}_COMPILER_VERSION 22.1.8) # of the zig that tests/ports/requirements.txt pins
  set(CMAKE_${language}_COMPILER_FRONTEND_VARIANT GNU)
endforeach()
set(CMAKE_C_STANDARD_COMPUTED_DEFAULT 17)
set(CMAKE_CXX_STANDARD_COMPUTED_DEFAULT 17)
set(CMAKE_C_EXTENSIONS_COMPUTED_DEFAULT ON)
set(CMAKE_CXX_EXTENSIONS_COMPUTED_DEFAULT ON)
# 11.0: the oldest that has both processors.  -fno-sanitize: zig's default for code that is not optimised.
set(target -target ${MEMPROF_PROCESSOR}-macos.11.0 -fno-sanitize=undefined)
set(CMAKE_C_COMPILER ${MEMPROF_ZIG} cc ${target})
set(CMAKE_CXX_COMPILER ${MEMPROF_ZIG} c++ ${target})
foreach(language C CXX)
  set(CMAKE_${language}_ARCHIVE_CREATE "\"${MEMPROF_ZIG}\" ar qc <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_APPEND "\"${MEMPROF_ZIG}\" ar q <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_FINISH "\"${MEMPROF_ZIG}\" ranlib <TARGET>")
endforeach()
set(CMAKE_FIND_ROOT_PATH /nonexistent) # nothing of this machine's libraries
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
