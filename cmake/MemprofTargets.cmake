# SPDX-License-Identifier: Apache-2.0
# How the targets of memprof are compiled.
#
#   memprof_target_library(<name> <source>...)  objects that enter the profiled process
#   memprof_platform(<folder of src/platform> FOR <CMAKE_SYSTEM_NAME, or tests>)  the objects memprof_<folder>
#   memprof_cpu_sources(<variable> <folder of src/>)  what of it the processor that is built for has
#   memprof_host_library(<name> <source>...)    a static library of the command, outside that process
#   memprof_host_objects(<name> <source>...)    its objects, for two of them
#   memprof_host_executable(<name> <source>...)
#   memprof_tests(<name> FOLDER <folder of tests/> [SHARDS <number> | APART] [EXCEPT <folder in it>...] LIBRARIES <library>...)
#   memprof_tests_need(<name> <target>...)      what these tests run or read
#   memprof_add_cases(<name> PREFIX <folder>/ [SHARDS <number> | APART])  the tests of a program, for ctest
#
# Each makes no target while it is given no sources, so that a room may be empty; say if(TARGET ...) then.
# Sources come from file(GLOB ... CONFIGURE_DEPENDS): a file that is added joins in by itself.

# The processor that is built for: its folder of src/cpu lies over src/, for headers as for sources (src/README.md).
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(MEMPROF_CPU x86_64)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64|ARM64)$")
  set(MEMPROF_CPU aarch64)
else()
  message(FATAL_ERROR "There is no port to ${CMAKE_SYSTEM_PROCESSOR}; docs/porting.md says what a processor needs")
endif()
include_directories(${PROJECT_SOURCE_DIR}/src/cpu/${MEMPROF_CPU})

# Its sources for the folder `room` of src/.
function(memprof_cpu_sources variable room)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cpu/${MEMPROF_CPU}/${room}/*.cc)
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# The command finds libmemprof.so in ../lib, in the build as in an installed tree.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

if(MEMPROF_SANITIZE)
  # vptr checks need RTTI, which the engine does without.
  add_compile_options(-fsanitize=${MEMPROF_SANITIZE} -fno-sanitize=vptr -fno-sanitize-recover=all -O1 -g1)
  # Functions of interpreters are called by types of our own, which clang takes for other functions.
  add_compile_options($<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  add_link_options(-fsanitize=${MEMPROF_SANITIZE})
  # As gcc has it: the sanitizer's malloc is a library's and not the program's own, so that import tables can be patched.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND MEMPROF_SANITIZE MATCHES "address" AND NOT MEMPROF_FUZZERS)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so
                    OUTPUT_VARIABLE runtime OUTPUT_STRIP_TRAILING_WHITESPACE)
    get_filename_component(runtime_folder ${runtime} DIRECTORY)
    add_link_options(-shared-libsan -Wl,-rpath,${runtime_folder})
  endif()
endif()
if(MEMPROF_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

function(memprof_add_subdirectory_if_exists folder)
  file(GLOB list CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/CMakeLists.txt)
  if(list)
    add_subdirectory(${folder})
  endif()
endfunction()

function(memprof_warnings target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
    -Wold-style-cast -Wcast-qual -Wvla -Wformat=2 -Wundef
    $<$<CXX_COMPILER_ID:Clang>:-Wextra-semi -Wno-gnu-zero-variadic-macro-arguments>
    $<$<BOOL:${MEMPROF_WERROR}>:-Werror>)
  if(MEMPROF_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # What the sanitizer adds to a function makes gcc see paths that are not there (in <regex>, <functional>).
    target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
    if(MEMPROF_SANITIZE STREQUAL "thread")
      target_compile_options(${target} PRIVATE -Wno-tsan) # it does not follow fences: module_map.cc has some
    endif()
  endif()
endfunction()

# Objects of the profiled process. No C++ runtime may be needed there, hence no exceptions, RTTI or guarded
# statics; hidden by default; initial-exec TLS because the dynamic kind may call malloc (not in musl, whose dlopen takes no other:
# MEMPROF_DYNAMIC_TLS); frame pointers and unwind tables so that a walk can pass through our own frames. Optimised in every build: the fast path is
# only a fast path (and a tail call) at -O2.
function(memprof_target_library name)
  if(NOT ARGN)
    return()
  endif()
  add_library(${name} OBJECT ${ARGN})
  memprof_warnings(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/capi/include)
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET hidden C_VISIBILITY_PRESET hidden
                                           VISIBILITY_INLINES_HIDDEN ON)
  target_compile_options(${name} PRIVATE
    -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-omit-frame-pointer
    -ftls-model=$<IF:$<BOOL:${MEMPROF_DYNAMIC_TLS}>,global-dynamic,initial-exec>
    -fasynchronous-unwind-tables)
  # dyld makes a thread's part of thread-local data by malloc, in a hook of malloc: the system's folder has a place instead.
  if(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
    target_compile_options(${name} PRIVATE -femulated-tls)
  endif()
  if(MEMPROF_DYNAMIC_TLS)
    target_compile_definitions(${name} PRIVATE MEMPROF_DYNAMIC_TLS)
  endif()
  if(NOT MEMPROF_SANITIZE)
    target_compile_options(${name} PRIVATE -O2)
  endif()
  if(MEMPROF_UNITY_ENGINE)
    # One declares hooks of all types as one, one defines what a header of the system declares otherwise, tests have another
    # instead of the third.
    list(FILTER ARGN EXCLUDE REGEX "^\\$<|/hook_table\\.cc$|/interpose/process/mappings\\.cc$|/runtime/registry\\.cc$")
    memprof_unity_by_folder(${name} ${ARGN})
  endif()
endfunction()

# A system, whose folder makes the objects memprof_<folder>. The product is made for the one that is built for
# (MEMPROF_PLATFORM); those for tests are linked with the engine only (memprof_<folder>_engine).
macro(memprof_platform folder _for system)
  if("${system}" STREQUAL CMAKE_SYSTEM_NAME)
    set(MEMPROF_PLATFORM ${folder})
    add_subdirectory(src/platform/${folder})
  elseif("${system}" STREQUAL "tests" AND MEMPROF_TESTS)
    list(APPEND MEMPROF_TEST_PLATFORMS ${folder})
    add_subdirectory(src/platform/${folder})
  endif()
endmacro()

# Code outside of the profiled process. Builds that only run tests (presets clang, asan and tsan) do not optimise it:
# that was half of their time.
function(memprof_host_options target)
  memprof_warnings(${target})
  if(MEMPROF_QUICK_HOST)
    target_compile_options(${target} PRIVATE -O0 -g1)
  else()
    # For lines in stacks; for variables, which a fifth of the time goes to, there is the build for the debugger.
    target_compile_options(${target} PRIVATE $<$<NOT:$<CONFIG:Debug>>:-g1>)
  endif()
endfunction()

set(MEMPROF_OFTEN_INCLUDED <algorithm> <filesystem> <functional> <map> <memory> <optional> <set> <string> <string_view>
    <unordered_map> <vector>)
set(MEMPROF_OFTEN_INCLUDED_BY_HOST ${MEMPROF_OFTEN_INCLUDED} <fmt/format.h> <nlohmann/json.hpp>)

# A third of the time of a unit goes to the headers that it has from others. Reading them once takes as long as for two units.
function(memprof_precompile name)
  get_target_property(sources ${name} SOURCES)
  set(folders)
  foreach(source IN LISTS sources)
    get_filename_component(folder ${source} DIRECTORY)
    list(APPEND folders ${folder})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  list(LENGTH folders units)
  if(units GREATER 3)
    target_precompile_headers(${name} PRIVATE ${ARGN})
  endif()
endfunction()

function(memprof_host_library name)
  if(ARGN)
    add_library(${name} STATIC ${ARGN})
    memprof_host_settings(${name} ${ARGN})
  endif()
endfunction()

function(memprof_host_objects name)
  add_library(${name} OBJECT ${ARGN})
  memprof_host_settings(${name} ${ARGN})
endfunction()

# Compiles the sources of a folder as one: what they include, which most of the time goes to, is then read once (8 sources of
# src/profile/report: 5.9 s for 28.4 s; 6 of src/profile/formats: 12.8 s for 44.5 s). The build `clang` (./dev test all)
# compiles each source apart, and finds what one forgets to include.
function(memprof_unity_by_folder name)
  foreach(source IN LISTS ARGN)
    get_filename_component(folder ${source} DIRECTORY)
    string(REPLACE "${PROJECT_SOURCE_DIR}/" "" folder ${folder})
    string(MAKE_C_IDENTIFIER "${folder}" unit)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${unit})
  endforeach()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # gcc takes a source that another includes for a header.
  target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

function(memprof_host_settings name)
  memprof_host_options(${name})
  if(MEMPROF_UNITY)
    # Commands: each has its own help(), Options and parse(). The others: the one file puts something else in their place.
    list(FILTER ARGN EXCLUDE REGEX "^\\$<|/commands/|/carried_nothing\\.cc$|/http\\.cc$")
    memprof_unity_by_folder(${name} ${ARGN})
  endif()
  # Where each is compiled apart, what it forgets to include shall be found.
  if(MEMPROF_UNITY)
    memprof_precompile(${name} ${MEMPROF_OFTEN_INCLUDED_BY_HOST})
  endif()
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/capi/include)
endfunction()

function(memprof_host_executable name)
  if(NOT ARGN)
    return()
  endif()
  add_executable(${name} ${ARGN})
  memprof_host_options(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/capi/include)
endfunction()

# One executable of all *_test.cc of a room of tests/, of the folders in it, and of the processor's, as a unity build: a unit for
# each folder.
# EXCEPT: folders and files that are left out.
# A library that does not exist makes no tests.
function(memprof_tests name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "APART" "FOLDER;SHARDS" "EXCEPT;LIBRARIES")
  string(REGEX REPLACE "^tools/" "" room ${arg_FOLDER})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${arg_FOLDER}/*_test.cc
                                              ${PROJECT_SOURCE_DIR}/tests/cpu/${MEMPROF_CPU}/${room}/*_test.cc)
  foreach(part IN LISTS arg_EXCEPT)
    list(FILTER sources EXCLUDE REGEX "/tests/${arg_FOLDER}/${part}(/|$)")
  endforeach()
  if(MEMPROF_SANITIZE STREQUAL "thread" AND NOT MEMPROF_ONE_THREAD_TESTS)
    memprof_only_with_threads(sources)
  endif()
  if(NOT sources)
    return()
  endif()
  foreach(library IN LISTS arg_LIBRARIES)
    if(NOT TARGET ${library})
      message(STATUS "${name}: not built, because there is no ${library} yet")
      return()
    endif()
  endforeach()
  # The first library is what they test.
  set(is_of_engine OFF)
  if(arg_LIBRARIES MATCHES "^memprof_([a-z]+_)?engine")
    set(is_of_engine ON)
  endif()
  set(is_rest OFF)
  if(MEMPROF_HOST_TESTS_REST AND NOT is_of_engine)
    set(is_rest ON)
    memprof_only_without_sanitizers(sources)
    if(NOT sources)
      return()
    endif()
  endif()
  # The compiler has no part in what tests of the command find, and the release and asan builds run them: clang reads them.
  set(is_only_read OFF)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND NOT MEMPROF_SANITIZE AND NOT is_of_engine)
    set(is_only_read ON)
    add_library(${name} OBJECT ${sources})
    target_compile_options(${name} PRIVATE -fsyntax-only)
  else()
    add_executable(${name} ${sources})
  endif()
  set_target_properties(${name} PROPERTIES MEMPROF_IS_ONLY_READ ${is_only_read})
  if(MEMPROF_UNITY AND NOT is_only_read)
    # Tests of the engine are compiled alike, and have one: that of the core's, which come first.
    if(is_of_engine AND TARGET memprof_core_tests AND NOT name STREQUAL "memprof_core_tests")
      target_precompile_headers(${name} REUSE_FROM memprof_core_tests)
    elseif(is_of_engine)
      memprof_precompile(${name} ${MEMPROF_OFTEN_INCLUDED} <gmock/gmock.h> <gtest/gtest.h>)
    else()
      memprof_precompile(${name} ${MEMPROF_OFTEN_INCLUDED_BY_HOST} <gmock/gmock.h> <gtest/gtest.h>)
    endif()
  endif()
  memprof_warnings(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/capi/include)
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gmock GTest::gtest_main ${CMAKE_DL_LIBS})
  target_compile_definitions(${name} PRIVATE MEMPROF_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                                             MEMPROF_BINARY_DIR="${PROJECT_BINARY_DIR}")
  memprof_unity_by_folder(${name} ${sources})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  # Test bodies compare, cast and shadow in ways that are harmless in them.
  target_compile_options(${name} PRIVATE -Wno-conversion -Wno-cast-qual -Wno-old-style-cast)
  # Most of a build is its tests. Those of the engine need inlining, as it has; the others nothing. With sanitizers
  # the engine has none either, and optimising takes twice as long as all the rest.
  if(is_of_engine AND NOT MEMPROF_SANITIZE)
    target_compile_options(${name} PRIVATE -O1 -g1)
  else()
    target_compile_options(${name} PRIVATE -O0 -g1)
  endif()
  # AddressSanitizer watches the bodies of tests, too; UndefinedBehaviorSanitizer, a quarter of their time, what they test.
  if(MEMPROF_SANITIZE MATCHES "undefined")
    target_compile_options(${name} PRIVATE -fno-sanitize=undefined)
  endif()
  if(is_only_read)
    return()
  endif()
  set(options)
  if(arg_SHARDS)
    set(options SHARDS ${arg_SHARDS})
  endif()
  if(arg_APART)
    set(options APART)
  elseif(is_rest)
    list(APPEND options REST)
  endif()
  memprof_add_cases(${name} PREFIX ${arg_FOLDER}/ ${options})
endfunction()

function(memprof_tests_need name)
  get_target_property(is_only_read ${name} MEMPROF_IS_ONLY_READ)
  if(NOT is_only_read)
    add_dependencies(${name} ${ARGN})
  endif()
endfunction()

# The patterns of tests that a file below tests/ lists, as googletest has them.
function(memprof_read_patterns name variable)
  set(file ${PROJECT_SOURCE_DIR}/tests/${name})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} patterns REGEX "^[^#]")
  list(JOIN patterns ":" patterns)
  set(${variable} ${patterns} PARENT_SCOPE)
endfunction()

# Removes from a list of sources those without a line that matches.
function(memprof_only_with variable regex)
  set(chosen)
  foreach(source IN LISTS ${variable})
    file(STRINGS ${source} lines REGEX "${regex}")
    if(lines)
      list(APPEND chosen ${source})
    endif()
  endforeach()
  set(${variable} ${chosen} PARENT_SCOPE)
endfunction()

# ... those without a test of tests/without_sanitizers.txt.
function(memprof_only_without_sanitizers variable)
  memprof_read_patterns(without_sanitizers.txt patterns)
  string(REGEX REPLACE "\\.[^:]*" "" suites "${patterns}")
  string(REPLACE ":" "|" suites "${suites}")
  memprof_only_with(${variable} "^TEST(_[FP])?\\((${suites}),")
  set(${variable} ${${variable}} PARENT_SCOPE)
endfunction()

# ... those that name neither threads, processes nor signals: ThreadSanitizer can find nothing there.
function(memprof_only_with_threads variable)
  memprof_only_with(${variable} "[Tt]hread|[Ff]ork|[Ss]ignal|SIG[A-Z]|[Rr]ace|[Rr]acing|[Cc]lone|[Pp]rocess|[Cc]hild|[Tt]imer")
  set(${variable} ${${variable}} PARENT_SCOPE)
endfunction()

# One test of ctest for a whole program of tests, or one for each of SHARDS parts of it: starting a process for each of
# 4,000 tests took longer than most of the tests. Each writes what its cases did to tests/cases/*.xml, which `./dev test`
# counts. MEMPROF_TESTS_APART: a process and a test of ctest for each case (./dev test all; what is cross-compiled). So it is
# with sanitizers for those that say APART: libraries that these tests unload and load again stay loaded there. REST: only the tests
# that builds with sanitizers leave out.
function(memprof_add_cases name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "APART;REST" "PREFIX;SHARDS" "")
  # No files of processes that tests kill.  Locals stay on the stack that tests look at; ASan puts them elsewhere.
  set(environment "MEMPROF_ARENA_DIR=set:;ASAN_OPTIONS=set:detect_stack_use_after_return=0")
  set(filter "*")
  memprof_read_patterns(without_sanitizers.txt patterns)
  if(MEMPROF_SANITIZE)
    set(filter "-${patterns}")
    if(MEMPROF_SANITIZE STREQUAL "thread" AND NOT MEMPROF_ONE_THREAD_TESTS)
      memprof_read_patterns(without_thread_sanitizer.txt one_thread)
      string(APPEND filter ":${one_thread}")
    endif()
  elseif(arg_REST)
    set(filter "${patterns}")
  endif()
  if(MEMPROF_TESTS_APART OR CMAKE_CROSSCOMPILING OR (arg_APART AND MEMPROF_SANITIZE))
    gtest_discover_tests(${name} TEST_PREFIX ${arg_PREFIX} TEST_FILTER "${filter}" DISCOVERY_MODE PRE_TEST
                         PROPERTIES TIMEOUT 300 ENVIRONMENT MEMPROF_ARENA_DIR=
                                    ENVIRONMENT_MODIFICATION ASAN_OPTIONS=set:detect_stack_use_after_return=0)
    return()
  endif()
  if(NOT arg_SHARDS)
    set(arg_SHARDS 1)
  endif()
  string(REGEX REPLACE "^memprof_|_tests$" "" short ${name})
  foreach(shard RANGE 1 ${arg_SHARDS})
    math(EXPR index "${shard} - 1")
    set(case ${short}.${shard})
    add_test(NAME ${arg_PREFIX}${case}
             COMMAND ${name} --gtest_filter=${filter} --gtest_output=xml:${PROJECT_BINARY_DIR}/tests/cases/${case}.xml)
    set_tests_properties(${arg_PREFIX}${case} PROPERTIES TIMEOUT 900 ENVIRONMENT_MODIFICATION "${environment}"
                         ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()
