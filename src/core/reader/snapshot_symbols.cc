// SPDX-License-Identifier: Apache-2.0
// The names that this process's loader knows of a snapshot's frames.
#include <algorithm>
#include <cstring>

#include "core/reader/snapshot.h"
#include "core/tables/name_table.h"
#include "format/pprof/pprof_schema.h"
#include "format/runtime_frame.h"
#include "platform/memory.h"
#include "platform/stack.h"

namespace memprof {

int64_t Snapshot::resolve_symbols() {
  frames = flat_frames();
  frame_modules = flat_frame_modules();
  if (frames.data == nullptr) {
    return -1;
  }
  // First where each different address is, then its name once: a stack shares most of its frames with others.
  struct Order {
    uint64_t address;
    uint64_t frame;
    uint32_t module;
    bool is(const Order& other) const { return address == other.address && module == other.module; }
  };
  const uint64_t order_bytes = (frames.size + 1) * sizeof(Order);
  Order* order = static_cast<Order*>(platform::reserve_pages(order_bytes));
  if (order == nullptr) {
    return -1;
  }
  for (uint64_t i = 0; i < frames.size; ++i) {
    order[i] = {frames.data[i] - 1, i, frame_modules.data[i]};
  }
  std::sort(order, order + frames.size, [](const Order& a, const Order& b) {
    if (a.address != b.address) {
      return a.address < b.address;
    }
    return a.module != b.module ? a.module < b.module : a.frame < b.frame;
  });
  uint64_t different = 0;
  for (uint64_t i = 0; i < frames.size; ++i) {
    different += i == 0 || !order[i].is(order[i - 1]);
  }
  // A name has at most kMaxNameBytes; what is reserved and not touched costs nothing.
  const uint64_t symbols_bytes = (frames.size * sizeof(SnapshotSymbol) + 63) / 64 * 64;
  const uint64_t bytes = symbols_bytes + strings.size + (different + 1) * (NameTable::kMaxNameBytes + 1);
  uint8_t* memory = static_cast<uint8_t*>(platform::reserve_pages(bytes));
  if (memory == nullptr) {
    platform::release_pages(order, order_bytes);
    return -1;
  }
  Span<SnapshotSymbol> names{reinterpret_cast<SnapshotSymbol*>(memory), frames.size};
  Span<char> text{reinterpret_cast<char*>(memory + symbols_bytes), strings.size};
  memcpy(text.data, strings.data, strings.size);
  int64_t found = 0;
  SnapshotSymbol symbol{};
  for (uint64_t i = 0; i < frames.size; ++i) {
    if (i == 0 || !order[i].is(order[i - 1])) {
      symbol = {};
      const char* name = nullptr;
      uint64_t start = 0;
      // The loader knows nothing of what was unloaded.
      const uint32_t module = order[i].module;
      const bool is_gone = module != kNoModule && (modules.data[module].flags & kModuleUnloaded) != 0;
      const uint64_t frame = order[i].address + 1;
      if (is_runtime_frame(frame)) {
        // Its name is among the strings already.
        names.data[order[i].frame] = symbol = {runtime_frames.data[frame & UINT32_MAX].name_offset, 0};
        ++found;
        continue;
      }
      if (profile::schema::is_gap(frame)) {
        name = profile::schema::kGapNames[frame];
        start = frame;
      }
      if (name != nullptr || (!is_gone && platform::find_symbol(order[i].address, &name, &start))) {
        const uint64_t length = strnlen(name, NameTable::kMaxNameBytes);
        symbol = {text.size, order[i].address + 1 - start};
        memcpy(text.data + text.size, name, length);
        text.size += length;
        text.data[text.size++] = '\0';
      }
    }
    names.data[order[i].frame] = symbol;
    found += symbol.name_offset != 0;
  }
  platform::release_pages(order, order_bytes);
  if (symbol_mapping_ != nullptr) {
    platform::release_pages(symbol_mapping_, symbol_mapping_bytes_);
  }
  symbol_mapping_ = memory;
  symbol_mapping_bytes_ = bytes;
  symbols = names;
  strings = text;
  return found;
}

}  // namespace memprof
