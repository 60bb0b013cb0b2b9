// SPDX-License-Identifier: Apache-2.0
// What importing an installed package of Python takes is one group, "importing numpy", and what Python takes for its start
// another, "starting Python": which frame of a stack stands for it. The rules are those of look_for_import() and
// code_frames_of() in src/profile/names/frame_grouping.cc.
import { type Block, IS_EXECUTED, PACKAGE_IS_KNOWN, ROLE_MASK, Role, STARTS_INTERPRETER } from "../data/block";

/** Code of Python, as far as imports are concerned. */
const Code = { none: 0, own: 1, installed: 2, installedModule: 3, machinery: 4 } as const;

/** What Python calls the code of a module outside of its functions. */
const MODULE_CODE = "<module>";

const NONE = -1;
const UNKNOWN = -2;

export class Imports {
  private readonly code: Uint8Array; // of each site
  private readonly isExecuted: Uint8Array;
  private readonly isGap: Uint8Array;
  /** By the innermost frame that is seen: the one that stands for an import. */
  private readonly known: Int32Array;
  /** By the frame from which on outwards it is looked for: in which Python starts. */
  private readonly knownStart: Int32Array;

  constructor(private readonly block: Block) {
    const { frames, sites, texts } = block;
    const role = (site: number) => sites.role[site] & ROLE_MASK;
    const isExecuted = (frame: number) => (frames.flags[frame] & IS_EXECUTED) !== 0;
    this.isExecuted = Uint8Array.from(sites.frame, (frame) => (isExecuted(frame) ? 1 : 0));
    this.isGap = Uint8Array.from(sites.frame, (_, site) => (role(site) === Role.gap ? 1 : 0));
    this.code = Uint8Array.from(sites.frame, (frame, site) => {
      if ((frames.flags[frame] & PACKAGE_IS_KNOWN) === 0) return Code.none;
      if (role(site) === Role.import) return Code.machinery;
      if (texts[frames.package[frame]] === "") return Code.own;
      return texts[frames.name[frame]] === MODULE_CODE ? Code.installedModule : Code.installed;
    });
    this.known = new Int32Array(block.nodes.site.length).fill(UNKNOWN);
    this.knownStart = this.starts();
  }

  /** Of a stack that ends at `leaf`: the frame in which Python starts, before a line of the program's own; -1: there is none. */
  startOf(leaf: number): number {
    return this.knownStart[leaf];
  }

  /** Parents stand before their children. */
  private starts(): Int32Array {
    const { nodes, sites } = this.block;
    const starts = new Int32Array(nodes.site.length);
    nodes.site.forEach((site, node) => {
      const isStart = (sites.role[site] & STARTS_INTERPRETER) !== 0;
      const parent = nodes.parent[node];
      starts[node] = this.code[site] === Code.own ? NONE : isStart ? node : parent < 0 ? NONE : starts[parent];
    });
    return starts;
  }

  /**
   * Of a stack whose innermost frame that is seen is `innermost`: the first frame of the package whose import it is part
   * of, the outermost up to the first line of the program's own; -1: it is part of none.
   */
  of(innermost: number): number {
    if (this.known[innermost] === UNKNOWN) this.known[innermost] = this.find(innermost);
    return this.known[innermost];
  }

  private find(innermost: number): number {
    const { site, parent } = this.block.nodes;
    if (this.isExecuted[site[innermost]] === 0) return NONE;
    let first = NONE;
    let module = NONE; // the last line, if it is of the code of a module
    for (let node = innermost; node >= 0; node = parent[node]) {
      const own = site[node];
      const code = this.code[own];
      if (code === Code.own || this.isGap[own] === 1) break;
      if (code === Code.installedModule) {
        module = node;
      } else if (this.isExecuted[own] === 1) {
        if (code === Code.machinery && module >= 0) first = module;
        module = NONE;
      }
    }
    return first;
  }
}
