// SPDX-License-Identifier: Apache-2.0
// What a command says of itself, declared once: help, short help, man page and completion are made of it.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace memprof::cli {

struct OptionText {
  enum class Shown {
    kInHelp,  // `memprof COMMAND --help`
    kInBoth,  // `memprof COMMAND -h`, too, with the first sentence of the text
    kNowhere  // taken, to say why it is not for this command
  };

  OptionText(std::string names_of_it, std::string value_of_it, std::string what_it_does,
             Shown where = Shown::kInHelp, std::string whose = {})
      : names(std::move(names_of_it)),
        value(std::move(value_of_it)),
        text(std::move(what_it_does)),
        shown(where),
        home(std::move(whose)) {}

  std::string names;  // "--force", or "-o,--output": the first one is what errors and texts call it
  std::string value;  // what stands for its value, "PATH"; empty: it takes none
  std::string
      text;  // what it does.  "\n" begins a line; one that then begins with a space is not joined with others
  Shown shown;
  std::string
      home;  // the command whose help has the text, where commands share it: others name the option only
};

// Texts whose lines are broken already, at 80 columns.
struct HelpText {
  std::string usage;  // "memprof report FILE [OPTIONS]", one line or more
  std::string brief;  // what the command does, in some lines
  std::string more;   // what else is to be known of it: not in the short help
  std::string end;    // what stands below the options
};

// One command.
struct Description {
  std::string command;
  HelpText help;
  std::vector<OptionText> options;
};

}  // namespace memprof::cli
