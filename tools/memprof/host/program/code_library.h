// SPDX-License-Identifier: Apache-2.0
// Which file has the code of a program.  Distributions build node, python3, ruby, perl and java also as a few
// bytes that call one large library (libnode.so.108, libpython3.13.so.1.0, libjvm.so): what holds of such a
// program is what holds of that library.
//
// Threads: no state.
#pragma once

#include <string>
#include <vector>

#include "memprof/host/program/elf_facts.h"

namespace memprof::cli {

// One of `libraries` (paths); empty: the program's code is in the program.
std::string code_library(const profile::ElfFile& program, const ElfFacts& facts,
                         const std::vector<std::string>& libraries);

// The library that java's launcher (by its libjli.so) loads when it runs; empty: it is not there.
std::string java_machine_of(const std::string& launcher_library);

}  // namespace memprof::cli
