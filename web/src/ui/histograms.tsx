// SPDX-License-Identifier: Apache-2.0
// Sizes and lifetimes of the blocks of what is pointed at, as tables with bars.
import { useMemo, useState } from "preact/hooks";
import type { Block, Metric } from "../data/block";
import { isBytes, isSampled } from "../data/values";
import { lifetimesOf, sizesOf, stacksBelow } from "../model/histograms";
import type { Pictures } from "./pictures";
import { bytesText, metricText, percentText } from "./text";

const TIMES: [number, string][] = [
  [86_400e9, "d"],
  [3_600e9, "h"],
  [60e9, "min"],
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
];

/** "10 ms" */
export function lifetimeText(nanoseconds: number): string {
  const [unit, name] = TIMES.find(([least]) => nanoseconds >= least) ?? [1, "ns"];
  const number = nanoseconds / unit;
  return `${number >= 9.95 || Number.isInteger(number) ? Math.round(number) : number.toFixed(1)} ${name}`;
}

function Bar({ part }: { part: number }) {
  return (
    <svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect width={Math.max(100 * part, 0.5)} height="10" />
    </svg>
  );
}

const most = (rows: { value: number }[]): number => rows.reduce((sum, row) => Math.max(sum, row.value), 1e-9);

function Rows({ block, pictures, metric, node }: { block: Block; pictures: Pictures; metric: Metric; node: number }) {
  const { view, isSelected } = pictures;
  const stacks = useMemo(() => stacksBelow(view, node, isSelected), [view, node, isSelected]);
  const sized: Metric = isSampled(metric) ? metric : isBytes(metric) ? "alloc_space" : "alloc_objects";
  const sizes = useMemo(() => sizesOf(block, sized, stacks), [block, sized, stacks]);
  const lifetimes = useMemo(() => lifetimesOf(block, metric, stacks), [block, metric, stacks]);
  const all = sizes.reduce((sum, row) => sum + row.value, 0);
  if (sizes.length === 0 && lifetimes.length === 0) return <p class="fact">Nothing is known of the sizes of its blocks.</p>;
  return (
    <div class="histograms">
      {sizes.length > 0 && (
        <table>
          <caption>{sized === metric ? "Sizes of its blocks" : "Sizes of the blocks that it allocated"}</caption>
          <tbody>
            {sizes.map((row) => (
              <tr key={row.from}>
                <th scope="row">{row.from === 0 ? "0 B" : `${bytesText(row.from)} to ${bytesText(2 * row.from)}`}</th>
                <td class="number">{metricText(sized, row.value)}</td>
                <td class="number">{percentText(row.value, all)}</td>
                <td class="bars">
                  <Bar part={row.value / most(sizes)} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {lifetimes.length > 0 && (
        <table>
          <caption>How long lived what was freed, and how much of all that it allocated lived longer</caption>
          <thead>
            <tr>
              <th scope="col">lived</th>
              <th scope="col">freed</th>
              <th scope="col">lived longer</th>
              <td></td>
            </tr>
          </thead>
          <tbody>
            {lifetimes.map((row) => (
              <tr key={row.from}>
                <th scope="row">{row.from === 0 ? `under ${lifetimeText(row.to)}` : `${lifetimeText(row.from)} to ${lifetimeText(row.to)}`}</th>
                <td class="number">{metricText(isBytes(metric) ? "alloc_space" : "alloc_objects", row.value)}</td>
                <td class="number">{percentText(row.survives, 1) || "0%"}</td>
                <td class="bars">
                  <Bar part={row.value / most(lifetimes)} />
                  <span class="survival">
                    <Bar part={row.survives} />
                  </span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  );
}

/** Closed until it is asked for: of a large profile it takes its time. */
export function Histograms(props: { block: Block; pictures: Pictures; metric: Metric; node: number }) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details open={isOpen} onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>Sizes and lifetimes</summary>
      {isOpen && <Rows {...props} />}
    </details>
  );
}
