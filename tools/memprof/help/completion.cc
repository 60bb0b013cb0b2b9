// SPDX-License-Identifier: Apache-2.0
#include "memprof/help/completion.h"

#include <fmt/format.h>

#include "memprof/help/help_text.h"

namespace memprof::cli {
namespace {

std::vector<OptionText> offered(const Description& description) {
  std::vector<OptionText> options;
  for (const OptionText& option : description.options) {
    if (option.shown != OptionText::Shown::kNowhere) options.push_back(option);
  }
  options.push_back({"-h,--help", "", "show the help"});
  return options;
}

// For a word in single quotes.
std::string in_quotes(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out;
}

// One line of it, for a word in single quotes.  `special`: characters that get a backslash.
std::string brief_of(const std::string& text, const std::string& special) {
  std::string out;
  const std::string sentence = first_sentence(text);
  for (const char c : sentence.substr(0, sentence.find('\n'))) {
    if (special.find(c) != std::string::npos) out += '\\';
    out += c;
  }
  return in_quotes(out);
}

// Commands behind whose options another program's name and arguments stand.
bool runs_program(const std::string& command) {
  return command == "run" || command == "check" || command == "doctor";
}

}  // namespace

std::string bash_completion(const std::vector<CommandText>& commands) {
  std::string names;
  std::string cases;
  for (const CommandText& command : commands) {
    const std::string& name = command.description.command;
    names += " " + name;
    std::string words;
    std::string values;
    for (const OptionText& option : offered(command.description)) {
      for (const std::string& word : names_of(option)) {
        words += (words.empty() ? "" : " ") + word;
        if (!option.value.empty()) values += (values.empty() ? "" : "|") + word;
      }
    }
    cases += fmt::format("    {}) words=\"{}\" values=\"{}\" runs={} ;;\n", name, words, values,
                         runs_program(name) ? 1 : 0);
  }
  return fmt::format(R"(# Completion of memprof for bash: source <(memprof completion bash)
_memprof() {{
  local cur=${{COMP_WORDS[COMP_CWORD]}} words="" values="" runs=0 i word
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "{} --help --version" -- "$cur")
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  # Behind the options of `memprof run` the words are the program's.
  if [ $runs = 1 ]; then
    for ((i = 2; i <= COMP_CWORD; ++i)); do
      word=${{COMP_WORDS[i]}}
      if [ "$word" = -- ] && [ "$i" -lt "$COMP_CWORD" ]; then
        i=$((i + 1))
      elif [[ "|$values|" == *"|$word|"* ]]; then
        i=$((i + 1))
        continue
      elif [[ $word == -* ]]; then
        continue
      fi
      if declare -F _command_offset >/dev/null; then
        _command_offset $i
      elif [ "$i" -eq "$COMP_CWORD" ]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
      fi
      return
    done
  fi
  [[ $cur == -* ]] && mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}}
complete -o default -F _memprof memprof
)",
                     names.substr(1), cases);
}

std::string zsh_completion(const std::vector<CommandText>& commands) {
  std::string list;
  std::string cases;
  for (const CommandText& command : commands) {
    const std::string& name = command.description.command;
    list += fmt::format("    '{}:{}'\n", name, brief_of(command.purpose, ":"));
    cases += fmt::format("    {})\n      _arguments -S \\\n", name);
    for (const OptionText& option : offered(command.description)) {
      const std::vector<std::string> names = names_of(option);
      const std::string text = brief_of(option.text, "[]:\\");
      const std::string value =
          option.value.empty() ? "" : fmt::format(":{}:_files", brief_of(option.value, ":\\"));
      for (const std::string& word : names)
        cases += fmt::format("        '*{}[{}]{}' \\\n", word, text, value);
    }
    cases += runs_program(name) ? "        '*::program:_normal' ;;\n" : "        '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef memprof
# Completion of memprof for zsh: memprof completion zsh > DIR/_memprof, where DIR is in $fpath
_memprof() {{
  local -a commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
_memprof "$@"
)",
                     list, cases);
}

std::string fish_completion(const std::vector<CommandText>& commands) {
  std::string out =
      "# Completion of memprof for fish: memprof completion fish > ~/.config/fish/completions/memprof.fish\n";
  for (const CommandText& command : commands) {
    const std::string& name = command.description.command;
    out += fmt::format("complete -c memprof -n __fish_use_subcommand -f -a {} -d '{}'\n", name,
                       brief_of(command.purpose, "\\"));
    for (const OptionText& option : offered(command.description)) {
      out += fmt::format("complete -c memprof -n '__fish_seen_subcommand_from {}'", name);
      for (const std::string& word : names_of(option)) {
        out += word.compare(0, 2, "--") == 0 ? " -l " + word.substr(2) : " -s " + word.substr(1);
      }
      out += fmt::format("{} -d '{}'\n", option.value.empty() ? "" : " -r", brief_of(option.text, "\\"));
    }
  }
  return out;
}

}  // namespace memprof::cli
