# SPDX-License-Identifier: Apache-2.0
"""`memprof ship` to a server of OpenTelemetry's profiles: totals, attributes, names, and what is refused in part. Against
otlp_server.py, whose decoder is written from the proto files and refuses what breaks their rules."""
import os

import e2e
import otlp_server
import ship_test


class ShipOtlp(ship_test.Base):
    def server(self, *arguments, **options):
        server = otlp_server.Server(*arguments, **options)
        self.addCleanup(server.close)
        return server

    def of_first_metrics(self, totals):
        return {metric: totals.get(metric, 0) for metric in e2e.METRICS}

    def test_totals_attributes_and_names(self):
        server = self.server()
        processes = {"a": [self.begin("a"), self.begin("a")], "b": [self.begin("b")]}
        for look in range(3):
            for host, of_host in processes.items():
                for number, process in enumerate(of_host):
                    self.work(process, 25 + 31 * look + 7 * number)
                self.ship(server.url, host, "--label", "region=eu", "--label", "service_version=1.2")
        self.assertEqual(server.wrong, [])
        self.assertEqual(len(server.looks), 6)
        for host, of_host in processes.items():
            truth = self.truth(*of_host, host=host)
            self.assertGreater(truth["alloc_space"], 2_000_000)
            self.assertEqual(self.of_first_metrics(server.totals(host_name=host)), truth)
            self.assertEqual(self.figures(host)["target_accepted_alloc_bytes_total"], truth["alloc_space"])
        look = server.looks[-1]
        self.assertEqual(look[0].attributes, {
            "service.name": "shop", "host.name": "b", "process.executable.name": os.path.basename(e2e.system_python()),
            "region": "eu", "service.version": "1.2"})
        self.assertEqual((look[0].scope[0], look[0].unit), ("memprof", "count"))
        by_type = {profile.type: profile for profile in look}
        self.assertGreater(by_type["alloc_space"].duration_ns, 0)
        self.assertEqual(by_type["inuse_space"].duration_ns, 0)
        self.assertEqual({profile.time_ns for profile in look}, {look[0].time_ns})
        self.assertIn("peak_space", by_type)
        frames = [frame for sample in by_type["inuse_space"].samples for frame in sample.frames]
        self.assertTrue(any("work" in frame.name for frame in frames), "names")

    def test_native_frames_have_files_and_build_ids(self):
        server = self.server()
        self.check(e2e.run([e2e.COMMAND, "run", "-r", "0", "-o", self.folder / "x.pb.gz", "--ship", server.url, "--", "ls", "/"],
                           e2e.plain_environment()), stderr=None)
        self.assertEqual(server.wrong, [])
        frames = {frame for profile in server.stored.values() for sample in profile.samples for frame in sample.frames}
        self.assertTrue(any(frame.build_id and os.path.basename(frame.path) == "ls" for frame in frames), frames)

    def test_a_process_is_an_attribute_where_it_is_asked_for(self):
        server = self.server()
        process = self.begin()
        self.work(process, 40)
        self.ship(server.url, "a", "--pid-label")
        self.assertEqual((server.wrong, server.looks[0][0].attributes["process.pid"]), ([], process.pid))

    def test_whatever_the_server_does(self):
        # What is refused is lost, what is refused in part may be: both are counted, everything else arrives once.
        answers = [(503, {"Retry-After": "1"}), "drop", "close", None, ("partly", 2), 400, ("partly", 99), None]
        server = self.server(lambda number: answers[number] if number < len(answers) else None)
        process = self.begin()
        said = ""
        for look in range(6):
            self.work(process, 30 + 10 * look)
            said += self.ship(server.url)
        self.assertEqual(server.wrong, [])
        figures, truth = self.figures(), self.truth(process)
        self.assertEqual((figures["target_partly_total"], figures["target_refused_total"]), (1, 2))
        self.assertGreater(figures["target_rejected_profiles_total"], 2)
        self.assertEqual(sum(figures[f"target_{what}_alloc_bytes_total"] for what in ("accepted", "partly", "refused")),
                         truth["alloc_space"])
        partly = sum(profile.type == "alloc_space" and sum(sample.value for sample in profile.samples)
                     for profile in server.looks[1])
        self.assertEqual(server.totals()["alloc_space"] - partly, figures["target_accepted_alloc_bytes_total"])
        self.assertEqual(server.totals()["inuse_space"], truth["inuse_space"])
        self.assertEqual(server.repeated, 1)
        self.assertIn("status 503", said)
        self.assertRegex(said, r"lost a part of a look: .*rejected 2 of \d+ profiles: they are too many")
        self.assertIn("in part 1", said)

    def test_another_server_loses_nothing(self):
        other = self.server(lambda number: b"<html>hello</html>")
        process = self.begin()
        self.assertIn("not as OTLP over HTTP has it", self.said_of(other))
        before, other.failures = len(other.requests), lambda number: None
        elsewhere = self.start(f"{other.url}/v1/profiles", "a", "--every", "1h")
        self.wait_for(lambda: len(other.requests) > before)
        self.end(elsewhere)
        self.assertIn("status 404: 404 page not found; OTLP's profiles are not taken there", elsewhere.stderr.read().decode())
        server = self.server()
        self.ship(server.url)
        self.assertEqual(self.of_first_metrics(server.totals()), self.truth(process), "a target that is new gets what waits")


if __name__ == "__main__":
    e2e.main()
