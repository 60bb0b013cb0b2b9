// SPDX-License-Identifier: Apache-2.0
// A page of running processes: what its server tells of them, and what the reader can do with that.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { type Block, type Live, readBlock, unzip } from "../data/block";
import { Feed, type Link, type Shown } from "../data/feed";
import { allocatedIn, withRates } from "../data/growth";
import { valuesOf } from "../data/values";
import { MovingPlaces } from "../model/places";
import { App } from "./app";
import { type Span, Timeline } from "./timeline";
import { bytesText, metricText, nameText, shortened, signedText } from "./text";

const LONGEST_NOTE = 300;

const LINKS: Record<Link, string> = {
  opening: "waiting for the server",
  open: "live",
  paused: "paused",
  lost: "no answer",
  ended: "ended",
};

function total(values: Float64Array): number {
  return values.reduce((sum, value) => sum + value, 0);
}

// Of a part of the time: what is shown of it, or why nothing is.
interface Part extends Span {
  block: Block | null;
  note: string;
}

export function timeText(seconds: number): string {
  const whole = Math.max(Math.round(seconds), 0);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Growth and rates of all that there is, whatever is selected. */
function Figures({ block, base, live }: { block: Block; base: Block; live: Live }) {
  const noneBefore = () => false;
  const held = (of: Block) => total(valuesOf(of, "inuse_space", noneBefore).value);
  const growth = useMemo(() => held(block) - held(base), [block, base]);
  const rate = useMemo(() => total(valuesOf(block, "rate_space", noneBefore).value), [block]);
  const since = live.seconds - (base.facts.live?.seconds ?? 0);
  return (
    <span>
      Growth in {timeText(since)}: <strong class={growth > 0 ? "grown" : "shrunk"}>{signedText("inuse_space", growth)}</strong>; allocates{" "}
      {metricText("rate_space", rate)}
      {live.resident > 0 && `; resident ${bytesText(live.resident)}`}
      {live.recording !== "" && `; recording to ${nameText(shortened(live.recording, 80))}`}
    </span>
  );
}

/** `timeline`: of what there was over time, and what of it is shown. */
export function LiveBar({ shown, feed, timeline }: { shown: Shown; feed: Feed; timeline: ComponentChildren }) {
  const { block, base, link, note } = shown;
  const { live } = block.facts;
  if (live === undefined) return null;
  return (
    <section aria-label="Live" class="live">
      <strong class={`link-${link}`} role="status">
        {LINKS[link]}
      </strong>
      <Figures block={block} base={base} live={live} />
      {link !== "ended" && (
        <button type="button" onClick={() => (link === "open" ? feed.pause() : feed.open())}>
          {link === "open" ? "Pause" : link === "lost" ? "Try again" : "Resume"}
        </button>
      )}
      <button type="button" onClick={() => feed.countFromNow()}>
        Count growth from now
      </button>
      <a href={live.profile} download>
        Save this look
      </a>
      {note !== "" && (
        <p role="status" class={link === "ended" ? undefined : "wrong"}>
          {nameText(shortened(note, LONGEST_NOTE))}
          {link === "ended" && ": this is the last look."}
        </p>
      )}
      {live.who !== "" && <p class="fact">{nameText(live.who)}</p>}
      {timeline}
    </section>
  );
}

/** The look at a moment, or what changed between two. */
async function partOf(live: Live, { first, last }: Span): Promise<Block> {
  const answer = await fetch(`${live.between}${Math.round(first * 1000)}-${Math.round(last * 1000)}`);
  if (!answer.ok) throw new Error(`memprof view did not answer: ${answer.status}`);
  return readBlock(await unzip(new Uint8Array(await answer.arrayBuffer())));
}

function firstShown(own: Block): Shown {
  const allocated = allocatedIn(own);
  const block = withRates(own, allocated, allocated);
  return { block, base: block, link: "opening", note: "" };
}

/** `block`: what the page came with, which is shown until the first event. */
export function LiveApp({ block, live }: { block: Block; live: Live }) {
  const [shown, setShown] = useState<Shown>(() => firstShown(block));
  const feed = useMemo(() => new Feed(live, (address) => new EventSource(address), setShown), []);
  const places = useMemo(() => new MovingPlaces(1 + (Date.now() % 900_000_000)), []);
  useEffect(() => {
    feed.open();
    return () => feed.pause();
  }, [feed]);
  const [part, setPart] = useState<Part | null>(null);
  const now = shown.block.facts.live ?? live;
  const showPart = (span: Span) => {
    setPart({ ...span, block: null, note: "" });
    partOf(now, span).then(
      (found) => setPart({ ...span, block: found, note: "" }),
      (error: unknown) => setPart({ ...span, block: null, note: error instanceof Error ? error.message : String(error) }),
    );
  };
  const timeline = now.timeline && (
    <Timeline
      timeline={now.timeline}
      shown={part}
      note={part?.note ?? ""}
      onShow={showPart}
      onAll={() => setPart(null)}
    />
  );
  const bar = <LiveBar shown={shown} feed={feed} timeline={timeline} />;
  if (part?.block) return <App key={`${part.first} ${part.last}`} block={part.block} bar={bar} />;
  return <App key="live" block={shown.block} live={{ base: shown.base, places, bar }} />;
}
