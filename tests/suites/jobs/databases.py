# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL and MariaDB: made, filled, asked, dumped, ended."""
import glob
import signal

from jobs import job


class PostgreSQL(job.Job):
    NAME, PACKAGE, PROFILES = "PostgreSQL", "postgresql", ("postgres",)
    USER = "postgres"
    FILL = """create table t (n int primary key, text text, data jsonb);
insert into t select n, repeat(md5(n::text), n % 40), jsonb_build_object('n', n, 'square', n::bigint * n) from generate_series(1, 20000) n;
create index on t using gin (data); create table u as select n % 97 as k, sum(n) from t group by 1 order by 1;
update t set text = text || 'more' where n % 3 = 0; delete from t where n % 11 = 0;
"""
    ASK = """set jit_above_cost = 0; set jit_inline_above_cost = 0; set jit_optimize_above_cost = 0; set jit = {jit};
select k, count(*), sum(length(text)), md5(string_agg(text, ',' order by n)) from t join u on n % 97 = k group by k order by k;
select count(*) from t where data @> '{{"square": 169}}'; select n, rank() over (order by length(text), n) from t order by n limit 50;
select 1 / 0; select regexp_replace(text, '[0-9]+', '#', 'g') from t where n < 60 order by n;
"""

    @staticmethod
    def place():
        return next(iter(sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)), None)

    @classmethod
    def is_there(cls):
        return cls.place() is not None

    def work(self):
        place = self.place()
        self.do("initdb", f"{place}/initdb", "-D", self.folder / "data", "-A", "trust", "-U", "postgres", "-N", "-E", "UTF8", "--locale=C")
        server = self.start("postgres", f"{place}/postgres", "-D", self.folder / "data", "-k", self.folder, "-c", "listen_addresses=", "-c", "fsync=off")
        psql = (f"{place}/psql", "-X", "-A", "-t", "-h", self.folder, "-U", "postgres", "postgres")
        self.until("postgres", lambda: job.connected(str(self.folder / ".s.PGSQL.5432")))
        self.until("postgres", lambda: "1" in self.do("ready", *psql, "-c", "select 1"))
        self.do("fill", *psql, text=self.FILL)
        for jit in ("off", "on"):
            self.do(f"queries with jit {jit}", *psql, text=self.ASK.format(jit=jit), keep=True)
        server.send_signal(signal.SIGHUP)
        self.do("queries after reload", *psql, text=self.ASK.format(jit="off"), keep=True)
        self.results["dump: lines"] = job.digest("\n".join(line for line in self.do("dump", f"{place}/pg_dump", "-h", self.folder, "-U", "postgres", "postgres")
                                                           .splitlines() if "restrict" not in line))
        self.stop("postgres", server, signal.SIGINT)
        self.said("postgres.log", "terminated by signal", "PANIC", "was not properly shut down")


class MariaDB(job.Job):
    NAME, PACKAGE, NEEDS, PROFILES = "MariaDB", "mariadb-server", ("mariadbd", "mariadb", "mariadb-install-db"), ("mariadbd",)
    USER = "mysql"
    FILL = """create database d; use d; create table t (n int primary key, text text, k int, index (k)) engine=innodb;
insert into t select seq, repeat(md5(seq), seq % 40), seq % 97 from seq_1_to_10000;
create table a (n int, text varchar(90)) engine=aria; insert into a select n, left(text, 90) from t;
update t set text = concat(text, 'more') where n % 3 = 0; delete from t where n % 11 = 0;
"""
    ASK = """select k, count(*), sum(length(text)), md5(group_concat(md5(text) order by n)) from t group by k order by k;
select t.n, rank() over (order by length(t.text), t.n) from t join a on t.n = a.n order by t.n limit 50;
select json_object('n', n, 'text', regexp_replace(text, '[0-9]+', '#')) from t where n < 60 order by n;
"""

    def work(self):
        self.do("install", "mariadb-install-db", "--no-defaults", f"--datadir={self.folder}/data", "--auth-root-authentication-method=normal",
                "--skip-test-db")
        path = self.folder / "socket"
        server = self.start("mariadbd", "mariadbd", "--no-defaults", f"--datadir={self.folder}/data", f"--socket={path}", "--skip-networking",
                            "--innodb-buffer-pool-size=32M", f"--tmpdir={self.folder}")
        self.until("mariadbd", lambda: job.connected(str(path)))
        ask = ("mariadb", "--no-defaults", "-u", "root", "-S", path, "-N")
        self.do("fill", *ask, text=self.FILL)
        self.do("queries", *ask, "d", text=self.ASK, keep=True)
        self.do("queries again", *ask, "d", text=self.ASK, keep=True)
        self.do("dump", "mariadb-dump", "--no-defaults", "-u", "root", "-S", path, "--skip-dump-date", "d", keep=True)
        self.stop("mariadbd", server)
        self.said("mariadbd.log", "got signal", "[ERROR]")


PROGRAMS = (PostgreSQL, MariaDB)
