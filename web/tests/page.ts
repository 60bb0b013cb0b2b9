// SPDX-License-Identifier: Apache-2.0
// Pages and reports of real runs, made by the command that MEMPROF names; MEMPROF_PROFILES is a folder of profiles.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { type Block, type Metric, readBlock, unpack } from "../src/data/block";

const MOST_BYTES = 1 << 30;

function needed(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set; ./dev web sets it`);
  return value;
}

export function profiles(): string[] {
  const folder = needed("MEMPROF_PROFILES");
  const found = readdirSync(folder).filter((name) => name.endsWith(".pb.gz")).sort();
  if (found.length < 2) throw new Error(`${folder}: no profiles; ./dev web makes them`);
  return found.map((name) => join(folder, name));
}

function memprof(...args: string[]): string {
  return execFileSync(needed("MEMPROF"), args, { encoding: "utf8", maxBuffer: MOST_BYTES });
}

export async function blockOf(page: string): Promise<Block> {
  const data = /<script type="application\/octet-stream" id="data">([^<]*)</.exec(page);
  if (data === null) throw new Error("the page has no data");
  return readBlock(await unpack(data[1]));
}

export async function pageOf(profile: string): Promise<Block> {
  const out = join(mkdtempSync(join(tmpdir(), "page-")), `${basename(profile)}.html`);
  memprof("export", profile, "--no-debuginfod", "-o", out);
  return blockOf(readFileSync(out, "utf8"));
}

export interface Known {
  value: number;
  low: number | null;
  high: number | null;
}
export type Estimates = Record<Metric, Known>;
export interface ReportRow {
  name: string;
  file: string;
  module: string;
  line: number;
  self: Estimates;
  cumulative: Estimates;
}
export interface Report {
  metric: Metric;
  totals: Estimates;
  selected?: Estimates;
  rows: ReportRow[];
  callers?: { rows: (ReportRow & { values: Estimates })[]; cumulative: Estimates; self: Estimates };
  callees?: { rows: (ReportRow & { values: Estimates })[] };
}

export function reportOf(profile: string, ...args: string[]): Report {
  return JSON.parse(memprof("report", profile, "--no-debuginfod", "--json", "--younger", "10ms", ...args)) as Report;
}
