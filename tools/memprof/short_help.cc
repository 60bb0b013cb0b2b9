// SPDX-License-Identifier: Apache-2.0
#include "memprof/short_help.h"

#include "memprof/command_table.h"
#include "memprof/console/arguments.h"
#include "memprof/help/help_text.h"

namespace memprof::cli {
namespace {

constexpr char kUsage[] =
    "memprof shows which code holds a program's memory, and which code allocated it.\n\n";
constexpr char kMore[] = R"(
Try: memprof run -o out.pb.gz -- sort /etc/services; memprof report out.pb.gz

memprof COMMAND -h explains a command, memprof COMMAND --help all its options.
memprof --help lists all commands and their usage. memprof --version
)";

}  // namespace

std::string short_help(const std::string& command) {
  if (command.empty()) return kUsage + synopses_of_commands() + kMore;
  const Command* known = find_command(command);
  if (known == nullptr) return "";
  const auto description = describe_command(known->run);
  return description ? brief_help_of(*description) : "";
}

}  // namespace memprof::cli
