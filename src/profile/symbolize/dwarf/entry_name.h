// SPDX-License-Identifier: Apache-2.0
// What a function of the debug info is called.
//
// Model: the linkage name where there is one (it says everything, demangled).  Compilers leave it out for
// functions that no other file can name: a C function is its plain name then; one of C++ is put together from
// the namespaces, types and functions around its declaration, without its parameters.
//
// Threads: one object, one thread.
// Memory: of each scope that a name was looked up in, the places of its children.
#pragma once

#include <elfutils/libdw.h>

#include <string>
#include <unordered_map>
#include <vector>

namespace memprof::profile {

struct EntryName {
  std::string linkage_name;  // as in the symbol table; empty: the entry does not say
  std::string plain_name;    // empty only where linkage_name is not, or where there is no name at all
};

class EntryNames {
 public:
  // Of a function or of an inlined call.
  const EntryName& name_of(Dwarf_Die& entry);

  // The place of what has the name of an entry: a function and its inlined calls have the same.
  static const void* place_of(Dwarf_Die& entry);

 private:
  // An entry that has children: they lie between it and `end` (nullptr: the end of its parent).
  struct Scope {
    Dwarf_Die entry;
    const void* end;
  };

  std::string scope_of(Dwarf_Die& declaration);
  void append_scope(Dwarf_Die& scope, std::string* text);
  const std::vector<Scope>& scopes_in(Dwarf_Die& parent);

  std::unordered_map<const void*, EntryName> names_;            // by place of the entry that has the name
  std::unordered_map<const void*, std::vector<Scope>> scopes_;  // by place of the parent
};

}  // namespace memprof::profile
