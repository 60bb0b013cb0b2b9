// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/ship_options.h"

#include "memprof/console/failure.h"
#include "memprof/ship/ship_run.h"
#include "profile/text/units.h"

namespace memprof::cli {
namespace {

constexpr char kHome[] = "ship";  // whose help has them
constexpr auto kInHelp = OptionText::Shown::kInHelp;
constexpr const char* kLabelOptions[] = {
    "--service", "--host", "--label", "--label-env", "--pid-label", "--container-label", "--relabel"};

void add_from_environment(const std::string& text, LabelRules* rules) {
  const size_t equal = text.find('=');
  if (equal == std::string::npos || equal + 1 == text.size()) {
    throw Failure("--label-env: '" + text +
                  "' is not NAME=VARIABLE; give one like service_version=APP_VERSION");
  }
  const std::string name = text.substr(0, equal);
  check_label_name("--label-env", name);
  if (!rules->from_environment.emplace(name, text.substr(equal + 1)).second ||
      rules->fixed.count(name) != 0) {
    throw Failure("--label-env: the label " + name + " is given twice");
  }
  if (rules->from_environment.size() + rules->fixed.size() > kMaxOwnLabels) {
    throw Failure("--label-env: more than " + std::to_string(kMaxOwnLabels) + " labels");
  }
}

template <size_t count>
std::string first_given(const ArgumentParser& parser, const char* const (&options)[count]) {
  for (const char* option : options) {
    if (parser.is_given(option)) return option;
  }
  return "";
}

}  // namespace

std::string list_of_targets() {
  std::string text;
  for (const TargetKind& kind : target_kinds()) text += std::string("\n  ") + kind.what;
  return text;
}

double parse_ship_every(const std::string& option, const std::string& text) {
  constexpr uint64_t kMinNs = 100'000'000;
  constexpr uint64_t kMaxNs = uint64_t{3600} * 1'000'000'000;
  const auto ns = profile::parse_duration_ns(text);
  if (!ns || *ns < kMinNs || *ns > kMaxNs) {
    throw Failure(option + ": '" + text + "' is not a time from 100ms to 1h; give one like 10s or 5m");
  }
  return static_cast<double>(*ns) / 1e9;
}

ShipLabels::ShipLabels(ArgumentParser& parser, OptionText::Shown shown)
    : parser_(parser), host_(host_name()) {
  parser.add_option(
      {"--service", "NAME",
       "the label service_name. Else OTEL_SERVICE_NAME of the process, else the name of its program", shown,
       kHome},
      service_);
  parser.add_option({"--host", "NAME", "the label host; else the name of this machine", kInHelp, kHome},
                    host_);
  parser.add_repeated_option({"--label", "NAME=VALUE", "another label; at most 16 of these", shown, kHome},
                             labels_);
  parser.add_repeated_option({"--label-env", "NAME=VARIABLE",
                              "a label from the environment that the process was started with, as "
                              "service_version=APP_VERSION",
                              kInHelp, kHome},
                             from_environment_);
  parser.add_flag(
      {"--pid-label", "", "a label with the process id: a series for each process", kInHelp, kHome});
  parser.add_flag({"--container-label", "",
                   "a label with the id of the container that the process is in: a series for each container",
                   kInHelp, kHome});
  parser.add_option({"--relabel", "FILE",
                     "rules that change labels or leave processes out, as Prometheus has them: [[relabel]] "
                     "tables in TOML (docs/fleet.md)",
                     kInHelp, kHome},
                    relabel_file_);
}

LabelRules ShipLabels::rules() const {
  LabelRules rules;
  rules.has_pid = parser_.is_given("--pid-label");
  rules.has_container = parser_.is_given("--container-label");
  check_label_value("--host", host_);
  rules.fixed[kHostLabel] = host_;
  if (parser_.is_given("--service")) {
    check_label_value("--service", service_);
    rules.fixed[kServiceLabel] = service_;
  }
  for (const std::string& label : labels_) add_label("--label", label, &rules.fixed);
  for (const std::string& label : from_environment_) add_from_environment(label, &rules);
  if (parser_.is_given("--relabel")) rules.relabel = read_relabel_rules(relabel_file_);
  return rules;
}

std::string ShipLabels::given() const {
  return first_given(parser_, kLabelOptions);
}

}  // namespace memprof::cli
