// SPDX-License-Identifier: Apache-2.0
#include "profile/foreign/heap_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "format/affixes.h"
#include "profile/files/read_budget.h"
#include "profile/model/error.h"
#include "profile/model/metric.h"
#include "profile/model/stack_sum.h"

namespace memprof::profile {
namespace {

constexpr std::string_view kTcmalloc = "heap profile:";
constexpr std::string_view kJemalloc = "heap_v2/";
constexpr std::string_view kMap = "MAPPED_LIBRARIES:";
constexpr size_t kDeepestStack = 4096;

// Numbers and signs of one line, one after the other.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  void skip_blanks() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\t')) text_.remove_prefix(1);
  }
  bool take(std::string_view word) {
    skip_blanks();
    if (!begins_with(text_, word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  std::optional<uint64_t> number(int base = 10) {
    skip_blanks();
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value, base);
    if (error != std::errc()) return std::nullopt;
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return value;
  }
  std::string_view word() {
    skip_blanks();
    const std::string_view found = text_.substr(0, text_.find_first_of(" \t"));
    text_.remove_prefix(found.size());
    return found;
  }
  std::string_view rest() {
    skip_blanks();
    return std::exchange(text_, {});
  }
  bool is_at_end() {
    skip_blanks();
    return text_.empty();
  }

 private:
  std::string_view text_;
};

struct Counts {
  uint64_t blocks = 0;
  uint64_t bytes = 0;
};
struct Values {
  Counts live;
  Counts allocated;
};

// `1: 1024 [2: 2048]`
std::optional<Values> read_values(Cursor* line) {
  Values values;
  const auto pair = [&](Counts* counts) {
    const auto blocks = line->number();
    const bool has_colon = line->take(":");
    const auto bytes = line->number();
    if (!blocks || !has_colon || !bytes) return false;
    *counts = {*blocks, *bytes};
    return true;
  };
  if (!pair(&values.live) || !line->take("[") || !pair(&values.allocated) || !line->take("]")) {
    return std::nullopt;
  }
  return values;
}

class HeapTextReader {
 public:
  HeapTextReader(std::string_view data, std::string name, uint64_t max_model_bytes)
      : data_(data), name_(std::move(name)), budget_(max_model_bytes) {}

  Profile read() {
    std::string_view line;
    if (!next(&line)) fail("the file is empty");
    if (begins_with(line, kJemalloc)) {
      read_jemalloc_header(line);
      read_jemalloc();
    } else {
      read_tcmalloc_header(line);
      read_tcmalloc();
    }
    read_map();
    find_mappings();
    drop_allocators();
    profile_.rate_bytes = rate_bytes_;
    for (const Metric metric : {Metric::kInuseObjects, Metric::kInuseSpace}) {
      profile_.has_metric[metric_index(metric)] = true;
    }
    // jemalloc counts what was allocated only where it was told to (prof_accum).
    const bool has_allocated = std::any_of(
        profile_.stacks.begin(), profile_.stacks.end(),
        [](const Stack& stack) { return stack.values[metric_index(Metric::kAllocObjects)] != 0; });
    for (const Metric metric : {Metric::kAllocObjects, Metric::kAllocSpace}) {
      profile_.has_metric[metric_index(metric)] = has_allocated;
    }
    return std::move(profile_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(fmt::format("{}:{}: {}", name_, line_number_, what));
  }

  void charge(uint64_t bytes) {
    try {
      budget_.charge(bytes);
    } catch (const Error& error) {
      fail(error.what());
    }
  }

  // The next line that has something.
  bool next(std::string_view* line) {
    while (at_ < data_.size()) {
      const size_t end = std::min(data_.find('\n', at_), data_.size());
      *line = data_.substr(at_, end - at_);
      before_ = at_;
      at_ = end + 1;
      ++line_number_;
      if (!line->empty() && line->back() == '\r') line->remove_suffix(1);
      if (line->find_first_not_of(" \t") != std::string_view::npos) return true;
    }
    return false;
  }
  void put_back() {
    at_ = before_;
    --line_number_;
  }

  void read_jemalloc_header(std::string_view line) {
    Cursor cursor(line.substr(kJemalloc.size()));
    const auto rate = cursor.number();
    if (!rate || !cursor.is_at_end())
      fail("a rate is missing: the first line of jemalloc's profiles is heap_v2/RATE");
    rate_bytes_ = *rate;
    is_sampled_ = rate_bytes_ > 1;
  }

  void read_tcmalloc_header(std::string_view line) {
    Cursor cursor(line.substr(kTcmalloc.size()));
    if (!read_values(&cursor) || !cursor.take("@")) fail("the first line is not that of a heap profile");
    std::string_view kind = cursor.word();
    const size_t slash = kind.find('/');
    if (slash != std::string_view::npos) {
      Cursor rate(kind.substr(slash + 1));
      const auto value = rate.number();
      if (!value || !rate.is_at_end()) fail("the sampling rate is no number");
      rate_bytes_ = *value;
      kind = kind.substr(0, slash);
    }
    if (kind == "heap") {
      rate_bytes_ /= 2;  // it says twice the mean
    } else if (kind == "heapprofile" || kind == "growthz" || kind == "growth") {
      rate_bytes_ = 0;  // every allocation
    } else if (kind != "heap_v2" && kind != "heapz_v2") {
      fail(fmt::format("a kind of heap profile that memprof does not know: '{}'", kind.substr(0, 32)));
    }
    is_sampled_ = rate_bytes_ > 1;
  }

  void read_tcmalloc() {
    std::string_view line;
    while (next(&line)) {
      if (begins_with(line, kMap)) return;
      Cursor cursor(line);
      const auto values = read_values(&cursor);
      if (!values) {
        put_back();  // a memory map without its title
        return;
      }
      if (!cursor.take("@")) fail("a stack is missing after its values");
      add(read_stack(&cursor), *values);
    }
  }

  void read_jemalloc() {
    std::string_view line;
    std::optional<std::vector<uint64_t>> stack;
    while (next(&line)) {
      if (begins_with(line, kMap)) return;
      Cursor cursor(line);
      if (cursor.take("@")) {
        stack = read_stack(&cursor);
        continue;
      }
      if (!cursor.take("t")) {
        put_back();
        return;
      }
      // Of all threads; those of each follow.
      if (!cursor.take("*")) continue;
      const auto values = cursor.take(":") ? read_values(&cursor) : std::nullopt;
      if (!values) fail("the values are not `t*: BLOCKS: BYTES [BLOCKS: BYTES]`");
      if (stack) add(*stack, *values);  // else those of the whole file
      stack.reset();
    }
  }

  std::vector<uint64_t> read_stack(Cursor* cursor) const {
    std::vector<uint64_t> addresses;
    while (!cursor->is_at_end()) {
      static_cast<void>(cursor->take("0x"));
      const auto address = cursor->number(16);
      if (!address) fail("a stack has an address that is no hexadecimal number");
      if (addresses.size() == kDeepestStack)
        fail(fmt::format("a stack of more than {} frames", kDeepestStack));
      addresses.push_back(*address);
    }
    return addresses;
  }

  // What so many sampled blocks stand for.
  double scale(const Counts& counts) const {
    if (!is_sampled_ || counts.blocks == 0 || counts.bytes == 0) return 1;
    const double mean = static_cast<double>(counts.bytes) / static_cast<double>(counts.blocks);
    return 1 / -std::expm1(-mean / static_cast<double>(rate_bytes_));
  }

  void add(const std::vector<uint64_t>& addresses, const Values& values) {
    charge(sizeof(Stack) + ReadBudget::kHashEntryBytes + addresses.size() * sizeof(uint32_t));
    Stack stack;
    for (const uint64_t address : addresses) {
      if (address != 0) stack.locations.push_back(location(address - 1));
    }
    const double live = scale(values.live);
    const double allocated = scale(values.allocated);
    const auto set = [&](Metric metric, uint64_t value, double by) {
      stack.values[metric_index(metric)] = std::round(static_cast<double>(value) * by);
    };
    set(Metric::kInuseObjects, values.live.blocks, live);
    set(Metric::kInuseSpace, values.live.bytes, live);
    set(Metric::kAllocObjects, values.allocated.blocks, allocated);
    set(Metric::kAllocSpace, values.allocated.bytes, allocated);
    sums_.add(std::move(stack));
  }

  uint32_t location(uint64_t address) {
    const auto [known, is_new] =
        locations_.emplace(address, static_cast<uint32_t>(profile_.locations.size()));
    if (is_new) {
      charge(sizeof(Location) + ReadBudget::kHashEntryBytes);
      Location location;
      location.address = address;
      profile_.locations.push_back(std::move(location));
    }
    return known->second;
  }

  // Lines of /proc/PID/maps; others in between (build ids, comments) are skipped.
  void read_map() {
    std::string_view line;
    while (next(&line)) {
      Cursor cursor(line);
      Mapping mapping;
      const auto start = cursor.number(16);
      const bool has_dash = cursor.take("-");
      const auto limit = cursor.number(16);
      if (!start || !has_dash || !limit || *start >= *limit) continue;
      const std::string_view rights = cursor.word();
      const auto offset = cursor.number(16);
      if (rights.size() < 3 || rights[2] != 'x' || !offset) continue;
      cursor.word();  // device
      cursor.word();  // inode
      mapping.start = *start;
      mapping.limit = *limit;
      mapping.file_offset = *offset;
      mapping.path = std::string(cursor.rest());
      charge(sizeof(Mapping) + mapping.path.size());
      if (!mapping.path.empty()) profile_.mappings.push_back(std::move(mapping));
    }
    if (!profile_.mappings.empty()) {
      const std::string& path = profile_.mappings[0].path;
      profile_.program = path.substr(path.rfind('/') + 1);
    }
  }

  void find_mappings() {
    std::map<uint64_t, uint32_t> by_start;
    for (uint32_t i = 0; i < profile_.mappings.size(); ++i) by_start.emplace(profile_.mappings[i].start, i);
    for (Location& location : profile_.locations) {
      auto found = by_start.upper_bound(location.address);
      if (found == by_start.begin()) continue;
      --found;
      if (location.address < profile_.mappings[found->second].limit) location.mapping = found->second;
    }
  }

  // The allocator's own frames at the leaf, where it is a library.
  void drop_allocators() {
    constexpr std::string_view kLibraries[] = {"libjemalloc", "libtcmalloc"};
    std::vector<bool> is_allocator;
    for (const Mapping& mapping : profile_.mappings) {
      const std::string_view file = std::string_view(mapping.path).substr(mapping.path.rfind('/') + 1);
      is_allocator.push_back(
          std::any_of(std::begin(kLibraries), std::end(kLibraries),
                      [&](std::string_view library) { return begins_with(file, library); }));
    }
    std::vector<Stack> stacks;
    StackSums sums(&stacks);
    for (Stack& stack : profile_.stacks) {
      const auto own = std::find_if(stack.locations.begin(), stack.locations.end(), [&](uint32_t location) {
        const uint32_t mapping = profile_.locations[location].mapping;
        return mapping == kNoMapping || !is_allocator[mapping];
      });
      stack.locations.erase(stack.locations.begin(), own);
      sums.add(std::move(stack));
    }
    profile_.stacks = std::move(stacks);
  }

  std::string_view data_;
  const std::string name_;
  ReadBudget budget_;
  size_t at_ = 0;
  size_t before_ = 0;  // where the last line began
  size_t line_number_ = 0;
  uint64_t rate_bytes_ = 0;
  bool is_sampled_ = false;
  Profile profile_;
  StackSums sums_{&profile_.stacks};
  std::map<uint64_t, uint32_t> locations_;
};

}  // namespace

bool is_heap_text(std::string_view begin) {
  return begins_with(begin, kTcmalloc) || begins_with(begin, kJemalloc);
}

Profile read_heap_text(std::string_view data, const std::string& name, uint64_t max_model_bytes) {
  return HeapTextReader(data, name, max_model_bytes).read();
}

}  // namespace memprof::profile
