// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/modules/module_map.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/hash.h"
#include "platform/clock.h"
#include "platform/linux/memory/mappings.h"
#include "platform/linux/modules/elf_image.h"
#include "platform/memory.h"
#include "platform/memory_areas.h"
#include "platform/process.h"

namespace memprof::platform {

ModuleMap g_module_map;

namespace {

constexpr uint32_t kWords = sizeof(LoadedSegment) / sizeof(uint64_t);
constexpr size_t kPathBytes = 1 << 20;
constexpr size_t kBufferBytes = 65536;
constexpr char kUnknownPath[] = "(path not kept: too many)";
// Snapshots that were made in vain may take 1/32 of the time.
constexpr int kCreditShift = 5;
// The first bytes of a module: its ELF header, its program headers and, mostly, its build id.
constexpr size_t kFingerprintBytes = 1024;

static_assert(sizeof(const char*) == sizeof(uint64_t));

struct First {
  uint64_t words[kFingerprintBytes / sizeof(uint64_t)];
};

uint64_t fingerprint_of(const First& first) {
  uint64_t hash = 0;
  for (const uint64_t word : first.words) {
    hash = hash_with(hash, word);
  }
  return hash;
}

// Reads what is at `base` now.
bool take_fingerprint(uint64_t base, uint64_t* fingerprint) {
  First first;
  if (!read_memory(base, &first, sizeof(first))) {
    return false;
  }
  *fingerprint = fingerprint_of(first);
  return true;
}

class SignalsBlocked {
 public:
  SignalsBlocked() {
    const uint64_t all = ~uint64_t{0};
    is_blocked_ = syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, &mask_, sizeof(mask_)) == 0;
  }
  ~SignalsBlocked() {
    if (is_blocked_) {  // else the mask is the program's, and unknown
      syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask_, nullptr, sizeof(mask_));
    }
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  uint64_t mask_ = 0;
  bool is_blocked_ = false;
};

}  // namespace

// Words are atomic because a reader may look while a later snapshot is written over them.
struct ModuleMap::Snapshot {
  std::atomic<uint64_t> count;
  std::atomic<uint64_t> words[kMaxSegments][kWords];

  void read(uint64_t i, LoadedSegment* segment) const {
    uint64_t plain[kWords];
    for (uint32_t w = 0; w < kWords; ++w) {
      plain[w] = words[i][w].load(std::memory_order_relaxed);
    }
    memcpy(segment, plain, sizeof(*segment));
  }

  void write(uint64_t i, const LoadedSegment& segment) {
    uint64_t plain[kWords];
    memcpy(plain, &segment, sizeof(segment));
    for (uint32_t w = 0; w < kWords; ++w) {
      words[i][w].store(plain[w], std::memory_order_relaxed);
    }
  }

  // The last segment that starts at or below `address`.
  bool search(uint64_t address, LoadedSegment* segment) const {
    uint64_t low = 0;
    uint64_t high = count.load(std::memory_order_relaxed);
    high = high < kMaxSegments ? high : kMaxSegments;
    while (low < high) {
      const uint64_t middle = (low + high) / 2;
      if (words[middle][0].load(std::memory_order_relaxed) <= address) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == 0) {
      return false;
    }
    read(low - 1, segment);
    return address >= segment->start && address < segment->limit;
  }
};

struct ModuleMap::Memory {
  Snapshot snapshots[2];
  // Every path that was ever seen, each ended by a zero byte; only grows.
  char paths[kPathBytes];
  size_t path_bytes;
  char buffer[kBufferBytes];
  ElfW(Phdr) headers[kMaxHeaders];
};

// Makes a snapshot out of the list of mappings.
class ModuleMap::Writer {
 public:
  Writer(Memory* memory, const Snapshot& old, Snapshot* made) : memory_(*memory), old_(old), made_(*made) {
    made_.count.store(0, std::memory_order_relaxed);
  }

  void add(const Mapping& mapping) {
    // A small module can have several segments that begin in the first page of its file.
    if (enter_if_code(mapping)) {
      return;
    }
    const bool is_vdso = strcmp(mapping.path, "[vdso]") == 0;
    if (mapping.file_offset == 0 && mapping.is_readable && (mapping.inode != 0 || is_vdso)) {
      begin_module(mapping);
      enter_if_code(mapping);
    }
  }

 private:
  void begin_module(const Mapping& mapping) {
    is_open_ = false;
    First first;
    if (mapping.limit - mapping.start < sizeof(first) || !read_memory(mapping.start, &first, sizeof(first))) {
      return;
    }
    ElfW(Ehdr) header;
    memcpy(&header, &first, sizeof(header));
    const uint64_t headers_bytes = header.e_phnum * sizeof(ElfW(Phdr));
    if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof(ElfW(Phdr)) || header.e_phnum == 0 || header.e_phnum > kMaxHeaders ||
        header.e_phoff > kSmallestPage || headers_bytes > kSmallestPage - header.e_phoff ||
        !read_memory(mapping.start + header.e_phoff, memory_.headers, headers_bytes)) {
      return;
    }
    module_ = {};
    module_.base = mapping.start;
    module_.headers = mapping.start + header.e_phoff;
    module_.header_count = header.e_phnum;
    module_.fingerprint = fingerprint_of(first);
    module_.path = keep_path(mapping);
    inode_ = mapping.inode;
    device_ = mapping.device;
    // The mapping of the file's start says where the addresses of the file are.
    const ElfW(Phdr)* start = nullptr;
    for (uint64_t i = 0; i < module_.header_count && start == nullptr; ++i) {
      const ElfW(Phdr)& h = memory_.headers[i];
      start = h.p_type == PT_LOAD && h.p_offset < kSmallestPage ? &h : nullptr;
    }
    if (start == nullptr) {
      return;
    }
    module_.bias = mapping.start - (start->p_vaddr - start->p_offset);
    for (uint64_t i = 0; i < module_.header_count; ++i) {
      if (memory_.headers[i].p_type == PT_GNU_EH_FRAME) {
        module_.eh_frame = module_.bias + memory_.headers[i].p_vaddr;
      }
    }
    is_open_ = true;
  }

  // A file that somebody merely reads through a mapping has the headers, too, but its code is not mapped
  // executable where they say.
  bool enter_if_code(const Mapping& mapping) {
    if (!is_open_ || !mapping.is_executable || mapping.inode != inode_ || mapping.device != device_ ||
        !is_code_of_module(mapping)) {
      return false;
    }
    enter_module();
    is_open_ = false;
    return true;
  }

  bool is_code_of_module(const Mapping& mapping) const {
    for (uint64_t i = 0; i < module_.header_count; ++i) {
      const ElfW(Phdr)& h = memory_.headers[i];
      const uint64_t start = module_.bias + h.p_vaddr;
      if (h.p_type == PT_LOAD && (h.p_flags & PF_X) != 0 && mapping.start < start + h.p_memsz &&
          start < mapping.limit && mapping.start - mapping.file_offset == start - h.p_offset) {
        return true;
      }
    }
    return false;
  }

  void enter_module() {
    for (uint64_t i = 0; i < module_.header_count; ++i) {
      const ElfW(Phdr)& h = memory_.headers[i];
      if (h.p_type != PT_LOAD || h.p_memsz == 0) {
        continue;
      }
      module_.start = (module_.bias + h.p_vaddr) & ~(kSmallestPage - 1);
      module_.limit = (module_.bias + h.p_vaddr + h.p_memsz + kSmallestPage - 1) & ~(kSmallestPage - 1);
      enter_segment();
    }
  }

  // In its place: modules come in order, and nearly always their segments, too.
  void enter_segment() {
    const uint64_t count = made_.count.load(std::memory_order_relaxed);
    if (count == kMaxSegments) {
      return;
    }
    uint64_t i = count;
    for (; i > 0 && made_.words[i - 1][0].load(std::memory_order_relaxed) > module_.start; --i) {
      LoadedSegment later;
      made_.read(i - 1, &later);
      made_.write(i, later);
    }
    made_.write(i, module_);
    made_.count.store(count + 1, std::memory_order_relaxed);
  }

  const char* keep_path(const Mapping& mapping) {
    LoadedSegment before;
    if (old_.search(mapping.start, &before) && strcmp(before.path, mapping.path) == 0) {
      return before.path;
    }
    const size_t bytes = strlen(mapping.path) + 1;
    for (size_t at = 0; at < memory_.path_bytes; at += strlen(memory_.paths + at) + 1) {
      if (strcmp(memory_.paths + at, mapping.path) == 0) {
        return memory_.paths + at;
      }
    }
    if (bytes > kPathBytes - memory_.path_bytes) {
      return kUnknownPath;
    }
    char* kept = memory_.paths + memory_.path_bytes;
    memcpy(kept, mapping.path, bytes);
    memory_.path_bytes += bytes;
    return kept;
  }

  Memory& memory_;
  const Snapshot& old_;
  Snapshot& made_;
  bool is_open_ = false;  // module_ waits for its code
  LoadedSegment module_{};
  uint64_t inode_ = 0;
  uint64_t device_ = 0;
};

bool ModuleMap::renew(const char* path) {
  if (is_sandboxed()) {
    return false;
  }
  const SignalsBlocked blocked;
  if (is_renewing_.exchange(true, std::memory_order_acquire)) {
    return false;
  }
  const int saved_errno = errno;
  Memory* memory = memory_.load(std::memory_order_relaxed);
  if (memory == nullptr) {
    memory = static_cast<Memory*>(reserve_pages(sizeof(Memory)));
    memory_.store(memory, std::memory_order_release);
  }
  bool done = false;
  if (memory != nullptr) {
    const uint64_t number = number_.load(std::memory_order_relaxed);
    MappingReader reader(path, memory->buffer, sizeof(memory->buffer));
    if (reader.is_open()) {
      // Readers of the snapshot before the current one must see that it is not the current one any more
      // before they see any of what is written now; pairs with the fence in look_up.
      std::atomic_thread_fence(std::memory_order_release);
      Writer writer(memory, memory->snapshots[number % 2], &memory->snapshots[(number + 1) % 2]);
      Mapping mapping;
      while (reader.next(&mapping)) {
        writer.add(mapping);
      }
      number_.store(number + 1, std::memory_order_release);
      done = true;
    }
  }
  errno = saved_errno;
  is_renewing_.store(false, std::memory_order_release);
  return done;
}

// Adds what time has brought.  Two threads at once may count an interval twice: no harm.
bool ModuleMap::has_credit(uint64_t now_ns) {
  const uint64_t before_ns = credit_time_ns_.exchange(now_ns, std::memory_order_relaxed);
  if (now_ns > before_ns && before_ns != 0) {
    const int64_t credit_ns = credit_ns_.load(std::memory_order_relaxed);
    const int64_t more_ns = static_cast<int64_t>((now_ns - before_ns) >> kCreditShift);
    credit_ns_.store(more_ns < kMaxCreditNs - credit_ns ? credit_ns + more_ns : kMaxCreditNs,
                     std::memory_order_relaxed);
  }
  return credit_ns_.load(std::memory_order_relaxed) > 0;
}

bool ModuleMap::look_up(uint64_t address, LoadedSegment* segment) const {
  constexpr int kTries = 4;
  for (int i = 0; i < kTries; ++i) {
    const Memory* memory = memory_.load(std::memory_order_acquire);
    const uint64_t number = number_.load(std::memory_order_acquire);
    if (memory == nullptr || number == 0) {
      return false;
    }
    const bool found = memory->snapshots[number % 2].search(address, segment);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (number_.load(std::memory_order_relaxed) == number) {
      uint64_t fingerprint;
      return found && take_fingerprint(segment->base, &fingerprint) && fingerprint == segment->fingerprint;
    }
  }
  return false;
}

// Another thread is making a snapshot: that takes a moment, and it cannot be this thread, interrupted.  It
// may be stopped for longer, so the wait is bounded.
void ModuleMap::wait_for_renewal() const {
  constexpr int kYields = 200;
  for (int i = 0; i < kYields && is_renewing_.load(std::memory_order_acquire); ++i) {
    yield_thread();
  }
}

bool ModuleMap::find(uint64_t address, LoadedSegment* segment) {
  constexpr uint64_t kAddressEnd = uint64_t{1} << 48;
  if (address < kSmallestPage || address >= kAddressEnd) {
    return false;
  }
  if (look_up(address, segment)) {
    return true;
  }
  const uint64_t start_ns = monotonic_ns();
  if (!has_credit(start_ns)) {
    return false;
  }
  const bool renewed = renew("/proc/self/maps");
  if (!renewed) {
    wait_for_renewal();
  }
  const bool found = look_up(address, segment);
  if (renewed && !found) {
    credit_ns_.fetch_sub(static_cast<int64_t>(monotonic_ns() - start_ns), std::memory_order_relaxed);
  }
  return found;
}

}  // namespace memprof::platform
