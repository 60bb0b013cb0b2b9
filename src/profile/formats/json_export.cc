// SPDX-License-Identifier: Apache-2.0
#include "profile/formats/json_export.h"

#include <fmt/format.h>

#include <initializer_list>
#include <iterator>
#include <vector>

#include "format/profile_facts.h"
#include "profile/model/estimate.h"
#include "profile/model/metric.h"
#include "profile/model/stack_health.h"
#include "profile/names/frame_name.h"
#include "profile/text/markup/json_text.h"

namespace memprof::profile {
namespace {

std::string estimate_json(const Estimate& estimate) {
  if (!estimate.has_interval) {
    return fmt::format(R"({{"value":{},"low":null,"high":null}})", estimate.value);
  }
  return fmt::format(R"({{"value":{},"low":{},"high":{}}})", estimate.value, estimate.low, estimate.high);
}

// The metrics that the profile has, as members of an object.
std::string estimates_json(const Profile& profile, const Accumulator& sum) {
  std::string out = "{";
  for (const Metric metric : kMetrics) {
    if (profile.has_metric[metric_index(metric)]) {
      out += fmt::format("{}\"{}\":{}", out.size() == 1 ? "" : ",", metric_name(metric),
                         estimate_json(sum.estimate(metric)));
    }
  }
  return out + "}";
}

std::string frame_json(const Frame& frame) {
  std::string out = fmt::format("{{\"name\":{}", json_text(frame.name));
  if (!frame.file.empty()) {
    out += fmt::format(",\"file\":{}", json_text(frame.file));
  }
  if (frame.line != 0) {
    out += fmt::format(",\"line\":{}", frame.line);
  }
  return out + "}";
}

std::string locations_json(const Profile& profile) {
  std::string out;
  for (const Location& location : profile.locations) {
    out +=
        fmt::format("{}{{\"address\":\"{:#x}\",\"mapping\":", out.empty() ? "\n" : ",\n", location.address);
    out += location.mapping == kNoMapping ? "null" : fmt::format("{}", location.mapping);
    out += ",\"frames\":[";
    const char* separator = "";
    for (const Frame& frame : location_frames(profile, location)) {
      out += separator + frame_json(frame);
      separator = ",";
    }
    out += "]}";
  }
  return out;
}

std::string mappings_json(const Profile& profile) {
  std::string out;
  for (const Mapping& mapping : profile.mappings) {
    out +=
        fmt::format(R"({}{{"path":{},"build_id":{},"start":"{:#x}","limit":"{:#x}","file_offset":"{:#x}"}})",
                    out.empty() ? "\n" : ",\n", json_text(mapping.path), json_text(mapping.build_id),
                    mapping.start, mapping.limit, mapping.file_offset);
  }
  return out;
}

std::string births_json(const std::vector<Birth>& births) {
  std::string out;
  for (const Birth& birth : births) {
    out += fmt::format(R"({}{{"part":{},"samples":{},"bytes":{},"blocks":{}}})", out.empty() ? "" : ",",
                       birth.part, birth.samples, birth.weight_bytes, birth.weight_count);
  }
  return out;
}

std::string stack_json(const Profile& profile, const Stack& stack) {
  Accumulator sum;
  sum.add(stack);
  std::string out = fmt::format("{{\"locations\":[{}],\"metrics\":{}", fmt::join(stack.locations, ","),
                                estimates_json(profile, sum));
  if (!stack.heap.empty()) {
    out += fmt::format(",\"heap\":{}", json_text(stack.heap));
  }
  if (!stack.process.empty()) {
    out += fmt::format(",\"process\":{}", json_text(stack.process));
  }
  if (stack.has_statistics) {
    out += fmt::format(",\"walk\":\"{}\",\"allocated_samples\":{},\"freed_samples\":{}",
                       walk_name(stack.walk), stack.allocated.samples, stack.freed.samples);
    const double mean_lifetime_ns =
        stack.freed.weight_count > 0 ? stack.lifetime_ns / stack.freed.weight_count : 0;
    out += mean_lifetime_ns > 0 ? fmt::format(",\"mean_lifetime_ns\":{}", mean_lifetime_ns)
                                : ",\"mean_lifetime_ns\":null";
    out += ",\"lifetimes\":[";
    const char* separator = "";
    for (const Lifetime& lifetime : stack.lifetimes) {
      out += fmt::format(R"({}{{"from_ns":{},"samples":{},"bytes":{},"blocks":{}}})", separator,
                         lifetime_class_begin_ns(lifetime.lifetime_class), lifetime.samples,
                         lifetime.weight_bytes, lifetime.weight_count);
      separator = ",";
    }
    out += "],\"births\":[" + births_json(stack.births);
    if (!stack.load_births.empty()) out += "],\"load_births\":[" + births_json(stack.load_births);
    out += "],\"live\":[";
    separator = "";
    for (const LiveGroup& group : stack.live) {
      out += fmt::format(R"({}{{"size_bytes":{},"rate_bytes":{},"samples":{}}})", separator, group.size_bytes,
                         group.rate_bytes, group.samples);
      separator = ",";
    }
    out += ']';
  }
  return out + "}";
}

// The facts of one part, as members of an object, each with a comma behind it.
std::string facts_json(const ProfileFacts& facts, FactPart part) {
  std::string out;
  for (const ProfileFact& fact : kProfileFacts) {
    if (fact.part != part || fact.json == nullptr) continue;
    out += fact.flag != nullptr ? fmt::format("\"{}\":{},", fact.json, facts.*fact.flag)
                                : fmt::format("\"{}\":{},", fact.json, facts.*fact.number);
  }
  return out;
}

}  // namespace

std::string write_json(const Profile& profile) {
  Accumulator total;
  for (const Stack& stack : profile.stacks) {
    total.add(stack);
  }
  std::string out = "{\"format\":\"memprof-profile\",\"version\":1,\n";
  out += fmt::format(R"("program":{},"pid":{},"rate_bytes":{},"time_unix_ns":{},"duration_ns":{},)",
                     json_text(profile.program), profile.pid, profile.rate_bytes, profile.time_unix_ns,
                     profile.duration_ns);
  for (const std::initializer_list<FactPart> line :
       {std::initializer_list<FactPart>{FactPart::kSamples},
        {FactPart::kMoments, FactPart::kEnds},
        {FactPart::kFullTables, FactPart::kBudget, FactPart::kMissing},
        {FactPart::kImports}}) {
    out += '\n';
    for (const FactPart part : line) out += facts_json(profile, part);
  }
  if (profile.rates.size() > 1) {
    out += "\n\"rates\":[";
    for (size_t i = 0; i < profile.rates.size(); ++i) {
      const RateUse& use = profile.rates[i];
      out += fmt::format(R"({}{{"rate_bytes":{},"weight_bytes":{},"time_ns":{}}})", i == 0 ? "" : ",",
                         use.rate_bytes, use.weight_bytes, use.time_ns);
    }
    out += "],";
  }
  if (profile.load.is_known()) {
    out += fmt::format("\n\"load\":{{\"bytes\":{},\"at_ns\":[{}]}},", profile.load.bytes,
                       fmt::join(profile.load.at_ns, ","));
  }
  out += "\n\"walks\":{";
  for (size_t i = 0; i < profile.walks.size(); ++i) {
    out += fmt::format("{}\"{}\":{}", i == 0 ? "" : ",", walk_name(static_cast<Walk>(i)), profile.walks[i]);
  }
  out += fmt::format("}},\n\"totals\":{},\n\"mappings\":[{}\n],\n\"locations\":[{}\n],\n\"stacks\":[",
                     estimates_json(profile, total), mappings_json(profile), locations_json(profile));
  const char* separator = "\n";
  for (const Stack& stack : profile.stacks) {
    out += separator + stack_json(profile, stack);
    separator = ",\n";
  }
  out += "\n]}\n";
  return out;
}

}  // namespace memprof::profile
