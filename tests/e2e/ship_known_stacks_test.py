# SPDX-License-Identifier: Apache-2.0
"""A shipper that has looked before reads the values of stacks that it knows, and names only new ones. What it ships is, stack
by stack, what another one ships that looks for the first time."""
import collections

import e2e
import ship_test

# Each line runs a function of its own, which allocates through modules that are loaded then; `end` ends it.
PROGRAM = """
import importlib, sys, threading
kept = []
def allocate(n):
    gone = [bytearray(20_000) for _ in range(n)]
    kept.extend(gone[::3])
def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
print('ready', flush=True)
for number, line in enumerate(sys.stdin):
    source, module = line.split()[:2]
    code = f'''
def step{number}(n):
    module = importlib.import_module('{module}')
    kept.append([module, [str(i) * 40 for i in range(n * 200)]])
    allocate(n)
'''
    exec(compile(code, f'step{number}.py', 'exec'))
    in_thread(lambda: globals()[f'step{number}'](int(source)))
    del kept[: len(kept) // 4]
    print('done', flush=True)
"""
MODULES = ("json", "sqlite3", "decimal", "xml.etree.ElementTree", "ctypes", "unicodedata")
GROWING = ("alloc_objects", "alloc_space")


def place(frame):
    """What tells a frame, named or not, from others."""
    if frame.names:
        return tuple(frame.names)
    mapping = frame.mapping or {"path": "", "start": 0, "offset": 0}
    return mapping["path"], frame.address - mapping["start"] + mapping["offset"]


def by_stack(path):
    """Sums by metric of each stack of a profile."""
    stacks = collections.defaultdict(collections.Counter)
    for frames, values, labels in e2e.Profile(path).samples:
        stacks[tuple(place(frame) for frame in frames), labels.get("heap", "")].update(values)
    return stacks


class ShipKnownStacks(ship_test.Base):
    def to_folder(self, name):
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        return folder, lambda: sorted((folder / "shop").glob("*.pb.gz"), key=lambda file: e2e.Profile(file).time_ns)

    def wait_for_looks(self, looks):
        """Until one is there that began after now."""
        before = len(looks())
        self.wait_for(lambda: len(looks()) > before + 1)

    def check_same(self, looks, whole):
        """The sum of looks, and what the last one holds, are those of a whole look."""
        whole = {stack: values for stack, values in by_stack(whole).items() if any(values.values())}
        grown = collections.defaultdict(collections.Counter)
        for look in looks:
            for stack, values in by_stack(look).items():
                grown[stack].update({metric: values[metric] for metric in GROWING})
        last = by_stack(looks[-1])
        self.assertEqual({stack for stack in grown if any(grown[stack].values())} - set(whole), set())
        for metric in ("alloc_space", "inuse_space", "peak_space"):
            seen = grown if metric in GROWING else last
            total = sum(values[metric] for values in whole.values())
            self.assertEqual(sum(values[metric] for values in seen.values()), total, metric)
            self.assertGreater(total, 1_000_000, metric)
            # Each stack is rounded by itself, at each look.
            apart = {stack: (seen[stack][metric], values[metric]) for stack, values in whole.items()
                     if abs(seen[stack][metric] - values[metric]) > 2 * len(looks) + 2 + 0.001 * values[metric]}
            self.assertEqual(apart, {}, metric)

    def test_stacks_that_come_and_go(self):
        processes = [self.begin(), self.begin()]
        folder, looks = self.to_folder("known")
        shipper = self.start(str(folder), "a", "--every", "0.3s")
        for number, module in enumerate(MODULES):
            for process in processes:
                self.step(process, 40 + 17 * number, module)
            self.wait_for_looks(looks)
        for process in processes:
            self.step(process, 10, "json")
        self.wait_for_looks(looks)
        self.end(shipper)
        figures = self.figures()
        self.assertGreater(figures["known_total"], 2 * len(MODULES))
        self.assertGreater(figures["new_stacks_total"], len(MODULES))
        whole, only = self.to_folder("whole")
        (self.folder / "a-spool").rename(self.folder / "spool-of-before")
        self.ship(str(whole), "a")
        self.check_same(looks(), only()[0])

    def test_one_that_ends_is_counted_to_its_end(self):
        """With another that goes on, whose look is one of values only."""
        stays, ends = self.begin(), self.begin()
        server = self.server()
        shipper = self.start(server.url, "a", "--every", "0.3s")
        truth = collections.Counter()
        for process in (stays, ends):
            self.step(process, 60, "decimal")
        self.wait_for(lambda: len(server.stored) > 3)
        self.step(ends, 80, "sqlite3")
        truth.update(self.truth(ends))
        ends.kill()
        ends.wait()
        self.wait_for(lambda: server.totals()["inuse_space"] == self.truth(stays)["inuse_space"])
        truth.update(self.truth(stays))
        self.end(shipper)
        self.assertGreater(self.figures()["known_total"], 2)
        totals = server.totals()
        self.assertEqual({metric: totals[metric] for metric in GROWING}, {metric: truth[metric] for metric in GROWING})

    def begin(self, host="a", rate="32k", **extra):
        return self.begin_program([e2e.system_python(), "-c", PROGRAM], host, rate, **extra)

    def step(self, process, count, module):
        process.stdin.write(f"{count} {module}\n".encode())
        process.stdin.flush()
        self.wait_for_answer(process, b"done\n")


if __name__ == "__main__":
    e2e.main()
