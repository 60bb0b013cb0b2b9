// SPDX-License-Identifier: Apache-2.0
// Numbers and names as people read them.
import { isBytes, isRate } from "../data/values";
import type { Metric } from "../data/block";

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function bytesText(value: number): string {
  let amount = Math.abs(value);
  let unit = 0;
  while (amount >= 1023.95 && unit + 1 < UNITS.length) {
    amount /= 1024;
    ++unit;
  }
  const sign = value < 0 ? "-" : "";
  return unit === 0 ? `${sign}${Math.round(amount)} B` : `${sign}${amount.toFixed(1)} ${UNITS[unit]}`;
}

export function countText(value: number): string {
  const amount = Math.abs(value);
  if (amount < 999_999.5) return Math.round(value).toLocaleString("en-US");
  const [scale, letter] = amount < 999.95e6 ? [1e6, "M"] : [1e9, "G"];
  return `${(value / scale).toFixed(1)} ${letter}`;
}

export function metricText(metric: Metric, value: number): string {
  return (isBytes(metric) ? bytesText(value) : countText(value)) + (isRate(metric) ? "/s" : "");
}

export function signedText(metric: Metric, value: number): string {
  return (value > 0 ? "+" : "") + metricText(metric, value);
}

/** Never "100%" of less than all, nor "0.0%" of some. */
export function percentText(part: number, whole: number): string {
  if (!(Math.abs(whole) > 0)) return "";
  const percent = (100 * part) / whole;
  if (percent !== 0 && Math.abs(percent) < 0.05) return "<0.1%";
  if (percent < 100 && percent > 99.95) return ">99.9%";
  return `${percent.toFixed(1)}%`;
}

/** In the order in which they are offered. */
export const METRIC_TITLES: Record<Metric, string> = {
  peak_space: "Peak: bytes",
  peak_objects: "Peak: blocks",
  inuse_space: "Live: bytes",
  inuse_objects: "Live: blocks",
  alloc_space: "Allocated: bytes",
  alloc_objects: "Allocated: blocks",
  rate_space: "Allocated a second: bytes",
  rate_objects: "Allocated a second: blocks",
  temporary_space: "Freed soon after: bytes",
  temporary_objects: "Freed soon after: blocks",
  inuse_resident_space: "Live and resident: bytes",
  inuse_resident_objects: "Live and resident: blocks",
  js_space: "JavaScript heap: bytes",
  mapped_space: "Mapped: bytes",
  mapped_objects: "Mapped: mappings",
  mapped_resident_space: "Mapped and resident: bytes",
  mapped_resident_objects: "Mapped and resident: mappings",
};

/* What controls a terminal, or the direction of writing, as something that can be seen. */
// eslint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

export function nameText(name: string): string {
  return name.replace(CONTROL, (letter) => {
    const code = letter.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return `\\u${code.toString(16).padStart(4, "0")}`;
  });
}

/** At most so many characters, the middle left out. */
export function shortened(text: string, most: number): string {
  if (text.length <= most) return text;
  const half = Math.max(Math.floor((most - 1) / 2), 1);
  return `${text.slice(0, half)}…${text.slice(text.length - half)}`;
}

export function fileName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

export function placeText(group: { name: string; file: string; line: number; module: string }): string {
  if (group.file !== "" && group.file !== group.name) {
    return group.line > 0 ? `${group.file}:${group.line}` : group.file;
  }
  return group.module !== group.name ? group.module : "";
}

/** The file without most of its folders. */
export function shortPlaceText(group: { name: string; file: string; line: number; module: string }): string {
  const place = placeText(group);
  const parts = place.split("/");
  return parts.length > 3 ? `…/${parts.slice(-2).join("/")}` : place;
}
