// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/dwarf/inline_chains.h"

#include <dwarf.h>

#include <algorithm>

#include "profile/symbolize/dwarf/entry_name.h"

namespace memprof::profile {
namespace {

// A file that is not to be trusted can nest entries as deep as it is long, and going through a level can mean
// to read all below it. Compilers nest scopes a dozen deep, and inlined calls less than a hundred.
constexpr unsigned kMaxInlined = 48;
constexpr unsigned kMaxDepth = 200;

// What one walk may read, some of it several times where entries do not say where their siblings are. A large unit
// takes a tenth of it; a damaged one would take hours.
constexpr ptrdiff_t kMaxBytesRead = ptrdiff_t{256} << 20;

// Calls `visit` with each child until it returns false, or the budget is spent.
template <typename Visit>
void for_each_child(Dwarf_Die& parent, ptrdiff_t* budget, Visit visit) {
  Dwarf_Die child;
  if (dwarf_child(&parent, &child) != 0) return;
  while (*budget > 0 && visit(child)) {
    const auto* before = static_cast<const char*>(child.addr);
    const bool has_sibling = dwarf_siblingof(&child, &child) == 0;
    const ptrdiff_t read = static_cast<const char*>(child.addr) - before;
    // A sibling that is not behind is damage, and would be an endless loop.
    if (!has_sibling || read <= 0) return;
    *budget -= read;
  }
}

class Walk {
 public:
  Walk(const std::vector<uint64_t>& addresses, std::vector<InlineChain>& chains)
      : addresses_(addresses), chains_(chains), missing_(addresses.size()) {}

  bool is_done() const { return missing_ == 0; }

  // Functions below `scope`; also in types, functions and blocks when `everywhere`.
  void find_functions(Dwarf_Die& scope, bool everywhere, unsigned depth) {
    if (depth > kMaxInlined) return;
    for_each_child(scope, &budget_, [&](Dwarf_Die& child) {
      const int tag = dwarf_tag(&child);
      if (tag == DW_TAG_subprogram) take_function(child);
      const bool is_scope = tag == DW_TAG_namespace || tag == DW_TAG_module;
      if ((is_scope || everywhere) && dwarf_haschildren(&child) == 1) {
        find_functions(child, everywhere, depth + 1);
      }
      return !is_done();
    });
  }

 private:
  // Calls `visit` with the index of each address that the entry covers.
  template <typename Visit>
  void for_each_covered(Dwarf_Die& die, Visit visit) const {
    Dwarf_Addr base = 0;
    Dwarf_Addr begin = 0;
    Dwarf_Addr end = 0;
    ptrdiff_t at = 0;
    while ((at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0) {
      if (begin == 0) continue;  // thrown away by the linker
      auto i = std::lower_bound(addresses_.begin(), addresses_.end(), begin);
      for (; i != addresses_.end() && *i < end; ++i) visit(static_cast<size_t>(i - addresses_.begin()));
    }
  }

  void take_function(Dwarf_Die& function) {
    bool is_wanted = false;
    for_each_covered(function, [&](size_t i) {
      if (!chains_[i].empty()) return;
      chains_[i].push_back(function);
      --missing_;
      is_wanted = true;
    });
    if (is_wanted) find_calls(function, function, 1);
  }

  // Inlined calls below `scope`, which stands at `level` of the chain of `function`.
  void find_calls(Dwarf_Die& function, Dwarf_Die& scope, size_t level) {
    if (level > kMaxDepth) return;
    for_each_child(scope, &budget_, [&](Dwarf_Die& child) {
      const int tag = dwarf_tag(&child);
      const bool is_call = tag == DW_TAG_inlined_subroutine;
      if (!is_call && tag != DW_TAG_lexical_block) return true;
      bool is_wanted = false;
      for_each_covered(child, [&](size_t i) {
        InlineChain& chain = chains_[i];
        if (chain.size() < level || chain[0].addr != function.addr) return;
        // Blocks keep the level; an inlined call that overlaps its sibling is not inside of it.
        if (is_call && chain.size() == level) chain.push_back(child);
        is_wanted = true;
      });
      // A block without addresses of its own can hold calls that have some.
      const bool has_no_code =
          !is_call && dwarf_hasattr(&child, DW_AT_low_pc) == 0 && dwarf_hasattr(&child, DW_AT_ranges) == 0;
      if (is_wanted || has_no_code) find_calls_below(function, child, is_call ? level + 1 : level);
      return true;
    });
  }

  void find_calls_below(Dwarf_Die& function, Dwarf_Die& scope, size_t level) {
    if (nesting_ == kMaxDepth || dwarf_haschildren(&scope) != 1) return;
    ++nesting_;
    find_calls(function, scope, level);
    --nesting_;
  }

  const std::vector<uint64_t>& addresses_;
  std::vector<InlineChain>& chains_;
  size_t missing_;
  unsigned nesting_ = 0;
  ptrdiff_t budget_ = kMaxBytesRead;
};

void find_code_below(Dwarf_Die& scope, std::unordered_map<const void*, uint64_t>* code, unsigned depth,
                     ptrdiff_t* budget) {
  if (depth > kMaxInlined) return;
  for_each_child(scope, budget, [&](Dwarf_Die& child) {
    const int tag = dwarf_tag(&child);
    Dwarf_Addr begin = 0;
    if (tag == DW_TAG_subprogram && dwarf_hasattr(&child, DW_AT_abstract_origin) != 0 &&
        dwarf_entrypc(&child, &begin) == 0 && begin != 0) {
      const auto wanted = code->find(EntryNames::place_of(child));
      if (wanted != code->end()) wanted->second = begin;
    }
    if (tag == DW_TAG_namespace || tag == DW_TAG_module) find_code_below(child, code, depth + 1, budget);
    return true;
  });
}

}  // namespace

std::vector<InlineChain> inline_chains(Dwarf_Die& root, const std::vector<uint64_t>& addresses) {
  std::vector<InlineChain> chains(addresses.size());
  Walk walk(addresses, chains);
  for (const bool everywhere : {false, true}) {
    if (!walk.is_done()) walk.find_functions(root, everywhere, 0);
  }
  return chains;
}

void find_code(Dwarf_Die& root, std::unordered_map<const void*, uint64_t>* code) {
  ptrdiff_t budget = kMaxBytesRead;
  find_code_below(root, code, 0, &budget);
}

}  // namespace memprof::profile
