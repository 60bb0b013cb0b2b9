// SPDX-License-Identifier: Apache-2.0
// The ids by which comments of a pprof file name its stacks (StackId in format/pprof/comments.h).
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/model/model.h"

namespace memprof::profile {

// For each location what StackId takes of it.
std::vector<uint64_t> location_keys(const Profile& profile);

// The StackId of each stack.
std::vector<uint64_t> stack_ids(const Profile& profile);

struct StackOfId {
  uint64_t id;
  uint32_t stack;  // index into Profile::stacks
};

// Stacks of one id are one: a runtime can have several pieces of code of one name, file and line, which are
// apart in the file, and which nobody can tell apart.  Their comment is of all.  Adds them up, and the numbers of their
// samples; returns those that stay, ascending by id.
std::vector<StackOfId> unite_stacks(Profile& profile, std::vector<uint32_t>* samples_of);

}  // namespace memprof::profile
