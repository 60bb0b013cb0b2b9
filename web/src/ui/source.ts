// SPDX-License-Identifier: Apache-2.0
// Source text of the files that the profile names: what the page carries, or what its server has.
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import type { Facts, SourceText } from "../data/block";

/** Of the page, whichever block it shows. */
export interface Sources {
  carried: Record<string, SourceText>;
  /** What the address of a file begins with; empty: there is no server to ask. */
  address: string;
}

export const SourcesOfPage = createContext<Sources>({ carried: {}, address: "" });

export function sourcesOf(facts: Facts): Sources {
  return { carried: facts.sources ?? {}, address: facts.source_address ?? "" };
}

/** As the server reads it: hexadecimal digits of the path's bytes. */
export function addressOf(sources: Sources, path: string): string {
  const digits = Array.from(new TextEncoder().encode(path), (byte) => byte.toString(16).padStart(2, "0"));
  return sources.address + digits.join("");
}

async function ask(address: string): Promise<SourceText | null> {
  try {
    const answer = await fetch(address);
    return answer.ok ? ((await answer.json()) as SourceText) : null;
  } catch {
    return null; // the server has ended
  }
}

/** undefined: not known yet; null: it is not at hand. */
export function useSource(path: string): SourceText | null | undefined {
  const sources = useContext(SourcesOfPage);
  const [found, setFound] = useState<{ path: string; text: SourceText | null } | null>(null);
  useEffect(() => {
    const carried = Object.hasOwn(sources.carried, path) ? sources.carried[path] : undefined;
    if (carried !== undefined || sources.address === "" || !path.startsWith("/")) {
      setFound({ path, text: carried ?? null });
      return undefined;
    }
    let isWanted = true;
    void ask(addressOf(sources, path)).then((text) => isWanted && setFound({ path, text }));
    return () => {
      isWanted = false;
    };
  }, [sources, path]);
  return found?.path === path ? found.text : undefined;
}
