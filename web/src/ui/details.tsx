// SPDX-License-Identifier: Apache-2.0
// All about the frame that is pointed at.
import { useState } from "preact/hooks";
import type { Block } from "../data/block";
import { Histograms } from "./histograms";
import { Lines } from "./lines";
import { intervalText, type Margins } from "./margins";
import type { Pictures } from "./pictures";
import type { State } from "./state";
import { METRIC_TITLES, metricText, nameText, percentText, placeText, shortened, signedText } from "./text";

const LONGEST = 2000;

/** Root first, one frame a line. */
function stackText(pictures: Pictures, node: number): string {
  const { view } = pictures;
  const lines: string[] = [];
  for (let i = node; i > 0; i = view.parent[i]) {
    const group = view.groups.groups[view.group[i]];
    const place = placeText(group);
    lines.unshift(nameText(group.name) + (place === "" ? "" : ` (${nameText(place)})`));
  }
  return `${lines.join("\n")}\n`;
}

async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // no permission, or no secure context: the text is shown instead
  }
}

export function Details(props: {
  block: Block;
  pictures: Pictures;
  state: State;
  node: number;
  margins: Margins;
  onSandwich: (group: number) => void;
  onOpenImports: () => void;
}) {
  const { pictures, state, node } = props;
  const { view, sums, whole } = pictures;
  const [copied, setCopied] = useState({ node: -1, text: "", isDone: false });
  if (node <= 0) {
    return <p class="details">Click a frame or a row to look closer. Arrow keys, Enter and Escape work in the graph.</p>;
  }
  const group = view.groups.groups[view.group[node]];
  const isDifference = props.block.facts.sides.length > 1;
  const interval = props.margins.ofNode(node);
  const number = isDifference ? signedText : metricText;
  const note = copied.node === node ? copied : null;
  return (
    <div class="details">
      <h2>{nameText(shortened(group.name, LONGEST))}</h2>
      <dl>
        {placeText(group) !== "" && (
          <>
            <dt>at</dt>
            <dd>{nameText(shortened(placeText(group), LONGEST))}</dd>
          </>
        )}
        {group.module !== "" && group.module !== placeText(group) && (
          <>
            <dt>in</dt>
            <dd>{nameText(group.module)}</dd>
          </>
        )}
        <dt>{METRIC_TITLES[state.metric]}</dt>
        <dd>
          {number(state.metric, sums.total[node])} on this path, {percentText(sums.weight[node], whole)}
          {intervalText(state.metric, interval, isDifference)}
          ; itself {number(state.metric, sums.self[node])}
          {isDifference && `; before ${metricText(state.metric, sums.before[node])}`}
        </dd>
      </dl>
      <p>
        <button type="button" onClick={() => props.onSandwich(view.group[node])}>
          Callers and callees
        </button>{" "}
        {group.importedPackage !== undefined && (
          <>
            <button type="button" onClick={props.onOpenImports}>
              Show what is imported
            </button>{" "}
          </>
        )}
        <button
          type="button"
          onClick={() => {
            const text = stackText(pictures, node);
            void copy(text).then((isDone) => setCopied({ node, text, isDone }));
          }}
        >
          Copy stack
        </button>{" "}
        <span role="status">{note?.isDone === true ? "copied" : ""}</span>
      </p>
      <Lines block={props.block} pictures={pictures} metric={state.metric} node={node} />
      {!isDifference && <Histograms block={props.block} pictures={pictures} metric={state.metric} node={node} />}
      {note?.isDone === false && <pre tabIndex={0}>{note.text}</pre>}
    </div>
  );
}
