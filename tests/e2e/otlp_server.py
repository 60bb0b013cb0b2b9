# SPDX-License-Identifier: Apache-2.0
"""A server that takes OpenTelemetry's profiles over HTTP as the specification of OTLP says, and that fails as it is told to."""
import gzip

import otlp_decoder
import pyroscope_server

PATH = "/v1development/profiles"


def message(number, content):
    """A field of bytes of less than 128."""
    return bytes((number << 3 | 2, len(content))) + content


def partial_success(rejected, why):
    return message(1, bytes((1 << 3, rejected)) + message(2, why.encode()))


class Server(pyroscope_server.Server):
    """`failures` may also give ("partly", N): it takes the request, but for N profiles."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.url = f"otlp+{self.url}"
        self.stored = {}   # id -> Profile
        self.looks = []    # lists of profiles, of each request that was new
        self.rejected = 0  # profiles
        self.wrong = []    # what broke the rules
        decide = self.failures
        self.partly = 0

        def failures(number):
            failure = decide(number)
            self.partly = failure[1] if isinstance(failure, tuple) and failure[0] == "partly" else 0
            return None if self.partly else failure

        self.failures = failures

    def take(self, path, headers, body):
        kind = {"Content-Type": "application/x-protobuf"}
        if path != PATH:
            return 404, b"404 page not found\n", {"Content-Type": "text/plain"}
        try:
            assert headers["Content-Type"] == kind["Content-Type"] and headers["Content-Encoding"] == "gzip", dict(headers)
            profiles = otlp_decoder.profiles_of(gzip.decompress(body))
            assert profiles, "a request without a profile"
        except (AssertionError, KeyError, IndexError, ValueError) as error:
            self.wrong.append(repr(error))
            return 400, message(2, b"it is not what profiles.proto says"), kind
        kept = profiles[self.partly:]
        if kept and kept[0].id in self.stored:
            self.repeated += 1
        else:
            self.looks.append(kept)
        self.stored.update((profile.id, profile) for profile in kept)
        self.rejected += self.partly
        return 200, partial_success(self.partly, "they are too many") if self.partly else b"", kind

    def totals(self, **attributes):
        with self.lock:
            chosen = [profile for profile in self.stored.values()
                      if all(profile.attributes.get(name.replace("_", ".")) == value for name, value in attributes.items())]
        sums, last = {}, {}
        for profile in chosen:
            total = sum(sample.value for sample in profile.samples)
            if profile.type.startswith("alloc_"):
                sums[profile.type] = sums.get(profile.type, 0) + total
            else:
                series = profile.type, tuple(sorted(profile.attributes.items()))
                last[series] = max(last.get(series, (0, 0)), (profile.time_ns, total))
        for (metric, _), (_, total) in last.items():
            sums[metric] = sums.get(metric, 0) + total
        return sums
