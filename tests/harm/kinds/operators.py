# SPDX-License-Identifier: Apache-2.0
"""Programs that replace any of the 20 forms of operator new and delete, in any of their modules.

A program is an executable (in C++ or C), maybe a library that it is linked with, a preloaded one, and up to two that it
loads. Each may replace forms: those are object files, compiled once, so that another program costs only links. Every
call is told with the replaced forms that it came to; without memprof the same must be told.
"""
import concurrent.futures
import os
import shutil
import subprocess

from harm import Situation, Skip

SAMPLE = 48
FORMS = 20
SOURCES = "tests/harm/operators"
MODULES = ("executable", "needed", "preloaded", "first", "second")
NOW, LAZY, GLOBAL, DEEP = os.RTLD_NOW, os.RTLD_LAZY, os.RTLD_GLOBAL, os.RTLD_DEEPBIND
WAYS = ("preloaded first", "preloaded last", "run", "run without inline hooks", "linked first", "linked last", "archive", "start",
        "attached")
WAYS_EACH = 4  # of a program: linking it is most of the work


class Parts:
    """The object files that programs are linked of."""

    def __init__(self, harm):
        self.harm, self.folder = harm, harm.folder
        source = harm.source / SOURCES
        c = [harm.cc, "-O1", "-g0", "-fPIC", "-fexceptions"]
        cxx = [harm.cxx, "-std=c++17", "-O1", "-g0", "-fPIC"]
        jobs = [[*c, "-c", source / "main.c", "-o", self.object("main")],
                [*c, "-c", source / "log.c", "-o", self.object("log")],
                [*cxx, "-c", source / "throw.cc", "-o", self.object("throw")]]
        jobs += [[*c, f'-DMODULE="{name}"', "-c", source / "module.c", "-o", self.object(name)] for name in MODULES]
        jobs += [[*cxx, f"-DEXERCISE=op_exercise{suffix}", "-c", source / "exercise.cc", "-o", self.object("exercise" + suffix)]
                 for suffix in ("", "_main", "_needed")]
        jobs += [[*c, f"-DFORM={form}", *flavour, "-c", source / "forms.c", "-o", self.object(f"form{form}{''.join(flavour)}")]
                 for form in range(FORMS) for flavour in ([], ["-DPOOL"])]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(harm.build, jobs))
        self.log = self.folder / "liboperators_log.so"
        harm.build([harm.cc, "-shared", "-o", self.log, self.object("log"), f"-Wl,-soname,{self.log.name}"])
        self.hidden = self.folder / "hidden.map"
        self.hidden.write_text("{ global: op_exercise*; local: *; };\n")
        self.archive = harm.library.parent / "libmemprof.a"
        self.linked = None

    def use(self, linked):
        """The program whose files are kept."""
        if self.linked is not None and self.linked is not linked:
            self.linked.clean()
        self.linked = linked

    def object(self, name):
        return self.folder / f"{name}.o"

    def replaced(self, module):
        return [self.object(f"form{form}{'-DPOOL' if module['pool'] else ''}") for form in module["forms"]]


def choose_forms(chance):
    """A set of forms: those that programs have, and any others."""
    style = chance.randrange(8)
    if style == 0:
        return [0, 8]
    if style == 1:
        return list(range(FORMS))
    if style == 2:
        return [chance.randrange(FORMS)]
    if style == 3:
        return [form for form in range(8, FORMS) if chance.random() < 0.4]
    if style == 4:
        return [form for form in (0, 1, 8, 9) if chance.random() < 0.8]
    if style == 5:
        return [form for form in (0, 4, 8, 14) if chance.random() < 0.8]
    share = chance.choice((0.15, 0.5, 0.85))
    return [form for form in range(FORMS) if chance.random() < share]


def choose_module(chance, name, has_forms):
    linkage = chance.choice((None, None, None, "-Wl,-Bsymbolic", "-Wl,-Bsymbolic-functions", "hidden"))
    return {"name": name, "forms": choose_forms(chance) if has_forms else [], "pool": chance.random() < 0.3,
            "linkage": linkage, "static": chance.random() < 0.12, "bound": chance.choice(("now", "lazy")),
            "flags": chance.choice((NOW, LAZY)) | chance.choice((0, 0, GLOBAL, DEEP, DEEP | GLOBAL))}


def choose_program(chance):
    is_cxx = chance.random() < 0.65
    names = ["executable"] if is_cxx else []
    names += [name for name, share in (("needed", 0.4), ("preloaded", 0.35), ("first", 0.6 if is_cxx else 0.9), ("second", 0.3))
              if chance.random() < share]
    names = names or ["first"]
    with_forms = chance.sample(names, min(len(names), chance.choice((1, 1, 1, 2, 3))))
    program = {"cxx": is_cxx, "pie": chance.random() < 0.8, "exported": chance.random() < 0.3,
               "modules": {name: choose_module(chance, name, name in with_forms) for name in names}}
    if not is_cxx:
        # Whatever is linked with it in C++ brings the standard library.
        program["modules"].pop("needed", None) if chance.random() < 0.7 else None
        if not program["modules"]:
            program["modules"]["first"] = choose_module(chance, "first", True)
        if "preloaded" in program["modules"]:
            program["modules"]["preloaded"]["bare"] = chance.random() < 0.6
    return program


class Linked:
    """The files of a program, linked when they are first needed, and removed when the next program's are."""

    def __init__(self, parts, program, tag, linker):
        self.parts, self.program, self.tag = parts, program, tag
        self.linker = [f"-fuse-ld={linker}"] if linker else []
        self.made = {}

    def clean(self):
        for path in self.parts.folder.glob(f"{self.tag}_*"):
            path.unlink()
        self.made = {}

    def library(self, name):
        """None: it has none of this name."""
        if self.program["modules"].get(name) is None:
            return None
        if name not in self.made:
            self.made[name] = self.link_library(name)
        return self.made[name]

    def executable(self, memprof=None):
        """With memprof linked "first", "last" or as an "archive"."""
        key = ("executable", memprof)
        if key not in self.made:
            self.made[key] = self.link_executable(memprof)
        return self.made[key]

    def link_library(self, name):
        parts, module = self.parts, self.program["modules"][name]
        out = parts.folder / f"{self.tag}_{name}.so"
        is_bare = module.get("bare", False)
        calls = [] if name == "preloaded" else [parts.object("exercise" + ("_needed" if name == "needed" else ""))]
        command = [parts.harm.cc if is_bare else parts.harm.cxx, "-shared", *self.linker, "-o", out, parts.object(name), *calls,
                   *([] if is_bare else [parts.object("throw")]), *parts.replaced(module), parts.log,
                   f"-Wl,-soname,{out.name}", f"-Wl,-rpath,{parts.folder}", f"-Wl,-z,{module['bound']}"]
        if module["linkage"] == "hidden":
            command.append(f"-Wl,--version-script={parts.hidden}")
        elif module["linkage"]:
            command.append(module["linkage"])
        if module["static"] and not is_bare:
            command += ["-static-libstdc++", "-static-libgcc"]
        parts.harm.build(command)
        return out

    def link_executable(self, memprof):
        parts, module = self.parts, self.program["modules"].get("executable")
        out = parts.folder / f"{self.tag}_program_{memprof}"
        front, behind = {None: ([], []), "first": ([parts.harm.library], []), "last": ([], [parts.harm.library]),
                         "archive": (["-Wl,--whole-archive", parts.archive, "-Wl,--no-whole-archive"], [])}[memprof]
        needed = self.library("needed")
        objects = [parts.object("main")]
        flags = ["-rdynamic"] if self.program["exported"] else []
        flags.append("-pie" if self.program["pie"] else "-no-pie")
        if module:
            objects += [parts.object(part) for part in ("executable", "throw", "exercise_main")] + parts.replaced(module)
            flags.append(f"-Wl,-z,{module['bound']}")
            if module["static"]:
                flags += ["-static-libstdc++", "-static-libgcc"]
        parts.harm.build([parts.harm.cxx if module else parts.harm.cc, *self.linker, "-o", out, *objects, *flags,
                          "-Wl,--no-as-needed", *front, *([needed] if needed else []), *behind, parts.log, "-ldl", "-lpthread",
                          f"-Wl,-rpath,{parts.folder}:{parts.harm.library.parent}"])
        return out


def actions(chance, program, libraries, start):
    does = ["exercise"] if "executable" in program["modules"] else []
    does += ["needed"] if "needed" in program["modules"] else []
    does += [f"open:{int(program['modules'][name]['flags'])}:{path}" for name, path in libraries.items()]
    chance.shuffle(does)
    if start:
        does.insert(chance.randrange(len(does) + 1), start)
        does += [does[0]] if does[0] != start else does[1:2]
    return does


def attach(harm, command, environment):
    """The program's end, with memprof attached at its "wait", and stopped again at the second one."""
    process = subprocess.Popen([str(word) for word in command], env=environment, stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out = b""
    try:
        for words in (["attach", str(process.pid), "-r", "0"], ["attach", "--stop", str(process.pid)]):
            for line in iter(process.stdout.readline, b""):
                out += line
                if line == b"ready\n":
                    done = harm.run([harm.command, *words])
                    if done.returncode != 0:
                        raise Skip("refused: " + done.stderr.decode(errors="replace").replace(str(process.pid), "PID")[:200].strip())
                    process.stdin.write(b"\n")
                    process.stdin.flush()
                    break
        rest, error = process.communicate(timeout=60)
        return subprocess.CompletedProcess(command, process.returncode, out + rest, error)
    finally:
        process.kill()
        process.wait()


def attempt(parts, chance, linked, way):
    harm, program = parts.harm, linked.program
    is_linked = way in ("linked first", "linked last", "archive")
    executable = program["modules"].get("executable", {})
    if is_linked and executable.get("static"):
        raise Skip("linked with -static-libstdc++ and with memprof it is another program (docs/limits.md)")
    if way == "archive" and executable.get("forms"):
        raise Skip("the linker refuses two definitions of an operator in one executable")
    if way == "archive" and not parts.archive.exists():
        raise Skip("libmemprof.a was not built")
    parts.use(linked)
    libraries = {name: linked.library(name) for name in ("first", "second") if name in program["modules"]}
    own = [str(linked.library("preloaded"))] if "preloaded" in program["modules"] else []
    plain = linked.executable()
    start = None
    if way == "start":
        start = f"start:{int(NOW | chance.choice((0, 0, GLOBAL)))}:{harm.library}"
    elif way == "attached":
        start = "wait"
    does = actions(chance, program, libraries, start)
    if way == "attached":
        does = [*does, "wait", *[action for action in does if action != "wait"][:1]]
    rate = chance.choice(("0", "100", "4096", "524288"))
    out = parts.folder / "out.pb.gz"
    profile = {"MEMPROF_RATE": rate, "MEMPROF_PROFILE": str(out)} if chance.random() < 0.7 else {}
    environment = {"LD_PRELOAD": ":".join(own)} if own else {}
    lines = "\n\n" if way == "attached" else ""
    without = harm.run([plain, *does], harm.environment(WITHOUT="1", **environment), input=lines.encode())
    if way.startswith("preloaded"):
        order = [*own, str(harm.library)] if way == "preloaded last" else [str(harm.library), *own]
        done = harm.run([plain, *does], harm.environment(LD_PRELOAD=":".join(order), **profile))
    elif way.startswith("run"):
        options = ["--no-inline-hooks"] if way.endswith("hooks") else []
        done = harm.run([harm.command, "run", "-r", rate, "--force", *options, "-o", out, "--", plain, *does],
                        harm.environment(**environment))
    elif way == "attached":
        done = attach(harm, [plain, *does], harm.environment(**environment))
    elif way == "start":
        done = harm.run([plain, *does], harm.environment(**environment))
    else:
        done = harm.run([linked.executable(way.removeprefix("linked ")), *does], harm.environment(**environment, **profile))
    return differs(without, done)


def ended_as(status):
    """A signal, as `memprof run` and shells say it."""
    return 128 - status if isinstance(status, int) and status < 0 else status


def differs(without, done):
    """The first line that is another one: which call came to whom."""
    ours, theirs = done.stdout.decode(errors="replace").splitlines(), without.stdout.decode(errors="replace").splitlines()
    for number, (one, other) in enumerate(zip(ours + ["(nothing)"] * len(theirs), theirs + ["(nothing)"] * len(ours))):
        if one != other:
            return (f"line {number}: {one!r}, without memprof {other!r}; "
                    f"status {done.returncode}, {without.returncode}; {done.stderr.decode(errors='replace')[-300:]}")
    if ended_as(done.returncode) != ended_as(without.returncode):
        return f"status {done.returncode}, {without.returncode} without memprof; {done.stderr.decode(errors='replace')[-300:]}"
    return None


def describe(program, way):
    words = [way, "C++" if program["cxx"] else "C"]
    for name, module in program["modules"].items():
        forms = "+".join(map(str, module["forms"])) or "none"
        kind = "".join(mark for mark, has in ((" pool", module["pool"]), (" static", module["static"])) if has)
        words.append(f"{name} {forms}{kind} {module['linkage'] or ''} {module['flags'] if name in ('first', 'second') else ''}".strip())
    return ", ".join(words)


def situations(harm, chance):
    parts = Parts(harm)
    linkers = (None, None, *(name for name in ("gold", "lld") if shutil.which(f"ld.{name}")))
    number = 0
    while True:
        number += 1
        # The sample of ./dev test is the same on all machines.
        program, linker = choose_program(chance), None if harm.is_sample else chance.choice(linkers)
        linked = Linked(parts, program, f"s{number}", linker)
        for way in chance.sample(WAYS, 1 if harm.is_sample else WAYS_EACH):
            yield Situation(f"{number}: {describe(program, way)}",
                            lambda linked=linked, way=way, seed=chance.random(): attempt(parts, type(chance)(seed), linked, way))
