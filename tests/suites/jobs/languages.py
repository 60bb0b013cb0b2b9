# SPDX-License-Identifier: Apache-2.0
"""Runtimes of languages, and what they build."""
from jobs import job


class R(job.Job):
    NAME, PACKAGE, NEEDS, PROFILES = "R", "r-base-core", ("Rscript",), ("R",)
    SCRIPT = """set.seed(20)
x <- matrix(rnorm(60000), ncol = 6)
f <- lm(x[, 1] ~ x[, 2:6])
print(coef(f), digits = 10)
l <- lapply(1:20000, function(i) rep(i, i %% 50))
print(sum(sapply(l, sum))); print(summary(prcomp(x))$sdev, digits = 8)
s <- sort(sapply(1:20000, function(i) paste0("key", (i * 7919) %% 20011)))
print(head(s)); print(length(unique(unlist(strsplit(s, "")))))
"""

    def work(self):
        path = self.write("work.R", self.SCRIPT)
        self.do("script", "Rscript", "--vanilla", path, keep=True)


class Erlang(job.Job):
    NAME, PACKAGE, NEEDS, PROFILES = "Erlang", "erlang-base", ("erl",), ("beam.smp",)
    SCRIPT = """P = self(), [spawn(fun() -> P ! {I, lists:sum([erlang:phash2({I, J}) || J <- lists:seq(1, 2000)])} end) || I <- lists:seq(1, 300)],
R = [receive {I, S} -> S end || I <- lists:seq(1, 300)], T = ets:new(t, []),
[ets:insert(T, {I, binary:copy(<<I:32>>, I rem 300)}) || I <- lists:seq(1, 20000)],
io:format("~p ~p ~p~n", [erlang:phash2(R), ets:info(T, size), erlang:phash2(lists:sort(ets:tab2list(T)))]), halt(3)."""

    def work(self):
        self.do("script", "erl", "-noshell", "-eval", " ".join(self.SCRIPT.split("\n")), keep=True)


class Cargo(job.Job):
    NAME, PACKAGE, NEEDS, PROFILES = "cargo", "cargo", ("cargo", "rustc"), ("cargo", "work")  # rustc has a malloc of its own

    def begin(self, folder, environment):
        home = job.pwd.getpwuid(job.os.getuid()).pw_dir  # where rustup has its toolchains
        super().begin(folder, {"RUSTUP_HOME": f"{home}/.rustup", **environment, "CARGO_HOME": str(folder / "cargo")})

    def work(self):
        self.write("Cargo.toml", "[package]\nname = \"work\"\nversion = \"0.1.0\"\nedition = \"2021\"\n")
        self.write("src/main.rs", """use std::collections::BTreeMap;
fn main() {
    let mut all: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for i in 0..50000u64 { all.entry(format!("key{}", i * 7919 % 3001)).or_default().push(i); }
    let sums: Vec<u64> = std::thread::scope(|s| (0..4u64).map(|n| { let all = &all; s.spawn(move || all.values().flatten().filter(|x| *x % 4 == n).sum()) })
        .collect::<Vec<_>>().into_iter().map(|t| t.join().unwrap()).collect());
    println!("{} {:?}", all.len(), sums);
}
""")
        self.do("build", "cargo", "build", "--offline", "-q", "-j2")
        self.do("program", self.folder / "target/debug/work", keep=True)


class Go(job.Job):
    NAME, PACKAGE, NEEDS, PROFILES = "go with cgo", "golang-go, gcc", ("go", "gcc"), ()
    SOURCE = """package main

// #include <stdlib.h>
// #include <string.h>
// static unsigned long work(int n) { unsigned long s = 0; for (int i = 1; i < n; i++) { char* p = malloc(i % 3000 + 1);
//   memset(p, i, i % 3000 + 1); s += (unsigned char)p[i % 3000]; free(p); } return s; }
import "C"
import ("fmt"; "sync"; "unsafe")

func main() {
	sums := make([]uint64, 8)
	var group sync.WaitGroup
	for i := range sums {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			text := C.CString(fmt.Sprint("text", i))
			sums[i] = uint64(C.work(C.int(20000 + i))) + uint64(C.strlen(text))
			C.free(unsafe.Pointer(text))
		}(i)
	}
	group.Wait()
	fmt.Println(sums)
}
"""

    def work(self):
        # In a folder of its own: go does not read go.mod in $TMPDIR itself.
        self.write("source/go.mod", "module example.org/work\n\ngo 1.19\n")
        self.write("source/work.go", self.SOURCE)
        more = {"GOFLAGS": "-mod=mod -modcacherw", "GOPROXY": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "1"}
        # Debian 12's go cannot change its folder (-C).
        self.do("build", "sh", "-c", "cd source && exec go build -p 2 -o ../work .", more=more)
        self.do("program", self.folder / "work", keep=True)


class Java(job.Job):
    NAME, PACKAGE, NEEDS, PROFILES = "java", "default-jdk-headless", ("java",), ("java",)
    SOURCE = """import java.util.*;
import java.util.stream.*;
public class Work {
  public static void main(String[] a) throws Exception {
    Map<String, List<Integer>> all = new TreeMap<>();
    for (int i = 0; i < 100000; i++) all.computeIfAbsent("key" + i * 31 % 997, k -> new ArrayList<>()).add(i);
    java.util.zip.Deflater d = new java.util.zip.Deflater();
    d.setInput(all.toString().getBytes()); d.finish();
    byte[] out = new byte[2000000];
    System.out.println(d.deflate(out) + " " + Arrays.hashCode(out) + " "
      + IntStream.range(0, 200000).parallel().mapToLong(x -> (x * 7919L) % 1009).sum() + " " + java.nio.ByteBuffer.allocateDirect(5000000).capacity());
    System.exit(5);
  }
}
"""

    def work(self):
        path = self.write("Work.java", self.SOURCE)
        for what, flags in (("frame pointers", ["-XX:+PreserveFramePointer"]), ("no frame pointers", []), ("interpreted", ["-Xint"])):
            self.do(what, "java", "-Xmx256m", "-XX:-UsePerfData", *flags, path, keep=True)


PROGRAMS = (R, Erlang, Cargo, Go, Java)
