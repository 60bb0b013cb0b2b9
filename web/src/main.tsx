// SPDX-License-Identifier: Apache-2.0
// Reads the data block of the page and shows it. Where that fails the table that the file has stays, and says so.
import { render } from "preact";
import { readBlock, unpack } from "./data/block";
import { App } from "./ui/app";
import { LiveApp } from "./ui/live";
import { sourcesOf, SourcesOfPage } from "./ui/source";

async function start(): Promise<void> {
  const main = document.querySelector("main");
  const data = document.getElementById("data");
  if (main === null || data === null) return;
  const progress = document.createElement("p");
  try {
    if (typeof DecompressionStream === "undefined") {
      throw new Error("this browser is too old (Chrome 80, Firefox 113, Safari 16.4 or later is needed)");
    }
    progress.setAttribute("role", "status");
    progress.textContent = "Reading the profile: these are its largest rows …";
    main.prepend(progress);
    await new Promise((done) => setTimeout(done, 0)); // a large one takes a while: what is there is drawn first
    const block = readBlock(await unpack(data.textContent));
    data.remove();
    main.textContent = "";
    const { live } = block.facts;
    render(
      <SourcesOfPage.Provider value={sourcesOf(block.facts)}>
        {live ? <LiveApp block={block} live={live} /> : <App block={block} />}
      </SourcesOfPage.Provider>,
      main,
    );
    document.documentElement.dataset.ready = "1";
  } catch (error) {
    progress.remove();
    const note = document.createElement("p");
    note.className = "wrong";
    note.textContent = `The graph cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
    main.prepend(note);
  }
}

void start();
