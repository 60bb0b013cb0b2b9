# SPDX-License-Identifier: Apache-2.0
"""What is inside of a release, part by part: the CycloneDX bill of materials, and the licenses."""
import datetime
import json
import re
import shutil
import subprocess
import uuid

import builds

COMMAND, LIBRARY, PAGE = "command", "libraries", "page of the command"
# Name, package of Debian that it is taken from, license (SPDX), where it is.
FROM_DEBIAN = (
    ("elfutils", "libdw-dev", "LGPL-3.0-or-later OR GPL-2.0-or-later", COMMAND),
    ("libiberty", "libiberty-dev", "LGPL-2.1-or-later", COMMAND),
    ("re2", "libre2-dev", "BSD-3-Clause", COMMAND),
    ("fmt", "libfmt-dev", "MIT", COMMAND),
    ("CLI11", "libcli11-dev", "BSD-3-Clause", COMMAND),
    ("nlohmann-json", "nlohmann-json3-dev", "MIT", COMMAND),
    ("protozero", "libprotozero-dev", "BSD-2-Clause", COMMAND),
    ("toml++", "libtomlplusplus-dev", "MIT", COMMAND),
    ("boost", "libboost-dev", "BSL-1.0", COMMAND),
    ("zlib", "zlib1g-dev", "Zlib", COMMAND),
    ("xz-utils", "liblzma-dev", "0BSD", COMMAND),
    ("bzip2", "libbz2-dev", "bzip2-1.0.6", COMMAND),
    ("glibc", "libc6-dev", "LGPL-2.1-or-later", COMMAND),
    ("libstdc++", "libstdc++-{gcc}-dev", "GPL-3.0-or-later WITH GCC-exception-3.1", COMMAND),
)


def gcc():
    return subprocess.run(["g++", "-dumpversion"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip().split(".")[0]


def debian_packages():
    for name, package, license_name, where in FROM_DEBIAN:
        package = package.format(gcc=gcc())
        done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}|${Depends}", package], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)
        if done.returncode != 0:
            raise builds.ReleaseError(f"{package} is not installed: a release is made on Debian, with what ./dev release installs")
        version, depends = done.stdout.split("|", 1)
        if package == "libboost-dev":  # which stands for one of the version's name
            version = re.search(r"libboost([0-9.]+)-dev", depends).group(1)
        yield name, package, version, license_name, where


def vendored():
    """The versions of what third_party/ holds, as its CMakeLists.txt says."""
    text = (builds.ROOT / "third_party/CMakeLists.txt").read_text()
    return {name.lower(): version for name, version in re.findall(r"\b(Zydis|Zycore) ([0-9]+\.[0-9.]*[0-9])", text)}


def component(name, version, license_name, where, purl=None):
    one = {"type": "library", "bom-ref": f"{name}@{version}", "name": name, "version": version,
           "licenses": [{"expression": license_name}], "properties": [{"name": "memprof:in", "value": where}]}
    if purl:
        one["purl"] = purl
    return one


def bill(version, epoch, files):
    """The bill of materials as text; `files`: path of each artefact -> its SHA-256."""
    components = [component(name, of_debian, license_name, where, f"pkg:deb/debian/{package}@{of_debian}")
                  for name, package, of_debian, license_name, where in debian_packages()]
    components += [component(name, of_third_party, "MIT", LIBRARY) for name, of_third_party in vendored().items()]
    components.append(component("zycore", f"as in zydis {vendored()['zydis']}", "MIT", LIBRARY))
    lock = json.loads((builds.ROOT / "web/package-lock.json").read_text())["packages"]["node_modules/preact"]
    components.append(component("preact", lock["version"], lock["license"], PAGE, f"pkg:npm/preact@{lock['version']}"))
    pinned = re.search(r"^ziglang==(\S+)", (builds.ROOT / "tests/ports/requirements.txt").read_text(), re.MULTILINE).group(1)
    components.append(component("compiler-rt", f"of zig {pinned}", "Apache-2.0 WITH LLVM-exception", LIBRARY, f"pkg:pypi/ziglang@{pinned}"))
    files = [{"type": "file", "bom-ref": name, "name": name, "hashes": [{"alg": "SHA-256", "content": digest}]} for name, digest in sorted(files.items())]
    content = json.dumps([version, components, files], sort_keys=True)
    return json.dumps({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, content)}",
        "metadata": {"timestamp": timestamp(epoch), "component": {"type": "application", "bom-ref": "memprof", "name": "memprof", "version": version,
                                                                   "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": sorted(components, key=lambda one: one["name"]) + files}, indent=1) + "\n"


def timestamp(epoch):
    return datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def write_licenses(folder):
    """The copyright notices of all that is linked into the command."""
    folder.mkdir(parents=True)
    for name, package, _, _, _ in debian_packages():
        shutil.copyfile(f"/usr/share/doc/{package}/copyright", folder / f"{name}.txt")
    for name in ("zydis", "zydis/dependencies/zycore"):
        shutil.copyfile(builds.ROOT / "third_party" / name / "LICENSE", folder / f"{name.rsplit('/', maxsplit=1)[-1]}.txt")
