// SPDX-License-Identifier: Apache-2.0
// What a live page makes of its events. Bytes of a real server are read in tests/e2e/live_page_test.py and browser/live.mjs.
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { type Block, FAMILIES, type Live, VERSION } from "../src/data/block";
import { type Events, Feed, type Shown } from "../src/data/feed";
import { allocatedIn, Difference, growthOf, withRates } from "../src/data/growth";
import { Stream } from "../src/data/stream";
import { valuesOf } from "../src/data/values";
import { MovingPlaces } from "../src/model/places";
import { rowsOf, sumUp, withGrowth } from "../src/model/sums";
import { makeView, type View } from "../src/model/view";

const SHOWN = { interpreter: false, native: false, imports: false, packages: false, library: false, start: false };
const LIVE: Live = { events: "events", profile: "profile.pb.gz", seconds: 0, resident: 0, who: "", recording: "", between: "between-" };
const now = () => false;

/** A process whose functions call each other in a row: bytes that each path holds, and has allocated. */
class Process {
  private readonly texts = [""];
  private frames = 0;
  private readonly nodes: { site: number; steps: number }[] = [];
  private readonly paths = new Map<string, number>();
  private readonly stacks = new Map<string, number>();
  private known = { texts: 0, frames: 0, nodes: 0, labels: 0, stacks: 0 };

  /** `paths`: "main/work" to [live, allocated]. */
  look(seconds: number, paths: Record<string, [number, number]>): Uint8Array {
    const begins = { ...this.known };
    for (const path of Object.keys(paths)) {
      const node = this.nodeOf(path);
      if (!this.stacks.has(path)) this.stacks.set(path, node);
    }
    const out: number[] = [];
    const varint = (number: number) => {
      for (; number >= 128; number = Math.floor(number / 128)) out.push((number % 128) | 128);
      out.push(number);
    };
    const text = (own: string) => {
      varint(own.length);
      out.push(...Buffer.from(own));
    };
    const metrics = ["alloc_objects", "alloc_space", "inuse_objects", "inuse_space"];
    const sides = [{ program: "server", pid: 1, rate: 1, samples: 1, stacks: 1, dropped: 0 }];
    const facts = { version: VERSION, title: "t", lines: [], sides, metrics, metric: "inuse_space", has_intervals: true };
    text(JSON.stringify({ ...facts, unlisted_bytes: 0, changes: {}, live: { ...LIVE, seconds } }));
    const { texts, frames, nodes, labels, stacks } = begins;
    for (const begin of [texts, frames, frames, nodes, 0, labels, stacks]) varint(begin);
    const names = this.texts.slice(texts);
    varint(names.length);
    for (const name of names) varint(name.length);
    for (const name of names) out.push(...Buffer.from(name));
    const fresh = Array.from({ length: this.frames - frames }, (_, i) => frames + i);
    varint(fresh.length);
    // name, shown: the text of the frame; all else is empty.
    for (let column = 0; column < 10; ++column) for (const frame of fresh) varint(column < 2 ? frame + 1 : 0);
    varint(fresh.length);
    for (const frame of fresh) varint(frame);
    fresh.forEach(() => varint(0));
    varint(this.nodes.length - nodes);
    for (const node of this.nodes.slice(nodes)) varint(node.site);
    for (const node of this.nodes.slice(nodes)) varint(node.steps);
    varint(0); // kinds
    varint(labels === 0 ? 1 : 0);
    if (labels === 0) for (let i = 0; i < 3; ++i) varint(0);
    const all = [...this.stacks];
    varint(all.length - stacks);
    for (const [, node] of all.slice(stacks)) varint(node);
    for (let i = stacks; i < all.length; ++i) varint(0);
    varint(all.length);
    all.forEach((_, i) => varint(i === 0 ? 0 : 1));
    const held = all.map(([path]) => paths[path] ?? ([0, 0] as [number, number]));
    for (let family = 0; family < FAMILIES; ++family) {
      for (const values of held) varint(family < 2 && values[family] > 0 ? 1 : 0);
      for (const values of held) if (family < 2 && values[family] > 0) varint(1);
      for (const values of held) if (family < 2 && values[family] > 0) varint(0);
    }
    const numbers: number[] = [];
    for (const values of held) for (const value of values) if (value > 0) numbers.push(value, 1);
    out.push(...new Uint8Array(Float64Array.from(numbers).buffer));
    held.forEach(() => varint(0)); // lifetimes
    this.known = { texts: this.texts.length, frames: this.frames, nodes: this.nodes.length, labels: 1, stacks: all.length };
    return Uint8Array.from(out);
  }

  private nodeOf(path: string): number {
    const known = this.paths.get(path);
    if (known !== undefined) return known;
    const slash = path.lastIndexOf("/");
    const parent = slash < 0 ? -1 : this.nodeOf(path.slice(0, slash));
    const name = path.slice(slash + 1);
    let frame = this.texts.indexOf(name) - 1;
    if (frame < 0) frame = this.texts.push(name) - 2;
    this.frames = Math.max(this.frames, frame + 1);
    const node = this.nodes.push({ site: frame, steps: parent < 0 ? 0 : this.nodes.length - parent }) - 1;
    this.paths.set(path, node);
    return node;
  }
}

function viewOf(block: Block): View {
  return makeView(block, { by: "function", hidden: SHOWN, fullNames: false });
}
const nameOf = (view: View, node: number) => (node === 0 ? "" : view.groups.groups[view.group[node]].name);

describe("a stream of looks", () => {
  it("has in each look what the process holds", () => {
    const process = new Process();
    const stream = new Stream();
    const first = stream.take(process.look(0, { "main/work": [100, 100], main: [7, 7] }), true);
    expect([...valuesOf(first, "inuse_space", now).value]).toEqual([100, 7]);
    const second = stream.take(process.look(1, { "main/work/deep": [5, 5], main: [8, 9] }), false);
    expect([...valuesOf(second, "inuse_space", now).value]).toEqual([0, 8, 5]);
    expect([...valuesOf(second, "alloc_space", now).value]).toEqual([0, 9, 5]);
    expect([...second.nodes.depth]).toEqual([0, 1, 2]);
    expect([...valuesOf(first, "inuse_space", now).value]).toEqual([100, 7]); // an older look stays as it is
  });

  it("keeps what names and paths are in while there are no new ones", () => {
    const process = new Process();
    const stream = new Stream();
    const first = stream.take(process.look(0, { main: [1, 1] }), true);
    const second = stream.take(process.look(1, { main: [2, 2] }), false);
    expect(second.stacks).toBe(first.stacks);
    expect(stream.take(process.look(2, { main: [2, 2], other: [1, 1] }), false).stacks).not.toBe(first.stacks);
  });

  it("says when something is missing in between", () => {
    const process = new Process();
    const stream = new Stream();
    const first = process.look(0, { main: [1, 1] });
    process.look(1, { other: [1, 1] });
    const third = process.look(2, { another: [1, 1] });
    stream.take(first, true);
    expect(() => stream.take(third, false)).toThrow("texts begin at 3, but 2 are known");
    expect(() => new Stream().take(first.slice(0, -1), true)).toThrow();
    expect(stream.take(first, true).stacks.node.length).toBe(1); // it can begin anew
  });
});

describe("growth", () => {
  const process = new Process();
  const stream = new Stream();
  const before = stream.take(process.look(0, { "main/work": [100, 100], "main/gone": [30, 30] }), true);
  const later = stream.take(process.look(4, { "main/work": [150, 500], "main/fresh": [20, 20] }), false);
  const block = withRates(later, allocatedIn(before), allocatedIn(later));

  it("is a difference of two looks", () => {
    const difference = new Difference();
    const both = difference.of(before, block);
    const view = viewOf(both);
    const values = valuesOf(both, "inuse_space", (stack) => stack < 2);
    const sums = sumUp(both, view, values, null, "all", null);
    expect(sums.total[0]).toBe(40);
    expect(sums.before[0]).toBe(130);
    const rows = new Map(rowsOf(view, sums, 0).map((row) => [view.groups.groups[row.group].name, row.self]));
    expect(Object.fromEntries(rows)).toEqual({ main: 0, work: 50, gone: -30, fresh: 20 });
    expect(both.facts.metrics).not.toContain("rate_space");
    expect(difference.of(before, block).stacks).toBe(both.stacks);
  });

  it("stands beside what there is, also where there is nothing any more", () => {
    const view = viewOf(block);
    const summed = (values: ReturnType<typeof growthOf>) => rowsOf(view, sumUp(block, view, values, null, "all", null), 0);
    const rows = withGrowth(
      summed(valuesOf(block, "inuse_space", now)),
      summed(growthOf(before, block, "inuse_space")),
      summed(valuesOf(block, "rate_space", now)),
    );
    const found = rows.map((row) => [view.groups.groups[row.group].name, row.self, row.growth, row.rate]);
    expect(found.sort()).toEqual([
      ["fresh", 20, 20, 5],
      ["gone", 0, -30, 0],
      ["main", 0, 0, 0],
      ["work", 150, 50, 100],
    ]);
  });

  it("has no rate between two looks of the same time", () => {
    const same = withRates(later, allocatedIn(later), allocatedIn(later));
    expect(valuesOf(same, "rate_space", now).value.every((value) => value === 0)).toBe(true);
  });
});

describe("places", () => {
  it("stay when there are new functions", () => {
    const process = new Process();
    const stream = new Stream();
    const view = viewOf(stream.take(process.look(0, { "main/work/deep": [1, 1] }), true));
    const places = new MovingPlaces(1000);
    const deep = Array.from(view.group.keys()).find((node) => nameOf(view, node) === "deep") ?? -1;
    const place = places.ofNode(view, deep);
    const group = places.ofGroup(view, view.group[deep]);
    const more = { "main/work/deep": [1, 1], "main/another": [1, 1], "main/work": [1, 1] } as Record<string, [number, number]>;
    const next = viewOf(stream.take(process.look(1, more), false));
    expect(nameOf(next, places.nodeOf(next, place))).toBe("deep");
    expect(next.groups.groups[places.groupOf(next, group)].name).toBe("deep");
    expect(places.ofNode(next, places.nodeOf(next, place))).toBe(place);
    expect(places.ofNode(next, 0)).toBe(0);
    for (const wrong of [1, 999, 5000]) expect(places.nodeOf(next, wrong)).toBe(-1);
    expect(places.groupOf(next, 1)).toBe(-1);
    const others = viewOf(new Stream().take(new Process().look(0, { else: [1, 1] }), true));
    expect(places.nodeOf(others, place)).toBe(-1);
  });
});

class FakeEvents implements Events {
  closed = false;
  private readonly listeners = new Map<string, (event: { data?: unknown }) => void>();
  addEventListener(type: string, listen: (event: { data?: unknown }) => void): void {
    this.listeners.set(type, listen);
  }
  close(): void {
    this.closed = true;
  }
  send(type: string, data?: string | Uint8Array): void {
    const text = data instanceof Uint8Array ? gzipSync(data).toString("base64") : data;
    this.listeners.get(type)?.({ data: text });
  }
}

describe("a feed", () => {
  const begin = () => {
    const connections: FakeEvents[] = [];
    const shown: Shown[] = [];
    const feed = new Feed(
      LIVE,
      () => {
        const events = new FakeEvents();
        connections.push(events);
        return events;
      },
      (next) => shown.push(next),
    );
    const settled = async (isIt: (last: Shown) => boolean) => {
      await expect.poll(() => shown.length > 0 && isIt(shown[shown.length - 1]), { timeout: 20_000 }).toBe(true);
      return shown[shown.length - 1];
    };
    return { feed, connections, settled };
  };
  const held = (block: Block) => valuesOf(block, "inuse_space", now).value.reduce((sum, value) => sum + value, 0);

  it("shows looks in their order, and growth since the first", async () => {
    const { feed, connections, settled } = begin();
    const process = new Process();
    feed.open();
    connections[0].send("first", process.look(0, { main: [100, 100] }));
    for (let i = 1; i <= 5; ++i) connections[0].send("look", process.look(i, { main: [100 + i, 100 + i] }));
    const last = await settled(({ block }) => held(block) === 105);
    expect(held(last.base)).toBe(100);
    expect(last.link).toBe("open");
    feed.countFromNow();
    expect(held((await settled(() => true)).base)).toBe(105);
  });

  it("pauses and goes on", async () => {
    const { feed, connections, settled } = begin();
    const process = new Process();
    const first = process.look(0, { main: [100, 100] });
    feed.open();
    connections[0].send("first", first);
    const second = process.look(1, { main: [101, 101] });
    connections[0].send("look", second);
    await settled(({ block }) => held(block) === 101);
    feed.pause();
    expect(connections[0].closed).toBe(true);
    connections[0].send("look", process.look(2, { main: [102, 102] }));
    expect((await settled(({ link }) => link === "paused")).link).toBe("paused");
    feed.open();
    connections[1].send("first", first);
    connections[1].send("look", second);
    const last = await settled(({ link }) => link === "open");
    expect(held(last.block)).toBe(101);
    expect(held(last.base)).toBe(100);
  });

  it("says what became of the processes and of the server", async () => {
    const { feed, connections, settled } = begin();
    feed.open();
    connections[0].send("first", new Process().look(0, { main: [100, 100] }));
    connections[0].send("error");
    expect((await settled(({ link }) => link === "lost")).note).toContain("does not answer");
    connections[0].send("state", JSON.stringify({ ending: "", problem: "it cannot be read" }));
    expect((await settled(({ link }) => link === "open")).note).toBe("it cannot be read");
    connections[0].send("state", JSON.stringify({ ending: "process 1 has ended", problem: "" }));
    const last = await settled(({ link }) => link === "ended");
    expect(last.note).toBe("process 1 has ended");
    expect(held(last.block)).toBe(100);
    expect(connections[0].closed).toBe(true);
    feed.pause();
    expect((await settled(() => true)).link).toBe("ended");
  });

  it("says what it cannot read, and begins anew when asked to", async () => {
    const { feed, connections, settled } = begin();
    const first = new Process().look(0, { main: [100, 100] });
    feed.open();
    connections[0].send("first", first);
    connections[0].send("look", first);
    expect((await settled(({ link }) => link === "lost")).note).toContain("cannot be shown");
    feed.open();
    connections[1].send("first", first);
    connections[1].send("state", JSON.stringify({ ending: "", problem: "" }));
    await settled(({ link }) => link === "open");
  });
});
