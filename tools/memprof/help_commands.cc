// SPDX-License-Identifier: Apache-2.0
#include "memprof/help_commands.h"

#include <algorithm>
#include <optional>

#include "memprof/command_table.h"
#include "memprof/console/arguments.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/help/completion.h"
#include "memprof/help/man_page.h"

namespace memprof::cli {
namespace {

// Of those that this build has.
std::vector<CommandText> texts_of_commands() {
  std::vector<CommandText> texts;
  for (const Command& command : commands()) {
    std::optional<Description> description = describe_command(command.run);
    if (!description) continue;
    std::string purpose = command.about;
    std::replace(purpose.begin(), purpose.end(), '\n', ' ');
    texts.push_back({std::move(*description), std::move(purpose)});
  }
  return texts;
}

HelpText completion_help() {
  return {"memprof completion bash|zsh|fish",
          R"(Prints a script by which the shell completes memprof's commands and options:

  source <(memprof completion bash)
  memprof completion zsh > DIR/_memprof        (DIR is in $fpath)
  memprof completion fish > ~/.config/fish/completions/memprof.fish
)",
          "", ""};
}

HelpText manual_help() {
  return {"memprof manual [COMMAND]",
          R"(Prints a manual page for man: of memprof, or of one command.

  memprof manual run | man -l -
)",
          "", ""};
}

}  // namespace

int completion_command(const std::vector<std::string>& arguments) {
  ArgumentParser parser("completion", completion_help());
  std::string shell;
  parser.add_argument(shell);
  if (parser.parse(arguments)) return 0;
  if (shell.empty()) throw Failure("completion: no shell given; usage: memprof completion bash|zsh|fish");
  std::string (*const script)(const std::vector<CommandText>&) = shell == "bash"   ? bash_completion
                                                                 : shell == "zsh"  ? zsh_completion
                                                                 : shell == "fish" ? fish_completion
                                                                                   : nullptr;
  if (script == nullptr) throw Failure("completion: '" + shell + "' is not one of bash, zsh, fish");
  print(script(texts_of_commands()));
  return 0;
}

int manual_command(const std::vector<std::string>& arguments) {
  ArgumentParser parser("manual", manual_help());
  std::string name;
  parser.add_argument(name);
  if (parser.parse(arguments)) return 0;
  const std::vector<CommandText> all = texts_of_commands();
  if (name.empty()) {
    print(man_page_of_all(
        "memprof shows which code holds a program's memory, and which code allocated it. It records a sample of the "
        "allocations, so its numbers are estimates.",
        all, MEMPROF_VERSION));
    return 0;
  }
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const CommandText& text) { return text.description.command == name; });
  if (found == all.end()) throw Failure("manual: '" + name + "' is not one of " + names_of_commands());
  print(man_page(*found, all, MEMPROF_VERSION));
  return 0;
}

}  // namespace memprof::cli
