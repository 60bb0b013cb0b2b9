#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The scripts of a release, as far as they need no build: pages, completions, archives, packages, the bill of materials."""
import gzip
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = pathlib.Path(os.environ["MEMPROF_COMMAND"])
sys.path.insert(0, str(ROOT / "tools/release"))
import builds  # noqa: E402, pylint: disable=wrong-import-position
import help_pages  # noqa: E402, pylint: disable=wrong-import-position
import musl_wheel  # noqa: E402, pylint: disable=wrong-import-position
import packages  # noqa: E402, pylint: disable=wrong-import-position
import parts  # noqa: E402, pylint: disable=wrong-import-position
import tree  # noqa: E402, pylint: disable=wrong-import-position

EPOCH = 1700000000


def is_where_releases_are_made():
    """Debian 12: there each package that a release names comes with what the tests need."""
    system = platform.freedesktop_os_release()
    return (system.get("ID"), system.get("VERSION_ID")) == ("debian", "12")


class Scripts(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="memprof-release-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def test_pages_and_completions_are_of_all_commands(self):
        files = help_pages.write(COMMAND, self.folder)
        commands = help_pages.commands_of(COMMAND)
        for name in ("run", "report", "ship", "manual"):
            self.assertIn(name, commands)
        for name in commands:
            self.assertIn(f"man/man1/memprof-{name}.1", files)
        text = (self.folder / "man/man1/memprof-run.1").read_text()
        self.assertTrue(text.startswith(".TH MEMPROF\\-RUN 1 "), text[:100])
        self.assertIn("\\-\\-merge", text)
        self.assertIn("complete -o default -F _memprof memprof", (self.folder / "bash-completion/completions/memprof").read_text())

    def make_tree(self, name, umask):
        before = os.umask(umask)
        try:
            root = self.folder / name
            (root / "bin").mkdir(parents=True)
            for file, text in (("bin/memprof", "program"), ("read", "text")):
                (root / file).write_text(text)
            (root / "bin/memprof").chmod(0o700)
            (root / "link").symlink_to("read")
            (root / "bin/memprof").touch()
        finally:
            os.umask(before)
        packages.set_modes(root)
        return root

    def test_the_same_tree_gives_the_same_archive(self):
        bytes_of = []
        for name, umask in (("a", 0o022), ("b", 0o077)):
            out = self.folder / f"{name}.tar.gz"
            packages.tar(self.make_tree(name, umask), "top", out, EPOCH)
            bytes_of.append(out.read_bytes())
        self.assertEqual(*bytes_of)
        self.assertIn(b"top/bin/memprof", gzip.decompress(bytes_of[0]))
        listing = subprocess.run(["tar", "-tvzf", out], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertIn("-rwxr-xr-x 0/0", listing)
        self.assertIn("-rw-r--r-- 0/0", listing)
        self.assertIn("link -> read", listing)

    @unittest.skipUnless(shutil.which("dpkg-deb"), "no dpkg-deb")
    def test_the_same_tree_gives_the_same_package(self):
        folder = builds.FOLDER
        self.addCleanup(setattr, builds, "FOLDER", folder)
        bytes_of = []
        for name, umask in (("a", 0o022), ("b", 0o077)):
            builds.FOLDER = self.folder / f"build-{name}"
            out = self.folder / f"{name}.deb"
            made = self.make_tree(name, umask)
            packages.set_times(made, EPOCH - umask * 1000)  # older than the sources, each at its own time
            packages.deb(made, "1.2.3", "x86_64", out, EPOCH)
            bytes_of.append(out.read_bytes())
        self.assertEqual(*bytes_of)
        said = subprocess.run(["dpkg-deb", "--info", out], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertIn("Version: 1.2.3", said)

    def test_a_path_of_this_machine_is_an_error(self):
        root = self.make_tree("a", 0o022)
        tree.names_no_path(root)
        (root / "read").write_bytes(b"\0" + str(ROOT).encode() + b"/src\0")
        with self.assertRaisesRegex(builds.ReleaseError, "a/read has "):
            tree.names_no_path(root)

    def test_a_template_is_filled_whole(self):
        self.assertIn("pkgver=1.2.3", packages.fill("PKGBUILD", {"VERSION": "1.2.3", "SHA256": "abc"}))
        with self.assertRaisesRegex(builds.ReleaseError, "PKGBUILD.in has a name"):
            packages.fill("PKGBUILD", {"VERSION": "1.2.3"})

    @unittest.skipUnless(shutil.which("dpkg-query"), "no dpkg-query")
    def test_the_bill_names_every_part_and_file(self):
        try:
            bill = json.loads(parts.bill("1.2.3", EPOCH, {"b": "2", "a": "1"}))
        except builds.ReleaseError as error:
            if "is not installed" not in str(error) or is_where_releases_are_made():
                raise
            self.skipTest(str(error))
        names = {one["name"]: one for one in bill["components"]}
        for name in ("elfutils", "re2", "fmt", "protozero", "zydis", "glibc", "preact", "a", "b"):
            self.assertIn(name, names)
        self.assertRegex(names["zydis"]["version"], r"^\d+\.\d+")
        self.assertRegex(names["elfutils"]["version"], r"^0\.\d+")
        self.assertEqual(bill["metadata"]["timestamp"], "2023-11-14T22:13:20Z")
        self.assertEqual(parts.bill("1.2.3", EPOCH, {"a": "1", "b": "2"}), parts.bill("1.2.3", EPOCH, {"b": "2", "a": "1"}))

    def make_wheel(self, **files):
        """One for glibc, as small as it can be."""
        path = self.folder / "libmemprof-1.2.3-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            for name, text in {"memprof/__init__.py": "init", musl_wheel.LIBRARY: "for glibc", **files,
                               "libmemprof-1.2.3.dist-info/WHEEL": "Wheel-Version: 1.0\nTag: py3-none-manylinux_2_17_x86_64\nTag: py3-none-manylinux2014_x86_64\n",
                               "libmemprof-1.2.3.dist-info/RECORD": "of glibc"}.items():
                info = zipfile.ZipInfo(name)
                info.external_attr = (0o100755 if "_native" in name else 0o100644) << 16
                wheel.writestr(info, text)
        return path

    def make_musl_wheel(self, wheel):
        for name, text in (("library", "for musl"), ("command", "one file")):
            (self.folder / name).write_text(text)
        return musl_wheel.make(wheel, "x86_64", self.folder / "library", self.folder / "command", self.folder, EPOCH)

    def test_the_wheel_for_musl(self):
        for files in ({}, {musl_wheel.COMMAND: "for glibc"}):  # without the command of the other, and with it
            made = self.make_musl_wheel(self.make_wheel(**files))
            self.assertEqual(made.name, "libmemprof-1.2.3-py3-none-musllinux_1_2_x86_64.whl")
            first = made.read_bytes()
            with zipfile.ZipFile(made) as wheel:
                content = {name: wheel.read(name) for name in wheel.namelist()}
                modes = {info.filename: info.external_attr >> 16 & 0o777 for info in wheel.infolist()}
            self.assertEqual((content[musl_wheel.LIBRARY], content[musl_wheel.COMMAND], content["memprof/__init__.py"]),
                             (b"for musl", b"one file", b"init"))
            self.assertEqual((modes[musl_wheel.LIBRARY], modes[musl_wheel.COMMAND], modes["memprof/__init__.py"]), (0o755, 0o755, 0o644))
            self.assertEqual(content["libmemprof-1.2.3.dist-info/WHEEL"], b"Wheel-Version: 1.0\nTag: py3-none-musllinux_1_2_x86_64\n")
            record = content["libmemprof-1.2.3.dist-info/RECORD"].decode().splitlines()
            self.assertEqual({line.split(",")[0] for line in record}, set(content))
            # The digest of "for musl", as the standard of wheels writes it.
            self.assertIn(f"{musl_wheel.LIBRARY},sha256=amxGLy9NVKx-Ll3uWtpXMl9VvAQAs7_xIT-8qmANAtc,8", record)
            self.assertEqual(self.make_musl_wheel(self.make_wheel(**files)).read_bytes(), first)

    def test_a_file_that_is_no_wheel_of_ours(self):
        path = self.make_wheel()
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr("memprof/__init__.py", "init")
        with self.assertRaisesRegex(builds.ReleaseError, "is no wheel of this package: memprof/_native/lib/libmemprof.so is missing"):
            self.make_musl_wheel(path)

    def test_another_version_is_wrong_use(self):
        done = subprocess.run([ROOT / "tools/release/make_release", "99.0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("version 99.0: CMakeLists.txt says", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
