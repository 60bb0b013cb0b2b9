// SPDX-License-Identifier: Apache-2.0
// What the reader has chosen, as the fragment of the page's address: a link shows the same, and the back button
// goes one step back.
import { type Facts, METRICS, type Metric } from "../data/block";
import { isRate } from "../data/values";
import { GROUPINGS, type GroupBy } from "../model/grouping";
import type { Selection } from "../model/select";
import type { Part } from "../model/sums";
import type { Hidden } from "../model/view";

export const COLOURS = ["module", "package", "file", "function", "thread", "process", "heap"] as const;
export type Colour = (typeof COLOURS)[number];
export const SORTS = ["self", "total", "name", "growth", "rate"] as const;
export type Sort = (typeof SORTS)[number];

export interface State {
  metric: Metric;
  by: GroupBy;
  colour: Colour;
  hidden: Hidden;
  fullNames: boolean;
  selection: Selection;
  search: string;
  part: Part;
  /** Of a live page: what changed since the view began, not what there is. */
  isSince: boolean;
  onlySignificant: boolean;
  /** Place of a node (model/places.ts); 0: the whole. */
  zoom: number;
  /** Place of the group whose callers and callees are shown; -1: none. */
  sandwich: number;
  sort: Sort;
  ascending: boolean;
}

export function firstState(facts: Facts): State {
  return {
    metric: facts.metric,
    by: "function",
    colour: "module",
    hidden: { interpreter: true, native: true, imports: true, packages: true, library: true, start: true },
    fullNames: false,
    selection: { focus: "", ignore: "", process: "", heap: "" },
    search: "",
    part: facts.sides.length > 1 ? "grown" : "all",
    isSince: false,
    onlySignificant: false,
    zoom: 0,
    sandwich: -1,
    sort: "self",
    ascending: false,
  };
}

const HIDDEN_LETTERS: [string, keyof Hidden][] = [
  ["i", "interpreter"],
  ["n", "native"],
  ["m", "imports"],
  ["p", "packages"],
  ["l", "library"],
  ["s", "start"],
];
const SELECTION_KEYS: [string, keyof Selection][] = [
  ["f", "focus"],
  ["x", "ignore"],
  ["pr", "process"],
  ["he", "heap"],
];

/** Only what differs from the first state. */
export function fragmentOf(state: State, facts: Facts): string {
  const first = firstState(facts);
  const words = new URLSearchParams();
  if (state.metric !== first.metric) words.set("m", state.metric);
  if (state.by !== first.by) words.set("by", state.by);
  if (state.colour !== first.colour) words.set("c", state.colour);
  const shown = HIDDEN_LETTERS.filter(([, key]) => !state.hidden[key]).map(([letter]) => letter);
  if (shown.length > 0) words.set("show", shown.join(""));
  if (state.fullNames) words.set("full", "1");
  for (const [key, name] of SELECTION_KEYS) if (state.selection[name] !== "") words.set(key, state.selection[name]);
  if (state.search !== "") words.set("q", state.search);
  if (state.part !== first.part) words.set("part", state.part);
  if (state.isSince) words.set("since", "1");
  if (state.onlySignificant) words.set("sig", "1");
  if (state.zoom > 0) words.set("z", String(state.zoom));
  if (state.sandwich >= 0) words.set("fn", String(state.sandwich));
  if (state.sort !== first.sort) words.set("sort", state.sort);
  if (state.ascending) words.set("up", "1");
  return words.toString();
}

function oneOf<T extends string>(known: readonly T[], text: string | null, otherwise: T): T {
  return known.find((one) => one === text) ?? otherwise;
}

function wholeNumber(text: string | null, otherwise: number): number {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : otherwise;
}

/** Of a fragment that anybody may have typed. */
export function stateOf(fragment: string, facts: Facts): State {
  const words = new URLSearchParams(fragment.replace(/^#/, ""));
  const state = firstState(facts);
  const known = METRICS.filter((metric) => facts.metrics.includes(metric) || (facts.live && isRate(metric)));
  state.metric = oneOf(known, words.get("m"), state.metric);
  state.by = oneOf(GROUPINGS, words.get("by"), state.by);
  state.colour = oneOf(COLOURS, words.get("c"), state.colour);
  for (const [letter, key] of HIDDEN_LETTERS) if (words.get("show")?.includes(letter)) state.hidden[key] = false;
  state.fullNames = words.get("full") === "1";
  for (const [key, name] of SELECTION_KEYS) state.selection[name] = words.get(key) ?? "";
  state.search = words.get("q") ?? "";
  state.isSince = facts.live !== undefined && words.get("since") === "1";
  if (facts.sides.length > 1 || state.isSince) {
    state.part = oneOf<Part>(["grown", "shrunk"], words.get("part"), "grown");
    state.onlySignificant = words.get("sig") === "1";
  }
  state.zoom = wholeNumber(words.get("z"), 0);
  state.sandwich = wholeNumber(words.get("fn"), -1);
  state.sort = oneOf(SORTS, words.get("sort"), state.sort);
  state.ascending = words.get("up") === "1";
  return state;
}
