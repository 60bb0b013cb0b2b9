// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import type { PageColumn } from "../src/data/block";
import { needsPair, pairOf, termsOf, unitOf } from "../src/model/columns";
import { withPair } from "../src/model/sums";

const row = { group: 3, self: 600, total: 1000, before: 0, selfBefore: 0 };
const column = (part: Partial<PageColumn>): PageColumn => ({
  title: "", change_title: "", sums: "self", shape: "number", of: "metric", per: "", ...part,
});

test("a share is of the whole", () => {
  const share = column({ shape: "percent", per: "whole" });
  expect(termsOf(share, row, "inuse_space", 2000)).toEqual({ of: 600, per: 2000 });
  expect(termsOf({ ...share, sums: "total" }, row, "inuse_space", 2000)).toEqual({ of: 1000, per: 2000 });
  expect(needsPair([share], "inuse_space")).toBe(false);
});

test("the mean size is of bytes and blocks, by whichever the rows are ordered", () => {
  const mean = column({ of: "bytes", per: "blocks" });
  expect(needsPair([mean], "inuse_space")).toBe(true);
  expect(pairOf("inuse_space")).toBe("inuse_objects");
  const [withBlocks] = withPair([row], [{ ...row, self: 6, total: 8 }]);
  expect(termsOf(mean, withBlocks, "inuse_space", 0)).toEqual({ of: 600, per: 6 });
  expect(termsOf({ ...mean, sums: "total" }, withBlocks, "inuse_objects", 0)).toEqual({ of: 8, per: 1000 });
  expect(unitOf(mean, "inuse_objects")).toBe("inuse_space");
});

test("a group of which the pair has nothing is 0", () => {
  const [alone] = withPair([row], []);
  expect(termsOf(column({ of: "bytes", per: "blocks" }), alone, "inuse_space", 0)).toEqual({ of: 600, per: 0 });
});
