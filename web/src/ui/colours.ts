// SPDX-License-Identifier: Apache-2.0
// Colours of boxes: hues that the colour-blind can tell apart, as many shades as there are things to tell apart,
// and text that has a contrast of 4.5 to 1 or more on all of them.
import type { Group, Label } from "../model/grouping";
import { packageOf } from "../model/grouping";
import type { View } from "../model/view";
import type { Colour } from "./state";

// Hue and saturation: blue, orange, green, purple, yellow, sky, red, grey.
const HUES: [number, number][] = [
  [212, 70],
  [32, 90],
  [160, 50],
  [275, 45],
  [50, 85],
  [192, 60],
  [8, 75],
  [220, 8],
];

/** Colours that are a group's own. */
export type GroupColour = Exclude<Colour, Label | "thread">;

export function isGroupColour(colour: Colour): colour is GroupColour {
  return colour !== "process" && colour !== "heap" && colour !== "thread";
}

export const NO_LABEL = 0xffffffff;

function hashOf(text: string): number {
  let hash = 2166136261;
  for (let i = 0; i < text.length; ++i) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return hash >>> 0;
}

/** What a group has its colour from; of process and heap see labelsAbove(), of threads threadsOfNodes(). */
export function colourKey(group: Group, by: GroupColour): string {
  switch (by) {
    case "module":
      return group.module || group.name;
    case "package":
      return group.importedPackage ?? packageOf(group.file, group.module);
    case "file":
      return group.file || group.module || group.name;
    case "function":
      return group.name;
  }
}

/** Of each node the group of the process, or of the heap, that it is below of or is itself; 0xffffffff: of none. */
export function labelsAbove(view: View, which: Label): Uint32Array {
  const { groups } = view.groups;
  const above = new Uint32Array(view.group.length).fill(NO_LABEL);
  for (let i = 1; i < view.group.length; ++i) {
    above[i] = groups[view.group[i]].label === which ? view.group[i] : above[view.parent[i]];
  }
  return above;
}

export class Palette {
  constructor(private readonly isDark: boolean) {}

  /** `order`: place of the key among all keys, the heaviest first. */
  fill(key: string, order: number): string {
    const [hue, saturation] = HUES[order < HUES.length ? order : hashOf(key) % HUES.length];
    const shade = hashOf(`${key} shade`) % 3;
    return `hsl(${hue} ${saturation}% ${this.isDark ? 27 + 4 * shade : 76 + 4 * shade}%)`;
  }

  /** `share`: of the change in what there was before or after, 0 to 1. */
  change(isGrowth: boolean, share: number): string {
    const depth = Math.min(Math.max(share, 0), 1);
    const lightness = this.isDark ? 22 + 16 * depth : 92 - 22 * depth;
    return isGrowth ? `hsl(22 90% ${lightness}%)` : `hsl(212 80% ${lightness}%)`;
  }

  get text(): string {
    return this.isDark ? "#f4f4f5" : "#18181b";
  }
  get fold(): string {
    return this.isDark ? "#3f3f46" : "#d4d4d8";
  }
  get line(): string {
    return this.isDark ? "#18181b" : "#ffffff";
  }
  get mark(): string {
    return this.isDark ? "#e879f9" : "#a21caf";
  }
}
