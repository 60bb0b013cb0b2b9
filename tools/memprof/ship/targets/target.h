// SPDX-License-Identifier: Apache-2.0
// Where looks are sent to.  A new kind is a file in targets/ and a line of the table.
//
// Threads: an object is one thread's at a time, but for give_up_at().
// Failure: making one throws Failure for what is wrong with what the user gave.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "memprof/io/http/http_access.h"
#include "memprof/ship/spool/spool.h"

namespace memprof::cli {

// What became of a look.
struct Sent {
  enum class End {
    kAccepted,
    kWasThere,  // accepted before
    kPartly,    // some of it was accepted, nobody knows what; never to be sent again
    kRefused,   // never to be taken
    kLater,     // try again
  };
  End end = End::kLater;
  std::string why;                     // if it was not accepted; or a warning
  uint64_t rejected_profiles = 0;      // kPartly, kRefused: as the target counts them
  std::optional<double> wait_seconds;  // as the target asked for
  bool may_be_there = false;           // kLater: the target may have taken it
};

class ShipTarget {
 public:
  ShipTarget() = default;
  virtual ~ShipTarget() = default;
  ShipTarget(const ShipTarget&) = delete;
  ShipTarget& operator=(const ShipTarget&) = delete;

  // For messages and labels: without passwords.
  virtual std::string name() const = 0;
  // `is_last`: the shipper ends and waits for no slow target.
  virtual Sent send(const Look& look, bool is_last) = 0;

  // From another thread: what is being sent then is given up, where the target can.
  void give_up_at(std::chrono::steady_clock::time_point end) {
    end_ns_ = std::chrono::duration_cast<std::chrono::nanoseconds>(end.time_since_epoch()).count();
  }

 protected:
  const std::atomic<int64_t>& end_ns() const { return end_ns_; }

 private:
  std::atomic<int64_t> end_ns_{INT64_MAX};
};

// How targets behind a network are reached.
struct TargetOptions {
  std::string option = "--to";  // that names the targets, for messages
  HttpAccess access;
  std::string spool_id;
};

struct TargetKind {
  const char* what;  // in --help, as "http://HOST:PORT     Pyroscope"
  bool (*is)(const std::string& text);
  std::unique_ptr<ShipTarget> (*make)(const std::string& text, const TargetOptions& options);
};

const std::vector<TargetKind>& target_kinds();

// Throws Failure where no kind knows the text.
std::unique_ptr<ShipTarget> make_target(const std::string& text, const TargetOptions& options);

}  // namespace memprof::cli
