#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pages say what is: links lead somewhere, commands parse, and the examples that are marked run.

usage: docs.py ROOT                      limits of README.md, links, marks, syntax of Python blocks
       docs.py ROOT COMMAND LIBRARY CC   also every `memprof ...` line and the marked examples
       docs.py --self-test               plants errors, and a good page

Marks are HTML comments before a fenced block, which readers do not see:

    <!-- file: NAME -->                  the block becomes the file NAME; the examples of a page share a folder
    <!-- run -->                         the block runs in bash; of lines that begin with "$ " only these
    <!-- run: status 137; expect A | B -->   ... ends with that status, and prints A and B
    <!-- run: package; expect A -->      Python that needs the package: ffi/python/tests/test_docs.py runs it

Examples run without network, with the system's own programs (/usr/bin before what the caller has in PATH).
"""
import ast
import dataclasses
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile

README_LINES, README_COLUMNS = 150, 120
TIMEOUT_S = 60
LINKED = ("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/decisions/*.md", "ffi/python/README.md",
          "examples/python/README.md", "bench/README.md", "ffi/node/README.md", "examples/node/README.md")
TAUGHT = ("README.md", "docs/*.md", "ffi/python/README.md", "ffi/node/README.md")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"^<!-- *(file|run)\b:? *(.*?) *-->$", re.MULTILINE)
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")
# In a help text an option that takes a value is followed by a word in capitals.
TAKES_VALUE = re.compile(r"(?<![\w-])(?:(-[a-zA-Z]), )?(--?[a-zA-Z][\w-]*) [A-Z]{1,}\b")
SHELL_WORDS = ("&&", "||", "|", ";", "&", ">", ">>", "2>", "<", "->", "…", "...")


@dataclasses.dataclass
class Block:
    """A fenced block; `mark` is "file", "run" or "", and `text` what stands between the fences."""
    line: int
    language: str
    text: str
    mark: str
    name: str = ""
    status: int = 0
    package: bool = False
    expected: tuple = ()


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def read_marks(block, words):
    """Fills in what the mark says; returns what is wrong with it."""
    if block.mark == "file":
        block.name = words
        return "" if re.fullmatch(r"[\w.-]+", words) else f"'{words}' is not the name of a file"
    for item in filter(None, (part.strip() for part in words.split(";"))):
        key, _, value = item.partition(" ")
        if key == "status" and value.isdigit():
            block.status = int(value)
        elif key == "expect" and value:
            block.expected = tuple(part.strip() for part in value.split(" | "))
        elif item == "package":
            block.package = True
        else:
            return f"a mark has no '{item}'"
    return ""


def blocks_of(text, wrong):
    """All fenced blocks of a page, with their marks; what is wrong with those goes to `wrong` as (line, text)."""
    fences = list(FENCE.finditer(text))
    blocks = [Block(line_of(text, f.start()), f[1], f[2], "") for f in fences]
    for mark in MARK.finditer(text):
        if any(f.start() <= mark.start() < f.end() for f in fences):
            continue
        following = [i for i, f in enumerate(fences) if f.start() >= mark.end()]
        if not following or text[mark.end():fences[following[0]].start()].strip():
            wrong.append((line_of(text, mark.start()), "a mark without a block behind it"))
            continue
        block = blocks[following[0]]
        block.mark = mark[1]
        error = read_marks(block, mark[2])
        if error:
            wrong.append((line_of(text, mark.start()), error))
            block.mark = ""
    return blocks


def without_code(text):
    """The page with code blanked out, each line where it was."""
    blank = lambda match: re.sub(r"[^\n]", " ", match[0])
    text = FENCE.sub(blank, text)
    text = re.sub(r"^    .*$", blank, text, flags=re.MULTILINE)
    return re.sub(r"`[^`\n]*`", blank, text)


def anchors_of(text):
    """The names that headings have on the page."""
    titles = re.findall(r"^#+ +(.*)$", FENCE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


def check_links(root, path, text):
    plain = re.sub(r"\[`([^`\n]*)`\]", r"[\1]", text)  # [`code`](link)
    for match in LINK.finditer(without_code(plain)):
        target, _, anchor = match[1].partition("#")
        if re.match(r"[a-z]+:", match[1]):
            continue
        there = (path.parent / target).resolve() if target else path
        if not there.exists():
            yield line_of(plain, match.start()), f"there is no {match[1]}"
        elif anchor and anchor not in anchors_of(there.read_text()):
            yield line_of(plain, match.start()), f"{target or path.name} has no heading '#{anchor}'"
        elif root not in there.parents and there != root:
            yield line_of(plain, match.start()), f"{match[1]} leads out of the repository"


def check_reachable(root):
    """Every page of docs/ is linked from README.md, or from a page that is."""
    seen, todo = set(), [root / "README.md"]
    while todo:
        path = todo.pop()
        if path in seen or path.suffix != ".md" or not path.is_file():
            continue
        seen.add(path)
        links = LINK.findall(without_code(path.read_text()))
        todo += [(path.parent / link.partition("#")[0]).resolve() for link in links if not re.match(r"[a-z]+:", link)]
    return [f"{path.relative_to(root)}: no page that README.md leads to links here"
            for path in sorted((root / "docs").glob("*.md")) if path not in seen]


def check_size(text):
    lines = text.splitlines()
    if len(lines) > README_LINES:
        yield README_LINES + 1, f"{len(lines)} lines; at most {README_LINES}"
    for number, line in enumerate(lines, 1):
        if len(line) > README_COLUMNS:
            yield number, f"{len(line)} characters; at most {README_COLUMNS}"


def check_python(block):
    try:
        ast.parse(block.text)
    except SyntaxError as error:
        yield block.line + (error.lineno or 0), f"no Python: {error.msg}"


def command_lines(text, blocks):
    """(line, words) of each `memprof ...` in code: of fences, indented lines, and what stands in backquotes."""
    found = []
    for block in blocks:
        if block.language in ("", "sh", "bash", "console"):
            found += [(block.line + i, line) for i, line in enumerate(block.text.splitlines(), 1)
                      if line.startswith("$ ") or "\n$ " not in "\n" + block.text]
    rest = FENCE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    found += [(line_of(rest, m.start()), m[1]) for m in re.finditer(r"^ {4,}(.*)$", rest, re.MULTILINE)]
    found += [(line_of(rest, m.start()), m[1]) for m in re.finditer(r"`(memprof [^`\n]*)`", rest)]
    for number, line in found:
        # In the first place of a command: after a prompt, variables, or an operator of the shell.
        for match in re.finditer(r"(?:^|&&|\||;|\$\()\s*(?:\$ )?(?:\w+=\S* +)*(memprof +[^\n]*)", line.strip()):
            yield number, match[1]


def words_of(line):
    """The words of one command, to its end."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="&|;<>()")
    lexer.whitespace_split = True
    words = []
    for word in lexer:
        if word in SHELL_WORDS or set(word) <= set("&|;<>()"):
            break
        words.append(word.strip("[]"))
    return [word for word in words if word]


class Commands:
    """What the command knows: asked of the command itself."""

    def __init__(self, command):
        self.command = command
        self.helps = {}

    def help_of(self, name):
        """The help of a command; None: there is no such command."""
        if name not in self.helps:
            done = subprocess.run([self.command, name, "--help"], capture_output=True, text=True, check=False)
            self.helps[name] = done.stdout if done.returncode == 0 else None
        return self.helps[name]

    def check(self, words):
        """What is wrong with `memprof WORDS`; None: nothing."""
        if not words or words[0].startswith("-") or words[0].isupper():  # memprof --version, memprof COMMAND -h
            return None
        text = self.help_of(words[0])
        if text is None:
            return f"there is no command '{words[0]}'"
        known, takes_value = set(OPTION.findall(text)) | {"-h", "--help"}, {name for names in TAKES_VALUE.findall(text) for name in names if name}
        operands, i = 0, 1
        while i < len(words) and words[i] != "--":
            option = words[i].partition("=")[0]
            if option.startswith("-") and option != "-":
                if option not in known:
                    return f"memprof {words[0]} has no option {option}"
                i += 1 if option in takes_value and "=" not in words[i] else 0
            elif words[0] == "run":
                break  # the program, and its own options
            else:
                operands += 1
            i += 1
        if words[0] not in ("report", "export") or len(words) == 1:
            return None
        return self.dry_run(["out.json" if word == "OUT" else word for word in words] + ([] if operands else ["FILE"]))

    def dry_run(self, words):
        """Where there is no such file, that must be what is wrong. Values like a|b are not one value. No server is asked."""
        if "|" in " ".join(words) or {"-", "-h", "--help"} & set(words):
            return None
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([self.command, *("FILE" if word.startswith(("http", "pyroscope+http")) else word for word in words)], cwd=folder,
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return None if "no such file" in done.stderr.lower() else done.stderr.strip() or "ran without its file"


def check_commands(text, blocks, commands):
    for number, line in command_lines(text, blocks):
        try:
            words = words_of(line)[1:]
        except ValueError as error:
            yield number, f"'{line}': {error}"
            continue
        error = commands.check(words)
        if error:
            yield number, f"'{line}': {error}"


def script_of(block):
    lines = block.text.splitlines()
    commands = [line[2:] for line in lines if line.startswith("$ ")]
    return "set -e\n" + "\n".join(commands or lines) + "\n"


def run_script(script, folder, environment):
    """(output, status) of a script; it and all that it began are ended after TIMEOUT_S."""
    with subprocess.Popen(["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as process:
        try:
            return process.communicate(timeout=TIMEOUT_S)[0], process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return process.communicate()[0], "a timeout"


def run_examples(blocks, environment, folder):
    """Runs what a page marks, in its order, and yields (line, what is wrong)."""
    for block in blocks:
        if block.mark == "file":
            (folder / block.name).write_text(block.text)
        elif block.mark == "run" and not block.package:
            output, status = run_script(script_of(block), folder, environment)
            if status != block.status:
                yield block.line, f"ended with {status}, not {block.status}:\n{output}"
            for word in block.expected:
                if word not in output:
                    yield block.line, f"printed no '{word}':\n{output}"
                if "\n$ " in "\n" + block.text and word not in block.text:
                    yield block.line, f"the page does not show '{word}', which the mark expects"


def environment_of(root, command, library, compiler, scratch):
    """Variables of the examples: the command, the library and `cc` are found, nothing of the caller's is."""
    tools = scratch / "bin"
    tools.mkdir()
    (tools / "memprof").symlink_to(command.resolve())
    (tools / "cc").symlink_to(compiler)
    (scratch / "arenas").mkdir()
    kept = {name: value for name, value in os.environ.items() if name in ("HOME", "USER", "LANG")}
    return {**kept, "PATH": f"{tools}:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8",
            "TMPDIR": str(scratch), "MEMPROF_ARENA_DIR": str(scratch / "arenas"), "CPATH": str(root / "capi/include"),
            "LIBRARY_PATH": str(library.parent), "LD_LIBRARY_PATH": str(library.parent)}


def pages(root, patterns):
    return [path for pattern in patterns for path in sorted(root.glob(pattern))]


def check(root, product=None):
    """Returns (counts as text, what is wrong). `product`: paths of the command, the library and the compiler."""
    root = root.resolve()
    wrong, ran, commands_seen = check_reachable(root), 0, 0
    commands = Commands(product[0]) if product else None
    for path in pages(root, LINKED):
        text = path.read_text()
        found = list(check_links(root, path, text))
        if path == root / "README.md":
            found += check_size(text)
        if path in pages(root, TAUGHT):
            blocks = blocks_of(text, found)
            for block in blocks:
                if block.language == "python":
                    found += check_python(block)
            if product:
                commands_seen += len(list(command_lines(text, blocks)))
                found += check_commands(text, blocks, commands)
                ran += sum(block.mark == "run" and not block.package for block in blocks)
                with tempfile.TemporaryDirectory(prefix="memprof-docs-") as name:
                    scratch = pathlib.Path(name)
                    (scratch / "page").mkdir()
                    environment = environment_of(root, *product, scratch)
                    found += run_examples(blocks, environment, scratch / "page")
        wrong += [f"{path.relative_to(root)}:{number}: {what}" for number, what in found]
    return f"{len(pages(root, LINKED))} pages, {commands_seen} commands, {ran} examples", wrong


FAKE_COMMAND = """#!/bin/sh
[ "$2" = --help ] && case $1 in
  run) echo 'usage: memprof run [-r RATE] [--merge] CMD'; exit 0 ;;
  report) echo 'usage: memprof report FILE [--by WHAT] [--tree]'; exit 0 ;;
  *) exit 2 ;;
esac
case "$*" in *frob*) echo "memprof: --by: no frob" >&2; exit 2 ;; esac
echo "memprof: $2: cannot read it: No such file or directory" >&2
exit 2
"""

GOOD = """# Title

[a page](docs/a.md#a-heading), `memprof run -r 64k -- cmd --own`, `memprof report FILE --tree`

    VARIABLE=1 memprof run --merge sort -u       # [no link](nowhere.md)

<!-- file: a.txt -->

```
text
```

<!-- run: status 3; expect text | done -->

```
$ cat a.txt; echo done
text
done
memprof frob is no command here, but output
$ exit 3
```

```python
x = 1
```
"""


def self_test():
    # What is replaced in the good page, and by what; how many errors there are then.
    cases = [("", "", 0), ("docs/a.md#", "docs/b.md#", 2), ("#a-heading", "#other", 1), ("--merge", "--marge", 1),
             ("FILE --tree", "FILE --by frob", 1), ("memprof report", "memprof repeat", 1), ("run -r", "run -q", 1),
             ("status 3", "status 4", 1), ("expect text", "expect other", 2), ("echo done", "echo", 1),
             ("file: a.txt", "file: ../a.txt", 4), ("run: status", "run: state", 1), ("x = 1", "x = = 1", 1),
             ("```\ntext\n```", "no block", 4), ("# Title", "# Title\n" + "\n" * README_LINES, 1),
             ("# Title", "# " + "x" * README_COLUMNS, 1), ("cat a.txt", "kill -9 $$", 3), ("-- cmd", "'-- cmd", 1)]
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name).resolve()
        (root / "docs").mkdir()
        (root / "docs/a.md").write_text("## A `heading`\n")
        command = root / "memprof"
        command.write_text(FAKE_COMMAND)
        command.chmod(0o755)
        product = command, root / "libmemprof.so", pathlib.Path("/bin/true")
        for old, new, errors in cases:
            assert old in GOOD, old
            (root / "README.md").write_text(GOOD.replace(old, new, 1) if old else GOOD)
            found = check(root, product)[1]
            assert len(found) == errors, (old, new, found)
        (root / "README.md").write_text(GOOD)
        (root / "docs/orphan.md").write_text("# Nobody links here\n")
        assert len(check(root)[1]) == 1
    print("the planted errors were found")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) not in (2, 5):
        sys.exit(__doc__)
    counts, wrong = check(pathlib.Path(sys.argv[1]), [pathlib.Path(path).absolute() for path in sys.argv[2:]])
    print("\n".join(wrong) or f"{counts}: nothing wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
