# SPDX-License-Identifier: Apache-2.0
# cmake -D GLIBC=libmemprof.so -D MUSL=libmemprof.so -D MUSL_DLOPEN=libmemprof-dlopen.so -D STRIP=strip -D FOLDER=out -P carry.cmake: the libraries without what
# debuggers need, and carried_files.h, which names them.  Those of musl may be empty.
file(MAKE_DIRECTORY ${FOLDER}/memprof/one_file)
set(text "")
set(hashes "")
foreach(name GLIBC MUSL MUSL_DLOPEN)
  if(${name})
    string(TOLOWER ${name} lower)
    set(file ${FOLDER}/libmemprof.${lower}.so)
    execute_process(COMMAND ${STRIP} --strip-all -o ${file} ${${name}} COMMAND_ERROR_IS_FATAL ANY)
    file(SHA256 ${file} hash)
    string(APPEND hashes ${hash})
    string(APPEND text "#define MEMPROF_CARRIED_${name} \"${file}\"\n")
  endif()
endforeach()
string(SHA256 id "${hashes}")
string(SUBSTRING ${id} 0 16 id)
file(WRITE ${FOLDER}/memprof/one_file/carried_files.h "${text}#define MEMPROF_CARRIED_ID \"${id}\"\n")
