// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/looks/relabel.h"

#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "memprof/console/failure.h"
#include "profile/gate/toml_reader.h"
#include "profile/model/error.h"

namespace memprof::cli {
namespace {

using profile::TomlReader;

constexpr char kSeparator[] = ";";
constexpr std::string_view kHidden = "__";
constexpr const char* kAlwaysThere[] = {kServiceLabel, kHostLabel};
// Each other name that begins with "__" is a rule's own, and not sent.
constexpr const char* kSpecial[] = {kPidName, kContainerName, kBuildName};

struct ActionName {
  const char* name;
  RelabelAction action;
};

constexpr ActionName kActions[] = {{"replace", RelabelAction::kReplace},
                                   {"keep", RelabelAction::kKeep},
                                   {"drop", RelabelAction::kDrop},
                                   {"labeldrop", RelabelAction::kLabelDrop},
                                   {"labelkeep", RelabelAction::kLabelKeep}};

bool is_of_labels(RelabelAction action) {
  return action == RelabelAction::kLabelDrop || action == RelabelAction::kLabelKeep;
}

bool is_hidden(const std::string& name) {
  return name.compare(0, kHidden.size(), kHidden) == 0;
}

bool is_special(const std::string& name) {
  for (const char* special : kSpecial) {
    if (name == special) return true;
  }
  return name.compare(0, sizeof(kVariablePrefix) - 1, kVariablePrefix) == 0;
}

RelabelAction read_action(const TomlReader& table) {
  if (!table.has("action")) return RelabelAction::kReplace;
  const std::string name = table.text("action");
  for (const ActionName& action : kActions) {
    if (name == action.name) return action.action;
  }
  table.refuse("action", "'" + name + "' is not replace, keep, drop, labeldrop or labelkeep");
}

std::string read_target(const TomlReader& table, const std::string& path) {
  if (!table.has("target_label"))
    table.refuse("", "a rule that replaces needs target_label, the label that it sets");
  const std::string target = table.text("target_label");
  if (is_special(target))
    table.refuse("target_label", "'" + target + "' is what the shipper found, and cannot be set");
  check_label_name(
      "--relabel: " + path + ":" + std::to_string(table.line_of("target_label")) + ": target_label",
      is_hidden(target) ? target.substr(kHidden.size()) : target);
  return target;
}

profile::Rewrite read_rewrite(const TomlReader& table, RelabelAction action) {
  const std::string expression = table.has("regex") ? table.text("regex") : "(.*)";
  const std::string usual = action == RelabelAction::kReplace ? "$1" : "";
  const std::string form = table.has("replacement") ? table.text("replacement") : usual;
  try {
    return profile::Rewrite(expression, form);
  } catch (const profile::Error& error) {
    table.refuse("", error.what());
  }
}

RelabelRule read_rule(const TomlReader& table, const std::string& path) {
  table.require_known({"source_labels", "regex", "target_label", "replacement", "action"}, "[[relabel]]");
  const RelabelAction action = read_action(table);
  RelabelRule rule{{}, read_rewrite(table, action), "", action};
  if (table.has("source_labels")) rule.sources = table.texts("source_labels", TomlReader::Lists::kToo);
  for (const std::string& source : rule.sources) {
    if (source.empty()) table.refuse("source_labels", "the name of a label is empty");
  }
  if (is_of_labels(action)) {
    if (!table.has("regex")) table.refuse("", "a rule of labels needs regex, which their names match");
    for (const char* key : {"source_labels", "target_label", "replacement"}) {
      if (table.has(key)) table.refuse(key, "has no use in a rule of labels");
    }
    return rule;
  }
  if (action == RelabelAction::kReplace) {
    rule.target = read_target(table, path);
  } else if (rule.sources.empty()) {
    table.refuse("", "a rule that keeps or drops processes needs source_labels");
  }
  return rule;
}

class Relabelling {
 public:
  Relabelling(const SpecialLabel& special, Labels* labels) : special_(special), labels_(*labels) {}

  // false: the process is left out.
  bool apply(const RelabelRule& rule) {
    if (is_of_labels(rule.action)) {
      leave_labels_out(rule);
      return true;
    }
    std::string text;
    for (const std::string& source : rule.sources)
      text += (&source == rule.sources.data() ? "" : kSeparator) + value(source);
    if (rule.action == RelabelAction::kReplace) {
      const auto replaced = rule.rewrite.apply(text);
      if (replaced) set(rule.target, bounded_label_value(*replaced));
      return true;
    }
    return rule.rewrite.matches(text) == (rule.action == RelabelAction::kKeep);
  }

 private:
  std::string value(const std::string& name) const {
    const Labels& of = is_hidden(name) ? own_ : labels_;
    const auto found = of.find(name);
    if (found != of.end()) return found->second;
    return is_special(name) ? special_(name) : "";
  }

  static bool is_always_there(const std::string& name) {
    for (const char* label : kAlwaysThere) {
      if (name == label) return true;
    }
    return false;
  }

  void set(const std::string& name, const std::string& value) {
    Labels& of = is_hidden(name) ? own_ : labels_;
    if (value.empty()) {
      if (!is_always_there(name)) of.erase(name);
    } else if (of.count(name) != 0 || of.size() < kMaxLabels) {
      of[name] = value;
    }
  }

  void leave_labels_out(const RelabelRule& rule) {
    for (auto label = labels_.begin(); label != labels_.end();) {
      const bool stays = rule.rewrite.matches(label->first) == (rule.action == RelabelAction::kLabelKeep);
      label = stays || is_always_there(label->first) ? std::next(label) : labels_.erase(label);
    }
  }

  const SpecialLabel& special_;
  Labels& labels_;
  Labels own_;  // of the rules
};

}  // namespace

std::vector<RelabelRule> parse_relabel_rules(const std::string& text, const std::string& path) {
  try {
    const TomlReader top = TomlReader::parse(text, path);
    top.require_known({"relabel"}, "at the top level");
    std::vector<RelabelRule> rules;
    for (const TomlReader& table : top.tables("relabel")) rules.push_back(read_rule(table, path));
    if (rules.empty()) throw Failure("--relabel: " + path + ": there is no [[relabel]] in it");
    return rules;
  } catch (const profile::Error& error) {
    throw Failure(std::string("--relabel: ") + error.what());
  }
}

std::vector<RelabelRule> read_relabel_rules(const std::string& path) {
  const std::optional<std::string> text = profile::text_of_file(path);
  if (!text) throw Failure("--relabel: " + path + ": cannot read it");
  return parse_relabel_rules(*text, path);
}

bool relabel(const std::vector<RelabelRule>& rules, const SpecialLabel& special, Labels* labels) {
  Relabelling relabelling(special, labels);
  for (const RelabelRule& rule : rules) {
    if (!relabelling.apply(rule)) return false;
  }
  return true;
}

}  // namespace memprof::cli
