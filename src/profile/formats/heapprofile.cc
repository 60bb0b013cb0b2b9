// SPDX-License-Identifier: Apache-2.0
#include "profile/formats/heapprofile.h"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <vector>

#include "format/pprof/sample_writer.h"
#include "profile/model/estimate.h"
#include "profile/names/stack_frames.h"
#include "profile/text/markup/json_text.h"

namespace memprof::profile {
namespace {

// Stacks by their frames, root first: in this order a parent stands before its children.
using Stacks = std::map<std::vector<uint32_t>, double>;

class Writer {
 public:
  Writer(const Profile& profile, GroupBy by) : frames_(profile, by) {}

  std::string write(const Profile& profile, Metric metric) {
    Stacks stacks;
    for (const Stack& stack : profile.stacks) {
      const double value = estimated_value(stack, metric);
      if (value != 0) stacks[frames_.root_first(stack)] += value;
    }
    constexpr char kRoot[] =
        R"-({"functionName":"(root)","scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1})-";
    out_ = std::string("{\"head\":{\"callFrame\":") + kRoot + ",\"selfSize\":0,\"id\":1,\"children\":[";
    for (const auto& [stack, value] : stacks) {
      if (const int64_t size = rounding_.round(value)) add(stack, size);
    }
    close_to(0);
    out_ += "]},\n\"samples\":[" + samples_ + "]}\n";
    return std::move(out_);
  }

 private:
  void add(const std::vector<uint32_t>& stack, int64_t size) {
    size_t common = 0;
    while (common < open_.size() && common < stack.size() && open_[common] == stack[common]) ++common;
    close_to(common);
    // A node's own size stands before its children, and those of the stack's frames are open already or empty.
    for (size_t i = common; i < stack.size(); ++i) {
      if (has_child_) out_ += ',';
      const bool is_leaf = i + 1 == stack.size();
      fmt::format_to(std::back_inserter(out_),
                     "\n{{\"callFrame\":{},\"selfSize\":{},\"id\":{},\"children\":[", call_frame(stack[i]),
                     is_leaf ? size : 0, ++last_id_);
      open_.push_back(stack[i]);
      has_child_ = false;
    }
    fmt::format_to(std::back_inserter(samples_), "{}\n{{\"size\":{},\"nodeId\":{},\"ordinal\":{}}}",
                   samples_.empty() ? "" : ",", size, last_id_, ++ordinal_);
  }

  void close_to(size_t depth) {
    while (open_.size() > depth) {
      out_ += "]}";
      open_.pop_back();
      has_child_ = true;
    }
  }

  std::string call_frame(uint32_t index) const {
    const Frame& frame = frames_.frames()[index];
    // Lines are counted from 0.
    return fmt::format(R"({{"functionName":{},"scriptId":"{}","url":{},"lineNumber":{},"columnNumber":-1}})",
                       json_text(frame.name), index + 1,
                       json_text(frame.file.empty() ? frame.module : frame.file),
                       frame.line > 0 ? frame.line - 1 : -1);
  }

  const StackFrames frames_;
  std::string out_;
  std::string samples_;
  std::vector<uint32_t> open_;  // the frames of the nodes whose children are being written
  bool has_child_ = false;      // the innermost of them has one
  uint64_t last_id_ = 1;
  uint64_t ordinal_ = 0;
  CarriedRounding rounding_;
};

}  // namespace

std::string write_heapprofile(const Profile& profile, Metric metric, GroupBy by) {
  return Writer(profile, by).write(profile, metric);
}

}  // namespace memprof::profile
