// SPDX-License-Identifier: Apache-2.0
// One function with who calls it and what it calls.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Interval } from "../data/accumulate";
import { type Branches, type Edge, sandwichOf } from "../model/calls";
import { isGroupColour, Palette } from "./colours";
import { groupFills } from "./graph";
import { Icicle } from "./icicle";
import { intervalText, MARGIN_HINT, marginOf, type Margins, marginText, useLater } from "./margins";
import type { Pictures } from "./pictures";
import type { State } from "./state";
import { metricText, nameText, percentText, shortened } from "./text";

const MOST_EDGES = 20;

interface Props {
  group: number;
  pictures: Pictures;
  state: State;
  isDark: boolean;
  margins: Margins;
  onGroup: (group: number) => void;
  onClose: () => void;
}

/** Intervals of edges, after these are drawn. */
function useEdgeMargins({ margins }: Props, edges: Edge[]): (edge: Edge) => number | null {
  const isKnown = margins.whole !== null;
  const known = useMemo(() => new Map<Edge, Interval | null>(), [edges, isKnown]);
  useLater(
    () => (isKnown ? edges.slice(0, MOST_EDGES).map((edge) => () => known.set(edge, margins.ofParts(edge.parts))) : []),
    [known],
  );
  return (edge) => {
    const interval = known.get(edge) ?? null;
    return interval === null ? null : marginOf(interval);
  };
}

function Edges(props: Props & { title: string; noun: string; none: string; edges: Edge[]; total: number }) {
  const groups = props.pictures.view.groups.groups;
  const marginOfEdge = useEdgeMargins(props, props.edges);
  const marginCell = (edge: Edge) => {
    const margin = marginOfEdge(edge);
    return margin === null ? "" : marginText(margin);
  };
  const rest = props.edges.slice(MOST_EDGES);
  return (
    <table class="edges">
      <caption>{props.title}</caption>
      <thead>
        <tr>
          <th scope="col" class="number">
            through it
          </th>
          <th scope="col" class="number" title={MARGIN_HINT}>
            ±
          </th>
          <th scope="col" class="number">
            %
          </th>
          <th scope="col">{props.noun}</th>
        </tr>
      </thead>
      <tbody>
        {props.edges.slice(0, MOST_EDGES).map((edge) => (
          <tr key={edge.group}>
            <td class="number">{metricText(props.state.metric, edge.weight)}</td>
            <td class="number small">{marginCell(edge)}</td>
            <td class="number">{percentText(edge.weight, props.total)}</td>
            <th scope="row" class="name">
              {edge.group < 0 ? (
                props.none
              ) : (
                <button type="button" class="link" onClick={() => props.onGroup(edge.group)}>
                  {nameText(shortened(groups[edge.group].name, 200))}
                </button>
              )}
            </th>
          </tr>
        ))}
      </tbody>
      {rest.length > 0 && (
        <tfoot>
          <tr>
            <td colSpan={4}>… {rest.length} more</td>
          </tr>
        </tfoot>
      )}
    </table>
  );
}

function Half(props: Props & { label: string; branches: Branches; total: number; fills: string[]; palette: Palette }) {
  const [zoom, setZoom] = useState(0);
  useEffect(() => setZoom(0), [props.pictures.view, props.group]);
  const { tree, weight } = props.branches;
  const groups = props.pictures.view.groups.groups;
  const nameOf = (node: number) => (node === 0 ? props.label : nameText(groups[tree.group[node]].name.slice(0, 300)));
  return (
    <>
      <h3>{props.label}</h3>
      <Icicle
        label={props.label}
        tree={tree}
        weight={weight}
        zoom={zoom < tree.group.length ? zoom : 0}
        palette={props.palette}
        nameOf={nameOf}
        fillOf={(node) => (node === 0 ? props.palette.fold : props.fills[tree.group[node]])}
        strengthOf={() => 1}
        isMarked={() => false}
        looks={[props.branches, props.fills]}
        describe={(node) =>
          `${nameOf(node)}: ${metricText(props.state.metric, weight[node])}, ${percentText(weight[node], props.total)}`
        }
        restText={(count, rest) => `… ${count} more, ${percentText(rest, props.total)}`}
        onZoom={setZoom}
        onPoint={() => undefined}
      />
    </>
  );
}

export function Sandwich(props: Props) {
  const { pictures, state } = props;
  const { view, sums } = pictures;
  const group = view.groups.groups[props.group];
  const result = useMemo(() => {
    const own = sums.weight.slice();
    for (let i = own.length - 1; i > 0; --i) own[view.parent[i]] -= sums.weight[i];
    return sandwichOf(view, own, sums.weight, props.group);
  }, [view, sums, props.group]);
  const whole = useMemo(() => props.margins.ofParts(result.parts), [result, props.margins.whole]);
  const palette = useMemo(() => new Palette(props.isDark), [props.isDark]);
  // A function's box is here of all processes and heaps.
  const colour = isGroupColour(state.colour) ? state.colour : "module";
  const fills = useMemo(() => groupFills(pictures, colour, palette), [view, sums, colour, palette]);
  const half = { ...props, total: result.total, fills, palette };
  return (
    <div class="sandwich">
      <h2>
        {nameText(shortened(group.name, 300))}{" "}
        <button type="button" onClick={props.onClose}>
          Back to the graph
        </button>
      </h2>
      <p>
        {metricText(state.metric, result.total)}
        {intervalText(state.metric, whole)} with what it calls, {percentText(result.total, pictures.whole)};{" "}
        {metricText(state.metric, result.self)} itself.
      </p>
      <Edges {...half} title="Callers" noun="caller" none="[root]" edges={result.callerRows} />
      <Edges {...half} title="Callees" noun="callee" none="[itself]" edges={result.calleeRows} />
      <Half {...half} label="Callers, the nearest on top" branches={result.callers} />
      <Half {...half} label="Callees" branches={result.callees} />
    </div>
  );
}
