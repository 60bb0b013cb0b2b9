// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/stack_folder.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "format/hash.h"
#include "format/pprof/pprof_schema.h"

namespace memprof::profile {
namespace {

uint64_t hash_of(const std::vector<Label>& labels) {
  uint64_t hash = labels.size();
  for (const Label& label : labels) {
    const std::hash<std::string> text_hash;
    for (const uint64_t part : {uint64_t{text_hash(label.key)}, uint64_t{text_hash(label.text)},
                                static_cast<uint64_t>(label.number), uint64_t{text_hash(label.unit)}}) {
      hash = hash_with(hash, part);
    }
  }
  return hash;
}

// Takes the text of one out of the labels.
std::string take(schema::FixedString key, std::vector<Label>* labels) {
  const auto found = std::find_if(labels->begin(), labels->end(), [key](const Label& label) {
    return label.key == schema::kFixedStrings[key] && !label.text.empty();
  });
  if (found == labels->end()) {
    return {};
  }
  std::string text = std::move(found->text);
  labels->erase(found);
  return text;
}

}  // namespace

bool StackFolder::is_stack(uint32_t index, const std::vector<uint32_t>& locations, const std::string& heap,
                           const std::string& process) const {
  const Stack& stack = stacks_[index];
  return stack.locations == locations && stack.heap == heap && stack.process == process;
}

// The stack with these locations, this heap and process; a new one if there is none.  The samples of a stack mostly follow
// each other.
uint32_t StackFolder::stack_with(const std::vector<uint32_t>& locations, uint64_t hash,
                                 const std::string& heap, const std::string& process) {
  if (!stacks_.empty() && is_stack(static_cast<uint32_t>(stacks_.size() - 1), locations, heap, process)) {
    return static_cast<uint32_t>(stacks_.size() - 1);
  }
  hash ^= std::hash<std::string>()(heap) ^ 3 * std::hash<std::string>()(process);
  const auto known = stacks_by_hash_.find(
      hash, [&](uint32_t candidate) { return is_stack(candidate, locations, heap, process); });
  if (known) return *known;
  budget_.charge(2 * sizeof(Stack) + ReadBudget::kHashEntryBytes + locations.size() * sizeof(uint32_t) +
                 heap.size() + process.size());
  const auto index = static_cast<uint32_t>(stacks_.size());
  stacks_by_hash_.add(hash, index);
  Stack& stack = stacks_.emplace_back();
  stack.locations = locations;
  stack.heap = heap;
  stack.process = process;
  samples_of_.push_back(0);
  return index;
}

// The part of the stack that has these labels.
LabeledValues& StackFolder::part_with(uint32_t stack_index, std::vector<Label> labels) {
  // Fewer are compared one by one.
  constexpr size_t kFewParts = 8;
  Stack& stack = stacks_[stack_index];
  const auto hash_with_stack = [stack_index](const std::vector<Label>& some) {
    return hash_of(some) ^ uint64_t { stack_index } << 32;
  };
  if (stack.parts.size() <= kFewParts) {
    for (LabeledValues& part : stack.parts) {
      if (part.labels == labels) return part;
    }
    budget_.charge(2 * sizeof(LabeledValues) + ReadBudget::kHashEntryBytes);
    stack.parts.emplace_back(LabeledValues{std::move(labels), {}});
    if (stack.parts.size() > kFewParts) {
      for (uint32_t i = 0; i < stack.parts.size(); ++i) {
        parts_by_hash_.emplace(hash_with_stack(stack.parts[i].labels), i);
      }
    }
    return stack.parts.back();
  }
  const uint64_t hash = hash_with_stack(labels);
  const auto [first, last] = parts_by_hash_.equal_range(hash);
  for (auto known = first; known != last; ++known) {
    if (known->second < stack.parts.size() && stack.parts[known->second].labels == labels) {
      return stack.parts[known->second];
    }
  }
  budget_.charge(2 * sizeof(LabeledValues) + ReadBudget::kHashEntryBytes);
  parts_by_hash_.emplace(hash, static_cast<uint32_t>(stack.parts.size()));
  return stack.parts.emplace_back(LabeledValues{std::move(labels), {}});
}

void StackFolder::add(const std::vector<uint32_t>& locations, uint64_t hash, std::vector<Label> labels,
                      const std::array<double, kMetricCount>& values) {
  const std::string heap = take(schema::kHeap, &labels);
  const std::string process = take(schema::kProcess, &labels);
  const uint32_t index = stack_with(locations, hash, heap, process);
  const bool is_first = samples_of_[index]++ == 0;
  Stack& stack = stacks_[index];
  if (!labels.empty() && stack.parts.empty() && !is_first) part_with(index, {}).values = stack.values;
  const bool has_parts = !labels.empty() || !stack.parts.empty();
  LabeledValues* const part = has_parts ? &part_with(index, std::move(labels)) : nullptr;
  for (size_t i = 0; i < kMetricCount; ++i) {
    if (part != nullptr) part->values[i] += values[i];
    stack.values[i] += values[i];
  }
}

}  // namespace memprof::profile
