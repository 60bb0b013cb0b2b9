// SPDX-License-Identifier: Apache-2.0
// Colours by process: each stack stands below its own process, and what is of one process is below no other.
import { describe, expect, it } from "vitest";
import { makeView } from "../src/model/view";
import { labelsAbove, NO_LABEL } from "../src/ui/colours";
import { pageOf, profiles } from "./page";

const HIDDEN = { interpreter: true, imports: true, library: true, start: true };

describe.each(profiles())("%s", (profile) => {
  it.each(["function", "process"] as const)("has the process of each stack, by %s", async (by) => {
    const block = await pageOf(profile);
    const view = makeView(block, { by, hidden: HIDDEN, fullNames: false });
    const above = labelsAbove(view, "process");
    const wrong = Array.from(block.stacks.label).filter((label, stack) => {
      const process = block.texts[block.labels.process[label]];
      const found = above[view.ofStack[stack]];
      const name = found === NO_LABEL ? "" : view.groups.groups[found].name;
      const none = by === "process" ? "[default]" : "";
      return name !== (process === "" ? none : by === "process" ? process : `[process ${process}]`);
    });
    expect(wrong).toEqual([]);
  });
});

it("has a profile of several processes", async () => {
  const merged = profiles().find((profile) => profile.includes("merged"));
  const block = await pageOf(merged ?? "");
  const view = makeView(block, { by: "function", hidden: HIDDEN, fullNames: false });
  expect(new Set(labelsAbove(view, "process").slice(1)).size).toBeGreaterThan(1);
});
