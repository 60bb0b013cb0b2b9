// SPDX-License-Identifier: Apache-2.0
#include "profile/foreign/v8_heap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "profile/files/read_budget.h"
#include "profile/model/error.h"
#include "profile/model/metric.h"
#include "profile/model/stack_sum.h"

namespace memprof::profile {
namespace {

using Json = nlohmann::json;

constexpr size_t kDeepestTree = 4096;
constexpr uint64_t kDefaultRateBytes = 512 * 1024;  // of node --heap-prof
constexpr uint32_t kNone = UINT32_MAX;

// Takes what the parser finds, in the order of the file: a tree of JSON would take many times the file's size.
class V8HeapReader final : public nlohmann::json_sax<Json> {
 public:
  V8HeapReader(std::string name, uint64_t max_model_bytes)
      : name_(std::move(name)), budget_(max_model_bytes) {}

  Profile read(std::string_view data) {
    if (!Json::sax_parse(data.begin(), data.end(), this)) fail("damaged JSON, or a part of it is missing");
    if (!has_head_) fail("JSON, but no heap profile of V8: it has no \"head\"");
    add_stacks();
    profile_.program = "node";
    profile_.rate_bytes = kDefaultRateBytes;
    profile_.has_metric[metric_index(Metric::kInuseSpace)] = true;
    return std::move(profile_);
  }

  bool null() override { return other(); }
  bool boolean(bool /*value*/) override { return other(); }
  bool number_integer(number_integer_t value) override { return number(static_cast<double>(value), true); }
  bool number_unsigned(number_unsigned_t value) override { return number(static_cast<double>(value), true); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return number(value, false); }
  bool binary(binary_t& /*value*/) override { return other(); }

  bool string(string_t& value) override {
    if (skipped_ != 0 || in_.empty() || in_.back() != In::kFrame) return other();
    if (key_ == "functionName") {
      frame_.function = std::move(value);
    } else if (key_ == "url") {
      frame_.file = std::move(value);
    }
    return true;
  }
  bool key(string_t& value) override {
    if (skipped_ == 0) key_ = std::move(value);
    return true;
  }

  bool start_object(std::size_t /*size*/) override {
    if (skipped_ != 0) {
      ++skipped_;
    } else if (in_.empty()) {
      in_.push_back(In::kDocument);
    } else if (is_head()) {
      if (has_head_) fail("it has two trees");
      has_head_ = true;
      open_node();
    } else if (in_.back() == In::kChildren) {
      open_node();
    } else if (in_.back() == In::kNode && key_ == "callFrame") {
      frame_ = {};
      in_.push_back(In::kFrame);
    } else {
      refuse_value();
      skipped_ = 1;
    }
    return true;
  }

  bool end_object() override {
    if (skipped_ != 0) {
      --skipped_;
      return true;
    }
    const In closed = in_.back();
    in_.pop_back();
    if (closed == In::kFrame) nodes_[open_.back()].location = location_of_frame();
    if (closed == In::kNode) close_node();
    return true;
  }

  bool start_array(std::size_t /*size*/) override {
    if (skipped_ != 0) {
      ++skipped_;
    } else if (!in_.empty() && in_.back() == In::kNode && key_ == "children") {
      in_.push_back(In::kChildren);
    } else {
      if (!in_.empty()) refuse_value();
      skipped_ = 1;
    }
    return true;
  }

  bool end_array() override {
    if (skipped_ != 0) {
      --skipped_;
    } else {
      in_.pop_back();
    }
    return true;
  }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  enum class In : unsigned char { kDocument, kNode, kChildren, kFrame };

  struct Frame {
    std::string function;
    std::string file;
    int64_t line = 0;  // 0: not known
  };

  struct Node {
    uint32_t parent = kNone;
    uint32_t location = kNone;  // of the root it counts for nothing
    double bytes = -1;          // below zero: not said yet
  };

  [[noreturn]] void fail(const std::string& what) const { throw Error(name_ + ": " + what); }

  void charge(uint64_t bytes) {
    try {
      budget_.charge(bytes);
    } catch (const Error& error) {
      fail(error.what());
    }
  }

  bool is_head() const { return in_.back() == In::kDocument && key_ == "head"; }

  // A value of another kind than its place has.
  void refuse_value() const {
    if (in_.back() == In::kChildren || is_head()) fail("a node of the tree is no object");
    if (in_.back() != In::kNode) return;
    if (key_ == "children") fail("a node whose children are no list");
    if (key_ == "callFrame") fail("a node without a callFrame");
    if (key_ == "selfSize") fail("a node without a number as its selfSize");
  }

  bool other() const {
    if (skipped_ == 0 && !in_.empty()) refuse_value();
    return true;
  }

  bool number(double value, bool is_whole) {
    if (skipped_ != 0 || in_.empty()) return true;
    if (in_.back() == In::kNode && key_ == "selfSize") {
      if (std::isnan(value) || value < 0 || value >= 1e18)
        fail("a node whose selfSize is below zero, or too large");
      nodes_[open_.back()].bytes = value;
    } else if (in_.back() == In::kFrame) {
      constexpr double kMaxLine = INT32_MAX;
      if (key_ == "lineNumber" && is_whole) {
        frame_.line = static_cast<int64_t>(std::clamp(value, -1.0, kMaxLine)) + 1;  // from 0 on
      }
    } else {
      refuse_value();
    }
    return true;
  }

  void open_node() {
    if (open_.size() == kDeepestTree) fail(fmt::format("a stack of more than {} frames", kDeepestTree));
    charge(sizeof(Node));
    Node node;
    if (!open_.empty()) node.parent = open_.back();
    open_.push_back(static_cast<uint32_t>(nodes_.size()));
    nodes_.push_back(node);
    in_.push_back(In::kNode);
  }

  void close_node() {
    const Node& node = nodes_[open_.back()];
    if (node.parent != kNone && node.location == kNone) fail("a node without a callFrame");
    if (node.bytes < 0) fail("a node without a number as its selfSize");
    open_.pop_back();
  }

  uint32_t location_of_frame() {
    std::string function = std::move(frame_.function);
    if (function.empty()) function = "(anonymous)";
    const auto key = std::tuple(std::move(function), std::move(frame_.file), frame_.line);
    const auto [known, is_new] = locations_.emplace(key, static_cast<uint32_t>(profile_.locations.size()));
    if (!is_new) return known->second;
    const auto& [name, file, line] = known->first;
    charge(sizeof(Location) + sizeof(Line) + ReadBudget::kHashEntryBytes + name.size() + file.size());
    Location location;  // without an address: code that a runtime executes
    location.lines.push_back({function_of(name, file), line});
    profile_.locations.push_back(std::move(location));
    return known->second;
  }

  uint32_t function_of(const std::string& name, const std::string& file) {
    const auto [known, is_new] =
        functions_.emplace(std::pair(name, file), static_cast<uint32_t>(profile_.functions.size()));
    if (is_new) {
      charge(sizeof(Function) + ReadBudget::kHashEntryBytes + 3 * name.size() + 2 * file.size());
      profile_.functions.push_back({name, name, file, 0});
    }
    return known->second;
  }

  // Only now all nodes have their functions: members of an object may come in any order.
  void add_stacks() {
    StackSums sums(&profile_.stacks);
    for (const Node& node : nodes_) {
      if (node.bytes == 0) continue;
      Stack stack;
      for (const Node* at = &node; at->parent != kNone; at = &nodes_[at->parent]) {
        stack.locations.push_back(at->location);
      }
      charge(sizeof(Stack) + ReadBudget::kHashEntryBytes + stack.locations.size() * sizeof(uint32_t));
      stack.values[metric_index(Metric::kInuseSpace)] = node.bytes;
      sums.add(std::move(stack));
    }
  }

  const std::string name_;
  ReadBudget budget_;
  Profile profile_;
  std::vector<In> in_;          // what is open, outermost first; without what is skipped
  uint64_t skipped_ = 0;        // objects and lists that are open and of no interest
  std::string key_;             // the last one of what is open
  Frame frame_;                 // that is being read
  std::vector<Node> nodes_;     // a parent before its children
  std::vector<uint32_t> open_;  // the nodes that are being read
  bool has_head_ = false;
  std::map<std::tuple<std::string, std::string, int64_t>, uint32_t> locations_;
  std::map<std::pair<std::string, std::string>, uint32_t> functions_;
};

}  // namespace

bool is_v8_heap(std::string_view begin) {
  const size_t first = begin.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && begin[first] == '{';
}

Profile read_v8_heap(std::string_view data, const std::string& name, uint64_t max_model_bytes) {
  return V8HeapReader(name, max_model_bytes).read(data);
}

}  // namespace memprof::profile
