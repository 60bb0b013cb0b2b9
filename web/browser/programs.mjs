// SPDX-License-Identifier: Apache-2.0
// Programs that the tests of live pages start and talk to.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** A program, and the lines that it says. */
export function begin(command, args, options = {}) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"], ...options });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async () => String((await lines.next()).value);
  return {
    child,
    next,
    ask: async (line) => {
      child.stdin.write(`${line}\n`);
      return next();
    },
    ended: new Promise((done) => child.on("exit", done)),
  };
}
