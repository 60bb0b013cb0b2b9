# SPDX-License-Identifier: Apache-2.0
# What the toolchains by zig have in common (MEMPROF_ZIG: its path): they include it, with `zig_target` set to the system that
# zig compiles for.
# Nothing is linked to find out about the compiler: that would build a C++ library, which takes minutes. So it is said.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
foreach(language C CXX)
  set(CMAKE_${language}_COMPILER_ID_RUN TRUE)
  set(CMAKE_${language}_COMPILER_ID Clang)
  set(CMAKE_${language}_COMPILER_VERSION 22.1.8) # of the zig that tests/ports/requirements.txt pins
  set(CMAKE_${language}_COMPILER_FRONTEND_VARIANT GNU)
  set(CMAKE_${language}_ARCHIVE_CREATE "\"${MEMPROF_ZIG}\" ar qc <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_APPEND "\"${MEMPROF_ZIG}\" ar q <TARGET> <LINK_FLAGS> <OBJECTS>")
  set(CMAKE_${language}_ARCHIVE_FINISH "\"${MEMPROF_ZIG}\" ranlib <TARGET>")
endforeach()
set(CMAKE_C_STANDARD_COMPUTED_DEFAULT 17)
set(CMAKE_CXX_STANDARD_COMPUTED_DEFAULT 17)
set(CMAKE_C_EXTENSIONS_COMPUTED_DEFAULT ON)
set(CMAKE_CXX_EXTENSIONS_COMPUTED_DEFAULT ON)
# -fno-sanitize: zig's default for code that is not optimised.
set(CMAKE_C_COMPILER ${MEMPROF_ZIG} cc -target ${zig_target} -fno-sanitize=undefined)
set(CMAKE_CXX_COMPILER ${MEMPROF_ZIG} c++ -target ${zig_target} -fno-sanitize=undefined)
set(CMAKE_FIND_ROOT_PATH /nonexistent) # nothing of this machine's libraries
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
