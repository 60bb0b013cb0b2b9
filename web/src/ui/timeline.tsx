// SPDX-License-Identifier: Apache-2.0
// What there was over time: live bytes and what was resident on one scale, what was allocated in a second on its own.
// A part can be chosen: by the pointer, or by two sliders.
import { useMemo, useRef, useState } from "preact/hooks";
import type { Timeline as Columns } from "../data/block";
import { bytesText } from "./text";

/** Seconds from the first look on; a look alone where both are the same. */
export interface Span {
  first: number;
  last: number;
}

const WIDTH = 1000;
const HEIGHT = 100;

/** Allocated in a second between a look and the one before; of the first one that of the second. */
export function ratesOf(timeline: Columns): number[] {
  const { seconds, allocated } = timeline;
  if (allocated === undefined || seconds.length < 2) return seconds.map(() => 0);
  const rates = seconds.map((now, i) =>
    i === 0 || now <= seconds[i - 1] ? 0 : Math.max(allocated[i] - allocated[i - 1], 0) / (now - seconds[i - 1]),
  );
  rates[0] = rates[1];
  return rates;
}

/** "3.5 s", "2:05 min", "1:02:05 h" */
export function clockText(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const two = (part: number) => String(part).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)}:${two(whole % 60)} min`;
  return `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)} h`;
}

/** The point next to so many seconds. */
export function nearest(seconds: number[], wanted: number): number {
  let best = 0;
  seconds.forEach((at, i) => {
    if (Math.abs(at - wanted) < Math.abs(seconds[best] - wanted)) best = i;
  });
  return best;
}

/** A line of an SVG path, from 0 at the bottom to `most` at the top. */
function lineOf(seconds: number[], values: number[], most: number): string {
  const end = Math.max(seconds[seconds.length - 1], 1e-3);
  return values
    .map((value, i) => {
      const x = (WIDTH * seconds[i]) / end;
      const y = HEIGHT - (0.94 * HEIGHT * value) / Math.max(most, 1);
      return `${i === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
    })
    .join("");
}

const highest = (values: number[]): number => values.reduce((most, value) => Math.max(most, value), 0);

function Plot(props: { timeline: Columns; rates: number[]; first: number; last: number; isChosen: boolean }) {
  const { timeline, rates, first, last } = props;
  const { seconds, live = [], resident = [] } = timeline;
  const paths = useMemo(() => {
    const most = Math.max(highest(live), highest(resident));
    return {
      held: live.length === 0 ? "" : `${lineOf(seconds, live, most)}L${WIDTH} ${HEIGHT}L0 ${HEIGHT}Z`,
      resident: highest(resident) > 0 ? lineOf(seconds, resident, most) : "",
      allocates: lineOf(seconds, rates, highest(rates)),
    };
  }, [timeline, rates]);
  const end = Math.max(seconds[seconds.length - 1], 1e-3);
  const left = (WIDTH * seconds[first]) / end;
  const width = (WIDTH * seconds[last]) / end - left;
  return (
    <>
      <path class="held" d={paths.held} />
      <path class="resident" d={paths.resident} />
      <path class="allocates" d={paths.allocates} />
      {props.isChosen && <rect class="chosen" x={left} y="0" width={Math.max(width, 1)} height={HEIGHT} />}
    </>
  );
}

function Slider(props: { label: string; timeline: Columns; at: number; onMove: (at: number) => void }) {
  const { seconds } = props.timeline;
  const text = clockText(seconds[props.at]);
  return (
    <label>
      {props.label}
      <input
        type="range"
        min={0}
        max={seconds.length - 1}
        value={props.at}
        aria-valuetext={text}
        onInput={(event) => props.onMove(Number(event.currentTarget.value))}
      />
      <span>{text}</span>
    </label>
  );
}

export function Timeline(props: {
  timeline: Columns;
  /** What is shown instead of all of it. */
  shown: Span | null;
  /** What is wrong with that. */
  note: string;
  onShow: (span: Span) => void;
  onAll: () => void;
}) {
  const { timeline, shown, onShow } = props;
  const { seconds, live = [], resident = [] } = timeline;
  const rates = useMemo(() => ratesOf(timeline), [timeline]);
  const [chosen, setChosen] = useState<Span | null>(null);
  const svg = useRef<SVGSVGElement>(null);
  const drawn = useRef(-1); // where the pointer went down
  if (seconds.length < 2) return null;
  const end = seconds[seconds.length - 1];
  const span = chosen ?? shown ?? { first: 0, last: end };
  const first = nearest(seconds, span.first);
  const last = nearest(seconds, span.last);
  const choose = (a: number, b: number) => setChosen({ first: seconds[Math.min(a, b)], last: seconds[Math.max(a, b)] });
  const at = (event: PointerEvent) => {
    const box = svg.current?.getBoundingClientRect();
    return box === undefined ? 0 : nearest(seconds, ((event.clientX - box.left) / box.width) * end);
  };
  return (
    <div class="timeline">
      <svg
        ref={svg}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Over ${clockText(end)}: live from ${bytesText(live[0] ?? 0)} to ${bytesText(live[live.length - 1] ?? 0)}, at most ${bytesText(highest(live))}`}
        onPointerDown={(event) => {
          drawn.current = at(event);
          event.currentTarget.setPointerCapture(event.pointerId);
          choose(drawn.current, drawn.current);
        }}
        onPointerMove={(event) => {
          if (drawn.current >= 0) choose(drawn.current, at(event));
        }}
        onPointerUp={(event) => {
          if (drawn.current < 0) return;
          const other = at(event);
          choose(drawn.current, other);
          onShow({ first: seconds[Math.min(drawn.current, other)], last: seconds[Math.max(drawn.current, other)] });
          drawn.current = -1;
        }}
      >
        <Plot timeline={timeline} rates={rates} first={first} last={last} isChosen={chosen !== null || shown !== null} />
      </svg>
      <p>
        <span class="key-held">live, at most {bytesText(highest(live))}</span>{" "}
        {highest(resident) > 0 && <span class="key-resident">resident, at most {bytesText(highest(resident))}</span>}{" "}
        <span class="key-allocates">allocates, at most {bytesText(highest(rates))}/s</span>; {clockText(end)}
      </p>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onShow(span);
        }}
      >
        <Slider label="From" timeline={timeline} at={first} onMove={(moved) => choose(moved, Math.max(moved, last))} />
        <Slider label="to" timeline={timeline} at={last} onMove={(moved) => choose(Math.min(first, moved), moved)} />
        <button type="submit">{first === last ? "Show this look" : "Show what changed"}</button>
        {shown !== null && (
          <button
            type="button"
            onClick={() => {
              setChosen(null);
              props.onAll();
            }}
          >
            Back to the last look
          </button>
        )}
        {shown !== null && (
          <span role="status">
            {props.note !== "" ? props.note : `shown: ${clockText(shown.first)}${shown.first === shown.last ? "" : ` to ${clockText(shown.last)}`}`}
          </span>
        )}
      </form>
    </div>
  );
}
