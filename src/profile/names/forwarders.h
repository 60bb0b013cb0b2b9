// SPDX-License-Identifier: Apache-2.0
// Wrappers of the allocator that stand in no list of names, found by how a profile's stacks look: a function that
// hides the code which allocates.
//
// Model: a function is one if most of the bytes are allocated through it, it has many callers, it calls nothing but
// the allocator, makes one block a call, and the size of that block follows from who calls.  A function that decides
// the size itself is none, like the constructor of a node, or a copy of a string.  One whose name ends like an
// allocation function's needs less evidence than others.  docs/decisions/0121-wrappers-by-how-stacks-look.md has the
// limits, and why.
//
// Threads: immutable once made.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "profile/model/model.h"
#include "profile/names/frame_name.h"

namespace memprof::profile {

class Forwarders {
 public:
  bool has(const Frame& frame) const { return functions_.count({frame.name, frame.module}) != 0; }
  bool is_empty() const { return functions_.empty(); }
  std::vector<std::string> names() const;
  void add(const std::string& name, const std::string& module) { functions_.emplace(name, module); }
  void add(const Forwarders& more) { functions_.insert(more.functions_.begin(), more.functions_.end()); }

 private:
  std::set<std::pair<std::string, std::string>> functions_;  // name, module
};

// Does the function's name end like that of an allocation function: `BigAlloc`, `ck_calloc`, `caml_stat_alloc`?
bool sounds_like_allocation(const std::string& name);

Forwarders find_forwarders(const Profile& profile);
// Of all of them together: what is compared is grouped alike.
std::shared_ptr<const Forwarders> find_forwarders(const std::vector<const Profile*>& profiles);

}  // namespace memprof::profile
