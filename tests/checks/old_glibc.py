#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wheels and npm packages are for glibc 2.17: the library and the command use no function that came later.

usage: old_glibc.py FILE...             says which do, exits 1 if there is one
       old_glibc.py --self-test C++     compiles one that does

A build here cannot see it by versions: glibc gives old functions new ones. So this is a list of what was added.
"""
import pathlib
import subprocess
import sys
import tempfile

# Of <unistd.h>, <stdlib.h>, <sys/mman.h> and so on, with the version that has them first.
NEWER = {
    "arc4random": 2.36, "arc4random_buf": 2.36, "arc4random_uniform": 2.36, "close_range": 2.34, "closefrom": 2.34,
    "copy_file_range": 2.27, "epoll_pwait2": 2.35, "execveat": 2.34, "explicit_bzero": 2.25, "fspick": 2.36, "getdents64": 2.30,
    "getentropy": 2.25, "getrandom": 2.25, "gettid": 2.30, "memfd_create": 2.27, "mlock2": 2.27,
    "pidfd_getfd": 2.36, "pidfd_open": 2.36, "pidfd_send_signal": 2.36, "pkey_alloc": 2.27, "posix_spawn_file_actions_addchdir_np": 2.29,
    "posix_spawn_file_actions_addclosefrom_np": 2.34, "preadv2": 2.26, "process_madvise": 2.36, "process_mrelease": 2.36,
    "pthread_getattr_default_np": 2.18, "pwritev2": 2.26, "reallocarray": 2.26, "renameat2": 2.28, "sigabbrev_np": 2.32,
    "sigdescr_np": 2.32, "statx": 2.28, "strerrordesc_np": 2.32, "strerrorname_np": 2.32, "strlcat": 2.38, "strlcpy": 2.38,
    "tgkill": 2.30, "timespec_getres": 2.34, "_dl_find_object": 2.35,
}


def newer_in(path):
    symbols = subprocess.run(["nm", "-D", "--undefined-only", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    names = {line.split()[-1].split("@")[0] for line in symbols.splitlines()}
    return [f"{path}: uses {name}, which glibc has since {NEWER[name]}" for name in sorted(names & NEWER.keys())]


def self_test(compiler):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for body, expected in (("getrandom(&x, sizeof x, 0)", 1), ("getpid()", 0)):
            source, program = folder / "x.cc", folder / "x"
            source.write_text(f"#include <sys/random.h>\n#include <unistd.h>\nint main() {{ long x = 0; return static_cast<int>({body}); }}\n")
            subprocess.run([compiler, source, "-o", program], check=True)
            if len(newer_in(program)) != expected:
                sys.exit(f"{body}: {newer_in(program)}")
    print("old_glibc: sees what is planted")


def main():
    if sys.argv[1:2] == ["--self-test"] and len(sys.argv) == 3:
        return self_test(sys.argv[2])
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    wrong = [line for path in sys.argv[1:] for line in newer_in(path)]
    print("\n".join(wrong) or f"{len(sys.argv) - 1} files use nothing that glibc 2.17 lacks")
    return sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
