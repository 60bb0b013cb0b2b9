# SPDX-License-Identifier: Apache-2.0
"""Manual pages and completions of shells, made of what the command says of itself (--help)."""
import datetime
import re
import subprocess


def help_of(program, *command):
    return subprocess.run([program, *command, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout


def commands_of(program):
    """Name -> one line, as `memprof --help` has them."""
    text = subprocess.run([program, "-h"], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = dict(re.findall(r"^  memprof ([a-z]+)(?: \S.*?)?  +(\S.*)$", text.split("\nTry:")[0], re.MULTILINE))
    unknown = set(re.findall(r"^(?:usage:)? +memprof ([a-z]+)\b", help_of(program), re.MULTILINE)) ^ set(found)
    if unknown or len(found) < 10:
        raise ValueError(f"memprof -h and memprof --help name different commands: {sorted(unknown)}")
    return found


def options_of(text):
    """Long and short options that a help text explains."""
    lines = [line for line in text.splitlines() if re.match(r"^ {1,6}-", line)]
    return sorted(set(re.findall(r"(?<![\w-])(--[a-z][a-z-]+|-[a-zA-Z])(?![\w-])", "\n".join(lines))) | {"--help"})


def page(name, line, text, version, epoch):
    day = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%d")
    body = "\n".join(re.sub(r"^([.'])", r"\\&\1", part.replace("\\", "\\e").replace("-", "\\-")) for part in text.rstrip().splitlines())
    return (f'.TH {name.upper()} 1 "{day}" "memprof {version}" "User Commands"\n.SH NAME\n{name} \\- {line}\n.SH DESCRIPTION\n.nf\n{body}\n.fi\n')


def bash(options):
    cases = "\n".join(f"    {name}) options='{' '.join(each)}' ;;" for name, each in options.items())
    return f"""# Completions of memprof for bash.
_memprof() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} options=
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W '{' '.join(options)} --help --version' -- "$current")
    return
  fi
  case ${{COMP_WORDS[1]}} in
{cases}
  esac
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}}
complete -o filenames -F _memprof memprof
"""


def zsh(commands, options):
    quoted = "\n".join("    '{}:{}'".format(name, line.replace("'", "").replace(":", " ")) for name, line in commands.items())
    cases = "\n".join(f"    {name}) options=({' '.join(each)}) ;;" for name, each in options.items())
    return f"""#compdef memprof
local -a commands options
if (( CURRENT == 2 )); then
  commands=(
{quoted}
  )
  _describe command commands
  return
fi
case $words[2] in
{cases}
esac
if [[ $PREFIX == -* ]]; then compadd -- $options; else _files; fi
"""


def fish(commands, options):
    lines = ["# Completions of memprof for fish."]
    for name, line in commands.items():
        lines.append("complete -c memprof -n __fish_use_subcommand -a {} -d '{}'".format(name, line.replace("'", "")))
    for name, each in options.items():
        for option in each:
            kind = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            lines.append(f"complete -c memprof -n '__fish_seen_subcommand_from {name}' {kind}")
    return "\n".join(lines) + "\n"


def write(program, share, version, epoch):
    """Into `share`: man/man1, bash-completion, zsh, fish."""
    commands = commands_of(program)
    texts = {name: help_of(program, name) for name in commands}
    pages = {"memprof": page("memprof", "which code holds the memory of a program", help_of(program), version, epoch)}
    pages.update({f"memprof-{name}": page(f"memprof-{name}", commands[name], text, version, epoch) for name, text in texts.items()})
    options = {name: options_of(text) for name, text in texts.items()}
    files = {f"man/man1/{name}.1": text for name, text in pages.items()}
    files["bash-completion/completions/memprof"] = bash(options)
    files["zsh/site-functions/_memprof"] = zsh(commands, options)
    files["fish/vendor_completions.d/memprof.fish"] = fish(commands, options)
    for path, text in files.items():
        file = share / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return sorted(files)
