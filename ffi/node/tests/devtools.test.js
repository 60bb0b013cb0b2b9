// SPDX-License-Identifier: Apache-2.0
// The real DevTools of Chromium open a .heapprofile of the package, and one of the command, and show its functions and sizes.
// CHROMIUM names the browser; without one there is nothing to test.
'use strict';

const assert = require('node:assert');
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const test = require('node:test');
const { COMMAND, makeFolder, node, run } = require('./helpers.js');

const CHROMIUM = process.env.CHROMIUM || '/usr/bin/chromium';
const FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update',
  '--disable-sync', '--remote-debugging-pipe'];

/** The protocol of DevTools over two pipes. */
function start(folder) {
  const browser = spawn(CHROMIUM, [...FLAGS, `--user-data-dir=${path.join(folder, 'browser')}`, 'about:blank'], { detached: true, stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  const waiting = new Map();
  let text = '';
  browser.stdio[4].on('data', (data) => {
    text += data;
    for (let end = text.indexOf('\0'); end >= 0; end = text.indexOf('\0')) {
      const { id, result, error } = JSON.parse(text.slice(0, end));
      text = text.slice(end + 1);
      waiting.get(id)?.(error ? { error } : result);
    }
  });
  let last = 0;
  const send = (method, params = {}, sessionId = undefined) => new Promise((resolve) => {
    waiting.set(++last, resolve);
    browser.stdio[3].write(`${JSON.stringify({ id: last, method, params, sessionId })}\0`);
  });
  const ended = new Promise((resolve) => browser.on('exit', resolve));
  const stop = async () => {
    process.kill(-browser.pid, 'SIGKILL'); // its children, too: they write to its folder
    await ended;
  };
  return { send, stop };
}

// Runs in the page: all elements, those in shadow trees too.
const IN_PAGE = `globalThis.every = (root = document) => [...root.querySelectorAll('*')].flatMap((each) => [each, ...(each.shadowRoot ? every(each.shadowRoot) : [])]);
globalThis.press = (element) => {
  for (const kind of ['mousedown', 'mouseup', 'click']) element?.dispatchEvent(new MouseEvent(kind, { bubbles: true, composed: true, button: 0 }));
  return !!element;
};`;
const ROWS = `every().filter((each) => each.tagName === 'TR').map((row) => [...row.cells].map((cell) => cell.innerText.replace(/\\s+/g, ' ').trim())).filter((row) => row.length >= 3)`;

/** Asks until the answer is true: a machine under load takes its time. */
async function until(what, ask) {
  for (let i = 0; i < 600; i++) {
    const answer = await ask();
    if (answer) return answer;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`DevTools: ${what} did not come`);
}

/** The rows of the table that DevTools show of the file. */
async function open(send, file) {
  const { targetId } = await send('Target.createTarget', { url: 'devtools://devtools/bundled/node_app.html' });
  const { sessionId } = await send('Target.attachToTarget', { targetId, flatten: true });
  await send('DOM.enable', {}, sessionId);
  const value = async (expression) => (await send('Runtime.evaluate', { expression, returnByValue: true }, sessionId)).result?.value;
  const inPage = async (expression) => value(`(() => { ${IN_PAGE} return ${expression}; })()`);
  await until('the tab Memory', () => inPage("press(every().find((each) => each.id === 'tab-heap-profiler'))"));
  await until('the place for files', async () => {
    const { nodes = [] } = await send('DOM.getFlattenedDocument', { depth: -1, pierce: true }, sessionId);
    const answers = await Promise.all(nodes.filter(({ nodeName, attributes = [] }) => nodeName === 'INPUT' && attributes.includes('file'))
      .map(({ nodeId }) => send('DOM.setFileInputFiles', { files: [file], nodeId }, sessionId)));
    return answers.some((answer) => !answer.error);
  });
  await until('the profile', () => inPage("press(every().find((each) => each.getAttribute('role') === 'treeitem' && /Loaded/.test(each.innerText)))"));
  const rows = await until('the table', async () => {
    const found = await inPage(ROWS);
    return found?.some((row) => /^keepSmall .*app\.js:8$/.test(row[2])) && found;
  });
  await send('Target.closeTarget', { targetId });
  return rows;
}

test('Chromium opens heap profiles', { skip: !fs.existsSync(CHROMIUM) && `there is no ${CHROMIUM}` }, async (t) => {
  const folder = makeFolder(t);
  fs.writeFileSync(path.join(folder, 'app.js'), `\
const memprof = require('memprof');
memprof.start({ rateBytes: 0 });
const kept = [];
function keepLarge() {
  for (let i = 0; i < 200; i++) kept.push(Buffer.alloc(100_000, 1));
}
function keepSmall() {
  for (let i = 0; i < 200; i++) kept.push(Buffer.alloc(10_000, 1));
}
keepLarge();
keepSmall();
require('node:fs').writeFileSync('package.heapprofile', JSON.stringify(memprof.heapProfile()));
memprof.writeProfile('app.pb');
`);
  const done = node(folder, ['app.js']);
  assert.strictEqual(done.stderr, '');
  const exported = run(folder, COMMAND, ['export', 'app.pb', '--metric', 'live', '-o', 'command.heapprofile']);
  assert.strictEqual(exported.status, 0, exported.stderr);
  const { send, stop } = start(folder);
  try {
    for (const name of ['package', 'command']) {
      const rows = await open(send, path.join(folder, `${name}.heapprofile`));
      const sizeOf = (wanted, line) => rows.find((row) => new RegExp(`^${wanted} .*app\\.js:${line}$`).test(row[2]))?.[0];
      assert.match(sizeOf('keepLarge', 5), /^20\.\d MB9\d\./, JSON.stringify(rows));
      assert.match(sizeOf('keepSmall', 8), /^2\.\d MB/, JSON.stringify(rows));
    }
  } finally {
    await stop();
  }
});
