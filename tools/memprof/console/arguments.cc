// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "format/share_text.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/help/help_text.h"
#include "profile/text/units.h"

namespace memprof::cli {

namespace {

// In place of a command's arguments: parse() throws what the command says of itself.
constexpr char kDescribe[] = "--describe-yourself";

struct Described {
  Description description;
};

// "±" where the terminal has it.
void print_help(std::string text) {
  constexpr std::string_view kSign = "±";
  if (!wants_utf8()) {
    for (size_t at = text.find(kSign); at != std::string::npos; at = text.find(kSign, at)) {
      text.replace(at, kSign.size(), "+-");
    }
  }
  print(text);
}

}  // namespace

struct ArgumentParser::Parser {
  CLI::App app;
};

ArgumentParser::ArgumentParser(std::string command, HelpText help)
    : description_{std::move(command), std::move(help), {}}, parser_(std::make_unique<Parser>()) {
  parser_->app.set_help_flag();
  parser_->app.allow_extras();
}

ArgumentParser::~ArgumentParser() = default;

void ArgumentParser::add_flag(const OptionText& option) {
  describe(option);
  parser_->app.add_flag(option.names);
}

void ArgumentParser::add_flag(const OptionText& option, bool& value) {
  describe(option);
  parser_->app.add_flag(option.names, value);
}

void ArgumentParser::add_option(const OptionText& option, std::string& value) {
  describe(option);
  parser_->app.add_option(option.names, value);
}

void ArgumentParser::add_repeated_option(const OptionText& option, std::vector<std::string>& values) {
  describe(option);
  parser_->app.add_option(option.names, values)->expected(1)->take_all()->allow_extra_args(false);
}

void ArgumentParser::add_argument(std::string& value) {
  parser_->app.add_option("ARGUMENT", value);
}

void ArgumentParser::add_arguments(std::vector<std::string>& values) {
  parser_->app.add_option("ARGUMENTS", values);
}

void ArgumentParser::describe(const OptionText& option) {
  description_.options.push_back(option);
}

bool ArgumentParser::takes_value(const std::string& name) const {
  for (const OptionText& option : description_.options) {
    const std::vector<std::string> names = names_of(option);
    if (std::find(names.begin(), names.end(), name) != names.end()) return !option.value.empty();
  }
  return false;
}

std::optional<Description> describe_command(int (*run)(const std::vector<std::string>& arguments)) {
  try {
    run({kDescribe});
  } catch (Described& described) {
    return std::move(described.description);
  } catch (const Failure&) {
    return std::nullopt;  // it is refused here, without a parser
  }
  return std::nullopt;
}

bool ArgumentParser::is_given(const std::string& name) const {
  return parser_->app.count(name) != 0;
}

bool ArgumentParser::parse(const std::vector<std::string>& arguments) {
  if (arguments == std::vector<std::string>{kDescribe}) throw Described{description_};
  const std::string& name = description_.command;
  const std::string hint = "; see `memprof " + name + " --help`";
  // An unknown option before --help must not hide it.
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  const bool wants_all = std::find(arguments.begin(), end, "--help") != end;
  if (wants_all || std::find(arguments.begin(), end, "-h") != end) {
    print_help(wants_all ? help_of(description_) : brief_help_of(description_));
    return true;
  }
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants them
    parser_->app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    // "--rate: 1 required TEXT missing" and the like.
    const std::string what = error.what();
    const size_t colon = what.find(':');
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr && colon != std::string::npos) {
      const bool is_missing = what.find("missing") != std::string::npos;
      throw Failure(name + ": " + what.substr(0, colon) +
                    (is_missing ? " needs a value" : " was given more values than it takes") + hint);
    }
    throw Failure(name + ": " + what + hint);
  }
  for (const std::string& extra : parser_->app.remaining()) {
    if (extra == "--") continue;
    const bool is_option = extra.size() > 1 && extra[0] == '-';
    throw Failure(name + ": " + (is_option ? "unknown option '" : "unexpected argument '") + extra + "'" +
                  hint);
  }
  return false;
}

size_t parse_count(const std::string& option, const std::string& text) {
  size_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Failure(option + ": '" + text + "' is not a whole number");
  }
  return count;
}

double parse_percent(const std::string& option, const std::string& text) {
  const size_t size = text.size() - (!text.empty() && text.back() == '%' ? 1 : 0);
  double percent = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + size, percent, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + size || std::isnan(percent) || percent < 0 ||
      percent > 100) {
    throw Failure(option + ": '" + text + "' is not a number from 0 to 100");
  }
  return percent;
}

uint32_t parse_budget(const std::string& text) {
  uint32_t ppm = 0;
  constexpr uint32_t kMaxPpm = 500000;
  if (!parse_share(text, &ppm) || ppm == 0 || ppm > kMaxPpm)
    throw Failure("--budget: '" + text + "' is not a share of the CPU time; give one like 0.5%, at most 50%");
  return ppm;
}

uint64_t parse_rate(const std::string& text) {
  const auto rate = profile::parse_bytes(text);
  if (!rate) {
    throw Failure(
        "-r: '" + text +
        "' is not a rate; give bytes between samples like 512k, 64k, 1M, or 0 for every allocation");
  }
  return *rate;
}

uint64_t parse_duration_ns(const std::string& option, const std::string& text) {
  const auto duration = profile::parse_duration_ns(text);
  if (!duration) {
    throw Failure(option + ": '" + text + "' is not a time; give one like 100us, 10ms, 2s, 5m or 1h");
  }
  return *duration;
}

profile::Metric parse_metric(const std::string& text) {
  const auto metric = profile::metric_from_short_name(text);
  if (!metric) {
    throw Failure(
        "--metric: '" + text +
        "' is not one of peak, live, alloc, mapped, mapped_resident, resident, js, temporary, peak_space, "
        "peak_objects, inuse_space, "
        "inuse_objects, alloc_space, alloc_objects, temporary_space, temporary_objects");
  }
  return *metric;
}

}  // namespace memprof::cli
