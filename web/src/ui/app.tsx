// SPDX-License-Identifier: Apache-2.0
// The page: header, choices, path, graph and table.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Block, Facts, Metric } from "../data/block";
import { Difference, growthOf } from "../data/growth";
import { isBytes, isRate, type Values, valuesOf } from "../data/values";
import { FIXED, type Places } from "../model/places";
import { type Row, rowsOf, sumUp, withGrowth } from "../model/sums";
import { Breadcrumb } from "./breadcrumb";
import { Details } from "./details";
import { Graph } from "./graph";
import { Header } from "./header";
import { NO_MARGINS, useMargins } from "./margins";
import { type Pictures, usePictures } from "./pictures";
import { Sandwich } from "./sandwich";
import { firstState, fragmentOf, type State, stateOf } from "./state";
import { sortRows, Table } from "./table";
import { METRIC_TITLES, nameText, shortened } from "./text";
import { type Change, Toolbar } from "./toolbar";

const FIRST_ROWS = 100;
const MORE_ROWS = 400;

/** The state, which the page's address has, too. A step is something that the back button takes back. */
function useStateInAddress(facts: Facts): [State, Change] {
  const [state, setState] = useState(() => stateOf(location.hash, facts));
  useEffect(() => {
    // The page's own steps change the address, too: then there is nothing to be drawn anew.
    const read = () =>
      setState((own) => (location.hash.slice(1) === fragmentOf(own, facts) ? own : stateOf(location.hash, facts)));
    window.addEventListener("hashchange", read);
    return () => window.removeEventListener("hashchange", read);
  }, [facts]);
  const change: Change = (part, isStep = false) => {
    const next = { ...state, ...part };
    setState(next);
    const fragment = `#${fragmentOf(next, facts)}`;
    if (fragment === (location.hash || "#")) return;
    if (isStep) location.hash = fragment;
    else history.replaceState(null, "", fragment);
  };
  return [state, change];
}

export function useIsDark(): boolean {
  const query = useMemo(() => window.matchMedia("(prefers-color-scheme: dark)"), []);
  const [isDark, setIsDark] = useState(query.matches);
  useEffect(() => {
    const read = () => setIsDark(query.matches);
    query.addEventListener("change", read);
    return () => query.removeEventListener("change", read);
  }, [query]);
  return isDark;
}

/** What a live page has beside a page that stays as it is. */
export interface LiveParts {
  base: Block;
  bar: ComponentChildren;
  places: Places;
}

/** Rows with their growth since the base, and with rates. */
function useGrowth(block: Block, live: LiveParts | undefined, pictures: Pictures, metric: Metric): Row[] {
  const { view, zoom, isSelected, rows } = pictures;
  return useMemo(() => {
    if (!live || isRate(metric) || block.facts.sides.length > 1) return rows;
    const summed = (values: Values) => rowsOf(view, sumUp(block, view, values, isSelected, "all", null), zoom);
    const rates = valuesOf(block, isBytes(metric) ? "rate_space" : "rate_objects", () => false);
    return withGrowth(rows, summed(growthOf(live.base, block, metric)), summed(rates));
  }, [block, live?.base, view, zoom, isSelected, rows, metric]);
}

/** `bar`: what stands above all, of a part of a series. */
export function App(props: { block: Block; live?: LiveParts; bar?: ComponentChildren }) {
  const { live } = props;
  const places = live?.places ?? FIXED;
  const [state, change] = useStateInAddress(props.block.facts);
  const difference = useMemo(() => new Difference(), []);
  const block = useMemo(
    () => (live && state.isSince ? difference.of(live.base, props.block) : props.block),
    [props.block, live?.base, state.isSince],
  );
  const pictures = usePictures(block, state, places);
  const isDark = useIsDark();
  const [pointed, setPointed] = useState(-1);
  const { view, sums, zoom } = pictures;
  useEffect(() => {
    if (places === FIXED) setPointed(-1);
  }, [view]);
  const rows = useGrowth(block, live, pictures, state.metric);
  const sorted = useMemo(
    () => sortRows(rows, view.groups.groups, state.sort, state.ascending),
    [rows, view, state.sort, state.ascending],
  );
  const [most, setMost] = useState(FIRST_ROWS);
  const shown = useMemo(() => sorted.slice(0, most), [sorted, most]);
  const isDifference = block.facts.sides.length > 1;
  const groups = view.groups.groups;
  const pointedNode = pointed < 0 ? -1 : places.nodeOf(view, pointed);
  const chosen = pointedNode >= 0 ? pointedNode : zoom;
  const margins = useMargins(block, pictures, state.metric, shown, chosen);
  const sandwiched = state.sandwich < 0 ? -1 : places.groupOf(view, state.sandwich);
  const isMarked = (group: number) => pictures.isSearched !== null && pictures.isSearched[group] === 1;
  const zoomTo = (node: number) => {
    setPointed(-1);
    change({ zoom: places.ofNode(view, node), sandwich: -1 }, true);
  };
  const sandwich = (group: number) => change({ sandwich: places.ofGroup(view, group) }, true);
  const openImports = () => change({ hidden: { ...state.hidden, packages: false }, zoom: 0, sandwich: -1 }, true);
  /** A row leads to the heaviest place of what it is of; a second click goes on to the next. */
  const zoomToGroup = (group: number) => {
    let best = -1;
    for (let i = 1; i < view.group.length; ++i) {
      if (view.group[i] !== group || view.isOutermost[i] === 0) continue;
      if (best < 0 || sums.weight[i] > sums.weight[best]) best = i;
    }
    if (best > 0) zoomTo(best);
  };
  const caption = `${METRIC_TITLES[state.metric]} by ${state.by}${
    zoom > 0 ? `, below ${nameText(shortened(groups[view.group[zoom]].name, 80))}` : ""
  }`;
  // What is pointed at changes nothing in it.
  const table = useMemo(
    () => (
      <Table
        caption={caption}
        metric={state.metric}
        columns={block.facts.columns}
        isDifference={isDifference}
        isLive={rows !== pictures.rows}
        rows={sorted}
        shown={most}
        whole={pictures.whole}
        groups={groups}
        sort={state.sort}
        ascending={state.ascending}
        chosen={zoom > 0 ? view.group[zoom] : -1}
        isMarked={isMarked}
        marginOf={margins.ofRow}
        onSort={(sort, ascending) => change({ sort, ascending })}
        onRow={zoomToGroup}
        onSandwich={sandwich}
        onMore={() => setMost(most + MORE_ROWS)}
      />
    ),
    [block, state, view, sums, sorted, most, pictures.whole, pictures.isSearched, zoom, margins],
  );
  return (
    <>
      <Header block={block} state={state} pictures={pictures} margins={margins} />
      {live?.bar ?? props.bar}
      <Toolbar block={block} state={state} change={change} isLive={live !== undefined} />
      {pictures.wrong !== "" && (
        <p class="wrong" role="alert">
          {pictures.wrong}
        </p>
      )}
      <Breadcrumb pictures={pictures} state={state} onZoom={zoomTo} onReset={() => change(firstState(props.block.facts), true)} />
      <div class={rows !== pictures.rows ? "halves with-growth" : "halves"}>
        <section aria-label="Graph" class="graph">
          {sandwiched >= 0 ? (
            <Sandwich
              group={sandwiched}
              // In a difference its sums are of what grew, or shrank, alone.
              margins={isDifference ? NO_MARGINS : margins}
              pictures={pictures}
              state={state}
              isDark={isDark}
              onGroup={sandwich}
              onClose={() => change({ sandwich: -1 }, true)}
            />
          ) : (
            <Graph block={block} pictures={pictures} state={state} isDark={isDark} onZoom={zoomTo} onPoint={(node) => setPointed(places.ofNode(view, node))} places={places} margins={margins} />
          )}
          <Details block={block} pictures={pictures} state={state} node={chosen} margins={margins} onSandwich={sandwich} onOpenImports={openImports} />
        </section>
        <section aria-label="Table">
          {table}
        </section>
      </div>
    </>
  );
}
