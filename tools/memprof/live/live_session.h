// SPDX-License-Identifier: Apache-2.0
// Shows running processes look after look: as a view with keys on a terminal, or as text.
//
// Threads: one command's own.
// Failure: throws profile::Error where the first look does; a later one that fails is told in the view.
#pragma once

#include <cstddef>
#include <optional>

#include "memprof/live/live_looks.h"
#include "profile/live/live_model.h"

namespace memprof::cli {

struct LiveOptions {
  profile::LiveChoice choice;
  std::optional<size_t> rows;  // of the text
  double interval_s = 2;
  std::optional<size_t> count;  // of texts
};

// Both return the status of the command.
int show_live(const LiveOptions& options, LiveLooks& looks);
int print_live(const LiveOptions& options, LiveLooks& looks);

}  // namespace memprof::cli
