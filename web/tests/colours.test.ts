// SPDX-License-Identifier: Apache-2.0
// Colours by process and by heap: each stack stands below its own, and what is of one is below no other.
import { describe, expect, it } from "vitest";
import { makeView } from "../src/model/view";
import { labelsAbove, NO_LABEL } from "../src/ui/colours";
import { pageOf, profiles } from "./page";

const HIDDEN = { interpreter: true, native: true, imports: true, packages: true, library: true, start: true };

const LABELS = ["process", "heap"] as const;

describe.each(profiles())("%s", (profile) => {
  it.each(LABELS.flatMap((which) => [[which, "function"] as const, [which, which] as const]))("has the %s of each stack, by %s", async (which, by) => {
    const block = await pageOf(profile);
    const view = makeView(block, { by, hidden: HIDDEN, fullNames: false });
    const above = labelsAbove(view, which);
    const wrong = Array.from(block.stacks.label).filter((label, stack) => {
      const own = block.texts[block.labels[which][label]];
      const found = above[view.ofStack[stack]];
      const name = found === NO_LABEL ? "" : view.groups.groups[found].name;
      const none = by === which ? "[default]" : "";
      return name !== (own === "" ? none : by === which ? own : `[${which} ${own}]`);
    });
    expect(wrong).toEqual([]);
  });
});

it.each([["process", "merged"], ["heap", "mapped"]] as const)("has a profile of several: %s", async (which, name) => {
  const found = profiles().find((profile) => profile.includes(name));
  const block = await pageOf(found ?? "");
  const view = makeView(block, { by: "function", hidden: HIDDEN, fullNames: false });
  expect(new Set(labelsAbove(view, which).slice(1)).size).toBeGreaterThan(1);
});
