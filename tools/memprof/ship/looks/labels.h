// SPDX-License-Identifier: Apache-2.0
// The labels of what is shipped: few, short, and in an order.  Services make a series of each set of them.
//
// Threads: plain values.
// Failure: what a user gave and is wrong throws Failure; what was found is shortened.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace memprof::cli {

using Labels = std::map<std::string, std::string>;

inline constexpr size_t kMaxLabels = 24;     // Pyroscope takes 30, of which it makes some itself
inline constexpr size_t kMaxOwnLabels = 16;  // those that a user gives
inline constexpr size_t kMaxLabelNameBytes = 63;
inline constexpr size_t kMaxLabelValueBytes = 200;

inline constexpr char kServiceLabel[] = "service_name";
inline constexpr char kHostLabel[] = "host";
// Of single looks: the percent of its limit that the group's memory has passed; its processes waited for memory; the OOM
// killer ended one.
inline constexpr char kPressureLabel[] = "memory_pressure";
inline constexpr char kStalledLabel[] = "memory_stalled";
inline constexpr char kOomKilledLabel[] = "oom_killed";

// `option`: stands in messages, as "--label".  Adds NAME=VALUE; a name that is there already is given twice.
void add_label(const std::string& option, const std::string& text, Labels* labels);

// A value as a user gives it: throws Failure where it is empty, too long, or not text.
void check_label_value(const std::string& option, const std::string& value);
void check_label_name(const std::string& option, const std::string& name);

// What the machine says: at most kMaxLabelValueBytes, no control characters, valid UTF-8.
std::string bounded_label_value(const std::string& text);

// service_name="web" host="a"
std::string label_text(const Labels& labels);

// 16 hexadecimal digits, the same for the same labels.
std::string label_hash(const Labels& labels);

}  // namespace memprof::cli
