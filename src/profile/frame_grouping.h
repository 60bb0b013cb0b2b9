// SPDX-License-Identifier: Apache-2.0
// Stacks as sequences of what a report has rows of: functions, lines, files, modules or heaps.
//
// Model: every inlined function is a frame of its own.  The allocator's own functions (malloc, operator new)
// at the leaf are not the program's and are left out, unless there is nothing else.  So are, in stacks with
// Python frames, the functions of the interpreter itself: what they allocate, the Python line or the
// extension that called them holds.
//
// Threads: one report's own.  Owns: the names; the profile must outlive it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "profile/frame_name.h"
#include "profile/interpreter_frames.h"
#include "profile/model.h"

namespace memprof::profile {

enum class GroupBy : uint8_t { kFunction, kLine, kFile, kModule, kHeap, kProcess };

// "function", "line", "file", "module", "heap", "process"
const char* group_by_name(GroupBy by);
std::optional<GroupBy> group_by_from_name(std::string_view name);

struct FrameGroup {
  std::string name;    // of what is grouped by; never empty
  std::string file;    // source file; empty: unknown
  int64_t line = 0;    // 0: unknown, or the group is of several lines
  std::string module;  // executable or library; empty: unknown, or the group is of several
};

struct GroupedFrame {
  uint32_t group = 0;     // index into groups()
  uint32_t function = 0;  // index into functions()
};

// What a stack without one frame is called.
inline constexpr char kUnknownGroup[] = "[unknown]";
// The heap of malloc, and of what allocators report without a name.
inline constexpr char kDefaultHeap[] = "[default]";

// What a stack is of beside its code, its process and its heap, as frames at its root: where a tree or a
// flame graph has nothing else to show them by.
std::vector<std::string> root_labels(const Stack& stack);

class FrameGrouping {
 public:
  FrameGrouping(const Profile& profile, GroupBy by, bool show_interpreter = false);

  // Leaf first; at least one.  By heap or process all of them have the stack's as their group.
  void frames_of(const Stack& stack, std::vector<GroupedFrame>* frames);

  // A group that is not code, by its name.
  uint32_t made_up_group(const std::string& name);

  const std::vector<FrameGroup>& groups() const { return groups_; }
  // Names, each once, whatever is grouped by.
  const std::vector<std::string>& functions() const { return functions_; }

 private:
  struct KnownFrame {
    GroupedFrame frame;
    bool is_allocator = false;
  };
  using Key = std::tuple<std::string, std::string, int64_t, std::string>;

  void code_frames_of(const Stack& stack, std::vector<GroupedFrame>* frames);
  const std::vector<KnownFrame>& frames_at(uint32_t location);
  KnownFrame known_frame(const Frame& frame);
  uint32_t group_of(const Frame& frame);

  const Profile& profile_;
  const GroupBy by_;
  const bool show_interpreter_;
  const InterpreterFrames interpreter_;
  std::vector<std::vector<KnownFrame>> at_location_;  // innermost first
  std::map<Key, uint32_t> group_index_;
  std::vector<FrameGroup> groups_;
  std::map<std::string, uint32_t, std::less<>> function_index_;
  std::vector<std::string> functions_;
  std::vector<bool> is_allocator_;  // of functions_
};

}  // namespace memprof::profile
