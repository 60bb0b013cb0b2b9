// SPDX-License-Identifier: Apache-2.0
// What the page computes of its data for what the reader has chosen, each only once until a choice changes it.
import { useMemo } from "preact/hooks";
import type { Block } from "../data/block";
import { isAfter } from "../data/change";
import { valuesOf } from "../data/values";
import { needsPair, pairOf } from "../model/columns";
import { parseExpression, selectStacks } from "../model/select";
import type { Places } from "../model/places";
import { matchingGroups, type Row, rowsOf, sumUp, type Sums, withPair } from "../model/sums";
import { makeView, type View } from "../model/view";
import type { State } from "./state";

export interface Pictures {
  view: View;
  sums: Sums;
  /** By stack. */
  values: Float64Array;
  /** Of the whole profile, whatever is selected. */
  whole: number;
  rows: Row[];
  zoom: number;
  isSearched: Uint8Array | null;
  isSelected: Uint8Array | null;
  /** By what is wrong with it: an expression of the reader's. */
  wrong: string;
  isListed: ((group: number) => boolean) | null;
}

/** Groups that are significant by memprof's own comparison of functions. */
function listedGroups(block: Block, view: View, state: State): ((group: number) => boolean) | null {
  const changes = block.facts.changes[state.metric];
  if (!state.onlySignificant || !changes) return null;
  const keys = new Set(changes.rows.map((row) => `${row.name}\0${row.file}\0${row.module}`));
  const isIn = view.groups.groups.map((group) => keys.has(`${group.name}\0${group.file}\0${group.module}`));
  return (group) => isIn[group];
}

/** What percents are of: in a difference the larger of what there was before and is after. */
function wholeOf(block: Block, values: Float64Array): number {
  let before = 0;
  let after = 0;
  values.forEach((value, stack) => {
    if (block.facts.sides.length > 1 && !isAfter(block, stack)) before -= value;
    else after += value;
  });
  return Math.max(before, after);
}

/** Of a difference those rows that grew, or that shrank. */
function rowsOfPart(rows: Row[], part: State["part"]): Row[] {
  if (part === "all") return rows;
  return rows.filter((row) => (row.self !== 0 ? row.self : row.total) > 0 === (part === "grown"));
}

function attempt<T>(make: () => T, otherwise: T): { result: T; wrong: string } {
  try {
    return { result: make(), wrong: "" };
  } catch (error) {
    return { result: otherwise, wrong: error instanceof Error ? error.message : String(error) };
  }
}

export function usePictures(block: Block, state: State, places: Places): Pictures {
  const { by, hidden, fullNames, metric, selection, search, part, onlySignificant } = state;
  const view = useMemo(
    () => makeView(block, { by, hidden, fullNames }),
    [block.stacks, by, fullNames, hidden.interpreter, hidden.native, hidden.imports, hidden.packages, hidden.library, hidden.start],
  );
  const values = useMemo(() => {
    const isDifference = block.facts.sides.length > 1;
    return valuesOf(block, metric, (stack) => isDifference && !isAfter(block, stack));
  }, [block, metric]);
  const whole = useMemo(() => wholeOf(block, values.value), [block, values]);
  const selected = useMemo(
    () => attempt(() => selectStacks(block, selection), null),
    [block.stacks, selection.focus, selection.ignore, selection.process, selection.heap],
  );
  const isListed = useMemo(() => listedGroups(block, view, state), [block, view, metric, onlySignificant]);
  const hasNegative = useMemo(() => values.value.some((value) => value < 0), [values]);
  const ownPart = hasNegative && part === "all" ? "grown" : part;
  const sums = useMemo(
    () => sumUp(block, view, values, selected.result, ownPart, isListed),
    [block, view, values, selected.result, ownPart, isListed],
  );
  const zoom = useMemo(() => Math.max(places.nodeOf(view, state.zoom), 0), [places, view, state.zoom]);
  const rows = useMemo(() => {
    const own = rowsOfPart(rowsOf(view, sums, zoom), part);
    if (!needsPair(block.facts.columns, metric)) return own;
    const isDifference = block.facts.sides.length > 1;
    const pair = valuesOf(block, pairOf(metric), (stack) => isDifference && !isAfter(block, stack));
    return withPair(own, rowsOf(view, sumUp(block, view, pair, selected.result, ownPart, isListed), zoom));
  }, [view, sums, zoom, part]);
  const searched = useMemo(
    () => attempt(() => (search === "" ? null : matchingGroups(view, parseExpression(search))), null),
    [view, search],
  );
  return {
    view,
    sums,
    values: values.value,
    whole,
    rows,
    zoom,
    isSearched: searched.result,
    isSelected: selected.result,
    wrong: [selected.wrong, searched.wrong].filter((text) => text !== "").join("; "),
    isListed,
  };
}
