# SPDX-License-Identifier: Apache-2.0
"""What the tests of a release share: a root to be in, and what the command has to do there.

A root is a folder that a process is put into as into a container: a namespace of mounts, in which it is the only root
(pivot_root). Nothing stays mounted.

usage: roots.py ROOT COMMAND...    executes the command in the root; without one it is only entered
"""
import ctypes
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import time
import urllib.request

SECONDS = 60
NEW_MOUNTS, NEW_USER = 0x20000, 0x10000000
BIND, REC, REMOUNT, READ_ONLY, NO_EXEC, PRIVATE, DETACH = 4096, 16384, 32, 1, 8, 1 << 18, 2
PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}.get(platform.machine())
LIBC = ctypes.CDLL(None, use_errno=True)


def call(what, result):
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def mount(source, target, kind, flags):
    call(f"mount {target}", LIBC.mount(str(source).encode(), str(target).encode(), kind.encode() if kind else None, ctypes.c_ulong(flags), None))


def enter(root):
    """Goes into the root; as a user who is not root, as root of a namespace of users of one's own."""
    user, group = os.geteuid(), os.getegid()
    call("unshare", LIBC.unshare(NEW_MOUNTS | (NEW_USER if user != 0 else 0)))
    if user != 0:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            pathlib.Path("/proc/self", name).write_text(text, encoding="ascii")
    mount("none", "/", None, PRIVATE | REC)
    mount(root, root, None, BIND)
    if (root / "proc").is_dir():
        mount("/proc", root / "proc", None, BIND | REC)
    if (root / "dev/shm").is_dir():
        mount("none", root / "dev/shm", "tmpfs", NO_EXEC)  # as in a container
    if os.environ.pop("ROOT_IS_READ_ONLY", ""):
        mount("none", root, None, BIND | REMOUNT | READ_ONLY)
        mount("none", root / "out", "tmpfs", NO_EXEC)
    os.chdir(root)
    call("pivot_root", LIBC.syscall(PIVOT_ROOT, b".", b"."))
    call("umount", LIBC.umount2(b".", DETACH))
    os.chdir("/")


def can_enter():
    """Why no root can be entered here; "": one can."""
    done = subprocess.run([sys.executable, "-B", __file__, "/usr"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return "" if done.returncode == 0 else f"no namespace of mounts may be made here: {(done.stderr.strip().splitlines() or ['?'])[-1]}"


class Root:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self.environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}
        self.is_read_only = False
        self.through = ()  # a program, with arguments, that executes each command

    def add(self, file, name, mode=0o755):
        to = self.path / name.lstrip("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, to)
        to.chmod(mode)

    def add_program(self, file, name):
        """A program with the libraries that the loader finds for it."""
        self.add(file, name)
        self.add_needed(file)

    def add_needed(self, file):
        listing = subprocess.run(["ldd", file], stdout=subprocess.PIPE, text=True, check=True).stdout
        for library in re.findall(r"(/\S+) \(0x", listing):
            self.add(library, library)

    def make(self, *folders):
        for folder in folders:
            (self.path / folder.lstrip("/")).mkdir(parents=True, exist_ok=True)
            (self.path / folder.lstrip("/")).chmod(0o1777 if "tmp" in folder else 0o755)

    def arguments(self, command):
        read_only = {"ROOT_IS_READ_ONLY": "yes"} if self.is_read_only else {}
        return {"args": [sys.executable, "-B", __file__, str(self.path), *map(str, (*self.through, *command))], "env": {**self.environment, **read_only}}

    def run(self, *command, status=0, **environment):
        """Both outputs of a command in the root, as one text."""
        options = self.arguments(command)
        options["env"].update(environment)
        done = subprocess.run(**options, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS, check=False)
        if status is not None and done.returncode != status:
            raise AssertionError(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout}")
        return done.stdout

    def begin(self, *command):
        return subprocess.Popen(**self.arguments(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def end(process):
    process.stdin.close()
    process.stdout.read()
    process.stdout.close()
    process.wait(timeout=SECONDS)


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def try_run(root, memprof, program):
    """memprof run of holds, and its report with names."""
    (root.path / "out").mkdir(exist_ok=True)
    said = root.run(memprof, "run", "-r", "0", "--force", "-o", "/out/run.pb.gz", "--", program)
    shown = root.run(memprof, "report", "/out/run.pb.gz", "--metric", "alloc")
    row = re.search(r"^.*\bkeep_text\b.*$", shown, re.MULTILINE)
    expect(row and "holds.c:" in row.group(), f"run said:\n{said}\nno line of keep_text in the report:\n{shown}")
    expect("9.5 MiB" in row.group() or "10.0 MB" in row.group(), shown)
    return said


def try_attach(root, memprof, program, command_root=None):
    """memprof attach to holds that runs, and what is live then; command_root: where the command is, if it is another root."""
    process = root.begin(program, "wait")
    root = command_root or root
    try:
        expect(process.stdout.readline() == "ready\n", "holds did not begin")
        said = root.run(memprof, "attach", str(process.pid), "-r", "0")
        expect("attached to" in said, said)
        until = time.monotonic() + SECONDS
        shown = ""
        while "keep_text" not in shown and time.monotonic() < until:
            root.run(memprof, "live", str(process.pid), "-o", "/out/live.pb.gz", "--force")
            shown = root.run(memprof, "report", "/out/live.pb.gz")
        expect("keep_text" in shown, shown)
        expect("stopped" in root.run(memprof, "attach", "--stop", str(process.pid)), "attach --stop failed")
    finally:
        end(process)


def try_view(root, memprof):
    """memprof view shows the page of a profile."""
    process = root.begin(memprof, "view", "/out/run.pb.gz", "--no-open")
    try:
        line = process.stdout.readline()
        address = re.search(r"https?://\S+", line)
        expect(address, f"view said {line!r}")
        with urllib.request.urlopen(address.group(), timeout=SECONDS) as page:
            expect("keep_text" in page.read().decode(), "the page has no keep_text")
    finally:
        process.terminate()
        end(process)


if __name__ == "__main__":
    enter(pathlib.Path(sys.argv[1]).resolve())
    if len(sys.argv) > 2:
        os.execvpe(sys.argv[2], sys.argv[2:], os.environ)
