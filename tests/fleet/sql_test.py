# SPDX-License-Identifier: Apache-2.0
"""`memprof export -o OUT.parquet` in DuckDB and in ClickHouse (chdb), from PyPI, by `./dev fleet sql`: sums by SQL are the totals of
`memprof report --json`, to the byte; both engines see the same rows; the examples of docs/fleet.md run in both and say the
same."""
import datetime
import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))

import e2e
import ship_test

# Reads {"path": of the table, "queries": [...]} and prints the rows of each query, as JSON.
ENGINES = {
    "duckdb": """
import json, sys
import duckdb
asked = json.load(sys.stdin)
connection = duckdb.connect()
connection.execute("SET TimeZone = 'UTC'")
connection.execute(f"CREATE VIEW looks AS SELECT * FROM '{asked['path']}'")
print(json.dumps([connection.execute(query).fetchall() for query in asked["queries"]], default=lambda v: v.isoformat() if hasattr(v, "isoformat") else int(v)))
""",
    "clickhouse": """
import json, sys
from chdb import session
asked = json.load(sys.stdin)
connection = session.Session()
connection.query("CREATE DATABASE d")
connection.query("USE d")
connection.query(f"CREATE VIEW looks AS SELECT * FROM file('{asked['path']}')")
found = []
for query in asked["queries"]:
    text = str(connection.query(query, "JSONCompact"))
    found.append(json.loads(text)["data"] if text else [])
print(json.dumps(found))
""",
}
METRICS = [metric for metric in (*e2e.ALL_METRICS, "inuse_resident_objects", "inuse_resident_space")]


def column_of(metric):
    return metric.replace("_space", "_bytes")


def plain(value):
    """Engines differ in how JSON has a number, a time and what is missing."""
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, str) and re.fullmatch(r"-?\d+", value):
        return int(value)
    if isinstance(value, str) and re.match(r"\d{4}-\d\d-\d\d[ T]", value):
        return datetime.datetime.fromisoformat(value).replace(tzinfo=None).isoformat()
    if isinstance(value, float):
        return round(value, 3)
    return value


def examples():
    """The blocks of SQL in docs/fleet.md."""
    text = (e2e.SOURCE / "docs" / "fleet.md").read_text()
    return [block.strip() for block in re.findall(r"```sql\n(.*?)```", text, re.S)]


class Sql(ship_test.Base):
    def ask(self, path, *queries):
        """What both engines say, which is the same."""
        answers = []
        for name, program in ENGINES.items():
            done = subprocess.run([os.environ["MEMPROF_SQL_PYTHON"], "-c", program], input=json.dumps({"path": str(path), "queries": queries}),
                                  capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual(done.returncode, 0, f"{name}: {done.stderr}")
            answers.append([[plain(list(row)) for row in rows] for rows in json.loads(done.stdout)])
        for query, first, second in zip(queries, *answers):
            self.assertEqual(first, second, query)
        return answers[0]

    def export(self, *arguments):
        out = self.folder / "out.parquet"
        self.memprof("export", *arguments, "-o", out, "--force")
        return out

    def test_folders(self):
        bucket = self.folder / "bucket"
        bucket.mkdir()
        processes = {host: self.begin(host) for host in ("a", "b")}
        for look in range(5):
            for number, (host, process) in enumerate(processes.items()):
                self.work(process, 50 + (37 * look + 11 * number) % 90)
                self.ship(str(bucket), host, "--label", f"service_version=v{1 + look // 3}", "--label", "region=eu")
        files = sorted((bucket / "shop").glob("*.pb.gz"))
        self.assertEqual(len(files), 10)
        reports = {str(file): self.report(file)["totals"] for file in files}
        out = self.export(bucket)
        metrics = [metric for metric in METRICS if metric in next(iter(reports.values()))]
        self.assertGreaterEqual(len(metrics), 4)
        sums = ", ".join(f"sum({column_of(metric)})" for metric in metrics)
        by_file, by_host, labels, stacks, nothing, count, *_ = self.ask(
            out, f"SELECT profile, {sums} FROM looks GROUP BY profile ORDER BY profile",
            f"SELECT host, version, service, {sums} FROM looks GROUP BY host, version, service ORDER BY host, version",
            "SELECT DISTINCT labels['region'], labels['host'] FROM looks ORDER BY 2",
            "SELECT time, stack, function, file, line, inuse_bytes, alloc_bytes FROM looks ORDER BY profile, function, stack, file, line, alloc_bytes, inuse_bytes",
            "SELECT count(*) FROM looks WHERE mapped_bytes IS NOT NULL OR pod IS NOT NULL OR heap IS NOT NULL",
            "SELECT count(*) FROM looks", *examples())
        self.assertEqual(by_file, [[path, *(totals[metric]["value"] for metric in metrics)] for path, totals in sorted(reports.items())])
        self.assertEqual([row[:3] for row in by_host], [[host, version, "shop"] for host in "ab" for version in ("v1", "v2")])
        for row in by_host:
            of_row = [totals for path, totals in reports.items()
                      if pathlib.Path(path).name[0] == row[0] and (sorted(p for p in reports if pathlib.Path(p).name[0] == row[0]).index(path) // 3 == int(row[1][1]) - 1)]
            self.assertEqual(row[3:], [sum(totals[metric]["value"] for totals in of_row) for metric in metrics])
        self.assertEqual(labels, [["eu", "a"], ["eu", "b"]])
        self.assertEqual(nothing, [[0]])
        self.assertEqual(count, [[len(stacks)]])
        self.assertTrue(any("work" in stack for _, stack, *_ in stacks))

    def test_one_profile(self):
        process = self.begin(rate="2k")
        self.work(process, 700)
        path = self.folder / "p.pb.gz"
        self.memprof("live", str(process.pid), "-o", path, environment=e2e.plain_environment(MEMPROF_ARENA_DIR=self.host("a")))
        for options in ([], ["--focus", "work"], ["--by", "line"], ["--by", "module"]):
            report = self.report(path, *options)
            totals = report["selected" if "selected" in report else "totals"]
            sums = ", ".join(f"sum({column_of(metric)})" for metric in totals)
            answer, = self.ask(self.export(path, *options), f"SELECT {sums} FROM looks")
            self.assertEqual(answer, [[total["value"] for total in totals.values()]], options)

    def test_nothing(self):
        out = self.folder / "none.parquet"
        process = self.begin()
        path = self.folder / "p.pb.gz"
        self.memprof("live", str(process.pid), "-o", path, environment=e2e.plain_environment(MEMPROF_ARENA_DIR=self.host("a")))
        self.memprof("export", path, path, "--focus", "no such function", "-o", out)
        self.assertEqual(self.ask(out, "SELECT count(*) FROM looks"), [[[0]]])


if __name__ == "__main__":
    e2e.main()
