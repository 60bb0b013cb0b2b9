# SPDX-License-Identifier: Apache-2.0
"""Programs of every kind, each with a job of seconds that says the same each time.

name: (package, command, input, owner). `command` runs in a folder with the files of FILES; words that a shell must read are
one `sh -c`. `input`: what it reads from standard input. `owner`: whose heap holds what memprof does not see of it, a part of
what the report must say; "" where malloc holds it all.
"""

LIST = "[i * 7919 % 65521 for i in range(300000)]"

FILES = {
    "work.rb": "a = (0...300000).map { |i| \"key#{i * 7919 % 65521}\" }\nh = a.group_by { |x| x[-2..] }\nputs h.size, a.sort.first(3)\n",
    "work.lua": "local t = {}\nfor i = 1, 400000 do t[i] = { i, 'k' .. (i * 7919 % 65521) } end\n"
                "local s = 0\nfor _, v in ipairs(t) do s = s + v[1] + #v[2] end\nprint(s)\n",
    "work.php": "<?php $a = [];\nfor ($i = 0; $i < 300000; $i++) $a[] = ['id' => $i, 'name' => 'k' . ($i * 7919 % 65521)];\n"
                "usort($a, fn($x, $y) => strcmp($x['name'], $y['name']));\necho count($a), ' ', $a[1000]['name'], \"\\n\";\n",
    "sqlite.php": "<?php $db = new SQLite3(':memory:');\n$db->exec('create table t(a text)');\n$db->exec('begin');\n"
                  "for ($i = 0; $i < 20000; $i++) $db->exec(\"insert into t values('\" . str_repeat('x', 1000) . \"')\");\n"
                  "$db->exec('commit');\necho $db->querySingle('select sum(length(a)) from t'), \"\\n\";\n",
    "work.scm": "(define (build n) (let loop ((i 0) (l '())) (if (= i n) l (loop (+ i 1) (cons (list i (number->string i)) l)))))\n"
                "(define all (build 300000))\n(display (apply + (map car all)))\n(newline)\n",
    "work.lisp": "(let ((all (loop for i below 300000 collect (list i (format nil \"k~a\" i)))))\n"
                 "  (print (reduce #'+ (mapcar #'car all))))\n(terpri)\n",
    "work.rkt": "#lang racket/base\n(define all (for/list ([i 300000]) (list i (number->string i))))\n"
                "(displayln (apply + (map car all)))\n",
    "Work.hs": "import qualified Data.Map.Strict as M\nmain :: IO ()\nmain = do\n"
               "  let m = M.fromList [(i * 7919 `mod` 65521 :: Int, show i) | i <- [1 .. 300000 :: Int]]\n"
               "  print (M.size m, sum (map length (M.elems m)))\n",
    "work.ml": "let () =\n  let t = Hashtbl.create 16 in\n  for i = 0 to 300000 do Hashtbl.replace t (i * 7919 mod 65521) (string_of_int i) done;\n"
               "  Printf.printf \"%d\\n\" (Hashtbl.length t)\n",
    "Work.cs": "using System;\nusing System.Collections.Generic;\nclass Work {\n  static void Main() {\n"
               "    var all = new Dictionary<int, string>();\n"
               "    for (int i = 0; i < 300000; i++) all[i * 7919 % 65521] = \"k\" + i;\n    Console.WriteLine(all.Count);\n  }\n}\n",
    "work.pl": "main :- numlist(1, 200000, L), maplist([X, X-Y]>>(Y is X * 7919 mod 65521), L, P), sort(2, @>=, P, S), nth1(1000, S, A-B), writeln(A-B).\n",
    "work.el": "(let ((all nil)) (dotimes (i 200000) (push (cons i (number-to-string i)) all)) (princ (length all)) (terpri))\n",
    "work.m": "x = reshape(mod((1:2000000) * 7919, 65521), 2000, 1000); y = x' * x; c = num2cell(1:20000); printf('%d %d\\n', sum(diag(y)), numel(c));\n",
    "work.smt2": "(declare-fun f (Int) Int)\n" + "".join(
        f"(declare-const x{i} Int)\n(assert (and (> (f x{i}) {i}) (< x{i} {i + 50}) (distinct x{i} (f {i}))))\n" for i in range(400)) + "(check-sat)\n",
    "work.v": "module top(input clk, input [15:0] a, b, output reg [31:0] y);\n  reg [15:0] s [0:7];\n  integer i;\n"
              "  always @(posedge clk) begin\n    for (i = 0; i < 8; i = i + 1) s[i] <= s[i] + (a ^ (b << i));\n"
              "    y <= s[0] ^ s[3] ^ s[7] ^ (s[5] + a);\n  end\nendmodule\n",
    "work.cc": "#include <map>\n#include <string>\n#include <vector>\n#include <algorithm>\n#include <regex>\n"
               "int main(int n, char** v) { std::map<std::string, std::vector<int>> m; std::regex r(\"a+\");\n"
               "  for (int i = 0; i < n; ++i) m[v[i]].push_back(i); std::sort(m[\"a\"].begin(), m[\"a\"].end());\n"
               "  return std::regex_match(v[0], r) ? 1 : 0; }\n",
    "work.rs": "use std::collections::HashMap;\nfn main() { let mut m: HashMap<u64, String> = HashMap::new();\n"
               "  for i in 0..100000u64 { m.insert(i * 7919 % 65521, format!(\"k{}\", i)); } println!(\"{}\", m.len()); }\n",
    "work.tex": "\\documentclass{article}\\begin{document}\n" + "".join(
        f"\\section{{S{i}}} Text of this section, $x_{{{i}}}^2 + \\sqrt{{y}} = \\frac{{1}}{{{i + 1}}}$.\n\n" for i in range(120)) + "\\end{document}\n",
    "work.ps": "/Times-Roman findfont 20 scalefont setfont\n" + "".join(
        f"{50 + i % 400} {50 + i * 7 % 700} moveto (Word {i}) show\n" for i in range(3000)) + "showpage\n",
    "work.svg": '<svg xmlns="http://www.w3.org/2000/svg" width="800" height="800">' + "".join(
        f'<circle cx="{i * 37 % 800}" cy="{i * 91 % 800}" r="{i % 40}" fill="#{i * 7919 % 4096:03x}"/>' for i in range(3000)) + "</svg>\n",
    "work.md": "".join(f"# Title {i}\n\nSome *text* with [a link](http://example.org/{i}) and\n\n- a list\n- of `code`\n\n" for i in range(2000)),
    "work.html": "<html><body><script>const a = []; for (let i = 0; i < 300000; i++) a.push({i, s: 'k' + i}); "
                 "document.title = a.length</script>" + "<p>text</p>" * 5000 + "</body></html>\n",
    "zone": "$TTL 300\n@ IN SOA ns.example.org. a.example.org. 1 2 3 4 300\n@ IN NS ns\nns IN A 192.0.2.1\n" + "".join(
        f"h{i} IN A 192.0.2.{i % 250}\n" for i in range(60000)),
    "text": "".join(f"line {i} of {i * 7919 % 65521} words\n" for i in range(200000)),
    "unbound.conf": "server:\n  interface: 127.0.0.1@15353\n  do-daemonize: no\n  username: \"\"\n  chroot: \"\"\n  pidfile: \"\"\n  use-syslog: no\n"
                    "  directory: \".\"\n  local-zone: \"example.org.\" static\n" + "".join(
                        f"  local-data: \"h{i}.example.org. A 192.0.2.{i % 250}\"\n" for i in range(30000)),
    "lighttpd.conf": "server.document-root = var.CWD\nserver.port = 18080\nserver.bind = \"127.0.0.1\"\nserver.modules = ()\n",
    "mosquitto.conf": "listener 18830 127.0.0.1\nallow_anonymous true\n",
}

# What the program's blocks hold at the peak at least, in MiB, where that is known.
LEAST_MIB = {"php extension": 18}

# A server at work for a moment: it is asked, and told to end.
SERVER = "{server} >/dev/null 2>&1 & server=$!; sleep 2; {ask}; kill $server; wait $server; echo ended $?"


def served(server, ask):
    return ["sh", "-c", SERVER.format(server=server, ask=ask)]


PROGRAMS = {
    "ruby": ("ruby", ["ruby", "work.rb"], "", ""),
    "lua": ("lua5.4", ["lua5.4", "work.lua"], "", ""),
    "luajit": ("luajit", ["luajit", "work.lua"], "", "LuaJIT"),
    "php": ("php-cli", ["php", "-d", "memory_limit=-1", "work.php"], "", "PHP"),
    # An extension, and a library that only it needs, which PHP opens with RTLD_DEEPBIND.
    "php extension": ("php-cli php-sqlite3", ["php", "-d", "memory_limit=-1", "sqlite.php"], "", "PHP"),
    "guile": ("guile-3.0", ["guile", "--no-auto-compile", "work.scm"], "", "Guile"),
    "sbcl": ("sbcl", ["sbcl", "--script", "work.lisp"], "", "SBCL"),
    "racket": ("racket", ["racket", "work.rkt"], "", "Racket"),
    "ghc": ("ghc", ["ghc", "-v0", "-fforce-recomp", "Work.hs", "-outputdir", "hs", "-o", "hs-work"], "", "Haskell"),
    "haskell program": ("ghc", ["sh", "-c", "test -x hs-work || ghc -v0 Work.hs -outputdir hs -o hs-work; exec ./hs-work"], "", "Haskell"),
    "pandoc": ("pandoc", ["pandoc", "work.md", "-o", "pandoc.html"], "", "Haskell"),
    "ocaml": ("ocaml-nox", ["ocaml", "work.ml"], "", ""),
    "mono": ("mono-mcs mono-runtime", ["sh", "-c", "test -e Work.exe || mcs Work.cs; exec mono Work.exe"], "", "Mono"),
    "swi-prolog": ("swi-prolog-nox", ["swipl", "-q", "-g", "main", "-t", "halt", "work.pl"], "", ""),
    "emacs": ("emacs-nox", ["emacs", "-Q", "--batch", "-l", "work.el"], "", ""),
    "vim": ("vim-nox", ["vim", "-u", "NONE", "-es", "-c", "%s/line/word/", "-c", "sort", "-c", "wq! vim-text", "text"], "", ""),
    "octave": ("octave", ["octave-cli", "--no-init-file", "--quiet", "work.m"], "", ""),
    "z3": ("z3", ["z3", "work.smt2"], "", ""),
    "cvc5": ("cvc5", ["cvc5", "--rlimit=20000", "work.smt2"], "", ""),
    "yosys": ("yosys", ["yosys", "-q", "-p", "read_verilog work.v; synth -top top; stat"], "", ""),
    "clang": ("clang-14", ["clang++-14", "-O1", "-c", "work.cc", "-o", "clang.o"], "", ""),
    "lld": ("lld-14 clang-14", ["clang++-14", "-fuse-ld=lld-14", "work.cc", "-o", "lld-work"], "", ""),
    "rustc": ("rustc", ["rustc", "-O", "work.rs", "-o", "rs-work"], "", ""),
    "gdb": ("gdb", ["gdb", "-nx", "-batch", "-ex", "info line main", "/usr/bin/gdb"], "", ""),
    "7z": ("p7zip-full", ["sh", "-c", "rm -f a.7z; 7z a -bso0 -bsp0 a.7z text && 7z t -bso0 -bsp0 a.7z"], "", ""),
    "zstd": ("zstd", ["sh", "-c", "zstd -q -f -19 text -o text.zst; zstd -q -dc text.zst | sha256sum"], "", ""),
    "pdflatex": ("texlive-latex-base", ["pdflatex", "-interaction=batchmode", "work.tex"], "", ""),
    "ghostscript": ("ghostscript", ["gs", "-q", "-dBATCH", "-dNOPAUSE", "-sDEVICE=ppmraw", "-sOutputFile=gs.ppm", "work.ps"], "", ""),
    "tesseract": ("tesseract-ocr tesseract-ocr-eng ghostscript",
                  ["sh", "-c", "test -e page.png || gs -q -dBATCH -dNOPAUSE -sDEVICE=pnggray -r100 -sOutputFile=page.png work.ps; "
                   "OMP_THREAD_LIMIT=1 tesseract page.png - --psm 6 2>/dev/null | sha256sum"], "", ""),
    "inkscape": ("inkscape", ["sh", "-c", "inkscape work.svg -o inkscape.png >/dev/null 2>&1; echo $?"], "", ""),
    "blender": ("blender", ["sh", "-c", "blender -b --factory-startup --python-expr 'import bpy; "
                "bpy.ops.mesh.primitive_uv_sphere_add(segments=400, ring_count=400); print(len(bpy.data.objects))' 2>/dev/null | grep -c 4"], "", ""),
    "qemu": ("qemu-system-x86", ["sh", "-c", "printf 'info version\\nquit\\n' | qemu-system-x86_64 -m 64 -display none -nodefaults -S -monitor stdio | grep -c QEMU"], "", "QEMU"),
    "mpirun": ("openmpi-bin", ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2", "sort", "text", "-o", "/dev/null"], "", ""),
    "tarantool": ("tarantool", ["tarantool", "-e", "local t = {} for i = 1, 300000 do t[i] = {i, 'k' .. i} end print(#t) os.exit(0)"], "", "Tarantool"),
    "unbound": ("unbound bind9-dnsutils", served("unbound -d -c unbound.conf", "dig +short @127.0.0.1 -p 15353 h77.example.org"), "", ""),
    "bind9": ("bind9-utils", ["sh", "-c", "named-checkzone -q example.org zone; echo $?"], "", ""),
    "mosquitto": ("mosquitto mosquitto-clients",
                  served("mosquitto -c mosquitto.conf", "for i in 1 2 3; do mosquitto_pub -p 18830 -r -t a/$i -f text -q 1; done; mosquitto_sub -p 18830 -t 'a/#' -C 3 | sha256sum"), "", ""),
    "lighttpd": ("lighttpd curl", served("lighttpd -D -f lighttpd.conf", "for i in 1 2 3; do curl -s http://127.0.0.1:18080/text | sha256sum; done"), "", ""),
    "varnish": ("varnish curl lighttpd",
                served("lighttpd -D -f lighttpd.conf", "varnishd -F -n $PWD/varnish -a 127.0.0.1:18081 -b 127.0.0.1:18080 -s malloc,64m >/dev/null 2>&1 & "
                       "varnish=$!; sleep 4; curl -s http://127.0.0.1:18081/text | sha256sum; kill $varnish; wait $varnish"), "", ""),
    "firefox": ("firefox-esr", ["sh", "-c", "HOME=$PWD timeout 100 firefox-esr --headless --screenshot $PWD/firefox.png file://$PWD/work.html >/dev/null 2>&1; test -s firefox.png; echo $?"], "", ""),
    "chromium": ("chromium", ["sh", "-c", "HOME=$PWD timeout 100 chromium --headless --no-sandbox --disable-gpu --dump-dom file://$PWD/work.html 2>/dev/null | grep -c text"], "", "Chromium"),
}
