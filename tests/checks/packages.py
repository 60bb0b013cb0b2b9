#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What ./dev says and does where packages are missing, on machines that are made up: PATH has a few programs only,
among them a dpkg-query, an apt-get, an apt-cache, an id and a sudo that say what the case wants.

usage: packages.py ROOT         runs the cases
       packages.py --self-test  sees a dev that installs without asking fail a case
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOOLS = ("bash", "env", "dirname", "grep", "nproc", "sed", "cat", "touch")
OLD = ["libmimalloc2.0", "libdebuginfod1", "libgoogle-perftools4"]
NEW = ["libmimalloc3", "libdebuginfod1t64", "libgoogle-perftools4t64"]


class Machine:
    """A user, and what the distribution has besides what all have."""

    def __init__(self, folder, user_id, packages, sudo=False):
        self.folder = pathlib.Path(folder)
        bin_folder = self.folder / "bin"
        bin_folder.mkdir()
        for tool in TOOLS:
            (bin_folder / tool).symlink_to(shutil.which(tool))
        scripts = {
            "dpkg-query": "exit 1",
            "id": f"echo {user_id}",
            "apt-cache": "cat <<'END'\n" + "\n".join(packages) + "\nEND",
            "apt-get": f'echo "$*" >>{self.folder}/apt-get.log; exit 1',
        }
        if sudo:
            scripts["sudo"] = f'echo "$*" >>{self.folder}/sudo.log; exit 1'
        for name, text in scripts.items():
            (bin_folder / name).write_text(f"#!{shutil.which('bash')}\n{text}\n")
            (bin_folder / name).chmod(0o755)

    def run(self, root, *arguments):
        return subprocess.run([root / "dev", *arguments], env={"PATH": f"{self.folder}/bin"}, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)

    def log(self, program):
        path = self.folder / f"{program}.log"
        return path.read_text() if path.exists() else ""


def check(root):
    """Returns what is wrong."""
    wrong = []

    def expect(condition, text):
        if not condition:
            wrong.append(text)

    for packages, others in ((OLD, NEW), (NEW, OLD)):
        with tempfile.TemporaryDirectory() as folder:
            machine = Machine(folder, 0, packages)
            done = machine.run(root, "test", "release")
            installed = [line for line in machine.log("apt-get").splitlines() if " install " in f" {line} "]
            expect(done.returncode == 1, f"root, nothing can be installed: status {done.returncode}")
            expect(installed != [], "root: apt-get was not asked to install")
            for line in installed:
                words = line.split()
                expect(set(packages) <= set(words) and not set(others) & set(words),
                       f"of a distribution with {packages}: apt-get {line}")
        with tempfile.TemporaryDirectory() as folder:
            machine = Machine(folder, 1000, packages)
            done = machine.run(root, "test", "release")
            expect(done.returncode == 1, f"no sudo: status {done.returncode}")
            expect(machine.log("apt-get") == "", "no sudo: apt-get was called all the same")
            expect("there is no sudo" in done.stderr, f"no sudo: {done.stderr}")
            command = (done.stderr.splitlines() or [""])[-1]
            expect(command.startswith("apt-get update && apt-get install "), f"no sudo: {command}")
            # The command does the same as ./dev, when root runs it.
            subprocess.run([shutil.which("bash"), "-c", command.replace("&&", ";", 1)], env={"PATH": f"{folder}/bin"}, check=False)
            words = machine.log("apt-get").split()
            expect(set(packages) <= set(words) and not set(others) & set(words) and "libgtest-dev" in words,
                   f"of a distribution with {packages}: {words}")
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(folder, 1000, OLD, sudo=True)
        done = machine.run(root, "test", "release")
        expect(done.returncode == 1 and "install" in machine.log("sudo"), f"with sudo: {machine.log('sudo')}")
        expect("apt-get update && apt-get install" in done.stderr, f"sudo refused: {done.stderr}")
        done = machine.run(root, "fresh", "trixie")
        expect(done.returncode == 1 and "run: sudo ./dev fresh trixie" in done.stderr, f"fresh: {done.stderr}")
    with tempfile.TemporaryDirectory() as folder:
        done = Machine(folder, 0, OLD).run(root, "test", "relaese")
        expect(done.returncode == 2 and "no part 'relaese'" in done.stderr, f"a part that is none: {done.stderr}")
    return wrong


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        dev = pathlib.Path(folder) / "dev"
        dev.write_text("#!/usr/bin/env bash\napt-get install libmimalloc2.0\nexit 1\n")
        dev.chmod(0o755)
        wrong = check(dev.parent)
        return 0 if any("apt-get was called all the same" in line for line in wrong) else 1


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    wrong = check(pathlib.Path(sys.argv[1]).resolve())
    for line in wrong:
        print(f"packages: {line}", file=sys.stderr)
    print("packages: dev does what its machine wants" if not wrong else f"{len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
