# SPDX-License-Identifier: Apache-2.0
# memprof_one_file: the command as one static file, which carries the libraries that it preloads (decision 0133).  It is the same
# objects as the command, linked once more, with archives of the distribution only.  Made where these are to be had.
set(MEMPROF_CARRY_GLIBC "" CACHE FILEPATH "The library for programs of glibc in the one-file command; empty: this build's")
set(MEMPROF_CARRY_MUSL "" CACHE FILEPATH "The library for programs of musl in the one-file command; empty: none")
set(MEMPROF_CARRY_MUSL_DLOPEN "" CACHE FILEPATH "The one that running processes of musl load; empty: none")
if(NOT MEMPROF_PLATFORM STREQUAL "linux" OR NOT TARGET memprof_shared OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR MEMPROF_SANITIZE)
  return()
endif()
set(archives)
foreach(name dw elf re2 iberty lzma bz2 z c stdc++)
  find_library(MEMPROF_ARCHIVE_${name} lib${name}.a PATHS ${CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES})
  if(NOT MEMPROF_ARCHIVE_${name})
    message(STATUS "memprof_one_file: not built, because there is no lib${name}.a")
    return()
  endif()
  list(APPEND archives ${MEMPROF_ARCHIVE_${name}})
endforeach()
# Where RE2 rests on Abseil, elfutils and fmt are newer, too, than those that this links: Debian 13.
find_package(PkgConfig QUIET)
pkg_check_modules(MEMPROF_RE2 QUIET re2)
if(MEMPROF_RE2_STATIC_LIBRARIES MATCHES "absl")
  message(STATUS "memprof_one_file: not built, because RE2 needs Abseil's archives here; releases are made on Debian 12")
  return()
endif()
list(FILTER archives EXCLUDE REGEX "lib(c|stdc\\+\\+)\\.a$") # which the compiler links itself
find_library(MEMPROF_ARCHIVE_zstd libzstd.a) # newer elfutils
if(MEMPROF_ARCHIVE_zstd)
  list(APPEND archives ${MEMPROF_ARCHIVE_zstd})
endif()

# http.cc: without libcurl, whose archive needs those of TLS, Kerberos, LDAP and others.
memprof_host_executable(memprof_one_file main.cc one_file/carried.cc one_file/no_loader.cc one_file/formats.cc io/http/http.cc)
set_target_properties(memprof_one_file PROPERTIES OUTPUT_NAME memprof RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/one_file)
target_include_directories(memprof_one_file PRIVATE ${PROJECT_SOURCE_DIR}/tools)
set(parts memprof_cli memprof_symbolize memprof_profile memprof_engine)
add_dependencies(memprof_one_file ${parts})
set(files ${parts})
list(TRANSFORM files REPLACE "(.+)" "$<TARGET_FILE:\\1>")
target_link_libraries(memprof_one_file PRIVATE -Wl,--start-group ${files} -Wl,--end-group ${archives})
target_link_options(memprof_one_file PRIVATE -static-pie -Wl,--gc-sections,--build-id=none)

set(glibc ${MEMPROF_CARRY_GLIBC})
if(NOT glibc)
  set(glibc $<TARGET_FILE:memprof_shared>)
endif()
set(carried ${CMAKE_CURRENT_BINARY_DIR}/one_file)
set(carry ${CMAKE_CURRENT_SOURCE_DIR}/one_file/carry.cmake)
add_custom_command(OUTPUT ${carried}/memprof/one_file/carried_files.h VERBATIM DEPENDS ${carry} memprof_shared ${MEMPROF_CARRY_GLIBC} ${MEMPROF_CARRY_MUSL}
                   ${MEMPROF_CARRY_MUSL_DLOPEN}
                   COMMAND ${CMAKE_COMMAND} -D GLIBC=${glibc} -D MUSL=${MEMPROF_CARRY_MUSL}
                           -D MUSL_DLOPEN=${MEMPROF_CARRY_MUSL_DLOPEN} -D STRIP=${CMAKE_STRIP} -D FOLDER=${carried} -P ${carry})
target_sources(memprof_one_file PRIVATE ${carried}/memprof/one_file/carried_files.h)
set_source_files_properties(one_file/carried.cc PROPERTIES OBJECT_DEPENDS ${carried}/memprof/one_file/carried_files.h)
target_include_directories(memprof_one_file PRIVATE ${carried})
if(NOT MEMPROF_TESTS)
  set_target_properties(memprof_one_file PROPERTIES EXCLUDE_FROM_ALL ON)
endif()
