// SPDX-License-Identifier: Apache-2.0
// What the reader chooses from: metric, grouping, expressions, frames that are left out.
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Block, Metric } from "../data/block";
import { isRate } from "../data/values";
import { GROUPINGS, type GroupBy } from "../model/grouping";
import type { Hidden } from "../model/view";
import { type Colour, COLOURS, type State } from "./state";
import { METRIC_TITLES, nameText } from "./text";

export type Change = (change: Partial<State>, isStep?: boolean) => void;

function Choice<T extends string>(props: {
  label: string;
  value: T;
  options: readonly (readonly [T, string])[];
  onChoose: (value: T) => void;
}) {
  return (
    <label>
      <span>{props.label}</span>
      <select
        value={props.value}
        onChange={(event) => {
          const found = props.options.find(([value]) => value === event.currentTarget.value);
          if (found) props.onChoose(found[0]);
        }}
      >
        {props.options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Tells what was typed after a pause, or Enter. */
function Expression(props: { label: string; hint: string; value: string; onType: (text: string) => void }) {
  const [text, setText] = useState(props.value);
  useEffect(() => setText(props.value), [props.value]);
  useEffect(() => {
    if (text === props.value) return undefined;
    const timer = setTimeout(() => props.onType(text), 250);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <label>
      <span>{props.label}</span>
      <input
        type="search"
        spellcheck={false}
        value={text}
        title={props.hint}
        placeholder="expression"
        onInput={(event) => setText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") props.onType(text);
        }}
      />
    </label>
  );
}

function Switch(props: { label: string; isOn: boolean; onSwitch: (isOn: boolean) => void }) {
  return (
    <label class="switch">
      <input type="checkbox" checked={props.isOn} onChange={(event) => props.onSwitch(event.currentTarget.checked)} />
      {props.label}
    </label>
  );
}

const SWITCHES: [keyof Hidden, string][] = [
  ["interpreter", "interpreter"],
  ["native", "native code that Python or JavaScript calls"],
  ["imports", "import system"],
  ["packages", "packages that are imported"],
  ["library", "allocator and standard library"],
  ["start", "code before main"],
];

function labelsOf(block: Block, which: "process" | "heap"): string[] {
  return [...new Set(Array.from(block.labels[which], (text) => block.texts[text]))].filter((text) => text !== "").sort();
}

function Frames({ state, change }: { state: State; change: Change }) {
  return (
    <details class="frames">
      <summary>Frames and names</summary>
      <fieldset>
        <legend>Show frames of the</legend>
        {SWITCHES.map(([key, label]) => (
          <Switch
            key={key}
            label={label}
            isOn={!state.hidden[key]}
            onSwitch={(isOn) => change({ hidden: { ...state.hidden, [key]: !isOn }, zoom: 0, sandwich: -1 }, true)}
          />
        ))}
        <Switch
          label="names in full"
          isOn={state.fullNames}
          onSwitch={(fullNames) => change({ fullNames, zoom: 0, sandwich: -1 }, true)}
        />
        <p>What a frame that is left out allocates counts as its caller's.</p>
      </fieldset>
    </details>
  );
}

function Parts({ block, state, change }: { block: Block; state: State; change: Change }) {
  const changes = block.facts.changes[state.metric];
  return (
    <>
      <Choice
        label="Change"
        value={state.part}
        options={[
          ["grown", "what grew"],
          ["shrunk", "what shrank"],
        ]}
        onChoose={(part) => change({ part, zoom: 0, sandwich: -1 }, true)}
      />
      {changes?.is_tested === true && (
        <Switch
          label="significant only"
          isOn={state.onlySignificant}
          onSwitch={(onlySignificant) => change({ onlySignificant, zoom: 0 }, true)}
        />
      )}
    </>
  );
}

/** A change has no rates. */
function metricFor(shows: "now" | "since", metric: Metric): Partial<State> {
  return shows === "since" && isRate(metric) ? { metric: "inuse_space" } : {};
}

export function Toolbar(props: {
  block: Block;
  state: State;
  change: Change;
  isLive?: boolean;
  children?: ComponentChildren;
}) {
  const { block, state, change } = props;
  const metrics = (Object.keys(METRIC_TITLES) as Metric[])
    .filter((metric) => block.facts.metrics.includes(metric))
    .map((metric): [Metric, string] => [metric, METRIC_TITLES[metric]]);
  const select = (selection: Partial<State["selection"]>) =>
    change({ selection: { ...state.selection, ...selection } }, true);
  const labels = (which: "process" | "heap"): [string, string][] => [
    ["", "all"],
    ...labelsOf(block, which).map((text): [string, string] => [text, nameText(text)]),
  ];
  const isKnown = (by: GroupBy | Colour) => (by !== "process" && by !== "heap") || labelsOf(block, by).length > 0;
  const groupings = GROUPINGS.filter(isKnown).map((by): [GroupBy, string] => [by, by]);
  return (
    <form class="toolbar" onSubmit={(event) => event.preventDefault()} aria-label="What is shown">
      <Choice
        label="Metric"
        value={state.metric}
        options={metrics}
        onChoose={(metric) => change({ metric }, true)}
      />
      {props.isLive === true && (
        <Choice
          label="Shows"
          value={state.isSince ? "since" : "now"}
          options={[
            ["now", "what there is"],
            ["since", "what changed"],
          ]}
          onChoose={(shows) =>
            change({ isSince: shows === "since", part: shows === "since" ? "grown" : "all", ...metricFor(shows, state.metric) }, true)
          }
        />
      )}
      {block.facts.sides.length > 1 && <Parts block={block} state={state} change={change} />}
      <Choice
        label="Rows by"
        value={state.by}
        options={groupings}
        onChoose={(by) => change({ by, zoom: 0, sandwich: -1 }, true)}
      />
      <Choice
        label="Colour by"
        value={state.colour}
        options={COLOURS.filter(isKnown).map((colour): [Colour, string] => [colour, colour])}
        onChoose={(colour) => change({ colour }, true)}
      />
      {(["process", "heap"] as const).map(
        (which) =>
          labels(which).length > 2 && (
            <Choice
              key={which}
              label={which === "process" ? "Process" : "Heap"}
              value={state.selection[which]}
              options={labels(which)}
              onChoose={(text) => select({ [which]: text })}
            />
          ),
      )}
      <Expression
        label="Search"
        hint="A regular expression: marks names, files and modules that match"
        value={state.search}
        onType={(search) => change({ search })}
      />
      <Expression
        label="Focus"
        hint="Only stacks with a frame that matches; (?i) at its start ignores case"
        value={state.selection.focus}
        onType={(focus) => select({ focus })}
      />
      <Expression
        label="Ignore"
        hint="Without the stacks that have such a frame"
        value={state.selection.ignore}
        onType={(ignore) => select({ ignore })}
      />
      <Frames state={state} change={change} />
      {props.children}
    </form>
  );
}
