# SPDX-License-Identifier: Apache-2.0
"""`memprof export -o OUT.parquet`: sums of the table are the totals of `memprof report --json`, to the byte, of a single profile
and of folders that `memprof ship` wrote; read by parquet_reader.py. DuckDB and ClickHouse: tests/fleet/sql_test.py."""
import collections
import os

import e2e
import export_totals_test
import parquet_reader
import ship_test


def column_of(metric):
    return metric.replace("_space", "_bytes")


class Table(ship_test.Base):
    def table(self, *arguments, out="out.parquet"):
        self.memprof("export", *arguments, "-o", self.folder / out, "--force")
        return parquet_reader.read(self.folder / out)

    def expect_report(self, rows, path, *arguments):
        """Totals to the byte, and each function but for rounding."""
        report = self.report(path, *arguments)
        totals = report["selected" if "selected" in report else "totals"]
        for metric, total in totals.items():
            self.assertEqual(sum(row[column_of(metric)] or 0 for row in rows), total["value"], metric)
        for metric in ("inuse_space", "alloc_space"):
            found = collections.Counter()
            for row in rows:
                found[row["function"], row["file"] or ""] += row[column_of(metric)]
            told = {(row["name"], row["file"]): row["self"][metric]["value"] for row in report["rows"]}
            for key in {*told, *found}:
                self.assertAlmostEqual(found[key], told.get(key, 0), delta=1, msg=key)

    def test_one_profile(self):
        process = self.begin(rate="4k")
        self.work(process, 500)
        path = self.folder / "p.pb.gz"
        self.memprof("live", str(process.pid), "-o", path, environment=e2e.plain_environment(MEMPROF_ARENA_DIR=self.host("a")))
        rows = self.table(path)
        self.expect_report(rows, path)
        work = [row for row in rows if "work" in row["stack"]]
        self.assertGreater(sum(row["inuse_bytes"] for row in work), 2_000_000)
        for row in work:
            self.assertEqual((row["file"], row["pid"], row["profile"], row["rate_bytes"]), ("<string>", process.pid, str(path), 4096))
            self.assertEqual(row["stack"][-1], row["function"])
            self.assertIsNone(row["service"])
            self.assertEqual(row["labels"], {})
            self.assertIsNone(row["mapped_bytes"])
        profile = e2e.Profile(path)
        self.assertEqual({row["time"] for row in rows}, {profile.time_ns // 1000})
        for options in (["--focus", "work"], ["--by", "line"], ["--native-interpreter"]):
            self.expect_report_totals(self.table(path, *options), path, options)
        lines = self.table(path, "--by", "line")
        self.assertTrue(all(row["stack"][-1] == f"{row['function']}:{row['line']}" for row in lines if "work" in str(row["stack"])))

    def expect_report_totals(self, rows, path, options):
        report = self.report(path, *options)
        for metric, total in report["selected" if "selected" in report else "totals"].items():
            self.assertEqual(sum(row[column_of(metric)] or 0 for row in rows), total["value"], (metric, options))

    def test_folders(self):
        bucket = self.folder / "bucket"
        bucket.mkdir()
        for host, version in (("a", "1"), ("b", "2")):
            process = self.begin(host)
            for count in (300, 500):
                self.work(process, count)
                self.ship(str(bucket), host, "--label", f"service_version={version}", "--label", "region=eu")
        files = sorted((bucket / "shop").glob("*.pb.gz"))
        self.assertEqual(len(files), 4)
        rows = self.table(bucket)
        self.assertEqual({row["profile"] for row in rows}, {str(file) for file in files})
        for file in files:
            of_file = [row for row in rows if row["profile"] == str(file)]
            self.expect_report(of_file, file)
            host = file.name.split(".")[0]
            for row in of_file:
                self.assertEqual((row["service"], row["host"], row["version"]), ("shop", host, {"a": "1", "b": "2"}[host]))
                self.assertEqual(row["labels"]["region"], "eu")
                self.assertIsNone(row["pod"])
        # The same files, given one by one; and the same bytes again.
        again = self.table(*files, out="again.parquet")
        self.assertEqual(again, rows)
        self.assertEqual((self.folder / "again.parquet").read_bytes(), (self.folder / "out.parquet").read_bytes())
        regions = self.table(bucket, "--version-label", "region")
        self.assertEqual({row["version"] for row in regions}, {"eu"})
        # Through a pipe.
        done = self.memprof("export", bucket, "--format", "parquet", "-o", "-")
        self.assertEqual(done.stdout, (self.folder / "again.parquet").read_bytes())
        # What is damaged is left out and named.
        (bucket / "shop" / "x.pb.gz").write_bytes(b"x")
        done = self.memprof("export", bucket, "-o", self.folder / "left.parquet")
        self.assertIn(b"left out: ", done.stderr)
        self.assertIn(b"x.pb.gz", done.stderr)
        self.assertEqual(parquet_reader.read(self.folder / "left.parquet"), rows)

    def test_every_metric(self):
        (self.folder / "work.py").write_text(export_totals_test.WORK)
        done = e2e.run([e2e.system_python(), self.folder / "work.py"],
                       e2e.preloaded(self.folder / "end.pb.gz", "2k", MEMPROF_MMAP="1"), cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.expect_report(self.table(self.folder / "after.pb"), self.folder / "after.pb")
        totals = self.report(self.folder / "after.pb")["totals"]
        self.assertEqual(set(totals), export_totals_test.EVERY)
        self.assertTrue(all(total["value"] > 0 for total in totals.values()))

    def test_a_series(self):
        series = self.folder / "p.series"
        program = "import time\nkept = []\nfor i in range(6):\n    kept += [bytearray(9000) for _ in range(300)]\n    time.sleep(0.1)\n"
        done = e2e.run([e2e.COMMAND, "run", "-r", "16k", "--every", "100ms", "--record", series, "-o", self.folder / "p.pb.gz", "--",
                        e2e.system_python(), "-c", program], e2e.plain_environment())
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = self.table(series)
        times = sorted({row["time"] for row in rows})
        self.assertGreater(len(times), 1)
        self.expect_report([row for row in rows if row["time"] == times[-1]], series, "--at", "last")
        last = self.table(series, "--at", "last")
        self.assertEqual({row["time"] for row in last}, {times[-1]})
        self.assertEqual([row["inuse_bytes"] for row in last], [row["inuse_bytes"] for row in rows if row["time"] == times[-1]])

    def test_wrong_use(self):
        bucket = self.folder / "bucket"
        bucket.mkdir()
        out = self.folder / "out.parquet"

        def refused(*arguments):
            done = self.memprof("export", *arguments, status=2)
            return done.stderr.decode()
        self.assertIn("there is no profile", refused(bucket, "-o", out))
        self.assertFalse(out.exists())
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".memprof")], [])
        self.assertIn(".parquet takes many", refused(bucket, "-o", self.folder / "out.html"))
        self.assertIn("cannot read it", refused(bucket, self.folder / "gone.pb.gz", "-o", out))
        self.assertIn("--since: goes with one profile", refused(bucket, "--since", "x", "-o", out))
        out.write_bytes(b"mine")
        self.assertIn("already exists", refused(bucket, "-o", out))
        self.assertEqual(out.read_bytes(), b"mine")


if __name__ == "__main__":
    e2e.main()
