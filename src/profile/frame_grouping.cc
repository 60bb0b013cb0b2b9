// SPDX-License-Identifier: Apache-2.0
#include "profile/frame_grouping.h"

#include <utility>

#include "profile/allocator_frames.h"

namespace memprof::profile {
namespace {

std::string or_unknown(const std::string& text) {
  return text.empty() ? kUnknownGroup : text;
}

}  // namespace

const char* group_by_name(GroupBy by) {
  static constexpr const char* kNames[] = {"function", "line", "file", "module", "heap", "process"};
  return kNames[static_cast<size_t>(by)];
}

std::optional<GroupBy> group_by_from_name(std::string_view name) {
  for (const GroupBy by : {GroupBy::kFunction, GroupBy::kLine, GroupBy::kFile, GroupBy::kModule,
                           GroupBy::kHeap, GroupBy::kProcess}) {
    if (name == group_by_name(by)) return by;
  }
  return std::nullopt;
}

std::vector<std::string> root_labels(const Stack& stack) {
  std::vector<std::string> labels;
  if (!stack.process.empty()) labels.push_back("[process " + stack.process + "]");
  if (!stack.heap.empty()) labels.push_back("[heap " + stack.heap + "]");
  return labels;
}

FrameGrouping::FrameGrouping(const Profile& profile, GroupBy by, bool show_interpreter)
    : profile_(profile),
      by_(by),
      show_interpreter_(show_interpreter),
      interpreter_(profile),
      at_location_(profile.locations.size()) {}

void FrameGrouping::frames_of(const Stack& stack, std::vector<GroupedFrame>* frames) {
  code_frames_of(stack, frames);
  if (by_ != GroupBy::kHeap && by_ != GroupBy::kProcess) return;
  const std::string& name = by_ == GroupBy::kHeap ? stack.heap : stack.process;
  const uint32_t group = made_up_group(name.empty() ? kDefaultHeap : name);
  for (GroupedFrame& frame : *frames) frame.group = group;
}

void FrameGrouping::code_frames_of(const Stack& stack, std::vector<GroupedFrame>* frames) {
  frames->clear();
  std::optional<GroupedFrame> outermost_allocator;
  const bool hides_interpreter = !show_interpreter_ && interpreter_.is_interpreted(stack);
  for (size_t place = 0; place < stack.locations.size(); ++place) {
    if (hides_interpreter && interpreter_.is_interpreter(stack, place)) continue;
    for (const KnownFrame& known : frames_at(stack.locations[place])) {
      if (frames->empty() && known.is_allocator) {
        outermost_allocator = known.frame;
      } else {
        frames->push_back(known.frame);
      }
    }
  }
  if (!frames->empty()) return;
  if (!outermost_allocator) {
    Frame nowhere;
    nowhere.name = kUnknownGroup;
    outermost_allocator = known_frame(nowhere).frame;
  }
  frames->push_back(*outermost_allocator);
}

const std::vector<FrameGrouping::KnownFrame>& FrameGrouping::frames_at(uint32_t location) {
  std::vector<KnownFrame>& known = at_location_[location];
  if (known.empty()) {
    for (const Frame& frame : location_frames(profile_, profile_.locations[location])) {
      known.push_back(known_frame(frame));
    }
  }
  return known;
}

FrameGrouping::KnownFrame FrameGrouping::known_frame(const Frame& frame) {
  const auto next = static_cast<uint32_t>(functions_.size());
  const auto [place, is_new] = function_index_.emplace(frame.name, next);
  if (is_new) {
    functions_.push_back(frame.name);
    is_allocator_.push_back(frame.is_named && is_allocator_function(frame.name));
  }
  return {{group_of(frame), place->second}, is_allocator_[place->second]};
}

uint32_t FrameGrouping::made_up_group(const std::string& name) {
  const auto [place, is_new] =
      group_index_.emplace(Key(name, "", 0, ""), static_cast<uint32_t>(groups_.size()));
  if (is_new) groups_.push_back({name, "", 0, ""});
  return place->second;
}

uint32_t FrameGrouping::group_of(const Frame& frame) {
  Key key;
  switch (by_) {
    case GroupBy::kFunction:
      key = {frame.name, frame.file, 0, frame.module};
      break;
    case GroupBy::kLine:
      key = {frame.name, frame.file, frame.line, frame.module};
      break;
    case GroupBy::kFile:
      // Code without a source file is told apart by its module.
      key = frame.file.empty() ? Key{or_unknown(frame.module), "", 0, frame.module}
                               : Key{frame.file, frame.file, 0, ""};
      break;
    case GroupBy::kModule:
      key = {or_unknown(frame.module), "", 0, frame.module};
      break;
    case GroupBy::kHeap:  // the stack's, and not the frame's
    case GroupBy::kProcess:
      return made_up_group(kDefaultHeap);
  }
  const auto [place, is_new] = group_index_.emplace(std::move(key), static_cast<uint32_t>(groups_.size()));
  if (is_new) {
    FrameGroup group;
    std::tie(group.name, group.file, group.line, group.module) = place->first;
    if (by_ == GroupBy::kFunction) group.line = frame.line;
    groups_.push_back(std::move(group));
  } else if (by_ == GroupBy::kFunction && groups_[place->second].line != frame.line) {
    groups_[place->second].line = 0;
  }
  return place->second;
}

}  // namespace memprof::profile
