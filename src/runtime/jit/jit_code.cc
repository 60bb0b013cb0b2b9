// SPDX-License-Identifier: Apache-2.0
#include "runtime/jit/jit_code.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>

#include "core/engine/profiler.h"
#include "format/runtime_frame.h"
#include "platform/memory.h"
#include "runtime/jit/object_file.h"
#include "runtime/jit/runtime.h"

namespace memprof::jit {
namespace {

constexpr uint8_t kNoLines = 0;
constexpr uint32_t kMaxNameBytes = 4096;

}  // namespace

struct JitCode::Function {
  uint64_t start;
  uint32_t size_bytes;
  uint32_t name;  // where in the names, which end with a 0 each
  // What profiler::intern_code gave for it, and when (profiler::tables_epoch; release and acquire).
  uint64_t frame;
  uint32_t epoch;
};

// Behind it: the functions, which are sorted by their starts, and the names.
struct JitCode::File {
  ListedFile listed;
  const JitList* list;
  uint64_t low;
  uint64_t limit;
  uint64_t serial;
  std::atomic<uint64_t> seen;  // of JitCode::changes_, when it was in the list; relaxed
  uint64_t names_bytes;
  uint32_t count;
  std::atomic<bool> is_gone;

  Function* functions() { return reinterpret_cast<Function*>(this + 1); }
  const Function* functions() const { return reinterpret_cast<const Function*>(this + 1); }
  char* names() { return reinterpret_cast<char*>(functions() + count); }
  const char* names() const { return reinterpret_cast<const char*>(functions() + count); }
  Function* find(uint64_t address) { return unwind::find_function(functions(), count, address); }
};

bool JitCode::has_lists() const {
  return std::any_of(std::begin(lists_), std::end(lists_),
                     [](const JitList& l) { return l.descriptor() != 0; });
}

bool JitCode::add_list(uint64_t descriptor) {
  for (const JitList& list : lists_) {
    if (list.descriptor() == descriptor) {
      return true;
    }
  }
  const Files::Lock lock(files_, 1);
  for (JitList& list : lists_) {
    if (lock.is_held() && list.descriptor() == 0) {
      list.set(descriptor);
      return true;
    }
  }
  return false;
}

uint64_t JitCode::state() const {
  uint64_t state = 0;
  for (const JitList& list : lists_) {
    state = (state << 1 | state >> 63) + list.state();
  }
  return state;
}

void JitCode::follow() {
  const uint64_t now = state();
  if (__builtin_expect(now == state_.load(std::memory_order_relaxed), 1)) {
    return;
  }
  const Files::Lock lock(files_, 1);
  if (!lock.is_held()) {
    return;
  }
  files_.settle();
  state_.store(now, std::memory_order_relaxed);
  changes_.fetch_add(1, std::memory_order_relaxed);
  for (const JitList& list : lists_) {
    take_up(list);
  }
}

// New files are before those that are known.
void JitCode::take_up(const JitList& list) {
  ListedFile listed;
  uint32_t taken = 0;
  for (bool is_there = list.first(&listed); is_there && taken < kMaxFilesAtOnce && !is_known(list, listed);
       is_there = list.next(&listed), ++taken) {
    File* const file = make_file(list, listed);
    if (file != nullptr && !files_.publish(file)) {
      files_.give(file);
    }
  }
}

bool JitCode::is_known(const JitList& list, const ListedFile& listed) {
  bool is_known = false;
  files_.for_each([&](File* file) {
    if (file->list != &list || file->listed.entry != listed.entry) {
      return;
    }
    const bool is_same = file->listed.start == listed.start && file->listed.size_bytes == listed.size_bytes;
    if (!is_same) {  // its place in memory was given to another
      file->is_gone.store(true, std::memory_order_seq_cst);
    }
    is_known = is_known || is_same;
  });
  return is_known;
}

// The functions and names of an object file whose symbols were copied to `symbols`; nullptr: none.
JitCode::File* JitCode::fill_file(const ObjectFile& object, const char* symbols) {
  const uint64_t bytes = object.symbols().size_bytes;
  const uint64_t names_bytes = object.names().size_bytes;
  // Room for as many functions as there are symbols.
  void* const block =
      files_.take(sizeof(File) + bytes / ObjectFile::kSymbolBytes * sizeof(Function) + names_bytes);
  if (block == nullptr) {
    return nullptr;
  }
  File* const file = new (block) File{};
  file->low = UINT64_MAX;
  file->names_bytes = names_bytes;
  ObjectFile::Symbol symbol;
  for (uint64_t at = 0; at < bytes; at += ObjectFile::kSymbolBytes) {
    if (object.function(symbols + at, &symbol) && symbol.name < names_bytes) {
      file->functions()[file->count++] = {symbol.start, static_cast<uint32_t>(symbol.limit - symbol.start),
                                          symbol.name, 0, 0};
      file->low = std::min(file->low, symbol.start);
      file->limit = std::max(file->limit, symbol.limit);
    }
  }
  std::sort(file->functions(), file->functions() + file->count,
            [](const Function& a, const Function& b) { return a.start < b.start; });
  if (file->count == 0 || !platform::read_memory(object.names().start, file->names(), names_bytes)) {
    files_.give(block);
    return nullptr;
  }
  return file;
}

JitCode::File* JitCode::make_file(const JitList& list, const ListedFile& listed) {
  const ObjectFile object(listed.start, listed.size_bytes);
  const ObjectFile::Table& symbols = object.symbols();
  auto* const copy = symbols.size_bytes != 0 ? static_cast<char*>(files_.take(symbols.size_bytes)) : nullptr;
  if (copy == nullptr) {
    return nullptr;
  }
  File* file =
      platform::read_memory(symbols.start, copy, symbols.size_bytes) ? fill_file(object, copy) : nullptr;
  files_.give(copy);
  // It can have been taken out, and its memory given to others, while it was read.
  if (file != nullptr && !list.has(listed)) {
    files_.give(file);
    file = nullptr;
  }
  if (file != nullptr) {
    file->listed = listed;
    file->list = &list;
    file->serial = ++serial_;
    file->seen.store(changes_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  return file;
}

bool JitCode::is_listed(File* file) const {
  const uint64_t now = changes_.load(std::memory_order_relaxed);
  if (file->seen.load(std::memory_order_relaxed) == now) {
    return true;
  }
  if (!file->list->has(file->listed)) {
    file->is_gone.store(true, std::memory_order_seq_cst);
    return false;
  }
  file->seen.store(now, std::memory_order_relaxed);
  return true;
}

uint64_t JitCode::frame_of(const File& file, Function& function) {
  const uint32_t epoch = profiler::tables_epoch();
  if (__atomic_load_n(&function.epoch, __ATOMIC_ACQUIRE) == epoch) {
    return __atomic_load_n(&function.frame, __ATOMIC_RELAXED);
  }
  const char* const name = file.names() + function.name;
  const uint64_t left = file.names_bytes - function.name;
  const auto bytes = static_cast<uint32_t>(strnlen(name, left < kMaxNameBytes ? left : kMaxNameBytes));
  const uint32_t id =
      profiler::intern_code({name, bytes, kMadeCode, sizeof(kMadeCode) - 1, &kNoLines, 0, 0, kRuntimeId});
  const uint64_t frame = runtime_frame(id == CodeTable::kNone ? unknown_code(kRuntimeId) : id, 0);
  __atomic_store_n(&function.frame, frame, __ATOMIC_RELAXED);
  __atomic_store_n(&function.epoch, epoch, __ATOMIC_RELEASE);
  return frame;
}

uint32_t JitCode::files() {
  return files_.count();
}

uint64_t JitCode::frame_at(uint64_t address) {
  const Files::Reading reading(files_);
  File* file = nullptr;
  Function* function = nullptr;
  while (reading.find(address, &file, &function)) {
    if (is_listed(file)) {
      return frame_of(*file, *function);
    }
  }
  return 0;
}

}  // namespace memprof::jit
