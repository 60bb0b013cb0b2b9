// SPDX-License-Identifier: Apache-2.0
#include "runtime/jit/jit_list.h"

#include "format/hash.h"
#include "platform/memory.h"

namespace memprof::jit {
namespace {

// As GDB's manual has it, "JIT Compilation Interface".
struct Descriptor {
  uint32_t version;
  uint32_t action;
  uint64_t changed;  // the entry that was added, or taken out, last
  uint64_t first;
};
struct Entry {
  uint64_t next;
  uint64_t previous;
  uint64_t file;
  uint64_t size_bytes;
};
constexpr uint32_t kVersion = 1;

}  // namespace

uint64_t JitList::state() const {
  const uint64_t at = descriptor();
  Descriptor d;
  if (at == 0 || !platform::read_memory(at, &d, sizeof(d))) {
    return 0;
  }
  return mix_hash(mix_hash(d.changed) ^ d.first ^ uint64_t{d.action} << 56) | 1;
}

bool JitList::read(uint64_t entry, uint64_t previous, ListedFile* file) const {
  Entry e;
  if (entry == 0 || !platform::read_memory(entry, &e, sizeof(e)) || e.previous != previous) {
    return false;
  }
  *file = {entry, previous, e.next, e.file, e.size_bytes};
  return true;
}

bool JitList::first(ListedFile* file) const {
  const uint64_t at = descriptor();
  Descriptor d;
  return at != 0 && platform::read_memory(at, &d, sizeof(d)) && d.version == kVersion &&
         read(d.first, 0, file);
}

bool JitList::next(ListedFile* file) const {
  return read(file->next, file->entry, file);
}

bool JitList::has(const ListedFile& file) const {
  Entry now;
  if (descriptor() == 0 || !platform::read_memory(file.entry, &now, sizeof(now)) || now.file != file.start ||
      now.size_bytes != file.size_bytes) {
    return false;
  }
  // One of its neighbours is enough: the JIT may just be taking out the other one.
  Entry neighbour;
  if (platform::read_memory(now.next, &neighbour, sizeof(neighbour)) && neighbour.previous == file.entry) {
    return true;
  }
  if (now.previous != 0) {
    return platform::read_memory(now.previous, &neighbour, sizeof(neighbour)) && neighbour.next == file.entry;
  }
  ListedFile first;
  return this->first(&first) && first.entry == file.entry;
}

}  // namespace memprof::jit
