// SPDX-License-Identifier: Apache-2.0
// Writes a snapshot as a pprof file from inside the process.  It uses its own pages, no lock and no malloc, so it
// also works while the process ends.
#include <cerrno>
#include <cstring>
#include <initializer_list>

#include "core/engine/profiler.h"
#include "core/mappings/mappings.h"
#include "core/reader/runtime_code.h"
#include "core/tables/caller_table.h"
#include "dump/dump.h"
#include "dump/gzip_writer.h"
#include "dump/pages.h"
#include "dump/raw_pprof.h"
#include "dump/raw_snapshot.h"
#include "dump/resident_memory.h"
#include "dump/runtime_heap.h"
#include "dump/stack_parts.h"
#include "format/counters.h"
#include "format/path_pattern.h"
#include "format/pprof/pprof_name.h"
#include "format/runtime_frame.h"
#include "memprof.h"
#include "platform/clock.h"
#include "platform/files.h"
#include "platform/imports.h"
#include "platform/process.h"
#include "platform/stack.h"

namespace memprof {
namespace {

constexpr size_t kPathBytes = 4096;
constexpr size_t kNoteBytes = 8192;

static_assert(profile::kRuntimeFrame == kRuntimeFrame && kRuntimeFrame == MEMPROF_RUNTIME_FRAME);
static_assert(profile::kFramesLeftOut == platform::kFramesLeftOut &&
              platform::kFramesLeftOut == MEMPROF_FRAMES_LEFT_OUT);
static_assert(profile::kOlderStacks == platform::kOlderStacks &&
              platform::kOlderStacks == MEMPROF_OLDER_STACKS);
static_assert(profile::kOlderModules == platform::kOlderModules &&
              platform::kOlderModules == MEMPROF_OLDER_MODULES);

// A descriptor that a profile is written to.
struct Output {
  int fd;
  int error;  // negative: the reason of a failure

  profile::Sink sink() { return {write, this}; }
  static bool write(void* context, const void* data, size_t size) {
    auto* output = static_cast<Output*>(context);
    output->error = platform::file_write(output->fd, data, size);
    return output->error >= 0;
  }
};

bool write_compressed(const profile::RawProfile& p, const Pages& scratch, const Pages& memory,
                      const profile::Sink& sink) {
  profile::GzipWriter gzip(memory.as<void>(), sink);
  return profile::write_raw_pprof(p, scratch.as<void>(), scratch.size_bytes(), gzip.sink()) && gzip.finish();
}

const char* file_name_of(const char* path) {
  const char* name = path;
  for (const char* at = path; *at != '\0'; ++at) {
    name = *at == '/' ? at + 1 : name;
  }
  return name;
}

int system_error(int error) {
  if (error == platform::kFileExists) {
    return MEMPROF_ERR_EXISTS;
  }
  platform::set_last_error(error);
  return MEMPROF_ERR_SYSTEM;
}

// Names the modules whose allocations are missing.
void write_note(char* note) {
  static const char kBeginning[] =
      "memprof was loaded at run time, and not all import tables could be pointed at it. Allocations through "
      "these slots are not seen:\n";
  memcpy(note, kBeginning, sizeof(kBeginning));
  const char* modules = platform::imports_note();
  const size_t length = strlen(modules);
  const size_t room = kNoteBytes - sizeof(kBeginning);
  memcpy(note + sizeof(kBeginning) - 1, modules, length < room ? length : room);  // the page is zero
}

}  // namespace

int write_snapshot(const Snapshot& s, int fd, bool has_gzip, const RuntimeHeap* js) {
  if (js == nullptr && s.runtime_heap.runtime != 0) {
    js = &s.runtime_heap;
  }
  const RuntimeHeapSize js_size = js != nullptr ? size_of(*js) : RuntimeHeapSize{};
  const uint64_t js_nodes = js != nullptr ? js->node_count : 0;
  const Pages modules((s.modules.size + 1) * sizeof(profile::RawModule));
  const Pages stacks((s.stacks.size + js_size.stacks + 1) * sizeof(profile::RawStack));
  const Pages live((s.records.size + 1) * sizeof(profile::RawLive));
  const uint64_t max_births =
      s.records.size < s.stacks.size * kBirthParts ? s.records.size : s.stacks.size * kBirthParts;
  const Pages births(2 * (max_births + 1) * sizeof(Birth));
  const Pages frame_modules((s.own_frames.size + 1) * sizeof(uint32_t));
  const Pages caller_modules((s.caller_frames.size + 1) * sizeof(uint32_t));
  const Pages js_frames((js_size.frames + 1) * sizeof(uint64_t));
  const Pages heaps((s.heaps.size + 2) * sizeof(const char*));
  const Pages runtime_frames((s.runtime_frames.size + js_nodes + 1) * sizeof(profile::RawRuntimeFrame));
  if (births.as<void>() == nullptr || js_frames.as<void>() == nullptr ||
      runtime_frames.as<void>() == nullptr || frame_modules.as<void>() == nullptr ||
      caller_modules.as<void>() == nullptr || heaps.as<void>() == nullptr || modules.as<void>() == nullptr ||
      stacks.as<void>() == nullptr || live.as<void>() == nullptr) {
    return MEMPROF_ERR_NO_MEMORY;
  }
  if (s.process_id != platform::process_id()) {  // in the program's own process memory counts more than time
    platform::advise_dense(stacks.as<void>(), s.stacks.size * sizeof(profile::RawStack));
    platform::advise_dense(frame_modules.as<void>(), s.own_frames.size * sizeof(uint32_t));
  }
  profile::RawProfile p;
  p.modules = modules.as<profile::RawModule>();
  p.module_count = s.modules.size;
  const uint32_t main_program = find_main_program(s);
  convert_modules(s, main_program, modules.as<profile::RawModule>());
  for (uint64_t i = 0; i < s.own_frames.size; ++i) {
    frame_modules.as<uint32_t>()[i] = raw_index(s.own_frame_modules.data[i], main_program);
  }
  for (uint64_t i = 0; i < s.caller_frames.size; ++i) {
    caller_modules.as<uint32_t>()[i] = raw_index(s.caller_frame_modules.data[i], main_program);
  }
  static_assert(profile::RawCallers::kCount == kPieceFrames);
  p.callers = {s.caller_frames.data, caller_modules.as<uint32_t>(), s.caller_callers.data,
               s.caller_callers.size};
  const Lifetime* lifetime = s.lifetimes.data;
  for (uint64_t i = 0; i < s.stacks.size; ++i) {
    const SnapshotStack& from = s.stacks.data[i];
    const SnapshotStackFrames& frames = s.stack_frames.data[i];
    const Lifetime* const first_lifetime = lifetime;
    while (lifetime != s.lifetimes.data + s.lifetimes.size && lifetime->stack_id == i) {
      ++lifetime;
    }
    stacks.as<profile::RawStack>()[i] = {s.own_frames.data + frames.first_own,
                                         frames.own,
                                         from.walk,
                                         to_raw(from.allocated),
                                         to_raw(from.freed),
                                         i < s.peaks.size ? to_raw(s.peaks.data[i]) : profile::RawTotals{},
                                         from.lifetime_ns,
                                         frame_modules.as<uint32_t>() + frames.first_own,
                                         s.stack_heaps.data[i],
                                         {first_lifetime, static_cast<size_t>(lifetime - first_lifetime)},
                                         {},
                                         {},
                                         {},
                                         0,
                                         0,
                                         0,
                                         frames.callers};
  }
  convert_mappings(s, stacks.as<profile::RawStack>());
  p.mapped_count = profile::schema::mapped_count(s.has_mappings, s.has_resident_mappings);
  p.has_resident = convert_resident(s, stacks.as<profile::RawStack>());
  convert_births(s, births.as<Birth>(), stacks.as<profile::RawStack>());
  p.load = convert_load_births(s, births.as<Birth>() + max_births + 1, stacks.as<profile::RawStack>());
  for (uint64_t i = 0; i < s.heaps.size; ++i) {
    heaps.as<const char*>()[i] = s.strings.data + s.heaps.data[i].name_offset;
  }
  for (uint64_t i = 0; i < s.runtime_frames.size; ++i) {
    const SnapshotRuntimeFrame& f = s.runtime_frames.data[i];
    runtime_frames.as<profile::RawRuntimeFrame>()[i] = {
        s.strings.data + f.name_offset, s.strings.data + f.file_offset, f.line, f.function_line};
  }
  p.runtime_frames = runtime_frames.as<profile::RawRuntimeFrame>();
  p.runtime_frame_count = s.runtime_frames.size;
  p.heaps = heaps.as<const char*>();
  p.heap_count = s.heaps.size;
  p.stacks = stacks.as<profile::RawStack>();
  p.stack_count = s.stacks.size;
  if (js != nullptr) {
    heaps.as<const char*>()[p.heap_count] = kJsHeapName;
    add_runtime_heap(*js, s.runtime_frames.size, static_cast<uint32_t>(p.heap_count++),
                     runtime_frames.as<profile::RawRuntimeFrame>() + s.runtime_frames.size,
                     js_frames.as<uint64_t>(), stacks.as<profile::RawStack>() + s.stacks.size);
    p.runtime_frame_count += js_nodes;
    p.stack_count += js_size.stacks;
    p.has_js = true;
  }
  p.live = live.as<profile::RawLive>();
  p.live_count = convert_live(s, live.as<profile::RawLive>());
  p.program = file_name_of(s.program());
  // A process's own profile goes to whom it may concern; command lines have passwords in them.
  if (s.process_id != platform::process_id()) {
    p.command_line = s.command_line();
  }
  p.pid = s.process_id;
  p.rate_bytes = s.rate_bytes;
  p.time_unix_ns = s.time_unix_ns;
  p.duration_ns = s.time_ns - s.start_ns;
  p.rates = s.rates.data;
  p.rate_count = s.rates.size;
#define MEMPROF_COPY(name, ...) p.name = s.counters.name;
  MEMPROF_COUNTERS(MEMPROF_NO_FACT, MEMPROF_COPY, MEMPROF_NO_FACT)
#undef MEMPROF_COPY
  p.live_samples = s.records.size;  // those that the profile has
  p.measured_resident_bytes = s.measured.resident_bytes;
  profile::set_memory_parts(s.measured.parts, &p);
  p.peak_after_ns = s.peak.time_ns > s.start_ns ? s.peak.time_ns - s.start_ns : 0;
  p.peak_resident_bytes = s.peak.resident_bytes;
  // The system was asked for the most at peaks of the heap; what is not malloc's may have grown since.
  for (const uint64_t resident :
       {s.peak.max_resident_bytes, s.measured.resident_bytes, s.resident.total_bytes}) {
    p.max_resident_bytes = resident > p.max_resident_bytes ? resident : p.max_resident_bytes;
  }
  p.peak_files_bytes = s.peak.files_bytes;
  p.peak_free_bytes = s.peak.free_bytes;
  p.is_peak_resident_before = s.peak.is_resident_before;
  p.has_ended = s.end_ns != 0;
  p.is_before_end = s.end_begun_ns != 0;
  p.resident = s.resident;
  if (js != nullptr && p.resident.is_known()) {
    p.resident.js_bytes = js->resident_bytes;
    p.resident.js_used_bytes = js->used_bytes;
    p.resident.js_code_bytes = js->code_bytes;
    p.resident.js_live_bytes = js->live_bytes;
    p.resident.js_external_bytes = js->external_bytes;
    p.resident.js_young_bytes = js->young_bytes;
    p.resident.js_old_bytes = js->old_bytes;
    p.resident.js_large_bytes = js->large_bytes;
  }
  memcpy(p.walks, s.counters.walks, sizeof(p.walks));
  for (uint32_t i = 0; i < kMaxRuntimes; ++i) {
    const RuntimeCounters& runtime = s.counters.runtimes[i];
    p.runtimes[i] = {runtime.version, runtime.objects, runtime.stacks, runtimes::name_of(i + 1)};
  }
  const Pages note(kNoteBytes);
  if (note.as<char>() != nullptr && s.process_id == platform::process_id() &&
      p.import_refused + p.import_foreign + p.import_unbound != 0) {
    write_note(note.as<char>());
    p.note = note.as<char>();
  }

  const Pages scratch(profile::raw_pprof_scratch_bytes(p));
  const Pages gzip(has_gzip ? profile::GzipWriter::kMemoryBytes : 1);
  if (scratch.as<void>() == nullptr || gzip.as<void>() == nullptr) {
    return MEMPROF_ERR_NO_MEMORY;
  }
  Output output{fd, 0};
  const bool is_written =
      has_gzip ? write_compressed(p, scratch, gzip, output.sink())
               : profile::write_raw_pprof(p, scratch.as<void>(), scratch.size_bytes(), output.sink());
  if (!is_written) {
    if (output.error >= 0) {
      return MEMPROF_ERR_NO_MEMORY;
    }
    platform::set_last_error(output.error);
    return MEMPROF_ERR_SYSTEM;
  }
  return MEMPROF_OK;
}

int take_snapshot(Snapshot** snapshot, Snapshot::Content content) {
  *snapshot = nullptr;
  if (profiler::remains_off()) {
    return MEMPROF_ERR_FORKED;
  }
  if (profiler::state() == State::kUninitialized) {
    return MEMPROF_ERR_STATE;
  }
  profiler::ensure_arena();
  const Arena arena = profiler::arena();
  if (!arena) {
    return MEMPROF_ERR_NO_MEMORY;
  }
  mappings::measure();
  bool is_arena = false;
  *snapshot = Snapshot::read(arena.base(), arena.header().total_bytes, &is_arena, content);
  return *snapshot != nullptr ? MEMPROF_OK : MEMPROF_ERR_NO_MEMORY;
}

int open_snapshot(const char* path, Snapshot** snapshot) {
  *snapshot = nullptr;
  uint64_t size_bytes = 0;
  const int fd = platform::file_open(path, &size_bytes);
  if (fd < 0) {
    platform::set_last_error(fd);
    return MEMPROF_ERR_SYSTEM;
  }
  bool is_arena = false;  // nor is an empty file, whose process was killed when it had made it
  *snapshot = Snapshot::read_file(fd, size_bytes, &is_arena, Snapshot::Content::kShared);
  platform::file_close(fd);
  if (!is_arena) {
    return MEMPROF_ERR_FORMAT;
  }
  return *snapshot != nullptr ? MEMPROF_OK : MEMPROF_ERR_NO_MEMORY;
}

int write_profile(int fd, bool has_gzip) {
  Snapshot* snapshot = nullptr;
  int error = take_snapshot(&snapshot);
  if (error == MEMPROF_OK) {
    // When the end of the process has begun it was read, and what is live is what was live then.
    if (snapshot->end_begun_ns == 0) {
      read_resident_memory(snapshot, 0);  // a profile without it is a profile
    }
    error = write_snapshot(*snapshot, fd, has_gzip);
    Snapshot::release(snapshot);
  }
  return error;
}

int write_profile_file(const char* pattern, bool overwrite, char* written, size_t written_bytes,
                       const Snapshot* snapshot, const RuntimeHeap* js) {
  // Not on the stack: a signal handler may have little (dump/dump.cc).
  constexpr size_t kTemporaryBytes = kPathBytes + 32;
  const Pages names(kPathBytes + kTemporaryBytes);
  if (names.as<char>() == nullptr) {
    return MEMPROF_ERR_NO_MEMORY;
  }
  char* const path = names.as<char>();
  char* const temporary = path + kPathBytes;
  const char* program = file_name_of(platform::program_path());
  const uint64_t pid = platform::process_id();
  const uint64_t now_s = platform::unix_ns() / 1000000000;
  if (!expand_path(pattern, pid, program, now_s, path, kPathBytes) || path[0] == '\0') {
    return MEMPROF_ERR_INVALID;
  }
  if (written != nullptr) {
    const size_t length = strlen(path);
    const size_t copied = length < written_bytes ? length : written_bytes - 1;
    memcpy(written, path, copied);
    written[copied] = '\0';
  }
  const profile::PprofEnd* const end = profile::pprof_end_of(path);
  if (end == nullptr) {
    return MEMPROF_ERR_INVALID;
  }
  if (!overwrite && platform::file_exists(path)) {
    return MEMPROF_ERR_EXISTS;
  }
  // In the folder of the target, so that the rename stays on one file system.  The number is random, because a
  // process with the same ids in another container may have died and left its temporary file.
  const size_t length = strlen(path);
  memcpy(temporary, path, length);
  memcpy(temporary + length, ".tmp.", 5);
  format_decimal(platform::random_seed() % 1000000000, temporary + length + 5);
  const int fd = platform::file_create(temporary);
  if (fd < 0) {
    return system_error(fd);
  }
  int result = snapshot != nullptr ? write_snapshot(*snapshot, fd, end->has_gzip, js)
                                   : write_profile(fd, end->has_gzip);
  const int closed = platform::file_close(fd);
  if (result == MEMPROF_OK && closed < 0) {
    result = system_error(closed);
  }
  if (result == MEMPROF_OK) {
    const int renamed = platform::file_rename(temporary, path, overwrite);
    result = renamed < 0 ? system_error(renamed) : MEMPROF_OK;
  }
  if (result != MEMPROF_OK) {
    platform::file_remove(temporary);
  }
  return result;
}

}  // namespace memprof
