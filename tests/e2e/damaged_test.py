# SPDX-License-Identifier: Apache-2.0
"""Lesson 14: programs whose files are damaged where only a profiler would look.

The kernel and the loader go by the headers of segments; sections, unwind tables and notes they do not read. So a program
with any garbage there runs, and has to run under us as well: with all of its weight, with stacks as good as they can be,
and `memprof export` has to bear its file.
"""
import pathlib
import random
import struct

import e2e

STATUS = 7
PT_NOTE, PT_GNU_EH_FRAME = 4, 0x6474E550


class Elf:
    """A program in memory, to be damaged."""

    def __init__(self, path):
        self.data = bytearray(pathlib.Path(path).read_bytes())
        self.segments_at, self.sections_at = struct.unpack_from("<QQ", self.data, 32)
        self.segment_size, self.segment_count, self.section_size, self.section_count, names = struct.unpack_from(
            "<HHHHH", self.data, 54)
        self.names_at = self._section(names)[4]

    def _section(self, number):
        """name, type, flags, address, offset, size"""
        return struct.unpack_from("<IIQQQQ", self.data, self.sections_at + number * self.section_size)

    def section(self, name):
        """(offset, size) of its bytes."""
        for number in range(self.section_count):
            fields = self._section(number)
            start = self.names_at + fields[0]
            if self.data[start:self.data.index(0, start)] == name.encode():
                return fields[4], fields[5]
        raise AssertionError(f"the program has no {name}")

    def segments(self, kind):
        """Where the headers of this kind are."""
        found = [at for at in range(self.segments_at, self.segments_at + self.segment_count * self.segment_size,
                                    self.segment_size) if struct.unpack_from("<I", self.data, at)[0] == kind]
        if not found:
            raise AssertionError(f"the program has no segment {kind:#x}")
        return found

    def fill(self, name, random_):
        offset, size = self.section(name)
        self.data[offset:offset + size] = random_.randbytes(size)

    def drop_section_headers(self):
        struct.pack_into("<Q", self.data, 40, 0)
        struct.pack_into("<HHH", self.data, 58, 0, 0, 0)

    def lie_of_sections(self):
        for number in range(1, self.section_count):
            struct.pack_into("<QQQ", self.data, self.sections_at + number * self.section_size + 16, 0x7FFFFFFFF000, 1 << 60,
                             1 << 60)

    def lie_of_segment(self, kind, address, size):
        for at in self.segments(kind):
            if address is not None:
                struct.pack_into("<Q", self.data, at + 16, address)
            struct.pack_into("<QQ", self.data, at + 32, size, size)


class Damaged(e2e.Test):
    def totals_of(self, path):
        profile = e2e.Profile(path)
        self.assertEqual(profile.facts["dropped_samples"], "0")
        return {metric: profile.total(metric) for metric in e2e.METRICS}, profile

    def check_copy(self, elf, what):
        """The program runs to its right end; its profile has the whole weight, and can be given names."""
        program = self.folder / "damaged"
        program.write_bytes(elf.data)
        program.chmod(0o755)
        out = self.folder / "out.pb"
        with self.subTest(what):
            done = e2e.run([program], e2e.preloaded(out, 0))
            self.assertEqual((done.returncode, done.stderr), (STATUS, b""), what)
            self.assertIn(b"right bytes 6000, wrong errno 0,", done.stdout, what)
            held, profile = self.totals_of(out)
            self.assertEqual(held, self.right, what)
            # What allocated is told from the stack pointer alone, and no table can take it away.
            self.assertTrue(all(frames for frames, _, _ in profile.samples), what)
            named = self.folder / "named.pb"
            self.memprof("export", out, "-o", named)
            self.assertEqual(self.totals_of(named)[0], self.right, what)
        for path in (program, out, self.folder / "named.pb"):
            path.unlink(missing_ok=True)
        return int(profile.facts["walk_root"])

    def setUp(self):
        super().setUp()
        self.path = e2e.program("under_faults")
        out = self.folder / "right.pb"
        self.check(e2e.run([self.path], e2e.preloaded(out, 0)), STATUS)
        self.right, profile = self.totals_of(out)
        self.right_roots = int(profile.facts["walk_root"])
        self.assertGreater(self.right["alloc_space"], 70_000)
        out.unlink()

    def test_no_section_headers(self):
        elf = Elf(self.path)
        elf.drop_section_headers()
        self.check_copy(elf, "no section headers")

    def test_sections_that_lie(self):
        elf = Elf(self.path)
        elf.lie_of_sections()
        self.check_copy(elf, "sections of 2^60 bytes, outside of everything")

    def test_garbage_for_unwind_tables(self):
        for section in (".eh_frame", ".eh_frame_hdr"):
            for seed in range(12):
                elf = Elf(self.path)
                elf.fill(section, random.Random(seed))
                self.check_copy(elf, f"{section} of random bytes, seed {seed}")

    def test_a_few_wrong_bytes_in_unwind_tables(self):
        for seed in range(12):
            random_ = random.Random(seed)
            elf = Elf(self.path)
            for section in (".eh_frame", ".eh_frame_hdr"):
                offset, size = elf.section(section)
                for _ in range(8):
                    elf.data[offset + random_.randrange(size)] ^= 1 << random_.randrange(8)
            self.check_copy(elf, f"16 bits flipped, seed {seed}")

    def test_zeros_for_unwind_tables(self):
        for section in (".eh_frame", ".eh_frame_hdr"):
            elf = Elf(self.path)
            offset, size = elf.section(section)
            elf.data[offset:offset + size] = bytes(size)
            roots = self.check_copy(elf, f"{section} of zeros")
            # The damage is seen: stacks of this program end where its tables are missing.
            self.assertLess(roots, self.right_roots)

    def test_unwind_tables_that_lie_about_place_and_size(self):
        for address, size in ((None, 1 << 62), (None, 0), (None, 3), (1 << 62, 100), (0x7FFFFFFFF000, 1 << 40), (0, 1 << 40)):
            elf = Elf(self.path)
            elf.lie_of_segment(PT_GNU_EH_FRAME, address, size)
            self.check_copy(elf, f"PT_GNU_EH_FRAME at {address} of {size} bytes")

    def test_notes_that_lie(self):
        """Where the build id is."""
        elf = Elf(self.path)
        for section in (".note.gnu.build-id", ".note.ABI-tag"):
            offset, size = elf.section(section)
            elf.data[offset:offset + 8] = b"\xff" * 8  # the sizes of name and content
        self.check_copy(elf, "notes of 4 GiB")


if __name__ == "__main__":
    e2e.main()
