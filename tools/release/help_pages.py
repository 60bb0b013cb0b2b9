# SPDX-License-Identifier: Apache-2.0
"""Manual pages and completions of shells, as the command writes them itself (memprof manual, memprof completion)."""
import re
import subprocess


def output_of(program, *arguments):
    return subprocess.run([program, *arguments], stdout=subprocess.PIPE, text=True, check=True).stdout


def commands_of(program):
    """Names, as `memprof --help` has them."""
    listed = output_of(program, "--help").partition("\ncommands:\n")[2].partition("\n\n")[0]
    return re.findall(r"^  ([a-z]+) +\S", listed, re.MULTILINE)


def write(program, share):
    """Into `share`: man/man1, bash-completion, zsh, fish. Returns their paths."""
    files = {"man/man1/memprof.1": output_of(program, "manual")}
    files.update({f"man/man1/memprof-{name}.1": output_of(program, "manual", name) for name in commands_of(program)})
    files["bash-completion/completions/memprof"] = output_of(program, "completion", "bash")
    files["zsh/site-functions/_memprof"] = output_of(program, "completion", "zsh")
    files["fish/vendor_completions.d/memprof.fish"] = output_of(program, "completion", "fish")
    for path, text in files.items():
        file = share / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return sorted(files)
