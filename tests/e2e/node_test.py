# SPDX-License-Identifier: Apache-2.0
"""JavaScript frames in the stacks of Node: against `new Error().stack` at the moment of an allocation, and what becomes of
them in a profile. Of the system's node, or of the one that MEMPROF_TEST_NODE names; where there is none, the tests are skipped.
"""
import collections
import json
import os
import pathlib
import re
import shutil
import textwrap
import unittest

import e2e

NODE = os.environ.get("MEMPROF_TEST_NODE") or shutil.which("node", path="/usr/bin:/usr/local/bin")
BLOCK = 300_000

# Each function that allocates says where it is: lines of files of the program, leaf first, with what they allocated.
COMMON = """\
'use strict';
const said = new Map();
Error.stackTraceLimit = 60;
const places = (stack) => stack.split('\\n').slice(1)
  .map((line) => /([^/ ()]+\\.[cm]?js):(\\d+):\\d+\\)?$/.exec(line))
  .filter((found) => found).map((found) => found[1] + ':' + found[2]);
module.exports.say = (bytes) => {
  const stack = places(new Error().stack).slice(1).join(' ');
  said.set(stack, (said.get(stack) || 0) + bytes);
};
module.exports.write = () => require('fs').writeFileSync(process.env.SAID, JSON.stringify([...said]));
"""

COLD = """\
'use strict';
const { say, write } = require('./common.js');
function leaf() {
  say(20000); return Buffer.allocUnsafeSlow(20000);
}
class Thing {
  constructor() {
    this.block = leaf();
  }
  get size() {
    return leaf().length;
  }
  method(callback) {
    return callback(
      () => leaf(),
    );
  }
  static make() {
    return new Thing();
  }
}
function recurse(n) {
  if (n === 0) {
    return leaf();
  }
  return n % 2
    ? recurse(n - 1)
    : other(n - 1);
}
function other(n) {
  return recurse(Math.max(n - 1, 0));
}
function run(rounds) {
  let sum = 0;
  for (let i = 0; i < rounds; i++) {
    sum += recurse(i % 6).length;
    sum += Thing.make().size;
    sum += new Thing().method((f) => f()).length;
    [1, 2].forEach((x) => {
      sum += leaf().length * x;
    });
  }
  return sum;
}
async function later(rounds) {
  for (let i = 0; i < rounds; i++) {
    await null;
    leaf();
  }
}
const rounds = Number(process.env.ROUNDS);
run(rounds);
later(10).then(() => setTimeout(() => { run(rounds); write(); }, 1));
"""


def plain_environment(**extra):
    """Without certificates that node reads when it starts, which takes longer than all the rest."""
    return {k: v for k, v in e2e.plain_environment(**extra).items() if k != "NODE_EXTRA_CA_CERTS"}


@unittest.skipIf(NODE is None, "node is not installed: JavaScript frames are not tested")
class Node(e2e.Test):
    def write(self, name, text):
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return path

    def profile(self, script, *options, rate="4k", status=0, **environment):
        """Runs a script under `memprof run`; the profile, and what it wrote to its standard output."""
        out = self.folder / "out.pb"
        done = e2e.run([e2e.COMMAND, "run", "-r", rate, "-o", out, *options, "--", NODE, script],
                       environment=plain_environment(**environment))
        self.assertEqual(done.returncode, status, done.stderr)
        return out, done

    def rows(self, out, *options):
        """(function, line) -> bytes that it allocated itself, of the program's own files"""
        return {(r["name"], r["line"]): r["self"]["alloc_space"]["value"] for r in self.report(out, "--metric", "alloc", "--by", "line", *options)["rows"]
                if re.search(r"\.[cm]?js$", r["file"])}

    def stacks(self, out):
        """Lines of the program's files, leaf first -> bytes of Buffers that were allocated there."""
        speedscope = self.folder / "out.speedscope.json"
        self.memprof("export", out, "--force", "--by", "line", "--metric", "alloc", "--all-frames", "-o", speedscope)
        content = json.loads(speedscope.read_text())
        frames, seen = content["shared"]["frames"], collections.Counter()
        for profile in content["profiles"][:1]:
            for stack, weight in zip(profile["samples"], profile["weights"]):
                of_stack = [frames[i] for i in reversed(stack)]
                if any("BackingStore" in f["name"] or "ArrayBufferAllocator" in f["name"] for f in of_stack):
                    own = [f for f in of_stack if str(self.folder) in f.get("file", "")]
                    seen[" ".join(f"{f['file'].rsplit('/')[-1]}:{f.get('line', 0)}" for f in own)] += weight
        return seen

    def compare(self, rounds, least, in_worker=False):
        self.write("common.js", COMMON)
        said_in = self.folder / "said.json"
        script = self.write("cold.js", COLD)
        if in_worker:
            script = self.write("starts.js", "new (require('worker_threads').Worker)(__dirname + '/cold.js');")
        out, _ = self.profile(script, rate="0", SAID=str(said_in), ROUNDS=str(rounds))
        said = dict(json.loads(said_in.read_text()))
        self.assertGreater(len(said), 15)
        seen = self.stacks(out)
        same = sum(min(size, seen[stack]) for stack, size in said.items())
        self.assertGreaterEqual(same / sum(said.values()), least, (said, seen))

    def test_stacks_are_those_that_javascript_itself_says(self):
        self.compare(30, 0.995)

    def test_those_of_a_worker_too(self):
        self.compare(30, 0.995, in_worker=True)

    def test_so_are_those_of_compiled_and_inlined_code(self):
        self.compare(740, 0.995)

    def test_lines_hold_what_they_allocate(self):
        out, done = self.profile(self.write("app.js", f"""\
            const held = [];
            function fill(size) {{
              const block = Buffer.alloc(size, 1);
              return block;
            }}
            class Keeper {{
              keep() {{
                held.push(new ArrayBuffer({BLOCK}));
                held.push(fill({BLOCK}));
              }}
            }}
            for (let i = 0; i < 20; i++) new Keeper().keep();
            console.log('held', held.length);
            """))
        self.assertEqual(done.stdout, b"held 40\n")
        rows = self.rows(out)
        self.assertAlmostEqual(rows["fill", 3], 20 * BLOCK, delta=1_000_000, msg=rows)
        self.assertAlmostEqual(rows["keep", 8], 20 * BLOCK, delta=1_000_000, msg=rows)
        names = [r["name"] for r in self.report(out, "-n", "10")["rows"]]
        self.assertNotIn("node::Start(int, char**)", names, "the interpreter's own functions are folded")
        self.assertIn("node::Start(int, char**)",
                      [r["name"] for r in self.report(out, "--all-frames", "--native-interpreter", "-n", "500")["rows"]])

    def test_hot_functions_keep_their_name(self):
        out, _ = self.profile(self.write("hot.js", """\
            function hot(i) {
              return Buffer.allocUnsafeSlow(10000 + i % 2);
            }
            let sum = 0;
            for (let i = 0; i < 30000; i++) {
              sum += hot(i).length;
            }
            console.log(sum);
            """), rate="64k")
        rows = self.rows(out)
        self.assertGreater(sum(size for (_, line), size in rows.items() if line in (2, 6)), 0.97 * 300e6, rows)

    def test_contexts_of_vm(self):
        out, done = self.profile(self.write("contexts.js", f"""\
            const vm = require('vm');
            const kept = [];
            const ofMain = (size) => Buffer.alloc(size, 1);
            for (let i = 0; i < 10; i++) {{
              const context = vm.createContext({{ kept, ofMain }});
              vm.runInContext(`
                function ofContext(size) {{
                  kept.push(new ArrayBuffer(size));
                  kept.push(ofMain(size));
                }}
                ofContext({BLOCK});`, context, {{ filename: '{self.folder}/inside.js' }});
              vm.runInContext('ofContext({BLOCK})', context);
            }}
            console.log('kept', kept.length);
            """))
        self.assertEqual(done.stdout, b"kept 40\n", done.stderr)
        rows = self.rows(out)
        self.assertAlmostEqual(rows["ofContext", 3], 20 * BLOCK, delta=1_000_000, msg=rows)
        self.assertAlmostEqual(rows["ofMain", 3], 20 * BLOCK, delta=1_000_000, msg=rows)
        callers = {r["name"]: r["cumulative"]["alloc_space"]["value"] for r in self.report(out, "--metric", "alloc", "--by", "function")["rows"]}
        self.assertAlmostEqual(callers["ofContext"], 40 * BLOCK, delta=1_000_000, msg=callers)

    def test_modules_eval_and_workers(self):
        self.write("part.mjs", f"""\
            export function ofModule() {{
              return new ArrayBuffer({BLOCK});
            }}
            """)
        out, done = self.profile(self.write("app.mjs", f"""\
            import {{ Worker, isMainThread }} from 'node:worker_threads';
            import {{ ofModule }} from './part.mjs';
            function inWorker() {{
              return new ArrayBuffer({BLOCK});
            }}
            if (isMainThread) {{
              const kept = [];
              for (let i = 0; i < 10; i++) kept.push(ofModule());
              const evaluated = eval(`(function ofEval() {{
                return new ArrayBuffer({BLOCK});
              }})`);
              for (let i = 0; i < 10; i++) kept.push(evaluated());
              new Worker(new URL(import.meta.url)).on('exit', (code) => console.log('worker ended', code));
            }} else {{
              const kept = [];
              for (let i = 0; i < 10; i++) kept.push(inWorker());
            }}
            """))
        self.assertEqual(done.stdout, b"worker ended 0\n")
        rows = self.rows(out)
        self.assertAlmostEqual(rows["ofModule", 2], 10 * BLOCK, delta=500_000, msg=rows)
        self.assertAlmostEqual(rows["inWorker", 4], 10 * BLOCK, delta=500_000, msg=rows)
        functions = {r["name"]: r for r in self.report(out, "--metric", "alloc", "--by", "function")["rows"]}
        self.assertAlmostEqual(functions["ofEval"]["self"]["alloc_space"]["value"], 10 * BLOCK, delta=500_000)

    def test_new_code_while_all_is_recorded(self):
        """V8 10.2 allocates for its list of code while it holds a lock that a stack sample takes, too."""
        script = self.write("new_code.js", """\
            let sum = 0;
            for (let i = 0; i < 1500; i++) sum += new Function('a', `return a + ${i};`)(1);
            console.log(sum);
            """)
        out = self.folder / "out.pb"
        done = e2e.run([e2e.COMMAND, "run", "-r", "0", "-o", out, "--", NODE, "--interpreted-frames-native-stack", script],
                       environment=plain_environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, b"1125750\n")

    def test_ends_as_it_does_without_memprof(self):
        script = self.write("ends.js", f"""\
            function grab() {{
              return Buffer.alloc({BLOCK}, 1);
            }}
            const kept = grab();
            if (process.env.HOW === 'exit') process.exit(7);
            if (process.env.HOW === 'throw') throw new Error('thrown');
            if (process.env.HOW === 'abort') process.kill(process.pid, 'SIGTERM');
            """)
        for how, status in (("", 0), ("exit", 7), ("throw", 1)):
            alone = e2e.run([NODE, script], environment=plain_environment(HOW=how))
            self.assertEqual(alone.returncode, status)
            out, done = self.profile(script, "--force", status=status, HOW=how)
            self.assertEqual(done.stdout, alone.stdout)
            self.assertIn(alone.stderr, done.stderr)
            self.assertGreaterEqual(self.rows(out)["grab", 2], BLOCK, how)

    def test_doctor_says_what_is_seen(self):
        version = e2e.run([NODE, "-p", "process.versions.v8"], environment=plain_environment()).stdout.decode()
        done = self.memprof("doctor", "--", NODE, "app.js")
        line = [each for each in done.stdout.decode().splitlines() if each[6:].startswith("V8")]
        self.assertEqual(1, len(line), done.stdout)
        self.assertRegex(line[0], r"^yes   V8 +V8")
        self.assertIn("will be in stacks", line[0])
        if " in lib" not in line[0]:  # a library may not export it
            self.assertIn(".".join(version.split(".")[:2]) + ".", line[0])

    def test_what_an_async_function_does_after_an_await(self):
        out, _ = self.profile(self.write("later.js", f"""\
            const held = [];
            function grab() {{
              held.push(new ArrayBuffer({BLOCK}));
            }}
            async function fill(n) {{
              grab();
              for (let i = 1; i < n; i++) {{
                await null;
                grab();
              }}
            }}
            async function* pages(n) {{
              for (let i = 0; i < n; i++) {{
                await new Promise((done) => setTimeout(done, 1));
                grab();
                yield i;
              }}
            }}
            async function main() {{
              for await (const page of pages(10)) if (page === 9) grab();
            }}
            // V8 says what its own code is when native code calls JavaScript after a sample.
            async function first() {{
              for (let i = 0; i < 3; i++) {{
                await new Promise((done) => setTimeout(done, 1));
                held.push(Buffer.allocUnsafeSlow(20_000));
              }}
            }}
            first().then(() => setTimeout(() => {{ fill(10); main(); }}, 1));
            """))
        rows = {r["name"]: r for r in self.report(out, "--metric", "alloc", "--by", "function")["rows"] if r["name"] in ("(async)", "fill", "grab")}
        of = lambda name, what: rows[name][what]["alloc_space"]["value"]
        # 9 of fill, 10 of pages, 1 of main; not the first of fill, which main calls.
        self.assertAlmostEqual(of("(async)", "cumulative"), 20 * BLOCK, delta=1_000_000)
        self.assertAlmostEqual(of("fill", "cumulative"), 10 * BLOCK, delta=500_000)
        self.assertLess(of("(async)", "self"), 10_000)
        shown = self.memprof("report", out, "--metric", "alloc", "--tree").stdout.decode()
        self.assertRegex(shown, r"\(async\)")

    def test_a_native_leak_has_a_line_and_its_caller(self):
        addon = pathlib.Path(os.environ["MEMPROF_E2E_EXAMPLES"]) / "thumbnails.node"
        if not addon.exists():
            self.skipTest("examples/node/thumbnails.cc was not built: node_api.h is missing (libnode-dev has it)")
        example = e2e.SOURCE / "examples" / "node"
        line_of = lambda name, words: next(i for i, line in enumerate((example / name).read_text().splitlines(), 1) if words in line)
        out = self.folder / "native.pb"
        done = e2e.run([e2e.COMMAND, "run", "-r", "16k", "-o", out, "--", NODE, example / "native_leak.js", "300", addon],
                       environment=plain_environment())
        self.assertEqual(done.stdout, b"300 pictures\n", done.stderr)
        # Whether it says "leak" depends on how evenly the machine let the program run; what grew is what holds most, in any case.
        line = {"name": "thumbnail", "file": str(example / "native_leak.js"), "line": line_of("native_leak.js", "return scale(")}
        def largest(*options):
            rows = json.loads(e2e.run([e2e.COMMAND, "leaks", out, "--json", "--by", "line", *options]).stdout)["rows"]
            return max(rows, key=lambda row: row["inuse_space"]["value"])
        row = largest()
        self.assertEqual({key: row[key] for key in line}, line)
        self.assertIn("new_row", row["through"]["function"])
        self.assertGreater(row["inuse_space"]["value"], 300 * 40_000 - 1_400_000)  # with what else the addon keeps
        row = largest("--native")
        self.assertIsNone(row["through"])
        self.assertIn("new_row", row["name"])
        self.assertRegex(row["file"], r"examples/node/thumbnails\.cc$")
        self.assertEqual(row["line"], line_of("thumbnails.cc", "std::make_unique<"))
        self.assertEqual(row["caller"], line)
        self.assertAlmostEqual(row["inuse_space"]["value"], 300 * 40_000, delta=1_400_000)  # 6.5 standard deviations

    def test_many_workers_come_and_go(self):
        out, done = self.profile(self.write("workers.js", """\
            const { Worker } = require('worker_threads');
            let left = 24;
            const next = () => {
              if (left-- <= 0) return;
              const worker = new Worker('const k = []; for (let i = 0; i < 500; i++) k.push(Buffer.alloc(5000, 1));'
                                        + (left % 3 ? '' : 'setInterval(() => k.push(Buffer.alloc(5000)), 1)'), { eval: true });
              if (left % 3 === 0) setTimeout(() => worker.terminate(), 30);
              worker.on('exit', next);
            };
            next(); next(); next();
            process.on('exit', () => console.log('done'));
            """), rate="4k")
        self.assertEqual(done.stdout, b"done\n")

    def test_is_left_alone_when_it_is_not_wanted(self):
        out, _ = self.profile(self.write("app.js", "Buffer.alloc(1000000, 1);\n"), MEMPROF_NODE="0")
        self.assertEqual(self.rows(out), {})


if __name__ == "__main__":
    e2e.main()
