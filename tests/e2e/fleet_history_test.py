# SPDX-License-Identifier: Apache-2.0
"""`memprof fleet --over-time` on looks that `memprof ship` wrote: a program that holds little and then much, its looks
copied to other times of two days."""
import gzip
import json

import e2e
import ship_test

HOUR_NS = 3_600_000_000_000
BEGIN_NS = 472_000 * HOUR_NS


def at_time(profile, time_ns):
    """The profile (pprof, unpacked) with another time: of a field that is there twice, readers take the last."""
    number = bytearray()
    while time_ns > 127:
        number.append(time_ns & 127 | 128)
        time_ns >>= 7
    return gzip.compress(profile + b"\x48" + bytes(number) + bytes([time_ns]), compresslevel=1)


class FleetHistory(ship_test.Base):
    def test_a_shift_and_its_rollout(self):
        shipped = self.folder / "shipped"
        shipped.mkdir()
        looks = {}
        for host in ("a", "b"):
            process = self.begin(host)
            for version, count in (("1", 1200), ("2", 3000)):
                self.work(process, count)
                self.ship(str(shipped), host, "--label", f"service_version={version}")
                file = max((shipped / "shop").glob(f"{host}.*.pb.gz"), key=lambda path: (path.stat().st_mtime_ns, path.name))
                looks[host, version] = gzip.decompress(file.read_bytes())
        bucket = self.folder / "bucket"
        bucket.mkdir()
        for host in ("a", "b"):
            for look in range(4 * 24):
                time_ns = BEGIN_NS + look * HOUR_NS // 4
                content = at_time(looks[host, "1" if look < 50 else "2"], time_ns)
                (bucket / f"{host}.{look}.pb.gz").write_bytes(content)
        found = json.loads(self.memprof("fleet", bucket, "--over-time", "--cycle", "1h", "--json").stdout)
        self.assertEqual(found["looks"], 2 * 4 * 24)
        self.assertEqual([service["hosts"] for service in found["services"]], [2])
        change = next(row for row in found["over_time"] if row["function"] == "(all)")
        self.assertEqual(change["kind"], "shift")
        self.assertLess(change["before_high"], change["after_low"])
        self.assertLessEqual(change["p"], 0.01)
        self.assertLessEqual(change["low_unix_ns"], BEGIN_NS + 50 * HOUR_NS // 4)
        self.assertGreaterEqual(change["high_unix_ns"], BEGIN_NS + 49 * HOUR_NS // 4)
        self.assertLess(change["high_unix_ns"] - change["low_unix_ns"], 3 * HOUR_NS)
        self.assertEqual([rollout["version"] for rollout in change["rollouts"]], ["2"])
        text = self.memprof("fleet", bucket, "--over-time", "--cycle", "1h").stdout.decode()
        self.assertIn("with the rollout of 2", text)
        # By days there is too little, and that is said.
        text = self.memprof("fleet", bucket, "--over-time").stdout.decode()
        self.assertTrue(text.startswith("Nothing can be said of changes"), text)


if __name__ == "__main__":
    e2e.main()
