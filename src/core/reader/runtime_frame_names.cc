// SPDX-License-Identifier: Apache-2.0
// The part of a snapshot that turns frames of runtimes into functions and lines.
#include <algorithm>
#include <cstring>

#include "core/arena/levels.h"
#include "core/reader/runtime_code.h"
#include "core/reader/snapshot_source.h"
#include "core/tables/code_table.h"
#include "format/runtime_frame.h"
#include "platform/memory.h"

namespace memprof {
namespace {

// Open addressing; at most half full.  It begins small and doubles into pages of its own, so that what is touched is in
// proportion to the different keys, not to all frames.
class IndexOfKey {
 public:
  struct Slot {
    uint64_t key;
    uint32_t index_plus_one;  // 0: empty
  };

  // `is_dense`: time counts more than memory.
  explicit IndexOfKey(bool is_dense)
      : is_dense_(is_dense), slots_(new_slots(kFirstSlots)), count_(kFirstSlots) {}
  ~IndexOfKey() { release(slots_, count_); }
  IndexOfKey(const IndexOfKey&) = delete;
  IndexOfKey& operator=(const IndexOfKey&) = delete;

  // The slot of the key, or the empty one where it belongs: until the next insert().  nullptr: there is no memory.
  Slot* find(uint64_t key) const { return slots_ != nullptr ? &find_in(slots_, count_, key) : nullptr; }

  // Into the slot that find() found empty.
  void insert(Slot* empty, uint64_t key, uint32_t index_plus_one) {
    *empty = {key, index_plus_one};
    if (++size_ > count_ / 2) {
      grow();
    }
  }

 private:
  static constexpr uint64_t kFirstSlots = 1024;

  Slot* new_slots(uint64_t count) const {
    void* const pages = platform::reserve_pages(count * sizeof(Slot));
    if (is_dense_ && pages != nullptr) {
      platform::advise_dense(pages, count * sizeof(Slot));
    }
    return static_cast<Slot*>(pages);
  }
  static void release(Slot* slots, uint64_t count) {
    if (slots != nullptr) {
      platform::release_pages(slots, count * sizeof(Slot));
    }
  }

  static Slot& find_in(Slot* slots, uint64_t count, uint64_t key) {
    for (uint64_t i = mix_hash(key) & (count - 1);; i = (i + 1) & (count - 1)) {
      if (slots[i].index_plus_one == 0 || slots[i].key == key) {
        return slots[i];
      }
    }
  }

  void grow() {
    Slot* const larger = new_slots(2 * count_);
    for (uint64_t i = 0; larger != nullptr && i < count_; ++i) {
      if (slots_[i].index_plus_one != 0) {
        find_in(larger, 2 * count_, slots_[i].key) = slots_[i];
      }
    }
    release(slots_, count_);
    slots_ = larger;
    count_ *= 2;
  }

  const bool is_dense_;
  Slot* slots_;
  uint64_t count_;  // a power of two
  uint64_t size_ = 0;
};

// Two instructions of one line are one place.
uint64_t place_key(uint32_t code, uint32_t line) {
  return uint64_t{code} << 32 | line;
}

}  // namespace

// The frames of runtimes that a snapshot has, each place once.
class Snapshot::RuntimeFrames {
 public:
  RuntimeFrames(Snapshot* snapshot, Source* source)
      : snapshot_(*snapshot),
        source_(*source),
        names_(source->count<NameEntry>(kNameSection)),
        codes_(source->count<CodeEntry>(kCodeSection)),
        scratch_bytes_(names_ * sizeof(uint64_t) + codes_ * sizeof(uint16_t) + CodeTable::kMaxLinesBytes),
        scratch_(static_cast<uint8_t*>(platform::reserve_pages(scratch_bytes_))),
        of_frame_(source->file >= 0),
        of_place_(source->file >= 0) {
    name_offsets_ = reinterpret_cast<uint64_t*>(scratch_);
    if (scratch_ != nullptr) {
      note_reuses(source);
    }
  }
  ~RuntimeFrames() {
    if (scratch_ != nullptr) {
      platform::release_pages(scratch_, scratch_bytes_);
    }
  }
  RuntimeFrames(const RuntimeFrames&) = delete;
  RuntimeFrames& operator=(const RuntimeFrames&) = delete;

  bool ok() const { return scratch_ != nullptr; }

  // Its place, with an index: true.  false: there is no memory.
  bool find_index(uint64_t frame, uint32_t* index) {
    IndexOfKey::Slot* const known = of_frame_.find(frame);
    if (known == nullptr) {
      return false;
    }
    if (known->index_plus_one != 0) {
      *index = known->index_plus_one - 1;
      return true;
    }
    const uint32_t code = code_of(frame);
    const uint32_t line = line_of(code, position_of(frame));
    IndexOfKey::Slot* const place = of_place_.find(place_key(code, line));
    if (place == nullptr) {
      return false;
    }
    uint32_t index_plus_one = place->index_plus_one;
    if (index_plus_one == 0) {
      index_plus_one = enter(code, line);
      of_place_.insert(place, place_key(code, line), index_plus_one);
    }
    of_frame_.insert(known, frame, index_plus_one);
    *index = index_plus_one - 1;
    return true;
  }

 private:
  // How often each entry became other code, before it is read.  Of a file: before its names were copied, after which
  // the entries are copied again.
  void note_reuses(Source* source) {
    reuses_ = reinterpret_cast<uint16_t*>(name_offsets_ + names_);
    lines_ = reinterpret_cast<uint8_t*>(reuses_ + codes_);
    for (uint64_t i = 0; i < codes_; ++i) {
      // acquire pairs with the release in code_table.cc.
      reuses_[i] = source_.at<CodeEntry>(kCodeSection)[i].reuse.load(std::memory_order_acquire);
    }
    source->load(kCodeSection);
  }

  // nullptr: it found no room, or it is other code by now, or the frame is damaged.
  const CodeEntry* entry_of(uint32_t code) const {
    const uint32_t entry = CodeTable::entry_of(code);
    return runtime_of_unknown(code) == 0 && entry < codes_ && reuses_[entry] == CodeTable::reuse_of(code)
               ? &source_.at<CodeEntry>(kCodeSection)[entry]
               : nullptr;
  }
  // After it was read: was it that code all the time?
  bool is_still(uint32_t code) const {
    std::atomic_thread_fence(std::memory_order_acquire);
    return source_.at<CodeEntry>(kCodeSection)[CodeTable::entry_of(code)].reuse.load(
               std::memory_order_relaxed) == CodeTable::reuse_of(code);
  }

  uint32_t line_of(uint32_t code, uint32_t position_bytes) const {
    const CodeEntry* e = entry_of(code);
    if (e == nullptr) {
      return 0;
    }
    const uint64_t offset = TextPiece::place(load_once(e->lines));
    const uint64_t bytes = load_once(e->lines_bytes);
    const uint64_t there = source_.used[kTextSection];
    if (bytes > CodeTable::kMaxLinesBytes || offset > there || bytes > there - offset) {
      return 0;
    }
    const uint32_t runtime = load_once(e->runtime);
    const uint32_t first_line = load_once(e->first_line);
    load_bytes(lines_, source_.at<uint8_t>(kTextSection, offset), bytes);
    return is_still(code) ? runtimes::line_of(runtime, lines_, bytes, first_line, position_bytes) : 0;
  }

  uint64_t name_offset(uint32_t id) {
    if (id < names_ && (name_offsets_[id] == 0 || !is_same_name(id))) {
      name_offsets_[id] = snapshot_.copy_name(source_, id);
    }
    return id < names_ ? name_offsets_[id] : 0;
  }

  // Another text may have the entry by now.
  bool is_same_name(uint32_t id) const {
    const NameEntry& e = source_.at<NameEntry>(kNameSection)[id];
    const uint64_t from = TextPiece::place(load_once(e.piece));
    const uint64_t size = load_once(e.size_bytes);
    const uint64_t there = source_.used[kTextSection];
    const char* const copy = snapshot_.strings.data + name_offsets_[id];
    if (from > there || size > there - from || strlen(copy) != size) {
      return false;
    }
    for (uint64_t i = 0; i < size; ++i) {
      if (load_once(source_.at<char>(kTextSection, from)[i]) != copy[i]) {
        return false;
      }
    }
    return true;
  }

  // What is said of code that is not in the table, once for each runtime.
  uint64_t unknown_name(uint32_t runtime) {
    uint64_t& offset = unknown_names_[runtime - 1];
    if (offset == 0) {
      Span<char>& texts = snapshot_.strings;
      const char* const name = runtimes::unknown_code_name(runtime);
      const uint64_t length = std::min<uint64_t>(strlen(name), kMaxUnknownNameBytes - 1);
      offset = texts.size;
      memcpy(texts.data + texts.size, name, length);
      texts.data[texts.size + length] = '\0';
      texts.size += length + 1;
    }
    return offset;
  }

  // A damaged word counts as one of the first runtime.
  static uint32_t runtime_of(uint32_t code, const CodeEntry* entry) {
    const uint32_t runtime = entry != nullptr ? load_once(entry->runtime) : runtime_of_unknown(code);
    return runtime >= 1 && runtime <= kMaxRuntimes ? runtime : 1;
  }

  // Its index plus one.
  uint32_t enter(uint32_t code, uint32_t line) {
    SnapshotRuntimeFrame made{};
    const CodeEntry* const e = entry_of(code);
    made.runtime = runtime_of(code, e);
    made.line = line;
    if (e != nullptr) {
      made.function_line = load_once(e->first_line);
      made.name_offset = name_offset(load_once(e->function));
      made.file_offset = name_offset(load_once(e->file));
      if (!is_still(code)) {
        made = {};
        made.runtime = runtime_of(code, nullptr);
      }
    }
    if (made.name_offset == 0) {
      made.name_offset = unknown_name(made.runtime);
    }
    Span<SnapshotRuntimeFrame>& all = snapshot_.runtime_frames;
    all.data[all.size++] = made;
    return static_cast<uint32_t>(all.size);
  }

  Snapshot& snapshot_;
  const Source& source_;
  const uint64_t names_;
  const uint64_t codes_;
  const uint64_t scratch_bytes_;
  uint8_t* const scratch_;
  uint16_t* reuses_ = nullptr;
  uint8_t* lines_ = nullptr;  // a copy of those that are looked at
  IndexOfKey of_frame_;
  IndexOfKey of_place_;
  uint64_t* name_offsets_ = nullptr;           // of name ids; 0: not copied yet
  uint64_t unknown_names_[kMaxRuntimes] = {};  // by ids; 0: not copied yet
};

bool Snapshot::copy_runtime_frames(Source* source) {
  uint64_t count = 0;
  for_each_frame(
      [&](const uint64_t* frame, const uint32_t* /*module*/) { count += is_runtime_frame(*frame); });
  if (count == 0) {
    runtime_frames.data = reinterpret_cast<SnapshotRuntimeFrame*>(strings.data);  // none, but not nullptr
    return true;
  }
  runtime_mapping_bytes_ = count * sizeof(SnapshotRuntimeFrame);
  runtime_mapping_ = platform::reserve_pages(runtime_mapping_bytes_);
  runtime_frames.data = static_cast<SnapshotRuntimeFrame*>(runtime_mapping_);
  RuntimeFrames found(this, source);
  if (runtime_mapping_ == nullptr || !found.ok()) {
    return false;
  }
  bool has_memory = true;
  for_each_frame([&](uint64_t* frame, const uint32_t* /*module*/) {
    if (is_runtime_frame(*frame) && has_memory) {
      uint32_t index = 0;
      has_memory = found.find_index(*frame, &index);
      *frame = kRuntimeFrame | index;
    }
  });
  return has_memory;
}

}  // namespace memprof
