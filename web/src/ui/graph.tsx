// SPDX-License-Identifier: Apache-2.0
// The icicle graph of the view.
import { useMemo } from "preact/hooks";
import type { Block } from "../data/block";
import type { Label } from "../model/grouping";
import { threadsOfNodes } from "../model/threads";
import { FIXED, type Places } from "../model/places";
import { WHOLE } from "../model/view";
import { colourKey, type GroupColour, isGroupColour, labelsAbove, Palette } from "./colours";
import { Icicle } from "./icicle";
import { intervalText, type Margins } from "./margins";
import type { Pictures } from "./pictures";
import type { Colour, State } from "./state";
import { metricText, nameText, percentText, shortened, signedText } from "./text";

function inOrder<Key>(held: Map<Key, number>): Map<Key, number> {
  return new Map([...held].sort((a, b) => b[1] - a[1]).map(([key], i) => [key, i]));
}

/** Fill of each group: keys get their hues in the order of what they hold. */
export function groupFills(pictures: Pictures, colour: GroupColour, palette: Palette): string[] {
  const { view, sums } = pictures;
  const groups = view.groups.groups;
  const keys = groups.map((group) => colourKey(group, colour));
  const held = new Map<string, number>();
  for (let i = 1; i < view.group.length; ++i) {
    const parent = view.parent[i];
    const key = keys[view.group[i]];
    if (parent === 0 || keys[view.group[parent]] !== key) held.set(key, (held.get(key) ?? 0) + sums.weight[i]);
  }
  const order = inOrder(held);
  return keys.map((key) => palette.fill(key, order.get(key) ?? Number.MAX_SAFE_INTEGER));
}

/** By process or heap: what is of none is grey. */
function labelFills(pictures: Pictures, which: Label, palette: Palette): (node: number) => string {
  const { view, sums } = pictures;
  const above = labelsAbove(view, which);
  const held = new Map<number, number>();
  view.group.forEach((group, i) => {
    if (above[i] === group && view.isOutermost[i] === 1) held.set(group, (held.get(group) ?? 0) + sums.weight[i]);
  });
  const fills = new Map(
    [...inOrder(held)].map(([group, i]) => [group, palette.fill(view.groups.groups[group].name, i)]),
  );
  return (node) => fills.get(above[node]) ?? palette.fold;
}

/** By what a thread began with: what several threads share is grey. */
function threadFills(block: Block, pictures: Pictures, palette: Palette): (node: number) => string {
  const { view, sums } = pictures;
  const { name, file } = block.frames;
  const threads = threadsOfNodes(block, view, (frame) => `${name[frame]} ${file[frame]}`);
  const held = new Map<string, number>();
  threads.forEach((thread, i) => {
    if (i === 0 || thread === null || threads[view.parent[i]] === thread) return;
    held.set(thread, (held.get(thread) ?? 0) + sums.weight[i]);
  });
  const fills = new Map([...inOrder(held)].map(([thread, i]) => [thread, palette.fill(thread, i)]));
  return (node) => fills.get(threads[node] ?? "") ?? palette.fold;
}

function fillsOf(block: Block, pictures: Pictures, colour: Colour, palette: Palette): (node: number) => string {
  if (colour === "thread") return threadFills(block, pictures, palette);
  if (!isGroupColour(colour)) return labelFills(pictures, colour, palette);
  const fills = groupFills(pictures, colour, palette);
  return (node) => fills[pictures.view.group[node]];
}

/** How strong something is drawn whose 95 % interval is so wide, as a share of the value. */
export function strengthOf(margin: number): number {
  return Math.min(Math.max(1.15 - 0.65 * margin, 0.4), 1);
}

export function Graph(props: {
  block: Block;
  pictures: Pictures;
  state: State;
  isDark: boolean;
  onZoom: (node: number) => void;
  onPoint: (node: number) => void;
  places: Places;
  margins: Margins;
}) {
  const { block, pictures, state } = props;
  const { view, sums, whole } = pictures;
  const groups = view.groups.groups;
  const isDifference = block.facts.sides.length > 1;
  const palette = useMemo(() => new Palette(props.isDark), [props.isDark]);
  const fills = useMemo(() => fillsOf(block, pictures, state.colour, palette), [view, sums, state.colour, palette]);
  const fillOf = (node: number) => {
    if (node === 0) return palette.fold;
    if (!isDifference) return fills(node);
    const change = sums.total[node];
    const after = sums.before[node] + change;
    return palette.change(change > 0, Math.abs(change) / Math.max(sums.before[node], after, 1e-9));
  };
  const strength = (node: number) => {
    const weight = Math.abs(sums.total[node]);
    if (!block.facts.has_intervals || node === 0 || !(weight > 0)) return 1;
    return strengthOf((1.96 * Math.sqrt(sums.variance[node])) / weight);
  };
  const describe = (node: number) => {
    const name = node === 0 ? WHOLE : shortened(nameText(groups[view.group[node]].name), 300);
    const weight = sums.weight[node];
    const interval = intervalText(state.metric, props.margins.atOnce(node), isDifference);
    const share = percentText(weight, whole);
    if (!isDifference) return `${name}: ${metricText(state.metric, weight)}${interval}, ${share}`;
    const part = `${metricText(state.metric, weight)} ${state.part === "all" ? "of changes" : state.part}, ${share}`;
    return `${name}: ${signedText(state.metric, sums.total[node])}${interval}; ${part}`;
  };
  return (
    <Icicle
      label={`Calls from the root down, as wide as they hold ${state.metric}`}
      tree={view}
      weight={sums.weight}
      zoom={pictures.zoom}
      palette={palette}
      nameOf={(node) => (node === 0 ? WHOLE : nameText(groups[view.group[node]].name.slice(0, 300)))}
      fillOf={fillOf}
      strengthOf={strength}
      isMarked={(node) => node > 0 && pictures.isSearched !== null && pictures.isSearched[view.group[node]] === 1}
      looks={[sums, fills, pictures.isSearched]}
      describe={describe}
      restText={(count, weight) => `… ${count.toLocaleString("en-US")} more, ${percentText(weight, whole)}`}
      onZoom={props.onZoom}
      onPoint={props.onPoint}
      places={
        props.places === FIXED
          ? undefined
          : {
              of: (node) => props.places.ofNode(view, node),
              nodeOf: (place) => props.places.nodeOf(view, place),
            }
      }
    />
  );
}
