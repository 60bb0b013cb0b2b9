// SPDX-License-Identifier: Apache-2.0
// Which function each address of one compilation unit lies in, and which inlined calls inside of it.
//
// Model: one walk over the functions of the unit; only functions and blocks that cover one of the addresses
// are entered.  The walk stops when each address has its function.  Compilers put functions into the unit and
// its namespaces; where an address is not found there, a second walk looks into everything.
//
// Threads: no state.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace memprof::profile {

// The function itself first, the innermost inlined call last; empty: no function of the unit has the address.
using InlineChain = std::vector<Dwarf_Die>;

// `addresses` must be in ascending order.
std::vector<InlineChain> inline_chains(Dwarf_Die& root, const std::vector<uint64_t>& addresses);

// Finds where the out-of-line code of inlined functions begins.  Keys are EntryNames::place_of() of the functions
// that are wanted; the values of functions without such code stay as they are.
void find_code(Dwarf_Die& root, std::unordered_map<const void*, uint64_t>* code);

}  // namespace memprof::profile
