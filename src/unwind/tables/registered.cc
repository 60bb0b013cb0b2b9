// SPDX-License-Identifier: Apache-2.0
#include "unwind/tables/registered.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "platform/memory.h"
#include "platform/process.h"
#include "unwind/tables/registers.h"
#include "unwind/tables/rule_cache.h"

namespace memprof::unwind {

RegisteredTables g_registered_tables;

namespace {

constexpr int kMaxYields = 20000;  // some 100 ms, or more where others run

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
  const Function* find(uint64_t address) const {
    const Function* after = std::upper_bound(functions(), functions() + count, address,
                                             [](uint64_t a, const Function& f) { return a < f.start; });
    return after != functions() && address - after[-1].start < after[-1].size_bytes ? after - 1 : nullptr;
  }
};

struct RegisteredTables::Entry {
  uint64_t low;
  uint64_t limit_so_far;  // the highest of this and of those before
  uint64_t name;
  Section* section;
};

// Behind it: the entries.
struct RegisteredTables::Snapshot {
  uint64_t count;

  Entry* entries() { return reinterpret_cast<Entry*>(this + 1); }
  const Entry* entries() const { return reinterpret_cast<const Entry*>(this + 1); }
};

class RegisteredTables::Lock {
 public:
  explicit Lock(RegisteredTables& tables) : tables_(tables) {
    for (int i = 0; !is_held_ && i < kMaxYields; ++i) {
      is_held_ = !tables.is_locked_.exchange(true, std::memory_order_acquire);
      if (!is_held_) {
        platform::yield_thread();
      }
    }
  }
  ~Lock() {
    if (is_held_) {
      tables_.is_locked_.store(false, std::memory_order_release);
    }
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  bool is_held() const { return is_held_; }

 private:
  RegisteredTables& tables_;
  bool is_held_ = false;
};

// ---- Reading

RegisteredTables::Reading::Reading(RegisteredTables& tables)
    : tables_(tables),
      epoch_(tables.snapshot_.load(std::memory_order_relaxed) != nullptr ? tables.epochs_.begin()
                                                                         : ReadEpochs::kNone) {}

RegisteredTables::Reading::~Reading() {
  if (is_valid()) {
    tables_.epochs_.end(epoch_);
  }
}

// Sequentially consistent, as what the epochs count.
const RegisteredTables::Snapshot* RegisteredTables::Reading::snapshot() const {
  return is_valid() ? tables_.snapshot_.load(std::memory_order_seq_cst) : nullptr;
}

Found RegisteredTables::Reading::find_row(uint64_t address, Row* row) const {
  const Snapshot* snapshot = this->snapshot();
  if (snapshot == nullptr) {
    return Found::kNo;
  }
  const Entry* entry = std::upper_bound(snapshot->entries(), snapshot->entries() + snapshot->count, address,
                                        [](uint64_t a, const Entry& e) { return a < e.low; });
  const Section* latest = nullptr;
  const Function* function = nullptr;
  while (entry != snapshot->entries() && (--entry)->limit_so_far > address) {
    const Section* section = entry->section;
    if (address >= section->limit || (latest != nullptr && section->serial < latest->serial) ||
        section->is_gone.load(std::memory_order_seq_cst)) {
      continue;
    }
    if (const Function* found = section->find(address)) {
      latest = section;
      function = found;
    }
  }
  if (function == nullptr) {
    return Found::kNo;
  }
  const Image image = latest->image();
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
  void* block = pool_.take(sizeof(Section) + extent.entries * sizeof(Function) + extent.size_bytes);
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
    pool_.give(BlockPool::header_of(block));
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
    pool_.give(BlockPool::header_of(block));
    return nullptr;
  }
  std::sort(section->functions(), section->functions() + section->count,
            [](const Function& a, const Function& b) { return a.start < b.start; });
  return section;
}

void RegisteredTables::retire(void* block) {
  BlockPool::Header* header = BlockPool::header_of(block);
  header->next = fresh_;
  fresh_ = header;
}

// Frees what no reader can have.
void RegisteredTables::settle() {
  for (int i = 0; i < 2 && epochs_.is_left(); ++i) {
    while (waiting_ != nullptr) {
      BlockPool::Header* next = waiting_->next;
      pool_.give(waiting_);
      waiting_ = next;
    }
    if (fresh_ == nullptr) {
      return;
    }
    waiting_ = fresh_;
    fresh_ = nullptr;
    epochs_.change();
  }
}

// A list with `added`, and without those that are gone.
bool RegisteredTables::publish(Section* added) {
  Snapshot* old = snapshot_.load(std::memory_order_relaxed);
  const uint64_t old_count = old != nullptr ? old->count : 0;
  uint64_t live = 0;
  for (uint64_t i = 0; i < old_count; ++i) {
    live += !old->entries()[i].section->is_gone.load(std::memory_order_relaxed);
  }
  // One that is marked meanwhile is in it, or not.
  void* block = live < kMaxSections ? pool_.take(sizeof(Snapshot) + (live + 1) * sizeof(Entry)) : nullptr;
  if (block == nullptr) {
    return false;
  }
  auto* made = new (block) Snapshot;
  made->count = 0;
  uint64_t limit = 0;
  const auto enter = [&](Section* section) {
    limit = std::max(limit, section->limit);
    made->entries()[made->count++] = {section->low, limit, section->name, section};
  };
  bool is_entered = false;
  for (uint64_t i = 0; i < old_count; ++i) {
    Section* section = old->entries()[i].section;
    if (!is_entered && added->low < section->low) {
      enter(added);
      is_entered = true;
    }
    if (!section->is_gone.load(std::memory_order_relaxed)) {
      enter(section);
    }
  }
  if (!is_entered) {
    enter(added);
  }
  snapshot_.store(made, std::memory_order_seq_cst);
  // What is not in the new list nobody finds any more.  One that was marked since is in it.
  for (uint64_t i = 0, kept = 0; i < old_count; ++i) {
    kept += kept < made->count && made->entries()[kept].section == added;
    if (kept < made->count && made->entries()[kept].section == old->entries()[i].section) {
      ++kept;
    } else {
      retire(old->entries()[i].section);
    }
  }
  if (old != nullptr) {
    retire(old);
  }
  return true;
}

void RegisteredTables::add(uint64_t begin, uint64_t name) {
  const Extent extent = measure(begin);
  if (extent.entries < 2) {  // a CIE and an FDE
    return;
  }
  const Lock lock(*this);
  if (!lock.is_held()) {
    return;
  }
  settle();
  Section* section = make_section(begin, extent);
  if (section == nullptr) {
    return;
  }
  section->name = name;
  const Snapshot* snapshot = snapshot_.load(std::memory_order_relaxed);
  uint64_t low = UINT64_MAX;  // of code that had other rules
  uint64_t limit = 0;
  for (uint64_t i = 0; snapshot != nullptr && i < snapshot->count; ++i) {
    Section* other = snapshot->entries()[i].section;
    if (other->begin == begin && !other->is_gone.load(std::memory_order_relaxed)) {
      if (other->size_bytes == section->size_bytes &&
          memcmp(reinterpret_cast<const void*>(other->copy_start),
                 reinterpret_cast<const void*>(section->copy_start), section->size_bytes) == 0) {
        pool_.give(BlockPool::header_of(section));
        return;
      }
      other->is_gone.store(true, std::memory_order_seq_cst);
      low = std::min(low, other->low);
      limit = std::max(limit, other->limit);
    }
    // Where another one lies, its code is no longer there.
    if (other->low < section->limit && section->low < other->limit) {
      low = std::min(low, section->low);
      limit = std::max(limit, section->limit);
    }
  }
  if (limit != 0) {
    g_rule_cache.begin_unload();
  }
  if (!publish(section)) {
    pool_.give(BlockPool::header_of(section));
  }
  if (limit != 0) {
    g_rule_cache.end_unload(low, limit);
  }
  settle();
}

void RegisteredTables::remove(uint64_t name) {
  uint64_t low = UINT64_MAX;
  uint64_t limit = 0;
  const auto mark = [&](Section* section) {
    if (limit == 0) {
      g_rule_cache.begin_unload();
    }
    section->is_gone.store(true, std::memory_order_seq_cst);
    low = std::min(low, section->low);
    limit = std::max(limit, section->limit);
  };
  for (bool is_read = false; !is_read && snapshot_.load(std::memory_order_relaxed) != nullptr;) {
    const Reading reading(*this);
    const Snapshot* snapshot = reading.snapshot();
    is_read = reading.is_valid();
    for (uint64_t i = 0; snapshot != nullptr && i < snapshot->count; ++i) {
      Section* section = snapshot->entries()[i].section;
      if (snapshot->entries()[i].name == name && !section->is_gone.load(std::memory_order_relaxed)) {
        mark(section);
      }
    }
  }
  // The next add() takes the marked ones out of the list.
  if (limit != 0) {
    g_rule_cache.end_unload(low, limit);
  }
}

uint32_t RegisteredTables::count() {
  const Reading reading(*this);
  const Snapshot* snapshot = reading.snapshot();
  uint32_t live = 0;
  for (uint64_t i = 0; snapshot != nullptr && i < snapshot->count; ++i) {
    live += !snapshot->entries()[i].section->is_gone.load(std::memory_order_relaxed);
  }
  return live;
}

void RegisteredTables::reset_in_child() {
  epochs_.reset_in_child();
  if (is_locked_.load(std::memory_order_relaxed)) {
    // A thread that is not here any more was inside: the list is whole, what it had besides is lost.
    pool_.reset_in_child();
    fresh_ = waiting_ = nullptr;
    is_locked_.store(false, std::memory_order_relaxed);
  }
}

}  // namespace memprof::unwind
