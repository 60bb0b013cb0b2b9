# SPDX-License-Identifier: Apache-2.0
"""Python frames in the stacks of the distribution's python3: against the interpreter's own answer at the moment of an allocation
(tests/pythons/stacks.py, which ./dev test-pythons runs with every version), and what becomes of them in a profile.

"""
import os
import re
import signal
import subprocess
import sys
import textwrap
import time

import e2e

PYTHON = e2e.system_python()
STACKS = e2e.SOURCE / "tests/pythons/stacks.py"
# Bytes of a block: larger than what the interpreter needs for itself.
BLOCK = 1_500_000


class PythonStacks(e2e.Test):
    def write(self, name, text):
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path

    def profile(self, script, *options, rate="0", python=PYTHON, status=0, **environment):
        """Runs a script under `memprof run`; the report by line, name -> (line, live blocks)."""
        out = self.folder / "out.pb"
        self.memprof("run", "-r", rate, "-o", out, *options, "--", python, script, status=status,
                     environment=e2e.plain_environment(PYTHONPATH=str(self.folder), **environment))
        return out

    def rows(self, out, *options):
        """Those of the script, and native ones."""
        return {row["name"]: row for row in self.report(out, *options)["rows"] if row["file"].endswith("app.py") or ".py" not in row["file"]}

    def own(self, out, name):
        """(line, blocks that it holds itself: beside them, it holds small objects)"""
        rows = [r for r in self.report(out, "--by", "line")["rows"] if r["name"] == name]
        return sorted((r["line"], round(r["self"]["inuse_space"]["value"] / BLOCK, 1)) for r in rows
                      if r["self"]["inuse_space"]["value"] >= BLOCK)

    def test_are_the_interpreters_own(self):
        done = e2e.run([sys.executable, STACKS, e2e.LIBRARY, PYTHON, "--rounds", "10", "--most", "10000"])
        self.check(done, stderr=None)
        compared = re.search(rb"(\d+) stacks compared: (\d+) same", done.stdout)
        self.assertGreater(int(compared[1]), 4000, done.stdout)
        self.assertEqual(compared[1], compared[2], done.stdout)

    def test_lines_hold_what_they_allocate(self):
        script = self.write("app.py", f"""\
            import os
            held = []

            def leaf():
                held.append(bytearray({BLOCK}))
                held.append(
                    bytes({BLOCK}) + b"x")

            class Cache:
                def add(self):
                    leaf()

            for _ in range(3):
                Cache().add()
            os._exit(0)
            """)
        out = self.profile(script)
        # The sum needs both operands; one is gone again.
        self.assertEqual(self.own(out, "leaf"), [(5, 3), (7, 3)])
        cumulative = {(r["name"], r["line"]): r["cumulative"]["inuse_space"]["value"] for r in self.report(out, "--by", "line")["rows"]
                      if r["file"].endswith("app.py")}
        for place in (("Cache.add", 11), ("<module>", 14)):
            self.assertAlmostEqual(cumulative[place], 6 * BLOCK, delta=10_000)
        report = self.memprof("report", out, "-n", "3").stdout.decode()
        self.assertIn("leaf", report)
        self.assertIn("app.py", report)
        # With the interpreter's functions, they hold it.
        self.assertNotIn("leaf", [n for n, r in self.rows(out, "--native-interpreter").items() if r["self"]["inuse_space"]["value"] >= BLOCK])
        self.assertTrue(any("_Py" in name or name.startswith("Py") for name in self.rows(out, "--native-interpreter")))

    def test_the_importing_line_holds_what_importing_takes(self):
        self.write("big.py", "TEXT = '" + "x" * BLOCK + "'\n")
        script = self.write("app.py", """\
            import sys

            def load():
                import big
            load()
        """)
        out = self.profile(script)
        rows = self.report(out, "--metric", "alloc_space")["rows"]
        (load,) = [row for row in rows if row["name"] == "load"]
        self.assertGreater(load["self"]["alloc_space"]["value"], BLOCK)
        self.assertEqual(load["line"], 4)
        self.assertFalse([row["name"] for row in rows if row["file"].startswith("<frozen importlib")
                          and row["self"]["alloc_space"]["value"] >= BLOCK])
        rows = self.report(out, "--metric", "alloc_space", "--all-frames")["rows"]
        self.assertIn("_call_with_frames_removed", {row["name"] for row in rows})

    def test_native_frames_stand_between_python_frames(self):
        script = self.write("app.py", f"""\
            import os, functools
            held = []
            def inner(x):
                held.append(bytearray({BLOCK}))
                return 0
            def outer():
                sorted([1], key=inner)
            outer()
            os._exit(0)
            """)
        profile = e2e.Profile(self.profile(script, "--raw"))
        named = self.named(self.folder / "out.pb")
        stacks = [[f.name for f in frames] for frames, values, _ in named.samples if values["inuse_space"] >= BLOCK]
        self.assertTrue(stacks)
        for stack in stacks:
            inner, outer, module = (stack.index(n) for n in ("inner", "outer", "<module>"))
            self.assertLess(0, inner)
            self.assertLess(inner + 1, outer, "sorted() stands between them")
            self.assertEqual(outer + 1, module, "one loop runs both")
            self.assertNotIn("_PyEval_EvalFrameDefault", stack)
        # Names of Python code are in the file that the process's data gave; the others are found later.
        raw = [[f.name for f in frames] for frames, values, _ in profile.samples if values["inuse_space"] >= BLOCK]
        self.assertTrue(all("inner" in stack for stack in raw))

    def test_the_loop_is_shown_when_asked_for(self):
        script = self.write("app.py", f"import os\nx = bytearray({BLOCK})\nos._exit(0)\n")
        self.profile(script, MEMPROF_NATIVE_INTERPRETER="1")
        stacks = [[f.name for f in frames] for frames, values, _ in self.named(self.folder / "out.pb").samples
                  if values["inuse_space"] >= BLOCK]
        self.assertTrue(stacks)
        for stack in stacks:
            self.assertEqual(stack[stack.index("<module>") + 1], "_PyEval_EvalFrameDefault")

    def test_names_outlive_their_code(self):
        script = self.write("app.py", f"""\
            import gc, os
            held = []
            for i in range(300):
                space = {{"held": held}}
                exec(compile(f"def made_{{i}}():\\n" + "\\n" * i + "    held.append(bytearray({BLOCK}))", f"<made {{i}}>", "exec"), space)
                space[f"made_{{i}}"]()
                del space
                gc.collect()
            os._exit(0)
            """)
        out = self.profile(script)
        rows = [r for r in self.report(out, "--by", "line")["rows"] if r["name"].startswith("made_") and r["self"]["inuse_space"]["value"] >= BLOCK]
        self.assertEqual(len(rows), 300)
        for row in rows:
            i = int(row["name"].removeprefix("made_"))
            self.assertEqual((row["file"], row["line"], round(row["self"]["inuse_space"]["value"] / BLOCK, 1)), (f"<made {i}>", i + 2, 1))

    def test_a_killed_process_has_its_lines(self):
        script = self.write("app.py", f"""\
            import os, signal
            def keep():
                return bytearray({BLOCK})
            x = [keep() for _ in range(5)]
            os.kill(os.getpid(), signal.SIGKILL)
            """)
        out = self.profile(script, status=128 + signal.SIGKILL)
        self.assertEqual(self.own(out, "keep"), [(3, 5)])

    def test_threads_and_fork_children(self):
        script = self.write("app.py", f"""\
            import os, threading
            held = []
            def in_thread():
                held.append(bytearray({BLOCK}))
            def in_child():
                held.append(bytearray({BLOCK}))
            threads = [threading.Thread(target=in_thread) for _ in range(8)]
            for t in threads: t.start()
            for t in threads: t.join()
            if os.fork() == 0:
                for _ in range(4): in_child()
                os._exit(0)
            os.wait()
            os._exit(0)
            """)
        out = self.folder / "out.pb"
        self.memprof("run", "-r", "0", "-o", out, "--merge", "--", PYTHON, script)
        self.assertEqual(self.own(out, "in_thread"), [(4, 8)])
        self.assertEqual(self.own(out, "in_child"), [(6, 4)])

    def daemon_threads(self, ending):
        """Daemon threads 10 calls deep, which allocate without the GIL until the process is gone."""
        return self.write("app.py", f"""\
            import ctypes, os, sys, threading, time, types
            library = ctypes.CDLL({str(e2e.PROGRAMS / "keeps_allocating.so")!r})
            def deep(n):
                return deep(n - 1) if n else library.allocate_for_ever()
            for _ in range(8):
                threading.Thread(target=deep, args=(10,), daemon=True).start()
            time.sleep(0.2)
            {ending}
            """)

    def test_threads_without_the_gil_have_their_frames(self):
        out = self.profile(self.daemon_threads("os._exit(0)"), rate="1k")
        stacks = [[f.name for f in frames] for frames, values, _ in self.named(out).samples
                  if frames[0].name == "allocate_for_ever"]
        self.assertTrue(stacks)
        for stack in stacks:
            self.assertEqual(stack.count("deep"), 11, stack)

    def test_daemon_threads_at_the_end_of_python(self):
        """Their thread states are freed and the memory is used anew while the interpreter goes: here by an object of a module."""
        script = self.daemon_threads(textwrap.dedent("""\
            class Last:
                def __del__(self, reuse=library.reuse_freed_memory, write=os.write):
                    write(1, b"last")
                    reuse()
            sys.modules["last"] = types.ModuleType("last")
            sys.modules["last"].held = Last()
            """).replace("\n", "\n" + 12 * " "))
        for rate in ("0", "1k", "512k"):
            for _ in range(3):
                done = e2e.run([PYTHON, script], e2e.preloaded(self.folder / "%p.pb", rate))
                self.check(done)
                self.assertEqual(done.stdout, b"last")

    def test_generators_and_coroutines(self):
        script = self.write("app.py", f"""\
            import asyncio, os
            held = []
            def generator():
                for i in range(3):
                    held.append(bytearray({BLOCK}))
                    yield
            async def coroutine():
                await asyncio.sleep(0)
                held.append(bytearray({BLOCK}))
            async def main():
                for _ in generator(): pass
                await asyncio.gather(*(coroutine() for _ in range(4)))
            asyncio.run(main())
            os._exit(0)
            """)
        out = self.profile(script)
        self.assertEqual(self.own(out, "generator"), [(5, 3)])
        self.assertEqual(self.own(out, "coroutine"), [(9, 4)])

    def test_a_deep_recursion_keeps_both_ends(self):
        script = self.write("app.py", f"""\
            import os
            def deep(n):
                return deep(n - 1) if n else bytearray({BLOCK})
            x = deep(600)
            os._exit(0)
            """)
        out = self.profile(script)
        self.assertEqual(self.own(out, "deep"), [(3, 1)])
        (module,) = [r for r in self.report(out)["rows"] if r["name"] == "<module>" and r["file"].endswith("app.py")]
        self.assertAlmostEqual(module["cumulative"]["inuse_space"]["value"], BLOCK, delta=50_000)

    def test_signal_handlers_that_allocate_at_any_moment(self):
        """A native handler allocates while the interpreter is between any two instructions."""
        script = self.write("app.py", f"""\
            import ctypes, os, signal
            libc = ctypes.CDLL(None)
            # The handler is malloc itself: it gets the signal's number as the size.
            libc.signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
            libc.signal(signal.SIGALRM, ctypes.cast(libc.malloc, ctypes.c_void_p))
            signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
            def work(n):
                return [str(i) for i in range(n)] if n else []
            for i in range(20000):
                work(i % 30)
            signal.setitimer(signal.ITIMER_REAL, 0)
            print("worked")
            """)
        done = e2e.run([PYTHON, script], e2e.preloaded(self.folder / "x.pb", "0"))
        self.check(done)
        self.assertEqual(done.stdout, b"worked\n")

    def test_an_interpreter_that_is_loaded_late(self):
        """libpython comes by dlopen, hidden from the rest of the program."""
        library = subprocess.run([PYTHON, "-c", "import sysconfig as s; print(s.get_config_var('LIBDIR') + '/' + s.get_config_var('INSTSONAME'))"],
                                 capture_output=True, text=True, check=True).stdout.strip()
        if not os.path.exists(library):
            self.skipTest(f"{library} is not installed")
        source = self.write("host.c", """\
            #include <dlfcn.h>
            #include <stdlib.h>
            #include <unistd.h>
            int main(int n, char** arguments) {
              void* python = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
              if (!python || n < 3) return 3;
              void (*begin)(void) = (void (*)(void))dlsym(python, "Py_Initialize");
              int (*run)(const char*, void*) = (int (*)(const char*, void*))dlsym(python, "PyRun_SimpleStringFlags");
              begin();
              int result = run(arguments[2], 0);
              _exit(result);
            }
            """)
        host = self.folder / "host"
        subprocess.run(["cc", source, "-o", host, "-ldl"], check=True)
        code = f"def late():\n    return bytearray({BLOCK})\nx = [late() for _ in range(6)]\n"
        out = self.folder / "out.pb"
        self.memprof("run", "-r", "0", "-o", out, "--", host, library, code)
        self.assertEqual(self.own(out, "late"), [(2, 6)])


if __name__ == "__main__":
    e2e.main()
