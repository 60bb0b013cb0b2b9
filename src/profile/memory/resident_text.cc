// SPDX-License-Identifier: Apache-2.0
#include "profile/memory/resident_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "profile/text/units.h"

namespace memprof::profile {
namespace {

std::string bytes(double value) {
  return (value < 0 ? "-" : "") + format_bytes(std::abs(value));
}

std::string bytes(uint64_t value) {
  return format_bytes(static_cast<double>(value));
}

struct Part {
  const char* name;
  uint64_t value;
};

// Mappings that are no allocator's.
std::vector<Part> other_parts(const ResidentMemory& m, const std::string& runtime) {
  const uint64_t buffers = mapped_buffer_bytes(m);
  return {{"files and static data", m.files_bytes},
          {"shared memory", m.shared_bytes},
          {"thread stacks", m.stacks_bytes},
          {"code made at run time", m.code_bytes},
          {runtime.c_str(), m.runtime_bytes - buffers},
          {"mapped beside it (WebAssembly, resizable ArrayBuffers)", buffers},
          {"memprof", m.memprof_bytes}};
}

// The sum goes on in a further line before a part that has no room, below where the first one begins.
class SumLines {
 public:
  explicit SumLines(const std::string& begin) : lines_{begin} {}
  void add(const std::string& part) {
    constexpr size_t kWidth = 112;
    if (lines_.back().size() + 1 + part.size() > kWidth) lines_.emplace_back(10, ' ');
    lines_.back() += ' ' + part;
  }
  std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

// A part below this is not worth a place in one line.
double min_shown(const ResidentMemory& m) {
  constexpr double kFew = 0.001;
  return kFew * static_cast<double>(m.total_bytes);
}

// Why the size of what allocators keep is not known.
const char* unknown_free(const ResidentMemory& m) {
  return (m.state & kResidentNoGlibc) != 0     ? "unknown (no glibc, whose lists could be read, is loaded)"
         : (m.state & kResidentOtherHeap) != 0 ? "unknown (an allocator other than glibc's does not say)"
         : (m.state & kResidentCut) != 0       ? "unknown (there was no time to look)"
                                               : "unknown";
}

// What is known of mappings that no part has.
struct Mappings {
  bool are_recorded;  // those of the program
  std::string owner;  // whose heap they may be
};

std::string in_mappings(const ResidentMemory& m, double size_bytes, const Mappings& mappings) {
  const std::string text = bytes(size_bytes) + " in mappings ";
  if (mappings.are_recorded) return text + "without a sampled block: --mmap lists the program's own";
  if (!mappings.owner.empty()) return text + "that malloc does not have: " + mappings.owner + ", most likely";
  const bool is_silent = (m.state & kResidentFreeKnown) == 0 && (m.state & kResidentOtherHeap) != 0;
  return text + (is_silent ? "without a sampled block: most likely free, and kept by the allocator"
                           : "of unknown origin: memprof run --mmap shows who maps them");
}

// Lists of free blocks are read as long as it costs little.
std::string in_allocator(const ResidentMemory& m, double size_bytes) {
  if ((m.state & kResidentFreeKnown) != 0 && (m.state & kResidentOtherHeap) != 0)
    return bytes(size_bytes) + " in the memory of allocators of which one does not say what it keeps free";
  return bytes(size_bytes) + " in the allocator's memory" +
         ((m.state & kResidentFreeCut) != 0 ? ", whose lists of free blocks were read in part" : "");
}

// Why less than nothing is not explained.
std::string reason_below_zero(const ResidentMemory& m, const Mappings& mappings) {
  const double in_heap = m.unexplained_heap_bytes();
  const double elsewhere = m.unexplained_bytes() - in_heap;
  const double min = min_shown(m);
  const std::string estimate = fmt::format("the heap's estimate is {} above what there is", bytes(-in_heap));
  const bool is_elsewhere = elsewhere <= -min || elsewhere < in_heap;
  if (!is_elsewhere)
    return elsewhere >= min ? in_mappings(m, elsewhere, mappings) + "; " + estimate : estimate;
  const std::string heap = in_heap >= min    ? in_allocator(m, in_heap) + "; "
                           : in_heap <= -min ? estimate + "; "
                                             : "";
  return fmt::format(
      "{}RSS is {} below the sum of the mappings: pages that were only read, or it changed meanwhile", heap,
      bytes(-elsewhere));
}

// Below zero the reason stands in the same line.
void add_unexplained(const ResidentMemory& m, const Mappings& known, SumLines* lines) {
  const double in_heap = m.unexplained_heap_bytes();
  const double elsewhere = m.unexplained_bytes() - in_heap;
  const double min = min_shown(m);
  const std::string text = "+ not explained " + bytes(m.unexplained_bytes());
  const std::string mappings = in_mappings(m, elsewhere, known);
  if (m.unexplained_bytes() < 0) {
    lines->add(fmt::format("{} ({})", text, reason_below_zero(m, known)));
    return;
  }
  lines->add(text);
  if (elsewhere <= -min || in_heap <= -min) {
    lines->add(fmt::format("({})", elsewhere <= -min
                                       ? reason_below_zero(m, known)
                                       : fmt::format("{}; the heap's estimate is {} above what there is",
                                                     mappings, bytes(-in_heap))));
  } else if (elsewhere >= min && in_heap >= min) {
    lines->add(fmt::format("({}, {})", in_allocator(m, in_heap), mappings));
  } else if (elsewhere >= min) {
    lines->add(fmt::format("({})", mappings));
  } else if (in_heap >= min && (m.state & kResidentFreeCut) != 0) {
    lines->add(fmt::format("({})", in_allocator(m, in_heap)));
  }
}

// Parts of parts above: nothing here is added to them.
std::string js_line(const ResidentMemory& m) {
  const uint64_t live = std::min(m.js_live_bytes, m.js_used_bytes);
  const std::string objects =
      live == 0 ? fmt::format("objects (garbage included) {}", bytes(m.js_used_bytes))
                : fmt::format("live objects {}, garbage {}", bytes(live), bytes(m.js_used_bytes - live));
  const std::string spaces =
      m.js_young_bytes + m.js_old_bytes + m.js_large_bytes == 0
          ? ""
          : fmt::format(" (spaces: young {}, old {}, large objects {})", bytes(m.js_young_bytes),
                        bytes(m.js_old_bytes), bytes(m.js_large_bytes));
  // A little more than all blocks is the error of their estimate.
  const bool are_blocks = m.js_external_bytes <= m.live_bytes + m.live_bytes / 4;
  return fmt::format(
      "           V8 counts {} of its heap in memory{}: {}, room {}; machine code "
      "{} of it; its objects keep {} {}",
      bytes(m.js_bytes), spaces, objects, bytes(m.js_bytes - std::min(m.js_used_bytes, m.js_bytes)),
      bytes(m.js_code_bytes), bytes(m.js_external_bytes),
      are_blocks ? "of the blocks" : "beside it, in blocks and in mappings");
}

// Nothing here is added to the parts above.
std::string counted_line(const ResidentMemory& m) {
  std::string text = fmt::format("           {} counts {} in blocks and {} for its tables",
                                 counting_allocators(m), bytes(m.counted_bytes), bytes(m.tables_bytes));
  if ((m.state & kResidentCounted) != 0) {
    text += fmt::format(" (the samples say {} with slack); by its count not explained is {}",
                        bytes(m.live_bytes + m.slack_bytes), bytes(m.unexplained_by_count_bytes()));
    if (m.unexplained_by_count_bytes() < 0) text += " (it counts pages that are not in memory, and is older)";
  }
  return text + (m.counted_age_ns == 0
                     ? "; asked then"
                     : fmt::format("; asked {} before, at the last sample",
                                   format_duration_ns(static_cast<double>(m.counted_age_ns))));
}

// Of what could not be looked at no figure is shown: it would be too small, or 0.
std::vector<std::string> lines_without_heap(const ResidentMemory& m, bool is_before_end) {
  SumLines sum(fmt::format("{:<10} {} (RSS{}): files and static data {}", "Resident:", bytes(m.total_bytes),
                           is_before_end ? " at the end" : "", bytes(m.files_bytes)));
  sum.add("+ shared memory " + bytes(m.shared_bytes));
  const uint64_t known = m.files_bytes + m.shared_bytes;
  sum.add(fmt::format("+ {} of heap, stacks and all else ({} of live blocks, in memory or not)",
                      bytes(m.total_bytes - std::min(m.total_bytes, known)), bytes(m.live_bytes)));
  std::vector<std::string> lines = sum.take();
  lines.emplace_back(
      "           heap, slack, what is kept free, fragmentation and what is not explained: not known: the time for "
      "it ran out");
  return lines;
}

}  // namespace

std::string counting_allocators(const ResidentMemory& memory) {
  const bool is_jemalloc = (memory.state & kResidentJemalloc) != 0;
  const bool is_tcmalloc = (memory.state & kResidentTcmalloc) != 0;
  return is_jemalloc && is_tcmalloc ? "jemalloc and tcmalloc"
         : is_jemalloc              ? "jemalloc"
         : is_tcmalloc              ? "tcmalloc"
                                    : "";
}

uint64_t mapped_buffer_bytes(const ResidentMemory& memory) {
  constexpr uint64_t kOwnTables = uint64_t{4} << 20;  // V8 has mappings that it does not count as heap
  if (memory.js_bytes == 0 || memory.runtime_bytes <= memory.js_bytes) return 0;
  const uint64_t beside = memory.runtime_bytes - memory.js_bytes;
  return beside > kOwnTables ? beside : 0;
}

std::string runtime_heap_name(const ResidentMemory& memory) {
  switch (static_cast<ResidentRuntime>(memory.runtime)) {
    case ResidentRuntime::kV8:
      return "V8's heap";
    case ResidentRuntime::kJvm:
      return "the JVM's heap";
    case ResidentRuntime::kGo:
      return "Go's heap";
    case ResidentRuntime::kDotNet:
      return ".NET's heap";
    case ResidentRuntime::kBoehm:
      return "the heap of the Boehm collector";
    case ResidentRuntime::kNone:
      break;
  }
  return {};
}

std::vector<std::string> resident_lines(const ResidentMemory& m, bool is_before_end, bool has_mappings,
                                        const std::string& owner) {
  if (!m.is_known()) return {};
  if (!m.is_heap_known()) return lines_without_heap(m, is_before_end);
  SumLines sum(fmt::format("{:<10} {} (RSS{}): live heap {}", "Resident:", bytes(m.total_bytes),
                           is_before_end ? " at the end" : "", bytes(m.live_bytes)));
  if (m.absent_bytes != 0) sum.add(fmt::format("- {} not resident", bytes(m.absent_bytes)));
  sum.add(fmt::format("+ allocator slack {}", bytes(m.slack_bytes)));
  if ((m.state & kResidentFreeKnown) != 0) {
    sum.add(fmt::format("+ free, kept by the allocator {}{}",
                        (m.state & kResidentFreeCut) != 0 ? "at least " : "", bytes(m.free_bytes)));
  } else if (m.heap_bytes != 0) {
    sum.add(std::string("+ free, kept by the allocator: ") + unknown_free(m));
  }
  const std::string runtime = runtime_heap_name(m);
  for (const Part& part : other_parts(m, runtime)) {
    if (part.value != 0) sum.add(fmt::format("+ {} {}", part.name, bytes(part.value)));
  }
  add_unexplained(m, {has_mappings, owner}, &sum);
  std::vector<std::string> lines = sum.take();
  std::string third = fmt::format(
      "           fragmentation {:.0f} %: of the allocators' {} in memory {} are not blocks of the program",
      100 * m.fragmentation(), bytes(m.heap_bytes),
      bytes(m.fragmentation() * static_cast<double>(m.heap_bytes)));
  if (m.swap_bytes != 0) third += fmt::format("; swapped out: {}", bytes(m.swap_bytes));
  lines.push_back(third);
  if (m.js_bytes != 0) lines.push_back(js_line(m));
  if (!counting_allocators(m).empty()) lines.push_back(counted_line(m));
  if ((m.state & kResidentCut) != 0) {
    lines.push_back("           Not all mappings were looked at: it would have taken the program's time.");
  }
  return lines;
}

std::string resident_at_peak(uint64_t resident_bytes, uint64_t files_bytes, uint64_t free_bytes,
                             double heap_bytes) {
  if (files_bytes == 0 || files_bytes > resident_bytes) return {};
  std::string text = "resident then: files and shared memory " + bytes(files_bytes);
  if (free_bytes != 0) text += ", free and kept " + bytes(free_bytes);
  const double rest =
      static_cast<double>(resident_bytes - files_bytes) - static_cast<double>(free_bytes) - heap_bytes;
  return text + (rest >= 0 ? fmt::format(", heap {}, not split {}", bytes(heap_bytes), bytes(rest))
                           : fmt::format(", the rest heap, {} less than its estimate", bytes(-rest)));
}

std::string resident_line(const ResidentMemory& m) {
  if (!m.is_known()) return {};
  if (!m.is_heap_known())
    return bytes(m.total_bytes) + " (its parts are not known: the time for them ran out)";
  std::string text = fmt::format("{} (heap {}", bytes(m.total_bytes), bytes(m.blocks_bytes()));
  const double min = min_shown(m);
  const std::string runtime = runtime_heap_name(m);
  std::vector<Part> parts{{"slack", m.slack_bytes}, {"kept free", m.free_bytes}};
  for (const Part& part : other_parts(m, runtime)) parts.push_back(part);
  for (const Part& part : parts) {
    if (static_cast<double>(part.value) >= min) text += fmt::format(", {} {}", part.name, bytes(part.value));
  }
  text += ", not explained " + bytes(m.unexplained_bytes());
  return text + (m.unexplained_bytes() < 0 ? ": " + reason_below_zero(m, {false, {}}) : "") + ")";
}

}  // namespace memprof::profile
