// SPDX-License-Identifier: Apache-2.0
// Which frames are one: by function, line, file, package or module. The keys are those of `memprof report --by`
// (src/profile/names/frame_grouping.cc); packages are the page's own.
import { type Block, PACKAGE_IS_KNOWN } from "../data/block";

export const GROUPINGS = ["function", "line", "file", "package", "module", "thread", "process", "heap"] as const;
export type GroupBy = (typeof GROUPINGS)[number];

export interface Group {
  name: string;
  file: string;
  /** 0: unknown, or the group is of several lines. */
  line: number;
  module: string;
  isMadeUp: boolean;
  /** Of a group that is what importing a package took, or the start of Python. */
  importedPackage?: string;
  /** Of a group that is the label of the stacks below it. */
  label?: Label;
}

export type Label = "process" | "heap";

const UNKNOWN = "[unknown]";
export const DEFAULT_LABEL = "[default]";

/** What a file or a module belongs to, as its users would install it. */
export function packageOf(file: string, module: string): string {
  const installed = /\/(?:site|dist)-packages\/([^/]+)/.exec(file);
  if (installed) return installed[1].replace(/\.py$/, "");
  if (/\/python3\.\d+t?\/[^/]/.test(file) || file.startsWith("<frozen ")) return "Python's standard library";
  const node = /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file);
  if (node) return node[1];
  const crate = /\/registry\/src\/[^/]+\/([^/]+?)-\d[^/]*\//.exec(file);
  if (crate) return crate[1];
  if (module !== "" && module !== "[Python]") return module.replace(/\.so\b.*$/, ".so");
  const folder = file.replace(/\/[^/]*$/, "");
  return folder !== "" && folder !== file ? folder : module === "" ? UNKNOWN : module;
}

export class Groups {
  readonly groups: Group[] = [];
  /** Group of each frame. */
  readonly ofFrame: Uint32Array;
  private readonly index = new Map<string, number>();
  private readonly frames: Block["frames"];
  private readonly texts: string[];

  constructor(block: Block, by: GroupBy, fullNames: boolean) {
    const { frames, texts } = block;
    this.frames = frames;
    this.texts = texts;
    const count = frames.name.length;
    this.ofFrame = new Uint32Array(count);
    for (let frame = 0; frame < count; ++frame) {
      const name = texts[fullNames ? frames.name[frame] : frames.shown[frame]];
      const file = texts[frames.file[frame]];
      const line = frames.line[frame];
      const module = texts[fullNames ? frames.module[frame] : frames.shownModule[frame]];
      this.ofFrame[frame] = this.groupOf(by, name, file, line, module);
    }
  }

  /** A group that is not code. */
  madeUp(name: string, label?: Label): number {
    const group = { name, file: "", line: 0, module: "", isMadeUp: true };
    return this.add(`\0${name}`, label === undefined ? group : { ...group, label });
  }

  /** What importing a package took; `frame` is the first of the package. */
  importing(name: string, frame: number): number {
    const module = this.texts[this.frames.module[frame]];
    const text = `importing ${name}`;
    return this.add(`\0${text}`, { name: text, file: "", line: 0, module, isMadeUp: false, importedPackage: name });
  }

  /** What Python took for its start. */
  startingPython(): number {
    const { module, flags } = this.frames;
    const line = flags.findIndex((flag) => (flag & PACKAGE_IS_KNOWN) !== 0);
    const text = "starting Python";
    return this.add(`\0${text}`, {
      name: text,
      file: "",
      line: 0,
      module: line < 0 ? "" : this.texts[module[line]],
      isMadeUp: false,
      importedPackage: "Python",
    });
  }

  private groupOf(by: GroupBy, name: string, file: string, line: number, module: string): number {
    switch (by) {
      case "function":
      case "thread": {
        const index = this.add(`${name}\0${file}\0${module}`, { name, file, line, module, isMadeUp: false });
        if (this.groups[index].line !== line) this.groups[index].line = 0;
        return index;
      }
      case "line":
        return this.add(`${name}\0${file}\0${line}\0${module}`, { name, file, line, module, isMadeUp: false });
      case "file": {
        const key = file === "" ? module || UNKNOWN : file;
        return this.add(`${file === "" ? 1 : 0}${key}`, {
          name: key,
          file,
          line: 0,
          module: file === "" ? module : "",
          isMadeUp: false,
        });
      }
      case "package": {
        const key = packageOf(file, module);
        return this.add(key, { name: key, file: "", line: 0, module: "", isMadeUp: false });
      }
      case "module": {
        const key = module || UNKNOWN;
        return this.add(key, { name: key, file: "", line: 0, module, isMadeUp: false });
      }
      case "process":
      case "heap":
        return this.madeUp(DEFAULT_LABEL, by);
    }
  }

  private add(key: string, group: Group): number {
    const known = this.index.get(key);
    if (known !== undefined) return known;
    this.index.set(key, this.groups.length);
    return this.groups.push(group) - 1;
  }
}
