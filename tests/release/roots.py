# SPDX-License-Identifier: Apache-2.0
"""What the tests of a release share: a root to be in, and what the command has to do there.

A root is a folder that processes are put into by chroot, in a namespace of mounts of their own. Nothing stays mounted.
"""
import os
import pathlib
import re
import shutil
import subprocess
import time
import urllib.request

SECONDS = 60
# As root without --user; with it one is root in the namespace alone.
NAMESPACE = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--user", "--map-root-user"]
ENTER = r"""
root=$1; shift
[ ! -d "$root/proc" ] || mount --rbind /proc "$root/proc" || exit 125
[ ! -d "$root/dev/shm" ] || mount -t tmpfs tmpfs "$root/dev/shm" || exit 125
if [ -n "$READ_ONLY" ]; then
  mount --bind "$root" "$root" && mount -o remount,bind,ro "$root" && mount -t tmpfs -o noexec tmpfs "$root/out" || exit 125
  [ ! -d "$root/proc" ] || mount --rbind /proc "$root/proc" || exit 125
fi
PATH=$PATH:/usr/sbin:/sbin exec chroot "$root" "$@"
"""


def can_enter():
    """Why no root can be entered here; "": one can."""
    done = subprocess.run([*NAMESPACE, "sh", "-c", "mount --rbind /proc /proc && PATH=$PATH:/usr/sbin:/sbin exec chroot / true"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return "" if done.returncode == 0 else f"no namespace of mounts may be made here: {done.stdout.strip()}"


class Root:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self.environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}
        self.is_read_only = False

    def add(self, file, name, mode=0o755):
        to = self.path / name.lstrip("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, to)
        to.chmod(mode)

    def add_program(self, file, name):
        """A program with the libraries that the loader finds for it."""
        self.add(file, name)
        listing = subprocess.run(["ldd", file], stdout=subprocess.PIPE, text=True, check=True).stdout
        for library in re.findall(r"(/\S+) \(0x", listing):
            self.add(library, library)

    def make(self, *folders):
        for folder in folders:
            (self.path / folder.lstrip("/")).mkdir(parents=True, exist_ok=True)
            (self.path / folder.lstrip("/")).chmod(0o1777 if "tmp" in folder else 0o755)

    def arguments(self, command):
        return {"args": [*NAMESPACE, "sh", "-c", ENTER, "enter", str(self.path), *map(str, command)],
                "env": {**self.environment, "READ_ONLY": "yes" if self.is_read_only else ""}}

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
