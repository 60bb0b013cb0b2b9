// SPDX-License-Identifier: Apache-2.0
// The lines of a function with what they hold, and their text where the source is at hand.
import { useMemo, useState } from "preact/hooks";
import type { Block, Metric, SourceText } from "../data/block";
import { stacksBelow } from "../model/histograms";
import { type HeldLine, linesOf } from "../model/lines";
import type { Pictures } from "./pictures";
import { useSource } from "./source";
import { metricText, nameText, shortened, signedText } from "./text";

const MOST = 60;
const NEXT_TO = 2; // lines before and behind one that holds something
const LONGEST = 200;

interface ShownLine {
  line: number;
  held: HeldLine | null;
  /** Lines before it are left out. */
  isAfterGap: boolean;
}

/** Those that hold something, and of a text those next to them. */
export function shownLines(held: HeldLine[], source: SourceText | null): ShownLine[] {
  const byLine = new Map<number, HeldLine | null>();
  for (const one of held) {
    for (let line = one.line - NEXT_TO; source !== null && line <= one.line + NEXT_TO; ++line) {
      if (Object.hasOwn(source.lines, String(line)) && !byLine.has(line)) byLine.set(line, null);
    }
  }
  for (const one of held) byLine.set(one.line, one);
  const lines = [...byLine].sort(([a], [b]) => a - b);
  return lines.map(([line, one], i) => ({ line, held: one, isAfterGap: i > 0 && line > lines[i - 1][0] + 1 }));
}

/** The largest, if there are many. */
function largest(held: HeldLine[]): HeldLine[] {
  const size = (one: HeldLine) => Math.abs(one.total);
  return [...held].sort((a, b) => size(b) - size(a)).slice(0, MOST);
}

function Table({ block, pictures, metric, node }: { block: Block; pictures: Pictures; metric: Metric; node: number }) {
  const { view, values, isSelected } = pictures;
  const group = view.group[node];
  const { file } = view.groups.groups[group];
  const source = useSource(file);
  const all = useMemo(
    () => linesOf(block, view, values, stacksBelow(view, node, isSelected), group),
    [block, view, values, isSelected, node],
  );
  const held = useMemo(() => largest(all), [all]);
  const number = block.facts.sides.length > 1 ? signedText : metricText;
  if (all.length === 0) return <p class="fact">Its lines are not known.</p>;
  const text = (line: number) => (source ? nameText(shortened(source.lines[String(line)] ?? "", LONGEST)) : "");
  return (
    <>
      {source === null && <p class="fact">The source is not at hand here.</p>}
      {source?.is_newer === true && <p class="fact">The file was changed after the profile: lines may have moved.</p>}
      {held.length < all.length && <p class="fact">{`The largest ${held.length} of ${all.length} lines.`}</p>}
      <div class="lines" tabIndex={0} role="region" aria-label="Lines">
        <table>
          <thead>
            <tr>
              <th scope="col">line</th>
              <th scope="col">itself</th>
              <th scope="col">with callees</th>
              <td>{source ? "source" : ""}</td>
            </tr>
          </thead>
          <tbody>
            {shownLines(held, source ?? null).map((one) => (
              <tr key={one.line} class={one.isAfterGap ? "after-gap" : undefined}>
                <th scope="row">{one.line}</th>
                <td class="number">{one.held !== null && one.held.self !== 0 ? number(metric, one.held.self) : ""}</td>
                <td class="number">{one.held === null ? "" : number(metric, one.held.total)}</td>
                <td class={one.held === null ? "source" : "source held"}>{text(one.line)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

/** Closed until it is asked for: the source comes from the server then. */
export function Lines(props: { block: Block; pictures: Pictures; metric: Metric; node: number }) {
  const [isOpen, setIsOpen] = useState(false);
  if (props.pictures.view.groups.groups[props.pictures.view.group[props.node]].file === "") return null;
  return (
    <details open={isOpen} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>Lines and source</summary>
      {isOpen && <Table {...props} />}
    </details>
  );
}
