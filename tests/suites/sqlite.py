# SPDX-License-Identifier: Apache-2.0
"""SQLite's own tests (the tclsh test suite, of the distribution's source package), each file in a process of its own.

Chosen so that all that allocates is there (parser, pages, indexes, full text, JSON, sorter, windows), and all that a
process can do: threads that share a cache, processes that are killed in the middle of a write, libraries that are
loaded, mapped files, shells.
"""
import os
import re
import subprocess
import tempfile

NAME = "SQLite"
SOURCE_PACKAGE = "sqlite3"
FILE_LIMIT_S = 120

FILES = """
alter alter2 altercol analyze attach autovacuum backup backup2 bestindex1 bigrow blob btree01 cast check collate1
collate2 corrupt2 corruptA crash8 date distinct e_createtable e_expr e_insert e_select expr fkey1 fkey2 fts3aa
fts3ab fts3atoken fts4aa fts4content fts4unicode func func2 in incrblob incrblob2 index insert intpkey io join join2
json101 json102 like like2 limit loadext lock malloc3 malloc5 manydb memdb memsubsys1 minmax misc1 misc2 misc3 misc5
mmap1 multiplex mutex1 notify1 pager1 pcache pragma pragma2 printf quota rowvalue savepoint schema select1 select2
select3 select4 select6 shared shared2 shell1 shell2 sort sqllimits1 subquery subquery2 substr swarmvtab table
temptable thread001 thread005 thread1 tkt3457 trigger1 trigger2 trigger9 types types2 unionvtab unique update
upsert1 utf16align vacuum vacuum2 view vtab1 vtab2 vtab_shared wal wal2 where where2 where9 window1 window2 with1
with2 without_rowid1 writecrash zeroblob
""".split()

# What `apt-get source` reads, so that the system's own lists need not name sources.
DISTRIBUTION = "deb-src http://deb.debian.org/debian bookworm main\n"


def prepare(folder):
    """Fetches the source and builds testfixture, once."""
    if (folder / "testfixture").exists():
        return
    state = folder / "apt"
    (state / "lists/partial").mkdir(parents=True, exist_ok=True)
    (state / "cache").mkdir(exist_ok=True)
    (state / "sources.list").write_text(DISTRIBUTION)
    apt = ["apt-get", "-q", "-o", f"Dir::Etc::SourceList={state}/sources.list", "-o", "Dir::Etc::SourceParts=/dev/null",
           "-o", f"Dir::State::Lists={state}/lists", "-o", f"Dir::Cache={state}/cache", "-o", "APT::Sandbox::User=root"]
    check([*apt, "update"], folder)
    check([*apt, "--only-source", "--download-only", "source", SOURCE_PACKAGE], folder)
    (archive,) = [p for p in folder.glob("sqlite3_*.orig.tar.xz")]
    (folder / "source").mkdir(exist_ok=True)
    check(["tar", "xf", archive, "-C", folder / "source", "--strip-components=1"], folder)
    check([folder / "source/configure", "--with-tcl=/usr/lib/tcl8.6"], folder)
    check(["make", f"-j{os.cpu_count()}", "testfixture", "sqlite3", "CFLAGS=-O1 -g"], folder)


def check(command, folder):
    with open(folder / "build.log", "ab") as log:
        if subprocess.run(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, check=False).returncode != 0:
            raise SystemExit(f"suites: {' '.join(map(str, command))} failed: see {folder}/build.log")


def run(environment, folder, only=None):
    """{test: result} of all files, or of `only` these. `folder` is that of prepare."""
    results = {}
    for name in only or FILES:
        with tempfile.TemporaryDirectory(dir=folder, prefix="run-") as scratch:
            command = [folder / "testfixture", folder / f"source/test/{name}.test"]
            try:
                done = subprocess.run(command, env=environment, cwd=scratch, stdin=subprocess.DEVNULL, check=False,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=FILE_LIMIT_S)
            except subprocess.TimeoutExpired:
                results[f"{name}: process"] = f"hangs ({FILE_LIMIT_S} s)"
                continue
        results[f"{name}: process"] = f"exit status {done.returncode}"
        results.update({f"{name}: {test}": result for test, result in of_tests(done.stdout.decode(errors="replace")).items()})
    return results


def of_tests(text):
    """Of the lines `name... Ok` and `! name expected: ...`."""
    results = {}
    for line in text.splitlines():
        if line.endswith("... Ok") or line.endswith("... Omitted"):
            test, _, result = line.rpartition("... ")
        elif line.startswith("! ") and " got: " in line:
            test, result = line[2:].split(" got: ")[0], "failed"
        else:
            found = re.fullmatch(r"(\d+) errors out of (\d+) tests.*", line)
            if not found:
                continue
            test, result = "all", f"{found[1]} errors, {found[2]} tests"
        results[test] = ",".join(filter(None, [results.get(test), result]))
    return results


def again(test):
    """What to run again for a test whose result differs."""
    return test.split(":")[0]
