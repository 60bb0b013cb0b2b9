# SPDX-License-Identifier: Apache-2.0
"""Programs that replace any of the 20 forms of operator new and delete, in any of their modules.

A program is an executable (in C++ or C), maybe a library that it is linked with, a preloaded one, and up to two that it
loads. Each may replace forms: those are object files, compiled once, so that another program costs only links. Every
call is told with the replaced forms that it came to; without memprof the same must be told.
"""
import concurrent.futures
import os
import subprocess

from harm import Situation, Skip

SAMPLE = 60
FORMS = 20
SOURCES = "tests/harm/operators"
MODULES = ("executable", "needed", "preloaded", "first", "second")
NOW, LAZY, GLOBAL, DEEP = os.RTLD_NOW, os.RTLD_LAZY, os.RTLD_GLOBAL, os.RTLD_DEEPBIND
WAYS = ("preloaded", "preloaded", "preloaded", "run", "run without inline hooks", "linked first", "linked last", "archive",
        "start", "start", "attached")


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


def link_library(parts, program, name, tag):
    """A library of the program; None: it has none of this name."""
    module = program["modules"].get(name)
    if module is None:
        return None
    out = parts.folder / f"{tag}_{name}.so"
    is_bare = module.get("bare", False)
    calls = [] if name == "preloaded" else [parts.object("exercise" + ("_needed" if name == "needed" else ""))]
    command = [parts.harm.cc if is_bare else parts.harm.cxx, "-shared", "-o", out, parts.object(name), *calls,
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


def link_executable(parts, program, needed, memprof, tag):
    """`memprof`: words in front of and behind the libraries."""
    out = parts.folder / f"{tag}_program"
    module = program["modules"].get("executable")
    objects = [parts.object("main")]
    flags = ["-rdynamic"] if program["exported"] else []
    flags.append("-pie" if program["pie"] else "-no-pie")
    if module:
        objects += [parts.object(part) for part in ("executable", "throw", "exercise_main")] + parts.replaced(module)
        flags.append(f"-Wl,-z,{module['bound']}")
        if module["static"]:
            flags += ["-static-libstdc++", "-static-libgcc"]
    front, behind = memprof
    parts.harm.build([parts.harm.cxx if module else parts.harm.cc, "-o", out, *objects, *flags, "-Wl,--no-as-needed", *front,
                      *([needed] if needed else []), *behind, parts.log, "-ldl", "-lpthread", f"-Wl,-rpath,{parts.folder}:{parts.harm.library.parent}"])
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


def attempt(parts, chance, program, way, tag):
    harm = parts.harm
    if way in ("linked first", "linked last", "archive") and program["modules"].get("executable", {}).get("static"):
        raise Skip("linked with -static-libstdc++ and with memprof it is another program (docs/limits.md)")
    try:
        libraries = {name: link_library(parts, program, name, tag) for name in ("first", "second") if name in program["modules"]}
        needed = link_library(parts, program, "needed", tag)
        preloaded = link_library(parts, program, "preloaded", tag)
        plain = link_executable(parts, program, needed, ([], []), tag + "_plain")
        own = [str(preloaded)] if preloaded else []
        start = None
        if way == "start":
            start = f"start:{int(NOW | chance.choice((0, 0, GLOBAL)))}:{harm.library}"
        elif way == "attached":
            start = "wait"
        does = actions(chance, program, libraries, start)
        if way == "attached":
            does = [*does, "wait", *[action for action in does if action != "wait"][:1]]
        rate = chance.choice(("0", "100", "4096", "524288"))
        profile = {"MEMPROF_RATE": rate, "MEMPROF_PROFILE": str(parts.folder / f"{tag}.pb.gz")} if chance.random() < 0.7 else {}
        environment = {"LD_PRELOAD": ":".join(own)} if own else {}
        lines = "\n\n" if way == "attached" else ""
        without = harm.run([plain, *does], harm.environment(WITHOUT="1", **environment), stdin=None, input=lines.encode())
        if way == "preloaded":
            order = [str(harm.library), *own] if chance.random() < 0.5 else [*own, str(harm.library)]
            done = harm.run([plain, *does], harm.environment(LD_PRELOAD=":".join(order), **profile))
        elif way.startswith("run"):
            options = ["--no-inline-hooks"] if way.endswith("hooks") else []
            done = harm.run([harm.command, "run", "-r", rate, "--force", *options, "-o", parts.folder / f"{tag}.pb.gz", "--",
                             plain, *does], harm.environment(**environment))
        elif way == "attached":
            done = attach(harm, [plain, *does], harm.environment(**environment))
        elif way == "start":
            done = harm.run([plain, *does], harm.environment(**environment))
        else:
            archive = harm.library.parent / "libmemprof.a"
            if way == "archive" and program["modules"].get("executable", {}).get("forms"):
                raise Skip("the linker refuses two definitions of an operator in one executable")
            if not archive.exists():
                raise Skip("libmemprof.a was not built")
            words = {"linked first": ([harm.library], []), "linked last": ([], [harm.library]),
                     "archive": (["-Wl,--whole-archive", archive, "-Wl,--no-whole-archive"], [])}[way]
            linked = link_executable(parts, program, needed, words, tag + "_linked")
            done = harm.run([linked, *does], harm.environment(**environment, **profile))
        return differs(without, done)
    finally:
        for path in parts.folder.glob(f"{tag}_*"):
            path.unlink()
        (parts.folder / f"{tag}.pb.gz").unlink(missing_ok=True)


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
    number = 0
    while True:
        number += 1
        program, way, seed = choose_program(chance), chance.choice(WAYS), chance.random()

        def run(program=program, way=way, seed=seed, number=number):
            return attempt(parts, type(chance)(seed), program, way, f"s{number}")

        yield Situation(f"{number}: {describe(program, way)}", run)
