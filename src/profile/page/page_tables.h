// SPDX-License-Identifier: Apache-2.0
// The tables of a page's data that only grow: texts, frames, sites, kinds of samples, labels; and what one stack
// holds, as numbers of samples of these kinds.
//
// Model: a number, once given, stays: who has the rows of a table up to some size needs only those behind it.
//
// Threads: one builder's own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "profile/files/byte_writer.h"
#include "profile/model/model.h"
#include "profile/model/sample_kind.h"
#include "profile/page/page_frames.h"

namespace memprof::profile {

// What is known of a stack: live blocks, all that were allocated, those at the peak; the program's own
// mappings, and of these what is resident; what was freed soon, what of live blocks is resident, the runtime's own heap.
inline constexpr size_t kPageFamilies = 8;

// So many samples of one kind; of kinds below kFirstPageKind the values are apart.
struct PageEntry {
  uint64_t kind = 0;
  uint64_t samples = 0;

  bool operator==(const PageEntry& other) const { return kind == other.kind && samples == other.samples; }
};
// Sums over samples of several sizes.
inline constexpr uint64_t kTotalsKind = 0;
// Bytes and blocks as they are: exact, or of a file without statistics.
inline constexpr uint64_t kPlainKind = 1;
inline constexpr uint64_t kFirstPageKind = 2;

// Of one family of one stack.
struct PageValues {
  std::vector<PageEntry> entries;
  std::vector<Totals> totals;                    // for entries of kTotalsKind
  std::vector<std::pair<double, double>> plain;  // for those of kPlainKind: bytes, blocks

  void add(const PageValues& more);
  bool operator==(const PageValues& other) const;
};

// What was freed after a time of one class (format/lifetime_class.h), rounded: for pictures.
struct PageLifetime {
  uint32_t lifetime_class = 0;
  uint64_t bytes = 0;
  uint64_t blocks = 0;

  bool operator==(const PageLifetime& other) const {
    return lifetime_class == other.lifetime_class && bytes == other.bytes && blocks == other.blocks;
  }
};

struct PageRow {
  uint32_t node = 0;  // where the stack ends in a PageTree
  uint32_t label = 0;
  std::array<PageValues, kPageFamilies> families;
  std::vector<PageLifetime> lifetimes;  // a class may be in it more than once

  // Of another stack that a page does not tell from this one.
  void add(const PageRow& more);
  bool holds_the_same(const PageRow& other) const;
  bool is_empty() const;
};

class PageTables {
 public:
  struct Sizes {
    size_t texts = 0;
    size_t frames = 0;
    size_t sites = 0;
    size_t kinds = 0;
    size_t labels = 0;
  };

  PageFrames& frames() { return frames_; }
  // All of the row but its node.  `is_after`: of the second profile of a difference.
  PageRow row_of(const Stack& stack, const Profile& profile, bool is_after);

  Sizes sizes() const;
  // The rows of the tables from these on, each table with the number of the rows that follow.
  void write_names(const Sizes& from, ByteWriter* out) const;  // texts, frames, sites
  void write_kinds(const Sizes& from, ByteWriter* out) const;  // kinds, labels

 private:
  struct Label {
    uint32_t process = 0;  // texts
    uint32_t heap = 0;
    uint32_t flags = 0;

    bool operator<(const Label& other) const {
      return std::tie(process, heap, flags) < std::tie(other.process, other.heap, other.flags);
    }
  };

  void add_samples(const SampleKind& kind, uint64_t samples, PageValues* values);
  void add_totals(const Totals& totals, uint64_t rate_bytes, PageValues* values);

  PageFrames frames_;
  std::map<SampleKind, uint64_t> kind_index_;
  std::vector<SampleKind> kinds_;
  std::map<Label, uint32_t> label_index_;
  std::vector<Label> labels_;
};

// What the stacks hold: the numbers of entries, the entries, and the values that are apart, family by family; then
// lifetimes.
void write_values(const std::vector<const PageRow*>& rows, ByteWriter* out);

// What a page of it means by freed soon.
uint64_t page_temporary_ns(const Profile& profile);

}  // namespace memprof::profile
