// SPDX-License-Identifier: Apache-2.0
// The events of a live page: looks, one after the other, and what became of the processes and of the server.
import { type Block, type Live, unpack } from "./block";
import { type Allocated, allocatedIn, withRates } from "./growth";
import { Stream } from "./stream";

/** Rates are of so many seconds: of one alone they jump. */
const RATE_SECONDS = 5;

export type Link =
  | "opening"
  | "open"
  | "paused"
  | "lost" // the server does not answer; the browser tries again
  | "ended"; // the processes have

export interface Shown {
  block: Block;
  /** What growth is counted from. */
  base: Block;
  link: Link;
  /** What there is to say of it: how it ended, or what is wrong. */
  note: string;
}

/** What of an EventSource is needed. */
export interface Events {
  addEventListener: (type: string, listen: (event: { data?: unknown }) => void) => void;
  close: () => void;
}

interface StateEvent {
  ending: string;
  problem: string;
}

export class Feed {
  private readonly stream = new Stream();
  private events: Events | null = null;
  private history: Allocated[] = [];
  private block: Block | null = null;
  private base: Block | null = null;
  private link: Link = "opening";
  private note = "";
  private work = Promise.resolve();
  private round = 0; // of connections: what an old one still has is left alone

  constructor(
    private readonly live: Live,
    private readonly connect: (address: string) => Events,
    private readonly show: (shown: Shown) => void,
  ) {}

  open(): void {
    const round = ++this.round;
    this.events?.close();
    const events = this.connect(this.live.events);
    this.events = events;
    const listen = (type: string, act: (data: string) => void | Promise<void>) =>
      events.addEventListener(type, (event) => {
        const data = typeof event.data === "string" ? event.data : "";
        // One after the other: unpacking takes its time.
        this.work = this.work
          .then(() => (round === this.round ? act(data) : undefined))
          .catch((error: unknown) => this.fail(error));
      });
    listen("first", (data) => this.look(data, true));
    listen("look", (data) => this.look(data, false));
    listen("state", (data) => this.state(JSON.parse(data) as StateEvent));
    listen("error", () => this.become("lost", "memprof view does not answer: it was ended, or cannot be reached"));
  }

  pause(): void {
    if (this.link === "ended") return;
    ++this.round;
    this.events?.close();
    this.events = null;
    this.become("paused", "");
  }

  /** Growth is counted from the look that is shown. */
  countFromNow(): void {
    this.base = this.block;
    this.tell();
  }

  private async look(data: string, isFirst: boolean): Promise<void> {
    const block = this.stream.take(await unpack(data), isFirst);
    if (isFirst) {
      this.base ??= block;
      this.history = [];
    }
    const now = allocatedIn(block);
    this.history.push(now);
    while (this.history.length > 2 && now.seconds - this.history[0].seconds > RATE_SECONDS) this.history.shift();
    this.block = withRates(block, this.history[0], now);
    // The first look is only what growth is counted from; the one of now follows.
    if (!isFirst) this.become("open", "");
  }

  private state(state: StateEvent): void {
    if (state.ending !== "") {
      this.events?.close();
      this.become("ended", state.ending);
    } else {
      this.become("open", state.problem);
    }
  }

  private fail(error: unknown): void {
    ++this.round;
    this.events?.close();
    this.become("lost", `what the server sent cannot be shown: ${error instanceof Error ? error.message : String(error)}`);
  }

  private become(link: Link, note: string): void {
    this.link = link;
    this.note = note;
    this.tell();
  }

  private tell(): void {
    const { block, base, link, note } = this;
    if (block !== null && base !== null) this.show({ block, base, link, note });
  }
}
