# SPDX-License-Identifier: Apache-2.0
"""Rows of Python programs are lines of Python, and the program's own first: what extension modules allocate, whether or not
they are stripped, what importing packages takes, and what stays native: programs that embed Python.
"""
import json
import subprocess
import textwrap

import e2e

PYTHON = e2e.system_python()
BLOCK = 4_000_000  # more than what starting any Python takes: 1.9 MiB of 3.13
EXTENSION = """\
    #include <Python.h>
    #include <stdlib.h>

    __attribute__((noinline)) void* grow_prices(size_t bytes) {
      void* block = malloc(bytes);
      __asm__ volatile("" : : "r"(block) : "memory");
      return block;
    }
    static PyObject* make(PyObject* self, PyObject* bytes) {
      (void)self;
      return PyLong_FromVoidPtr(grow_prices(PyLong_AsSize_t(bytes)));
    }
    static PyObject* use(PyObject* self, PyObject* bytes) {
      (void)self;
      free(grow_prices(PyLong_AsSize_t(bytes)));
      Py_RETURN_NONE;
    }
    static PyObject* call_back(PyObject* self, PyObject* function) {
      (void)self;
      return PyObject_CallNoArgs(function);
    }
    static PyMethodDef methods[] = {{"make", make, METH_O, 0}, {"use", use, METH_O, 0}, {"call_back", call_back, METH_O, 0}, {0, 0, 0, 0}};
    static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "NAME", 0, -1, methods, 0, 0, 0, 0};
    PyMODINIT_FUNC PyInit_NAME(void) { return PyModule_Create(&module); }
"""
HOST = """\
    int main(int argc, char** argv) {
      (void)argc;
      PyImport_AppendInittab("engine", PyInit_engine);
      Py_Initialize();
      FILE* script = fopen(argv[1], "r");
      int failed = PyRun_SimpleFile(script, argv[1]);
      fflush(stdout);
      _exit(failed != 0);
    }
"""
APP = f"""\
    import os
    import _prices

    def prices():
        return _prices.make({2 * BLOCK})

    def volumes():
        return _prices.make({BLOCK})

    def called():
        return _prices.make({BLOCK})

    def used():
        _prices.use({BLOCK})

    prices()
    volumes()
    used()
    _prices.call_back(called)
    os._exit(0)
"""
TRUTH = {"prices": (2 * BLOCK, 5), "volumes": (BLOCK, 8), "called": (BLOCK, 11)}


def of_python(what):
    code = f"import sysconfig as s; print({what})"
    return subprocess.run([PYTHON, "-I", "-c", code], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


INCLUDE = of_python("s.get_path('include')")


class PythonRows(e2e.Test):
    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    def build(self, output, source, *options):
        done = e2e.run([e2e.need("gcc"), "-O1", "-fPIC", "-fno-optimize-sibling-calls", "-I", INCLUDE, "-o", output, source, *options])
        self.check(done, stderr=None)
        return output

    def extension(self, is_stripped=False):
        source = self.write("prices.c", EXTENSION.replace("NAME", "_prices"))
        self.build(self.folder / "_prices.so", source, "-shared", *(["-s", "-fvisibility=hidden"] if is_stripped else []))

    def profile(self, script, *command, rate="0"):
        out = self.folder / "out.pb"
        self.memprof("run", "-r", rate, "-o", out, "--force", "--", *(command or [PYTHON]), script,
                     environment=e2e.plain_environment(PYTHONPATH=str(self.folder)), cwd=self.folder)
        return out

    def large(self, out, *options):
        """Rows that hold a block of ours themselves: name -> (bytes, line)."""
        rows = [r for r in self.report(out, *options)["rows"] if r["self"]["inuse_space"]["value"] >= BLOCK]
        return {r["name"]: (r["self"]["inuse_space"]["value"] // BLOCK * BLOCK, r["line"]) for r in rows}

    def test_what_extensions_allocate_is_the_lines(self):
        script = self.write("app.py", APP)
        for is_stripped in (False, True):
            with self.subTest(is_stripped=is_stripped):
                self.extension(is_stripped)
                out = self.profile(script)
                self.assertEqual(self.large(out), TRUTH)
                self.assertEqual(self.large(out, "--by", "line"), TRUTH)
                through = {r["name"]: r["through"] for r in self.report(out)["rows"] if r["name"] in TRUTH}
                function = "" if is_stripped else "grow_prices"
                self.assertEqual(through, dict.fromkeys(TRUTH, {"function": function, "module": "_prices.so"}))
                text = self.memprof("report", out, "-n", "3").stdout.decode()
                self.assertEqual(text.count("through _prices.so" if is_stripped else "through grow_prices"), 3, text)

    def test_native_code_is_shown_when_asked_for(self):
        self.extension()
        out = self.profile(self.write("app.py", APP))
        self.assertEqual(self.large(out, "--native"), {"grow_prices": (4 * BLOCK, 0)})
        self.assertEqual(self.large(out, "--by", "module")["_prices.so"][0], 4 * BLOCK)
        tree = self.memprof("report", out, "--tree", "--focus", "^prices$").stdout.decode()
        self.assertIn("prices → make → grow_prices", tree)
        callers = self.report(out, "--callers", "make")["callers"]["rows"]
        self.assertEqual({r["name"] for r in callers}, {"prices", "volumes", "called"})
        callees = self.report(out, "--callees", "prices")["callees"]["rows"]
        self.assertEqual([r["name"] for r in callees if r["values"]["inuse_space"]["value"] >= BLOCK], ["make"])

    def test_other_commands_have_the_same_rows(self):
        self.extension()
        out = self.profile(self.write("app.py", APP))
        for options, shown in (((), False), (("--native",), True)):
            with self.subTest(options):
                self.memprof("export", out, "-o", self.folder / "out.collapsed", "--force", "--metric", "live", *options)
                stacks = (self.folder / "out.collapsed").read_text().splitlines()
                leaves = {line.rpartition(" ")[0].split(";")[-1] for line in stacks if int(line.split(" ")[-1]) >= BLOCK}
                self.assertEqual(leaves, {"grow_prices"} if shown else set(TRUTH))
                for command, metric, line in (("leaks", "inuse_space", "prices"), ("churn", "temporary_space", "used")):
                    rows = json.loads(self.run_any(command, out, "--json", *options))["rows"]
                    large = {r["name"] for r in rows if r[metric]["value"] >= BLOCK}
                    self.assertEqual("grow_prices" in large, shown)
                    self.assertEqual(line in large, not shown)
                changes = self.run_any("diff", out, out, "--json", *options).decode()
                self.assertEqual('"name": "grow_prices"' in changes, shown)

    def test_other_commands_say_what_a_line_allocates_through_and_for_whom(self):
        self.write("site-packages/tables/__init__.py", f"""\
            import _prices
            def make(blocks):
                return [_prices.make({BLOCK}) for _ in range(blocks)]
            def use():
                _prices.use({BLOCK})
        """)
        self.extension()
        script = self.write("app.py", """\
            import os, sys
            sys.path.insert(0, "site-packages")
            import tables
            def kept():
                return tables.make(int(sys.argv[1]))
            def used():
                tables.use()
            kept()
            used()
            os._exit(0)
        """)
        few, many = (self.folder / f"{blocks}.pb" for blocks in (2, 5))
        for out, blocks in ((few, 2), (many, 5)):
            self.memprof("run", "-r", "0", "-o", out, "--", PYTHON, script, str(blocks),
                         environment=e2e.plain_environment(PYTHONPATH=str(self.folder)), cwd=self.folder)
        through = {"function": "grow_prices", "module": "_prices.so"}
        limits = self.write("memprof.toml", "[[row]]\nby = 'function'\nlive = '1 MB'\n")
        for command, holder, line in ((("leaks", many, "-n", "9"), "kept", 5), (("churn", many), "used", 7),
                                      (("diff", few, many), "kept", 5), (("check", "--limits", limits, many), "kept", 5)):
            with self.subTest(command[0]):
                out = json.loads(self.run_any(*command, "--json"))
                rows = [site for check in out["checks"] for limit in check["limits"] for site in limit["sites"]] if command[0] == "check" else out["rows"]
                row = next(r for r in rows if r["through"] is not None and r["module"] == "[Python]" and "tables" in r["file"])
                self.assertEqual(row["through"], through)
                self.assertEqual(row["called_by"], {"function": holder, "file": str(script), "line": line})
                text = self.run_any(*command).decode()
                if command[0] == "leaks":
                    text = self.run_any("leaks", many, "--why").decode()
                self.assertIn(f"for {holder}", text)
                self.assertIn("through grow_prices", text)

    def run_any(self, *arguments):
        done = e2e.run([e2e.COMMAND, *arguments])
        self.assertIn(done.returncode, (0, 1, 3), done.stderr)  # 1: a suspect; 3: too little is known
        return done.stdout

    def test_a_program_that_embeds_python_keeps_its_rows(self):
        self.extension()
        version, library = of_python("s.get_config_var('LDVERSION')"), of_python("s.get_config_var('LIBDIR')")
        source = self.write("host.c", EXTENSION.replace("NAME", "engine") + HOST)
        host = self.build(self.folder / "host", source, f"-L{library}", f"-lpython{version}")
        script = self.write("app.py", f"""\
            import _prices, engine, os
            def prices():
                return _prices.make({2 * BLOCK})
            def on_event():
                return engine.make({BLOCK})
            prices()
            on_event()
            os._exit(0)
        """)
        out = self.profile(script, host)
        self.assertEqual(self.large(out), {"prices": (2 * BLOCK, 3), "grow_prices": (BLOCK, 0)})
        rows = {r["name"]: r for r in self.report(out)["rows"]}
        self.assertEqual(rows["grow_prices"]["module"], "host")
        self.assertIsNone(rows["grow_prices"]["through"])
        self.assertGreaterEqual(rows["on_event"]["cumulative"]["inuse_space"]["value"], BLOCK)

    def test_importing_a_package_is_one_row(self):
        package = "site-packages/heavy"
        self.write(f"{package}/__init__.py", "import heavy.tables\nfrom heavy.tables import table\nTEXT = bytearray(%d)\n" % BLOCK)
        self.write(f"{package}/tables.py", f"""\
            def table():
                return bytearray({BLOCK})
            KEPT = [bytearray({BLOCK}), table()]
        """)
        self.write("models.py", f"NAMES = bytearray({BLOCK})\n")
        script = self.write("app.py", """\
            import os, sys
            sys.path.insert(0, "site-packages")
            import heavy
            import models
            TABLE = heavy.table()
            os._exit(0)
        """)
        out = self.profile(script)
        rows = [(r["name"], r["file"].rpartition("/")[2], r["line"], r["self"]["inuse_space"]["value"] // BLOCK)
                for r in self.report(out)["rows"] if r["self"]["inuse_space"]["value"] >= BLOCK]
        self.assertCountEqual(rows, [("importing heavy", "", 0, 3), ("<module>", "models.py", 1, 1), ("table", "tables.py", 2, 1)])
        named = {r["name"]: r for r in self.report(out)["rows"]}
        for name, line in (("importing heavy", 3), ("table", 5)):
            self.assertEqual(named[name]["called_by"], {"function": "<module>", "file": str(script), "line": line})
        self.assertIsNone(named["<module>"]["called_by"])
        self.assertIn("importing heavy", self.memprof("report", out, "-n", "3").stdout.decode())
        opened = [(r["name"], r["line"], r["self"]["inuse_space"]["value"] // BLOCK)
                  for r in self.report(out, "--imports", "--by", "line")["rows"] if r["self"]["inuse_space"]["value"] >= BLOCK]
        self.assertCountEqual(opened, [("<module>", 3, 1), ("<module>", 3, 1), ("table", 2, 2), ("<module>", 1, 1)])
        self.assertIn("tables.py", self.memprof("report", out, "--tree").stdout.decode())
        whole, folded = self.report(out, "--imports")["rows"], self.report(out)["rows"]
        self.assertEqual(sum(r["self"]["inuse_space"]["value"] for r in whole), sum(r["self"]["inuse_space"]["value"] for r in folded))

    def test_a_program_that_no_file_has(self):
        self.write("site-packages/heavy.py", f"def table():\n    return bytearray({BLOCK})\n")
        script = self.write("program.py", f"""\
            import os, sys
            sys.path.insert(0, "site-packages")
            import heavy
            def load():
                return heavy.table(), eval("bytearray({BLOCK})")
            TABLES = load()
            os._exit(0)
        """)
        out = self.folder / "out.pb"
        evaluated = {"function": "load", "file": "<string>", "line": 5}
        # (how it is run, its file); what eval() makes has the file <string>, too
        for arguments, text, file in ((["-c", script.read_text()], b"", "<string>"), (["-"], script.read_bytes(), "<stdin>"),
                                      ([script], b"", str(script))):
            with self.subTest(file=file):
                self.memprof("run", "-r", "0", "-o", out, "--force", "--", PYTHON, *arguments, input=text, cwd=self.folder)
                rows = [r for r in self.report(out)["rows"] if r["self"]["inuse_space"]["value"] >= BLOCK]
                called_by = {r["name"]: r["called_by"] for r in rows}
                expected = {**evaluated, "file": file}
                self.assertEqual(called_by["table"], expected)
                self.assertEqual(called_by["<module>"], None if file == "<string>" else expected)


if __name__ == "__main__":
    e2e.main()
