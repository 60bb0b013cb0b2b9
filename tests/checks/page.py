#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The built page is that of the sources in web/, runs no script but its own, and loads nothing.

usage: page.py ROOT         says what is wrong, exits 1 if something is
       page.py --self-test  alters a page in each way that the check must see
"""
import base64
import hashlib
import pathlib
import re
import sys
import tempfile

PAGE = "src/profile/page/built/page.html"
SOURCES = ("build.mjs", "package-lock.json", "package.json", "sources.mjs", "tsconfig.json")  # and src/
MARKS = ("<!--memprof:title-->", "<!--memprof:table-->", "<!--memprof:data-->")
MOST_BYTES = 1_500_000
POLICY = ("default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data:; base-uri 'none'; "
          "form-action 'none'")


def stamp(web):
    """As web/sources.mjs."""
    paths = list(SOURCES) + [p.relative_to(web).as_posix() for p in (web / "src").rglob("*") if p.is_file()]
    lines = (f"{path} {hashlib.sha256((web / path).read_bytes()).hexdigest()}\n" for path in sorted(paths))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def policy_hash(text):
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def wrong_with(page, sources, lock):
    """What is wrong with a page, as a list of sentences."""
    wrong = []
    found = re.search(r'<meta name="memprof-sources" content="(\w+)">', page)
    if not found or found.group(1) != sources:
        wrong.append("it was not built from the sources in web/: ./dev web builds it")
    scripts = re.findall(r"<script\b([^>]*)>(.*?)</script>", page, re.DOTALL)
    styles = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    if [attributes for attributes, _ in scripts] != [' type="application/octet-stream" id="data"', ""] or len(styles) != 1:
        wrong.append("it has other scripts or styles than its own")
    else:
        policy = POLICY.format(script=policy_hash(scripts[1][1]), style=policy_hash(styles[0]))
        if f'<meta http-equiv="Content-Security-Policy" content="{policy}">' not in page:
            wrong.append("its policy is not that of its own script and style")
    if re.findall("|".join(MARKS), page) != list(MARKS):
        wrong.append(f"its marks are not {' '.join(MARKS)}, each once")
    if re.search(r"""(?:src|href)=["'](?!data:)|@import|url\(""", re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL)):
        wrong.append("it loads something")
    if len(page.encode()) > MOST_BYTES:
        wrong.append(f"it is larger than {MOST_BYTES:,} bytes")
    if '"resolved"' in lock:
        wrong.append("web/package-lock.json names where packages were fetched from: ./dev web takes that out")
    return wrong


def check(root):
    lock = (root / "web/package-lock.json").read_text()
    return wrong_with((root / PAGE).read_text(), stamp(root / "web"), lock)


def self_test():
    script, style = "run()", "p { color: red }"
    policy = POLICY.format(script=policy_hash(script), style=policy_hash(style))
    page = (f'<meta http-equiv="Content-Security-Policy" content="{policy}"><meta name="memprof-sources" content="abc">'
            f'<link rel="icon" href="data:,"><title>{MARKS[0]}</title><style>{style}</style>{MARKS[1]}'
            f'<script type="application/octet-stream" id="data">{MARKS[2]}</script><script>{script}</script>')
    assert wrong_with(page, "abc", "{}") == []
    planted = [("abc", "abd"), ("run()", "run(1)"), ("red", "blue"), (MARKS[2], ""), ("data:,", "https://example.org"),
               ("<title>", "<script>1</script><title>"), ("p {", "@import 'x'; p {"), ("</title>", "x" * MOST_BYTES + "</title>")]
    for old, new in planted:
        assert old in page
        assert wrong_with(page.replace(old, new), "abc", "{}"), f"not seen: {new[:40]}"
    assert wrong_with(page, "abc", '{"resolved": 1}')
    with tempfile.TemporaryDirectory() as name:
        web = pathlib.Path(name)
        (web / "src").mkdir()
        for path in SOURCES + ("src/main.ts",):
            (web / path).write_text(path)
        before = stamp(web)
        (web / "src/main.ts").write_text("changed")
        changed = stamp(web)
        (web / "src/main.ts").rename(web / "src/other.ts")
        assert len({before, changed, stamp(web)}) == 3
    print("the planted violations were found")


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    wrong = check(pathlib.Path(sys.argv[1]))
    print("\n".join(f"{PAGE}: {text}" for text in wrong) or f"{PAGE} is whole")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
