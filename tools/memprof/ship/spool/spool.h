// SPDX-License-Identifier: Apache-2.0
// The folder where looks wait until all targets have them, with what each process had allocated at its last look.
//
//   spool.state              version, a name of its own, the clock of looks; locked while a shipper runs
//   looks/SEQUENCE           what is sent: a line of JSON (labels, time, size), then the profile
//   baselines/LABELS.SEQUENCE  of a set of labels what its processes had allocated at that look
//   targets/HASH.state       how far a target is (target_state.h)
//
// Model: a look counts from the moment when its file has its name.  The baseline of it is written before, the baseline
// before it is removed after; nobody sends it earlier.  So of two baselines of one set of labels the newer one is true if
// its look is there, whenever the shipper was killed: no increment is twice in the spool, and none is missing.
//
// Threads: all functions may be called from several threads, but for commit(), load() and those on baselines: one thread.
// Failure: opening throws Failure; others throw profile::Error.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "memprof/ship/looks/alloc_totals.h"
#include "memprof/ship/looks/labels.h"
#include "memprof/ship/spool/kept_page.h"
#include "memprof/ship/spool/look_clock.h"

namespace memprof::cli {

struct LookFacts {
  uint64_t sequence = 0;
  int64_t time_ms = 0;  // since 1970
  Labels labels;
  AllocTotals allocated;  // the sum of its increments
};

struct Look : LookFacts {
  std::string pprof;  // gzip
};

// One that waits.
struct QueuedLook {
  uint64_t sequence = 0;
  int64_t time_ms = 0;
  int64_t allocated_bytes = 0;
};

class Spool {
 public:
  // Makes the folder where it is not there.  `max_bytes`: of looks that wait.
  Spool(const std::string& folder, uint64_t max_bytes);

  const std::string& folder() const { return folder_; }
  const std::string& id() const { return id_; }
  std::string target_path(const std::string& hash) const { return folder_ + "/targets/" + hash + ".state"; }

  // What waited when the shipper began, by sequence.  Files that are damaged are removed and counted.
  const std::vector<QueuedLook>& waiting() const { return waiting_; }
  uint64_t damaged() const { return damaged_; }
  // The sequence of the last look that there was.
  uint64_t newest() const { return next_sequence_ - 1; }

  // The time for the next look, of all sets of labels together.
  int64_t next_time(int64_t now_ms);

  // Empty: nothing is known of it.
  StackTotals totals_of(const std::string& arena) const;
  // Of the last look with these labels; an empty one: there is none.
  Baseline baseline_of(const std::string& labels) const;
  bool knows(const std::string& arena) const { return where_.count(arena) != 0; }
  // Those of which nothing is in `present` any more are forgotten.  Returns how many.
  size_t forget_but(const std::vector<std::string>& present);

  bool has_room(uint64_t bytes) const { return bytes_ + bytes <= max_bytes_; }
  uint64_t bytes() const { return bytes_; }

  // `labels`: their hash.  Throws where there is no room on the disk: nothing has changed then.
  QueuedLook commit(const std::string& labels, const Baseline& baseline, Look look);

  Look read(uint64_t sequence) const;
  void remove(uint64_t sequence);

 private:
  void open_state();
  void save_state();
  void load();
  std::string look_path(uint64_t sequence) const;
  std::string baseline_path(const std::string& labels, uint64_t sequence) const;

  const std::string folder_;
  const uint64_t max_bytes_;
  KeptPage state_;
  std::string id_;
  LookClock clock_;
  uint64_t next_sequence_ = 1;
  std::vector<QueuedLook> waiting_;
  uint64_t damaged_ = 0;
  std::atomic<uint64_t> bytes_{0};
  std::map<std::string, uint64_t> newest_;    // by hash of labels: the sequence of its baseline
  std::map<std::string, std::string> where_;  // by arena: the hash of the labels that it is with
};

// As the file of a look has it, and back.
std::string encode(const Look& look);
// Throws profile::Error "NAME: what is wrong".
Look decode_look(std::string bytes, const std::string& name);

}  // namespace memprof::cli
