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
# -fno-sanitize: zig's default for code that is not optimised. -dynamic: it links statically else.
set(target -target ${MEMPROF_ZIG_TARGET} -fno-sanitize=undefined)
set(CMAKE_C_COMPILER ${MEMPROF_ZIG} cc ${target})
set(CMAKE_CXX_COMPILER ${MEMPROF_ZIG} c++ ${target})
set(CMAKE_EXE_LINKER_FLAGS_INIT -dynamic)
set(CMAKE_SHARED_LINKER_FLAGS_INIT -dynamic)
set(CMAKE_MODULE_LINKER_FLAGS_INIT -dynamic)
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
