// SPDX-License-Identifier: Apache-2.0
// The path from the whole profile to what is looked at.
import type { Pictures } from "./pictures";
import type { State } from "./state";
import { nameText, shortened } from "./text";

const MOST_STEPS = 12;

export function Breadcrumb(props: {
  pictures: Pictures;
  state: State;
  onZoom: (node: number) => void;
  onReset: () => void;
}) {
  const { view, zoom } = props.pictures;
  const path: number[] = [];
  for (let i = zoom; i > 0; i = view.parent[i]) path.unshift(i);
  const shown = path.slice(Math.max(path.length - MOST_STEPS, 0));
  return (
    <nav class="breadcrumb" aria-label="Path">
      <ol>
        <li>
          {zoom === 0 ? (
            <span aria-current="true">Whole profile</span>
          ) : (
            <button type="button" class="link" onClick={() => props.onZoom(0)}>
              Whole profile
            </button>
          )}
        </li>
        {shown.length < path.length && <li>…</li>}
        {shown.map((node) => {
          const name = nameText(view.groups.groups[view.group[node]].name);
          return (
            <li key={node}>
              {node === zoom ? (
                <span aria-current="true" title={name}>
                  {shortened(name, 60)}
                </span>
              ) : (
                <button type="button" class="link" title={name} onClick={() => props.onZoom(node)}>
                  {shortened(name, 40)}
                </button>
              )}
            </li>
          );
        })}
      </ol>
      <button type="button" class="reset" onClick={props.onReset}>
        Reset
      </button>
    </nav>
  );
}
