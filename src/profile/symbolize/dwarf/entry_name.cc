// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/dwarf/entry_name.h"

#include <dwarf.h>

#include <algorithm>
#include <cstring>

#include "profile/symbolize/mangling/demangle.h"

namespace memprof::profile {
namespace {

constexpr unsigned kMaxReferences = 16;  // abstract origin, specification: compilers need three
constexpr unsigned kMaxScopes = 200;

std::string text_of(Dwarf_Attribute* attribute) {
  const char* text = attribute == nullptr ? nullptr : dwarf_formstring(attribute);
  return text == nullptr ? std::string() : std::string(text);
}

// What an entry refers to for the rest of what it says.
bool declaration_of(Dwarf_Die& entry, Dwarf_Die* declaration) {
  Dwarf_Attribute attribute;
  Dwarf_Die next;
  if ((dwarf_attr(&entry, DW_AT_abstract_origin, &attribute) == nullptr &&
       dwarf_attr(&entry, DW_AT_specification, &attribute) == nullptr) ||
      dwarf_formref_die(&attribute, &next) == nullptr) {
    return false;
  }
  *declaration = next;
  return true;
}

bool is_type_of_lambda(Dwarf_Die& type) {
  Dwarf_Die child;
  if (dwarf_child(&type, &child) != 0) return false;
  while (true) {
    const char* name = dwarf_diename(&child);
    if (name != nullptr &&
        (std::strstr(name, "<lambda") != nullptr || std::strcmp(name, "operator()") == 0)) {
      return true;
    }
    const void* before = child.addr;
    if (dwarf_siblingof(&child, &child) != 0 || child.addr <= before) return false;
  }
}

// Has scopes that are part of a name, but mangles only what other files can see.
bool is_cxx(int language) {
  switch (language) {
    case DW_LANG_C_plus_plus:
    case DW_LANG_C_plus_plus_03:
    case DW_LANG_C_plus_plus_11:
    case DW_LANG_C_plus_plus_14:
    case DW_LANG_ObjC_plus_plus:
    case DW_LANG_D:
    case DW_LANG_Rust:
      return true;
    default:
      // DWARF 5's later C++ versions (0x2b: 17, 0x2c: 20) are younger than the header.
      return language == 0x2b || language == 0x2c;
  }
}

}  // namespace

const void* EntryNames::place_of(Dwarf_Die& entry) {
  // Constructors have several entries with one declaration, and each its linkage name.
  if (dwarf_hasattr(&entry, DW_AT_linkage_name) != 0 || dwarf_hasattr(&entry, DW_AT_MIPS_linkage_name) != 0 ||
      dwarf_hasattr(&entry, DW_AT_name) != 0) {
    return entry.addr;
  }
  Dwarf_Die declaration;
  return declaration_of(entry, &declaration) ? declaration.addr : entry.addr;
}

const EntryName& EntryNames::name_of(Dwarf_Die& entry) {
  const auto [place, is_new] = names_.try_emplace(place_of(entry));
  EntryName& name = place->second;
  if (!is_new) return name;
  Dwarf_Attribute attribute;
  Dwarf_Die declaration = entry;
  for (unsigned i = 0; i < kMaxReferences && declaration_of(declaration, &declaration); ++i) {
  }
  name.linkage_name = text_of(dwarf_attr_integrate(&entry, DW_AT_linkage_name, &attribute));
  if (name.linkage_name.empty()) {
    name.linkage_name = text_of(dwarf_attr_integrate(&entry, DW_AT_MIPS_linkage_name, &attribute));
  }
  name.plain_name = text_of(dwarf_attr_integrate(&entry, DW_AT_name, &attribute));
  if (!name.linkage_name.empty() || name.plain_name.empty()) return name;
  Dwarf_Die unit;
  if (dwarf_diecu(&declaration, &unit, nullptr, nullptr) == nullptr) return name;
  int language = dwarf_srclang(&unit);
  if (language == -1 && dwarf_diecu(&entry, &unit, nullptr, nullptr) != nullptr) {
    language = dwarf_srclang(&unit);  // the declaration was moved to a partial unit
  }
  // What other files can call and is not mangled is called so: main, extern "C".
  const bool is_external = dwarf_hasattr_integrate(&declaration, DW_AT_external) != 0;
  if (is_cxx(language) && !is_external) {
    name.plain_name = scope_of(declaration) + name.plain_name;
  } else {
    name.linkage_name = name.plain_name;
  }
  return name;
}

// Entries do not know what they are inside of: the way leads down from the root.
std::string EntryNames::scope_of(Dwarf_Die& declaration) {
  Dwarf_Die current;
  if (dwarf_diecu(&declaration, &current, nullptr, nullptr) == nullptr) return {};
  std::string text;
  for (unsigned i = 0; i < kMaxScopes; ++i) {
    const std::vector<Scope>& scopes = scopes_in(current);
    auto above =
        std::upper_bound(scopes.begin(), scopes.end(), declaration.addr,
                         [](const void* addr, const Scope& scope) { return addr < scope.entry.addr; });
    if (above == scopes.begin()) break;
    --above;
    if (above->end != nullptr && declaration.addr >= above->end) break;
    current = above->entry;
    if (current.addr == declaration.addr) break;
    append_scope(current, &text);
  }
  return text;
}

void EntryNames::append_scope(Dwarf_Die& scope, std::string* text) {
  Dwarf_Attribute attribute;
  switch (dwarf_tag(&scope)) {
    case DW_TAG_namespace: {
      const std::string name = text_of(dwarf_attr_integrate(&scope, DW_AT_name, &attribute));
      *text += (name.empty() ? "(anonymous namespace)" : name) + "::";
      return;
    }
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_module: {
      const std::string name = text_of(dwarf_attr_integrate(&scope, DW_AT_name, &attribute));
      // The type of a lambda expression has no name in gcc's debug info.
      *text += (!name.empty() ? name : is_type_of_lambda(scope) ? "{lambda}" : "{unnamed}") + "::";
      return;
    }
    case DW_TAG_subprogram: {
      // The name has what the function is inside of, wherever its declaration stands.
      const EntryName& function = name_of(scope);
      if (!function.linkage_name.empty()) {
        *text = demangle(function.linkage_name) + "::";
      } else if (!function.plain_name.empty()) {
        *text = function.plain_name + "()::";
      }
      return;
    }
    default:
      return;
  }
}

const std::vector<EntryNames::Scope>& EntryNames::scopes_in(Dwarf_Die& parent) {
  const auto [place, is_new] = scopes_.try_emplace(parent.addr);
  std::vector<Scope>& scopes = place->second;
  Dwarf_Die child;
  if (!is_new || dwarf_child(&parent, &child) != 0) return scopes;
  while (true) {
    const bool is_scope = dwarf_haschildren(&child) == 1;
    if (is_scope) scopes.push_back({child, nullptr});
    const void* before = child.addr;
    if (dwarf_siblingof(&child, &child) != 0 || child.addr <= before) break;
    if (is_scope) scopes.back().end = child.addr;
  }
  return scopes;
}

}  // namespace memprof::profile
