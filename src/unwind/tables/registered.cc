// SPDX-License-Identifier: Apache-2.0
#include "unwind/tables/registered.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "platform/memory.h"
#include "unwind/tables/registers.h"
#include "unwind/tables/rule_cache.h"

namespace memprof::unwind {

RegisteredTables g_registered_tables;

namespace {

constexpr int kTries = 20000;  // some 100 ms, or more where others run

}  // namespace

struct RegisteredTables::Function {
  uint64_t start;
  uint32_t size_bytes;
  uint32_t description;  // where in the copy
};

// Behind it: room for the functions, which are sorted by their starts, and the copy.
struct RegisteredTables::Section {
  uint64_t begin;  // where the program has it
  uint64_t name;
  uint64_t low;  // of its code
  uint64_t limit;
  uint64_t serial;
  uint64_t copy_start;
  uint64_t size_bytes;  // of the copy
  uint32_t count;       // of functions
  std::atomic<bool> is_gone;

  Function* functions() { return reinterpret_cast<Function*>(this + 1); }
  const Function* functions() const { return reinterpret_cast<const Function*>(this + 1); }
  Image image() const { return {0, copy_start, copy_start + size_bytes, begin - copy_start}; }
  const Function* find(uint64_t address) const { return find_function(functions(), count, address); }
};

Found RegisteredTables::Reading::find_row(uint64_t address, Row* row) const {
  Section* section = nullptr;
  const Function* function = nullptr;
  if (!list_.find(address, &section, &function)) {
    return Found::kNo;
  }
  const Image image = section->image();
  return find_row_in(image, image.readable_low + function->description, address, row);
}

bool find_registered_rule(uint64_t address, Row* row, Rule* rule) {
  const RegisteredTables::Reading reading(g_registered_tables);
  switch (reading.find_row(address, row)) {
    case Found::kYes:
      *rule = derive_rule(*row);
      return true;
    case Found::kCorrupt:
      *rule = {Rule::kNone, 0, 0};
      return true;
    case Found::kNo:
      break;
  }
  return false;
}

// ---- Writing

RegisteredTables::Section* RegisteredTables::make_section(uint64_t begin, const Extent& extent) {
  void* block = list_.take(sizeof(Section) + extent.entries * sizeof(Function) + extent.size_bytes);
  if (block == nullptr) {
    return nullptr;
  }
  auto* section = new (block) Section{};
  auto* copy = reinterpret_cast<char*>(section->functions() + extent.entries);
  section->begin = begin;
  section->low = UINT64_MAX;
  section->size_bytes = extent.size_bytes;
  section->copy_start = reinterpret_cast<uint64_t>(copy);
  section->serial = ++serial_;
  if (!platform::read_memory(begin, copy, extent.size_bytes)) {
    list_.give(block);
    return nullptr;
  }
  const Image image = section->image();
  Bytes bytes(image.readable_low, image.readable_high);
  // It can have changed since it was measured: entries end where the copy or the room does.
  for (uint32_t i = 0; i < extent.entries && !bytes.empty(); ++i) {
    const uint64_t at = bytes.position();
    uint64_t length = bytes.read<uint32_t>();
    if (length == UINT32_MAX) {
      length = bytes.read<uint64_t>();
    }
    bytes.skip(length);
    FunctionRange range{};
    if (!bytes.ok() || length == 0) {
      break;
    }
    if (!read_range(image, at, &range) || range.limit <= range.start || range.limit > kAddressEnd ||
        range.limit - range.start > UINT32_MAX) {
      continue;
    }
    section->functions()[section->count++] = {range.start, static_cast<uint32_t>(range.limit - range.start),
                                              static_cast<uint32_t>(at - image.readable_low)};
    section->low = std::min(section->low, range.start);
    section->limit = std::max(section->limit, range.limit);
  }
  if (section->count == 0) {
    list_.give(block);
    return nullptr;
  }
  std::sort(section->functions(), section->functions() + section->count,
            [](const Function& a, const Function& b) { return a.start < b.start; });
  return section;
}

void RegisteredTables::add(uint64_t begin, uint64_t name) {
  const Extent extent = measure(begin);
  if (extent.entries < 2) {  // a CIE and an FDE
    return;
  }
  const List::Lock lock(list_, kTries);
  if (!lock.is_held()) {
    return;
  }
  list_.settle();
  Section* section = make_section(begin, extent);
  if (section == nullptr) {
    return;
  }
  section->name = name;
  uint64_t low = UINT64_MAX;  // of code that had other rules
  uint64_t limit = 0;
  bool is_known = false;
  list_.for_each([&](Section* other) {
    if (other->begin == begin && other->size_bytes == section->size_bytes &&
        memcmp(reinterpret_cast<const void*>(other->copy_start),
               reinterpret_cast<const void*>(section->copy_start), section->size_bytes) == 0) {
      is_known = true;
    } else if (other->begin == begin) {
      other->is_gone.store(true, std::memory_order_seq_cst);
      low = std::min(low, other->low);
      limit = std::max(limit, other->limit);
    }
    // Where another one lies, its code is no longer there.
    if (other->low < section->limit && section->low < other->limit) {
      low = std::min(low, section->low);
      limit = std::max(limit, section->limit);
    }
  });
  if (is_known) {
    list_.give(section);
    return;
  }
  if (limit != 0) {
    g_rule_cache.begin_unload();
  }
  if (!list_.publish(section)) {
    list_.give(section);
  }
  if (limit != 0) {
    g_rule_cache.end_unload(low, limit);
  }
  list_.settle();
}

void RegisteredTables::remove(uint64_t name) {
  uint64_t low = UINT64_MAX;
  uint64_t limit = 0;
  for (bool is_read = false; !is_read && !list_.is_empty();) {
    const List::Reading reading(list_);
    is_read = reading.is_valid();
    reading.for_each([&](Section* section) {
      if (section->name != name) {
        return;
      }
      if (limit == 0) {
        g_rule_cache.begin_unload();
      }
      section->is_gone.store(true, std::memory_order_seq_cst);
      low = std::min(low, section->low);
      limit = std::max(limit, section->limit);
    });
  }
  // The next add() takes the marked ones out of the list.
  if (limit != 0) {
    g_rule_cache.end_unload(low, limit);
  }
}

uint32_t RegisteredTables::count() {
  return list_.count();
}

}  // namespace memprof::unwind
