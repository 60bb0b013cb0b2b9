// SPDX-License-Identifier: Apache-2.0
// A live sample comes, goes or stands for more: all sums that have a part of it, together.  core/engine includes
// this, and a system's folder for record_free_where.
//
// Model: what a stack has allocated, minus what it has freed, is what its live samples stand for, at any time
// when nobody is between the two.
//
// Threads: any; who took a record out, or changed its rate, accounts for it.
// Signals: may be interrupted by themselves.  Allocates: never.
#pragma once

#include <cstdint>

#include "core/sampling/weight.h"
#include "core/tables/heap_map.h"

namespace memprof::profiler {

// Takes the record out, and the mark of its address.  false: it is not there any more.
bool take(uint64_t address, HeapMap::Token token, LiveSample* freed, const KeptFrom& kept = {});

// Its record is about to come into the live map; its stack is held for it.
void account_live(const LiveSample& sample, const Weight& weight);
// It found no room: its mark goes, and its stack is given back.
void account_refused(const LiveSample& sample, const Weight& weight);

// It was taken out; its stack is given back, unless the record stays for readers.
void account_freed(const LiveSample& freed, const KeptFrom& kept = {});

// It was taken out though its block lives: others stand for it.
void account_thinned(const LiveSample& thinned, uint64_t now_ns);
// Its record has the rate of `now` since, and its stack is held by the caller.  `is_first_kept`: the record knows by
// what rate it was counted at first (HeapMap::keep_first_rate); else it counts as if it had had the new one.
void account_new_rate(const LiveSample& before, const LiveSample& now, bool is_first_kept, uint64_t now_ns);

// Its record has the stack `to` since; both stacks are held by the caller, and its own uses go with it.  By
// `first_rate` it was counted as allocated.
void account_moved(const LiveSample& sample, uint64_t first_rate, uint32_t to);

// Takes out all records of blocks (not of those that the program reported itself) that `is_freed(address, context)` is
// true of; it is asked of each.  Not from a hook.
void record_free_where(bool (*is_freed)(uint64_t address, const void* context), const void* context);

}  // namespace memprof::profiler
