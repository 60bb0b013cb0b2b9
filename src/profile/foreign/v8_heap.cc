// SPDX-License-Identifier: Apache-2.0
#include "profile/foreign/v8_heap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "profile/model/error.h"
#include "profile/model/metric.h"
#include "profile/model/stack_sum.h"

namespace memprof::profile {
namespace {

using Json = nlohmann::json;

constexpr size_t kDeepestStack = 4096;
constexpr uint64_t kDefaultRateBytes = 512 * 1024;  // of node --heap-prof

class Reader {
 public:
  explicit Reader(std::string name) : name_(std::move(name)) {}

  Profile read(std::string_view data) {
    const Json json = Json::parse(data.begin(), data.end(), nullptr, false);
    if (json.is_discarded()) fail("damaged JSON, or a part of it is missing");
    const auto head = json.is_object() ? json.find("head") : json.end();
    if (!json.is_object() || head == json.end()) fail("JSON, but no heap profile of V8: it has no \"head\"");
    add_tree(*head);
    profile_.program = "node";
    profile_.rate_bytes = kDefaultRateBytes;
    profile_.has_metric[metric_index(Metric::kInuseSpace)] = true;
    return std::move(profile_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error(name_ + ": " + what); }

  // A node whose children are being read.
  struct Open {
    const Json* node;
    size_t next_child;
  };

  // Trees are as deep as stacks, and files not trusted: no recursion.
  void add_tree(const Json& root) {
    std::vector<Open> open;
    std::vector<uint32_t> root_first;
    enter(root, true, &open, &root_first);
    while (!open.empty()) {
      Open& top = open.back();
      const auto children = top.node->find("children");
      if (children == top.node->end() || top.next_child >= children->size()) {
        open.pop_back();
        if (!root_first.empty()) root_first.pop_back();
        continue;
      }
      if (!children->is_array()) fail("a node whose children are no list");
      enter((*children)[top.next_child++], false, &open, &root_first);
    }
  }

  void enter(const Json& node, bool is_root, std::vector<Open>* open, std::vector<uint32_t>* root_first) {
    if (!node.is_object()) fail("a node of the tree is no object");
    if (open->size() == kDeepestStack) fail(fmt::format("a stack of more than {} frames", kDeepestStack));
    open->push_back({&node, 0});
    if (!is_root) root_first->push_back(location_of(node));
    const auto size = node.find("selfSize");
    if (size == node.end() || !size->is_number()) fail("a node without a number as its selfSize");
    const double bytes = size->get<double>();
    if (!(bytes >= 0 && bytes < 1e18)) fail("a node whose selfSize is below zero, or too large");
    if (bytes == 0) return;
    Stack stack;
    stack.locations.assign(root_first->rbegin(), root_first->rend());
    stack.values[metric_index(Metric::kInuseSpace)] = bytes;
    sums_.add(std::move(stack));
  }

  static std::string text_of(const Json& frame, const char* key) {
    const auto text = frame.find(key);
    return text != frame.end() && text->is_string() ? text->get<std::string>() : std::string();
  }

  uint32_t location_of(const Json& node) {
    const auto frame = node.find("callFrame");
    if (frame == node.end() || !frame->is_object()) fail("a node without a callFrame");
    std::string function = text_of(*frame, "functionName");
    if (function.empty()) function = "(anonymous)";
    const std::string file = text_of(*frame, "url");
    int64_t line = 0;
    const auto number = frame->find("lineNumber");
    constexpr int64_t kMaxLine = INT32_MAX;
    if (number != frame->end() && number->is_number_integer()) {
      line = std::clamp<int64_t>(number->get<int64_t>(), -1, kMaxLine) + 1;  // from 0 on
    }
    const auto key = std::tuple(function, file, line < 0 ? 0 : line);
    const auto [known, is_new] = locations_.emplace(key, static_cast<uint32_t>(profile_.locations.size()));
    if (!is_new) return known->second;
    Location location;  // without an address: code that a runtime executes
    location.lines.push_back({function_of(function, file), std::get<2>(key)});
    profile_.locations.push_back(std::move(location));
    return known->second;
  }

  uint32_t function_of(const std::string& name, const std::string& file) {
    const auto [known, is_new] =
        functions_.emplace(std::pair(name, file), static_cast<uint32_t>(profile_.functions.size()));
    if (is_new) profile_.functions.push_back({name, name, file, 0});
    return known->second;
  }

  const std::string name_;
  Profile profile_;
  StackSums sums_{&profile_.stacks};
  std::map<std::tuple<std::string, std::string, int64_t>, uint32_t> locations_;
  std::map<std::pair<std::string, std::string>, uint32_t> functions_;
};

}  // namespace

bool is_v8_heap(std::string_view begin) {
  const size_t first = begin.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && begin[first] == '{';
}

Profile read_v8_heap(std::string_view data, const std::string& name) {
  return Reader(name).read(data);
}

}  // namespace memprof::profile
