// SPDX-License-Identifier: Apache-2.0
#include "profile/gate/limit_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "profile/gate/toml_reader.h"
#include "profile/model/error.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

struct LimitKey {
  const char* name;
  Metric metric;
  LimitPer per;
};

constexpr LimitKey kLimitKeys[] = {
    {"peak", Metric::kPeakSpace, LimitPer::kWhole},
    {"live", Metric::kInuseSpace, LimitPer::kWhole},
    {"alloc", Metric::kAllocSpace, LimitPer::kWhole},
    {"peak_objects", Metric::kPeakObjects, LimitPer::kWhole},
    {"live_objects", Metric::kInuseObjects, LimitPer::kWhole},
    {"alloc_objects", Metric::kAllocObjects, LimitPer::kWhole},
    {"growth_per_iteration", Metric::kInuseSpace, LimitPer::kIteration},
    {"alloc_per_iteration", Metric::kAllocSpace, LimitPer::kIteration},
    {"allocations_per_iteration", Metric::kAllocObjects, LimitPer::kIteration},
    {"alloc_per_call", Metric::kAllocSpace, LimitPer::kCall},
    {"allocations_per_call", Metric::kAllocObjects, LimitPer::kCall},
};

// Keys of a check that are no limits.
const std::vector<std::string> kCheckKeys = {"name",       "command", "profile", "baseline",
                                             "fail_on",    "rate",    "process", "follow",
                                             "iterations", "site",    "row",     "hide"};
const std::vector<std::string> kSiteKeys = {"name", "focus", "ignore", "calls", "may_be_missing"};
const std::vector<std::string> kRowKeys = {"name", "by", "focus", "ignore", "native"};
// What the plugin of a test runner reads (docs/check.md).
const std::vector<std::string> kTestKeys = {"name", "peak", "live"};

bool is_wanted(const LimitKey& key, ScopeKind kind) {
  if (kind == ScopeKind::kRow) return key.per == LimitPer::kWhole;
  return kind == ScopeKind::kSite || key.per != LimitPer::kCall;
}

std::vector<std::string> keys_of(ScopeKind kind, const std::vector<std::string>& others) {
  std::vector<std::string> names = others;
  for (const LimitKey& key : kLimitKeys) {
    if (is_wanted(key, kind)) names.emplace_back(key.name);
  }
  return names;
}

GateLimit read_limit(const TomlReader& table, const LimitKey& key) {
  GateLimit limit;
  limit.key = key.name;
  limit.line = table.line_of(key.name);
  limit.metric = key.metric;
  limit.per = key.per;
  if (metric_is_bytes(key.metric)) {
    limit.amount = table.text_or_number(key.name);
    const auto bytes = parse_bytes(limit.amount);
    if (!bytes) {
      table.refuse(key.name,
                   fmt::format("'{}' is no size; write a number and a unit in quotes, like \"64 MB\" or "
                               "\"512 KiB\" (B, KB, MB, GB: powers of 1024)",
                               limit.amount));
    }
    limit.max = static_cast<double>(*bytes);
    return limit;
  }
  limit.max = table.number(key.name);
  limit.amount = table.text_or_number(key.name);
  return limit;
}

void read_limits(const TomlReader& table, GateScope* scope) {
  for (const LimitKey& key : kLimitKeys) {
    if (is_wanted(key, scope->kind) && table.has(key.name)) scope->limits.push_back(read_limit(table, key));
  }
}

std::optional<Pattern> read_pattern(const TomlReader& table, const char* key) {
  if (!table.has(key)) return std::nullopt;
  try {
    return Pattern(table.text(key));
  } catch (const Error& error) {
    table.refuse(key, error.what());
  }
}

std::string name_or(const TomlReader& table, const std::string& other) {
  return table.has("name") ? table.text("name") : other;
}

GateScope read_site(const TomlReader& table, const GateCheck& check) {
  GateScope site;
  site.kind = ScopeKind::kSite;
  site.line = table.line();
  table.require_known(keys_of(ScopeKind::kSite, kSiteKeys), "[[site]]");
  site.filter = {read_pattern(table, "focus"), read_pattern(table, "ignore"), check.process};
  if (!site.filter.focus) {
    table.refuse("",
                 "a site needs focus, an expression that functions, files or modules match as in memprof "
                 "report --focus");
  }
  site.name = name_or(table, site.filter.focus->text());
  if (table.has("may_be_missing")) site.may_be_missing = table.boolean("may_be_missing");
  if (table.has("calls")) {
    site.calls = table.number("calls");
    if (site.calls <= 0) table.refuse("calls", "give how often the function is called, 1 or more");
  }
  read_limits(table, &site);
  if (site.limits.empty()) table.refuse("", "the site has no limit");
  for (const GateLimit& limit : site.limits) {
    if (limit.per == LimitPer::kCall && site.calls == 0) {
      table.refuse(limit.key,
                   "sampling does not count calls; say with calls how often the function is called " +
                       std::string(check.iterations.empty() ? "in the run" : "in an iteration"));
    }
  }
  return site;
}

GateScope read_row(const TomlReader& table, const GateCheck& check) {
  GateScope row;
  row.kind = ScopeKind::kRow;
  row.line = table.line();
  table.require_known(keys_of(ScopeKind::kRow, kRowKeys), "[[row]]");
  row.filter = {read_pattern(table, "focus"), read_pattern(table, "ignore"), check.process};
  if (table.has("by")) {
    const auto by = group_by_from_name(table.text("by"));
    if (!by) {
      table.refuse("by", fmt::format("'{}' is not function, line, file, module, heap, process or thread",
                                     table.text("by")));
    }
    row.by = *by;
  }
  if (table.has("native")) row.has_native = table.boolean("native");
  row.name = name_or(table, fmt::format("any {}", group_by_name(row.by)));
  read_limits(table, &row);
  if (row.limits.empty()) table.refuse("", "the row has no limit");
  return row;
}

void read_iterations(const TomlReader& table, GateCheck* check) {
  check->iterations = table.counts("iterations");
  const auto& counts = check->iterations;
  if (counts.empty() || counts.size() > 2) {
    table.refuse("iterations", "give one count, or two to compare, like [100, 1100]");
  }
  if (std::find(counts.begin(), counts.end(), uint64_t{0}) != counts.end() && counts.size() == 1) {
    table.refuse("iterations", "nothing can be divided by 0 iterations");
  }
  if (counts.size() == 2 && counts[0] >= counts[1]) {
    table.refuse("iterations", "the second count has to be the larger one");
  }
  const auto has_place = [](const std::string& word) { return word.find("{n}") != std::string::npos; };
  const auto& command = check->command;
  if (counts.size() == 2 && !command.empty() && std::none_of(command.begin(), command.end(), has_place)) {
    table.refuse("iterations",
                 "nothing tells the program how often; write {n} in command where the count belongs");
  }
}

void read_sources(const TomlReader& table, GateCheck* check) {
  if (table.has("command")) check->command = table.texts("command", TomlReader::Lists::kOnly);
  if (table.has("command") && check->command.empty()) table.refuse("command", "no program given");
  if (table.has("profile")) check->profiles = table.texts("profile", TomlReader::Lists::kToo);
  if (!check->command.empty() && !check->profiles.empty()) {
    table.refuse("profile", "a check has a command or a profile, not both");
  }
  if (table.has("iterations")) read_iterations(table, check);
  const size_t max = std::max(check->iterations.size(), size_t{1});
  if (table.has("profile") && check->profiles.size() != max) {
    table.refuse("profile", max == 2 ? "with two counts of iterations there are two profiles"
                                     : "one profile is judged; [[check]] can stand as often as needed");
  }
  if (table.has("rate")) {
    const auto rate = parse_bytes(table.text_or_number("rate"));
    if (!rate) {
      table.refuse("rate",
                   fmt::format("'{}' is not a rate; give bytes between samples like \"64k\", or 0 for "
                               "every allocation",
                               table.text_or_number("rate")));
    }
    check->rate_bytes = rate;
  }
}

void read_fail_on(const TomlReader& table, GateCheck* check) {
  if (table.has("baseline")) check->baseline = table.texts("baseline", TomlReader::Lists::kToo);
  if (table.has("fail_on") != table.has("baseline")) {
    table.refuse(table.has("fail_on") ? "fail_on" : "baseline",
                 table.has("fail_on") ? "there is no baseline to compare with; give the profile with baseline"
                                      : "nothing is compared with it; give limits with fail_on, like "
                                        "[\"growth > 5MB\"]");
  }
  if (!table.has("fail_on")) return;
  for (const std::string& text : table.texts("fail_on", TomlReader::Lists::kToo)) {
    try {
      check->fail_on.push_back(parse_limit(text));
    } catch (const Error& error) {
      table.refuse("fail_on", error.what());
    }
    check->fail_on_lines.push_back(table.line_of("fail_on"));
  }
}

void check_counts(const TomlReader& table, const GateCheck& check) {
  for (const GateScope& scope : check.scopes) {
    for (const GateLimit& limit : scope.limits) {
      if (limit.per == LimitPer::kIteration && check.iterations.empty()) {
        table.refuse_line(limit.line, limit.key +
                                          ": how many iterations is not said; give iterations = [100, 1100] "
                                          "and {n} in command, or the count of a run");
      }
    }
  }
}

GateCheck read_check(const TomlReader& table, const std::vector<std::string>& more_keys, const char* where) {
  GateCheck check;
  check.line = table.line();
  std::vector<std::string> known = keys_of(ScopeKind::kWhole, kCheckKeys);
  known.insert(known.end(), more_keys.begin(), more_keys.end());
  table.require_known(known, where);
  if (table.has("name")) check.name = table.text("name");
  read_sources(table, &check);
  if (table.has("follow")) check.follow = table.boolean("follow");
  check.process = read_pattern(table, "process");
  check.hide = read_pattern(table, "hide");
  read_fail_on(table, &check);
  GateScope whole;
  whole.line = table.line();
  whole.filter.process = check.process;
  read_limits(table, &whole);
  if (!whole.limits.empty()) check.scopes.push_back(std::move(whole));
  for (const TomlReader& site : table.tables("site")) check.scopes.push_back(read_site(site, check));
  for (const TomlReader& row : table.tables("row")) check.scopes.push_back(read_row(row, check));
  check_counts(table, check);
  if (check.scopes.empty() && check.fail_on.empty()) table.refuse("", "the check has no limit");
  return check;
}

void name_checks(LimitFile* file) {
  size_t number = 0;
  for (GateCheck& check : file->checks) {
    ++number;
    if (check.name.empty() && number > 1) check.name = fmt::format("check {}", number);
    const auto same = std::find_if(file->checks.data(), &check,
                                   [&](const GateCheck& other) { return other.name == check.name; });
    if (same != &check) {
      throw Error(fmt::format("{}:{}: a check called '{}' stands in line {} already", file->path, check.line,
                              check.name, same->line));
    }
  }
}

}  // namespace

LimitFile parse_limit_file(const std::string& text, const std::string& path) {
  LimitFile file{path, {}};
  const TomlReader top = TomlReader::parse(text, path);
  // Who has only [[check]] and [[test]] has no check at the top level.
  std::vector<std::string> names = top.names();
  const auto is_list = [](const std::string& name) { return name == "check" || name == "test"; };
  const bool has_lists = std::any_of(names.begin(), names.end(), is_list);
  if (!has_lists || !std::all_of(names.begin(), names.end(), is_list)) {
    file.checks.push_back(read_check(top, {"check", "test"}, "at the top level"));
  }
  for (const TomlReader& table : top.tables("check")) {
    file.checks.push_back(read_check(table, {}, "[[check]]"));
  }
  for (const TomlReader& table : top.tables("test")) table.require_known(kTestKeys, "[[test]]");
  name_checks(&file);
  return file;
}

LimitFile read_limit_file(const std::string& path) {
  const std::optional<std::string> text = text_of_file(path);
  if (!text) {
    throw Error(path +
                ": cannot read it; write the limits there (docs/check.md), or name another file with "
                "--limits");
  }
  return parse_limit_file(*text, path);
}

uint64_t rate_for(const GateCheck& check) {
  constexpr uint64_t kDefaultRate = 512 * 1024;
  constexpr double kSamplesAtLimit = 1024;  // half an interval is 6 % of the limit then
  constexpr double kExactBelow = 256 * 1024;
  if (check.rate_bytes) return *check.rate_bytes;
  double min = static_cast<double>(kDefaultRate) * kSamplesAtLimit;
  const auto count = [&](Metric metric, double bytes) {
    min = metric_is_bytes(metric) ? std::min(min, bytes) : 0;
  };
  for (const GateScope& scope : check.scopes) {
    for (const GateLimit& limit : scope.limits) {
      double max = limit.max;
      if (limit.per == LimitPer::kIteration && check.iterations.size() == 2) {
        max *= static_cast<double>(check.iterations[1] - check.iterations[0]);
      } else if (limit.per != LimitPer::kWhole && !check.iterations.empty()) {
        max *= static_cast<double>(check.iterations.back());
      }
      if (limit.per == LimitPer::kCall) max *= scope.calls;
      count(limit.metric, max);
    }
  }
  for (const Limit& limit : check.fail_on) {
    if (!limit.is_percent && (!limit.metric || metric_is_bytes(*limit.metric)))
      min = std::min(min, limit.amount);
  }
  if (min <= kExactBelow) return 0;
  return std::min(kDefaultRate, static_cast<uint64_t>(min / kSamplesAtLimit));
}

}  // namespace memprof::profile
