// SPDX-License-Identifier: Apache-2.0
// The browsers that the page is tried in: those of the distribution, headless. Chromium is told what to do by its own
// protocol, Firefox by WebDriver BiDi, which has no word for dark, for print, and for no scripts: preferences have.
import { chromium, firefox } from "playwright-core";

const CHROMIUM_FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--enable-precise-memory-info",
];
// Nothing of its own to load while the tests look at what is loaded.
const QUIET = {
  "app.normandy.enabled": false,
  "browser.safebrowsing.downloads.enabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
};
const SCHEMES = { dark: 0, light: 1 };

class Chromium {
  name = "chromium";

  async begin() {
    this.browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: CHROMIUM_FLAGS });
  }

  context(options) {
    return this.browser.newContext(options);
  }

  print(page) {
    return page.emulateMedia({ media: "print" });
  }

  end() {
    return this.browser?.close();
  }
}

class Firefox {
  name = "firefox";
  browsers = new Map(); // by their preferences

  async begin() {
    await this.browserWith({});
  }

  browserWith(preferences) {
    const key = JSON.stringify(preferences);
    if (!this.browsers.has(key)) {
      this.browsers.set(
        key,
        firefox.launch({
          channel: "moz-firefox", // by BiDi: the browser as it is, not a build for tests
          executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr",
          firefoxUserPrefs: { ...QUIET, "layout.css.prefers-color-scheme.content-override": SCHEMES.light, ...preferences },
        }),
      );
    }
    return this.browsers.get(key);
  }

  async context({ colorScheme, javaScriptEnabled, ...options }) {
    const preferences = {};
    if (colorScheme === "dark") preferences["layout.css.prefers-color-scheme.content-override"] = SCHEMES.dark;
    if (javaScriptEnabled === false) preferences["javascript.enabled"] = false;
    return (await this.browserWith(preferences)).newContext(options);
  }

  /** The page's own rules for print, on the screen. */
  print(page) {
    return page.evaluate(() => {
      for (const sheet of document.styleSheets) {
        for (const rule of sheet.cssRules) if (rule.media?.mediaText === "print") rule.media.mediaText = "all";
      }
    });
  }

  async end() {
    for (const browser of this.browsers.values()) await (await browser).close();
  }
}

export const BROWSERS = { chromium: Chromium, firefox: Firefox };
