// SPDX-License-Identifier: Apache-2.0
// The page: header, choices, path, graph and table.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Block } from "../data/block";
import { Breadcrumb } from "./breadcrumb";
import { Details } from "./details";
import { Graph } from "./graph";
import { Header } from "./header";
import { useMargins } from "./margins";
import { usePictures } from "./pictures";
import { Sandwich } from "./sandwich";
import { firstState, fragmentOf, type State, stateOf } from "./state";
import { sortRows, Table } from "./table";
import { METRIC_TITLES, nameText, shortened } from "./text";
import { type Change, Toolbar } from "./toolbar";

const FIRST_ROWS = 100;
const MORE_ROWS = 400;

/** The state, which the page's address has, too. A step is something that the back button takes back. */
function useStateInAddress(block: Block): [State, Change] {
  const [state, setState] = useState(() => stateOf(location.hash, block.facts));
  useEffect(() => {
    const read = () => setState(stateOf(location.hash, block.facts));
    window.addEventListener("hashchange", read);
    return () => window.removeEventListener("hashchange", read);
  }, [block]);
  const change: Change = (part, isStep = false) => {
    const next = { ...state, ...part };
    setState(next);
    const fragment = `#${fragmentOf(next, block.facts)}`;
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

export function App({ block }: { block: Block }) {
  const [state, change] = useStateInAddress(block);
  const pictures = usePictures(block, state);
  const isDark = useIsDark();
  const [pointed, setPointed] = useState(-1);
  const { view, sums, zoom } = pictures;
  useEffect(() => setPointed(-1), [view]);
  const sorted = useMemo(
    () => sortRows(pictures.rows, view.groups.groups, state.sort, state.ascending),
    [pictures.rows, view, state.sort, state.ascending],
  );
  const [most, setMost] = useState(FIRST_ROWS);
  const shown = useMemo(() => sorted.slice(0, most), [sorted, most]);
  const margins = useMargins(block, pictures, state.metric, shown);
  const isDifference = block.facts.sides.length > 1;
  const groups = view.groups.groups;
  const chosen = pointed >= 0 && pointed < view.group.length ? pointed : zoom;
  const isMarked = (group: number) => pictures.isSearched !== null && pictures.isSearched[group] === 1;
  const zoomTo = (node: number) => {
    setPointed(-1);
    change({ zoom: node, sandwich: -1 }, true);
  };
  const sandwich = (group: number) => change({ sandwich: group }, true);
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
  return (
    <>
      <Header block={block} state={state} pictures={pictures} margins={margins} />
      <Toolbar block={block} state={state} change={change} />
      {pictures.wrong !== "" && (
        <p class="wrong" role="alert">
          {pictures.wrong}
        </p>
      )}
      <Breadcrumb pictures={pictures} state={state} onZoom={zoomTo} onReset={() => change(firstState(block.facts), true)} />
      <div class="halves">
        <section aria-label="Graph" class="graph">
          {state.sandwich >= 0 && state.sandwich < groups.length ? (
            <Sandwich
              pictures={pictures}
              state={state}
              isDark={isDark}
              onGroup={sandwich}
              onClose={() => change({ sandwich: -1 }, true)}
            />
          ) : (
            <Graph block={block} pictures={pictures} state={state} isDark={isDark} onZoom={zoomTo} onPoint={setPointed} />
          )}
          <Details block={block} pictures={pictures} state={state} node={chosen} margins={margins} onSandwich={sandwich} />
        </section>
        <section aria-label="Table">
          <Table
            caption={caption}
            metric={state.metric}
            isDifference={isDifference}
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
        </section>
      </div>
    </>
  );
}
