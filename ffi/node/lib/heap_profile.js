// SPDX-License-Identifier: Apache-2.0
// A tree of calls in the form of V8's sampling heap profiler, which Chrome DevTools and VS Code open as .heapprofile.
'use strict';

const ROOT = { functionName: '(root)', scriptId: '0', url: '', lineNumber: -1, columnNumber: -1 };

function heapProfileOf(tree) {
  const samples = [];
  let exact = 0;
  let told = 0;
  // Rounded so that the sum of all sizes stays what it is.
  const rounded = (size) => {
    exact += size;
    const whole = Math.max(0, Math.round(exact - told));
    told += whole;
    return whole;
  };
  // DevTools show the file and line of a function only where its script has an id.
  const scripts = new Map([['', '0']]);
  const scriptId = (url) => {
    if (!scripts.has(url)) scripts.set(url, String(scripts.size));
    return scripts.get(url);
  };
  // Lines are counted from 0 there; columns are not known.
  const callFrame = ({ function: functionName, file: url, line }) => ({ functionName, scriptId: scriptId(url), url, lineNumber: line - 1, columnNumber: -1 });
  const nodes = tree.map(({ frame, sizeBytes }, index) => ({
    callFrame: frame ? callFrame(frame) : ROOT, selfSize: rounded(sizeBytes), id: index + 1, children: [] }));
  nodes.forEach((node, index) => {
    if (index > 0) nodes[tree[index].parent].children.push(node);
    if (node.selfSize > 0) samples.push({ size: node.selfSize, nodeId: node.id, ordinal: samples.length + 1 });
  });
  return { head: nodes[0], samples };
}

module.exports = { heapProfileOf };
