# SPDX-License-Identifier: Apache-2.0
"""Programs that fork, execute and end at any moment, by every way that memprof can be in them."""
from harm import Situation, differs

SAMPLE = 5


def situations(harm, chance):
    storm = harm.programs / "fork_storm"
    plain = harm.run([storm])
    while True:
        rate = chance.choice(("0", "512", "4k", "64k", "512k"))
        way = chance.choice(("preloaded", "run"))
        number = chance.randrange(10**6)

        def attempt(rate=rate, way=way, number=number):
            if way == "preloaded":
                return differs(plain, harm.run([storm], harm.preloaded(MEMPROF_RATE=rate)))
            out = harm.folder / f"{number}.pb.gz"
            return differs(plain, harm.run([harm.command, "run", "-r", rate, "--force", "-o", out, "--", storm]))

        yield Situation(f"fork storm, {way}, rate {rate}, {number}", attempt)
