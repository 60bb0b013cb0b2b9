// SPDX-License-Identifier: Apache-2.0
// What the profile is of, what it holds, and how sure that is.
import type { Block } from "../data/block";
import { matched } from "../model/sums";
import { lifetimeText } from "./histograms";
import { intervalText, type Margins } from "./margins";
import type { Pictures } from "./pictures";
import type { State } from "./state";
import { bytesText, METRIC_TITLES, metricText, nameText, percentText, shortened, signedText } from "./text";

function Found({ pictures, state }: { pictures: Pictures; state: State }) {
  if (pictures.isSearched === null) return null;
  const { view, sums, zoom } = pictures;
  const found = matched(view, sums.weight, pictures.isSearched, zoom);
  return (
    <p role="status">
      Search finds {metricText(state.metric, found)}, {percentText(found, sums.weight[zoom]) || "0%"} of what is shown.
    </p>
  );
}

export function Header(props: { block: Block; state: State; pictures: Pictures; margins: Margins }) {
  const { block, state, pictures } = props;
  const { facts } = block;
  const isDifference = facts.sides.length > 1;
  const { sums, whole } = pictures;
  const last = facts.sides[facts.sides.length - 1];
  const selected = sums.total[0];
  const isPart = state.part === "all" && Math.abs(selected - whole) > 1e-6 * Math.abs(whole);
  return (
    <header>
      <h1>
        {nameText(shortened(facts.title, 120))}
        <small>{nameText(last.program) !== "" && ` ${nameText(last.program)}`}{last.pid > 0 && ` (pid ${last.pid})`}</small>
      </h1>
      <p class="total">
        <span>{METRIC_TITLES[state.metric]}</span>{" "}
        <strong>{isDifference ? signedText(state.metric, sums.total[0]) : metricText(state.metric, selected)}</strong>
        {intervalText(state.metric, props.margins.whole, isDifference)}
        {isDifference && `, before: ${metricText(state.metric, sums.before[0])}`}
        {isPart && `, ${percentText(selected, whole)} of ${metricText(state.metric, whole)}`}
      </p>
      <Found pictures={pictures} state={state} />
      <details>
        <summary>
          {last.samples === 0 && !facts.has_intervals
            ? "Values as the file has them"
            : `${last.rate <= 1 ? "Every allocation recorded" : `Rate ${bytesText(last.rate)}`}, ${last.samples.toLocaleString("en-US")} samples`}
          , {block.stacks.node.length.toLocaleString("en-US")} stacks
          {last.dropped > 0 && `, ${last.dropped.toLocaleString("en-US")} samples dropped`}
        </summary>
        {facts.lines.map((line, i) => (
          <p key={i} class="fact">
            {nameText(line)}
          </p>
        ))}
        {facts.metrics.includes("temporary_space") && (
          <p class="fact">Freed soon after: within {lifetimeText(facts.temporary_ns)}.</p>
        )}
        {facts.has_intervals && facts.unlisted_bytes > 0 && (
          <p class="fact">Code that was never sampled holds less than {bytesText(facts.unlisted_bytes)} each (95 %).</p>
        )}
      </details>
    </header>
  );
}
