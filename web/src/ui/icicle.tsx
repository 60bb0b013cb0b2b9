// SPDX-License-Identifier: Apache-2.0
// The icicle graph: a canvas, with the keys and the pointer. Everything in it is in the table, too.
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Tree } from "../model/tree";
import { type Box, type Layout, boxAt, heaviestFirst, layOut } from "./layout";
import type { Palette } from "./colours";

const ROW = 20; // pixels
const LETTER = 6.6;
const NARROWEST = 1.5;
const MOST_PIXELS = 15000; // of a canvas's height

export interface IcicleProps {
  label: string;
  tree: Tree;
  weight: Float64Array;
  zoom: number;
  palette: Palette;
  nameOf: (node: number) => string;
  fillOf: (node: number) => string;
  /** 0: not to be seen, to 1. */
  strengthOf: (node: number) => number;
  isMarked: (node: number) => boolean;
  describe: (node: number) => string;
  restText: (count: number, weight: number) => string;
  onZoom: (node: number) => void;
  onPoint: (node: number) => void;
  /** What names, fills, strengths and marks depend on, always as many: it is drawn anew when one of them is new. */
  looks: readonly unknown[];
  /** Numbers that outlive the tree; without them nothing is chosen in a new tree. */
  places?: Lasting | undefined;
}

export interface Lasting {
  of: (node: number) => number;
  nodeOf: (place: number) => number;
}

interface Drawing {
  layout: Layout;
  width: number;
  chosen: number;
}

function drawBox(context: CanvasRenderingContext2D, props: IcicleProps, box: Box, drawing: Drawing): void {
  const { palette } = props;
  const x = box.x * drawing.width;
  const width = Math.max(box.width * drawing.width - 1, 0.5);
  const y = box.row * ROW;
  const isFold = box.node < 0;
  context.globalAlpha = isFold ? 1 : props.strengthOf(box.node);
  context.fillStyle = isFold ? palette.fold : props.fillOf(box.node);
  context.fillRect(x, y, width, ROW - 1);
  context.globalAlpha = 1;
  if (!isFold && props.isMarked(box.node)) {
    context.fillStyle = palette.mark;
    context.fillRect(x, y, width, 3);
    context.fillRect(x, y + ROW - 4, width, 3);
  }
  if (!isFold && box.node === drawing.chosen) {
    context.strokeStyle = palette.text;
    context.lineWidth = 2;
    context.strokeRect(x + 1, y + 1, Math.max(width - 2, 1), ROW - 3);
  }
  const room = Math.floor((width - 6) / LETTER);
  if (room < 3) return;
  const text = isFold ? props.restText(box.count, box.weight) : props.nameOf(box.node);
  context.fillStyle = palette.text;
  context.fillText(text.length > room ? `${text.slice(0, room - 1)}…` : text, x + 3, y + ROW / 2);
}

function draw(canvas: HTMLCanvasElement, props: IcicleProps, drawing: Drawing): void {
  const scale = window.devicePixelRatio || 1;
  const height = Math.min(drawing.layout.rows * ROW, MOST_PIXELS / scale);
  canvas.width = Math.max(Math.round(drawing.width * scale), 1);
  canvas.height = Math.max(Math.round(height * scale), 1);
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  if (context === null) return;
  context.scale(scale, scale);
  context.font = "12px system-ui, sans-serif";
  context.textBaseline = "middle";
  for (const box of drawing.layout.boxes) drawBox(context, props, box, drawing);
}

/** The node that a key leads to. */
function neighbour(tree: Tree, weight: Float64Array, node: number, key: string): number {
  if (key === "ArrowUp") return Math.max(tree.parent[node], 0);
  if (key === "ArrowDown") return heaviestFirst(tree, weight, node)[0] ?? node;
  if (key === "Home") return 0;
  const siblings = node === 0 ? [0] : heaviestFirst(tree, weight, tree.parent[node]);
  const at = siblings.indexOf(node) + (key === "ArrowRight" ? 1 : -1);
  return siblings[Math.min(Math.max(at, 0), siblings.length - 1)] ?? node;
}

export function Icicle(props: IcicleProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(600);
  const [place, setPlace] = useState(-1);
  const [said, setSaid] = useState("");
  const { tree, weight, zoom, places } = props;
  const chosen = place < 0 ? -1 : places ? places.nodeOf(place) : place;
  const setChosen = (node: number) => setPlace(node < 0 || !places ? node : places.of(node));
  useLayoutEffect(() => {
    const own = canvas.current?.parentElement;
    if (!own) return undefined;
    const measure = () => setWidth(Math.max(own.clientWidth, 50));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(own);
    return () => observer.disconnect();
  }, []);
  const layout = useMemo(() => layOut(tree, weight, zoom, NARROWEST / width), [tree, weight, zoom, width]);
  const drawing: Drawing = { layout, width, chosen };
  useLayoutEffect(() => {
    if (canvas.current) draw(canvas.current, props, drawing);
  }, [layout, width, chosen, props.palette, ...props.looks]);
  useEffect(() => {
    if (!places) setPlace(-1);
  }, [tree]);

  const boxOf = (event: MouseEvent): Box | undefined => {
    const own = canvas.current?.getBoundingClientRect();
    if (!own) return undefined;
    return boxAt(layout, (event.clientX - own.left) / width, Math.floor((event.clientY - own.top) / ROW));
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const at = chosen < 0 ? zoom : chosen;
    if (["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Home"].includes(event.key)) {
      const next = neighbour(tree, weight, at, event.key);
      setChosen(next);
      setSaid(props.describe(next));
      props.onPoint(next);
      if (next < zoom || next >= tree.end[zoom]) props.onZoom(next);
    } else if (event.key === "Enter" || event.key === " ") {
      props.onZoom(at);
    } else if (event.key === "Escape" || event.key === "Backspace") {
      props.onZoom(Math.max(tree.parent[zoom], 0));
    } else {
      return;
    }
    event.preventDefault();
  };
  return (
    <div class="icicle">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-roledescription="icicle graph"
        aria-label={`${props.label}. Arrow keys move, Enter looks closer, Escape goes back. The table has the same.`}
        onClick={(event) => {
          const box = boxOf(event);
          if (!box) return;
          const node = box.node >= 0 ? box.node : box.parent;
          setChosen(node);
          props.onZoom(node);
        }}
        onMouseMove={(event) => {
          const box = boxOf(event);
          const text = !box
            ? ""
            : box.node >= 0
              ? props.describe(box.node)
              : props.restText(box.count, box.weight);
          if (canvas.current) canvas.current.title = text;
          if (box && box.node >= 0) props.onPoint(box.node);
        }}
        onKeyDown={onKey}
      />
      <div class="for-readers" role="status">
        {said}
      </div>
    </div>
  );
}
