// SPDX-License-Identifier: Apache-2.0
// The table: a row for each function (or file, module ...). It is the accessible form of the graph.
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Metric, PageColumn } from "../data/block";
import { isBytes } from "../data/values";
import { termsOf, unitOf } from "../model/columns";
import type { Group } from "../model/grouping";
import type { Row } from "../model/sums";
import { MARGIN_HINT, type Margins } from "./margins";
import type { Sort } from "./state";
import { metricText, nameText, percentText, placeText, shortened, shortPlaceText, signedText } from "./text";

const LONGEST_NAME = 300;
const FIRST_SEEN = 24; // rows, more than a screen has: they are drawn with the graph, the others in the picture after it

export interface TableProps {
  caption: string;
  metric: Metric;
  /** Beside these the page has some of its own: what there was before, growth, rates, names. */
  columns: PageColumn[];
  isDifference: boolean;
  /** Whether rows have growth and rates. */
  isLive: boolean;
  /** In order; the first of them are shown. */
  rows: Row[];
  shown: number;
  /** What percents are of. */
  whole: number;
  groups: Group[];
  sort: Sort;
  ascending: boolean;
  chosen: number;
  isMarked: (group: number) => boolean;
  /** null: not known. */
  marginOf: Margins["ofRow"];
  onSort: (sort: Sort, ascending: boolean) => void;
  onRow: (group: number) => void;
  onSandwich: (group: number) => void;
  onMore: () => void;
}

export function sortRows(rows: Row[], groups: Group[], sort: Sort, ascending: boolean): Row[] {
  const direction = ascending ? -1 : 1;
  const name = (row: Row) => groups[row.group].name;
  const key = (row: Row) => {
    if (sort === "growth") return row.growth ?? 0;
    if (sort === "rate") return row.rate ?? 0;
    return sort === "self" ? row.self : row.total;
  };
  // What shrank is at the end of what grew, not as large as if it had grown.
  const size = (value: number) => (sort === "growth" ? value : Math.abs(value));
  const other = (row: Row) => (sort === "self" ? row.total : row.self);
  const byName = (a: Row, b: Row) => (name(a) < name(b) ? -1 : name(a) > name(b) ? 1 : a.group - b.group);
  return rows.slice().sort((a, b) => {
    if (sort === "name") return direction * byName(a, b);
    return (
      direction * (size(key(b)) - size(key(a))) ||
      direction * (Math.abs(other(b)) - Math.abs(other(a))) ||
      byName(a, b)
    );
  });
}

function Head(props: TableProps & { sort: Sort; by: Sort; title: string; number?: boolean }) {
  const isSorted = props.sort === props.by;
  return (
    <th
      scope="col"
      class={props.number ? "number" : undefined}
      aria-sort={isSorted ? (props.ascending !== (props.by === "name") ? "ascending" : "descending") : "none"}
    >
      <button type="button" onClick={() => props.onSort(props.by, isSorted && !props.ascending)}>
        {props.title}
        <span aria-hidden="true">{isSorted ? (props.ascending !== (props.by === "name") ? " ▲" : " ▼") : ""}</span>
      </button>
    </th>
  );
}

function Growth({ metric, row }: { metric: Metric; row: Row }) {
  const growth = row.growth ?? 0;
  const rate = row.rate ?? 0;
  const allocated = isBytes(metric) ? "rate_space" : "rate_objects";
  return (
    <>
      <td class={`number${growth > 0 ? " grown" : growth < 0 ? " shrunk" : ""}`}>
        {growth === 0 ? "" : signedText(metric, growth)}
      </td>
      <td class="number">{rate === 0 ? "" : metricText(allocated, rate)}</td>
    </>
  );
}

/** The page's own columns stand between those of self and those of total. */
function sidesOf(columns: PageColumn[]): [PageColumn[], PageColumn[]] {
  return [columns.filter((column) => column.sums === "self"), columns.filter((column) => column.sums === "total")];
}

/** Rows can be ordered by it. */
function isSum(column: PageColumn): boolean {
  return column.shape === "number" && column.of === "metric" && column.per === "";
}

function Cell(props: TableProps & { row: Row; column: PageColumn }) {
  const { row, metric, column, isDifference } = props;
  if (column.shape === "margin") return <td class="number small">{props.marginOf(row)?.text ?? ""}</td>;
  const { of, per } = termsOf(column, row, metric, props.whole);
  const isEmpty = (column.sums === "self" && of === 0) || per === 0;
  if (column.shape === "percent") return <td class="number">{isEmpty ? "" : percentText(of, per)}</td>;
  const text = isDifference && column.per === "" ? signedText : metricText;
  const tone = !isDifference || column.sums !== "self" || !isSum(column) ? "" : of > 0 ? " grown" : of < 0 ? " shrunk" : "";
  return <td class={`number${tone}`}>{isEmpty ? "" : text(unitOf(column, metric), of / per)}</td>;
}

function OneRow(props: TableProps & { row: Row }) {
  const { row, metric, isDifference } = props;
  const group = props.groups[row.group];
  const margin = props.marginOf(row);
  const [ofSelf, ofTotal] = sidesOf(props.columns);
  const cell = (column: PageColumn, i: number) => <Cell key={i} {...props} column={column} />;
  const classes = [row.group === props.chosen ? "chosen" : "", props.isMarked(row.group) ? "marked" : ""];
  return (
    <tr class={classes.join(" ").trim() || undefined}>
      {ofSelf.map(cell)}
      {isDifference && <td class="number">{metricText(metric, row.selfBefore)}</td>}
      {props.isLive && <Growth metric={metric} row={row} />}
      {ofTotal.map(cell)}
      <th scope="row" class="name">
        <button
          type="button"
          class={margin?.isWide === true ? "link wide" : "link"}
          title={nameText(shortened(group.name, 2000))}
          onClick={() => props.onRow(row.group)}
        >
          {nameText(shortened(group.name, LONGEST_NAME))}
        </button>
        <span class="place" title={nameText(placeText(group))}>
          {nameText(shortened(shortPlaceText(group), 120))}
        </span>
      </th>
      <td>
        <button
          type="button"
          class="small-button"
          aria-label={`Callers and callees of ${nameText(shortened(group.name, 80))}`}
          title="Callers and callees"
          onClick={() => props.onSandwich(row.group)}
        >
          ⇅
        </button>
      </td>
    </tr>
  );
}

/** The value that the picture on the screen is of. */
function useAfterPicture<T>(value: T): T {
  const [late, setLate] = useState(value);
  useEffect(() => setLate(value), [value]);
  return late;
}

/** By their place, not by what they are of: an element that has another text is cheaper than another element. */
function rowsFrom(props: TableProps, first: number, end: number) {
  return props.rows.slice(first, end).map((row, i) => <OneRow key={first + i} {...props} row={row} />);
}

/** Widths that do not depend on what is in the rows: else each row that is new is measured with all the others. */
function Columns({ columns, isDifference, isLive }: TableProps) {
  const [ofSelf, ofTotal] = sidesOf(columns);
  const one = (column: PageColumn, i: number) => <col key={i} class={column.shape === "number" ? "value" : column.shape} />;
  return (
    <colgroup>
      {ofSelf.map(one)}
      {isDifference && <col class="value" />}
      {isLive && <col class="value" />}
      {isLive && <col class="value" />}
      {ofTotal.map(one)}
      <col />
      <col class="button" />
    </colgroup>
  );
}

function ColumnHead(props: TableProps & { column: PageColumn }) {
  const { column, isDifference } = props;
  const title = isDifference ? column.change_title : column.title;
  if (isSum(column)) return <Head {...props} by={column.sums} title={title} number />;
  return (
    <th scope="col" class="number" title={column.shape === "margin" ? MARGIN_HINT : undefined}>
      {title}
    </th>
  );
}

export function Table(props: TableProps) {
  const late = useAfterPicture(props);
  const seen = useMemo(() => rowsFrom(props, 0, Math.min(FIRST_SEEN, props.shown)), [props]);
  const others = useMemo(() => rowsFrom(late, FIRST_SEEN, late.shown), [late]);
  const rest = props.rows.slice(props.shown);
  const [ofSelf, ofTotal] = sidesOf(props.columns);
  const head = (column: PageColumn, i: number) => <ColumnHead key={i} {...props} column={column} />;
  const restSum = rest.reduce((sum, row) => sum + row.self, 0);
  return (
    <div class="table">
      <table class={props.isLive ? "of-live" : props.isDifference ? "of-change" : undefined}>
        <caption>{props.caption}</caption>
        <Columns {...props} />
        <thead>
          <tr>
            {ofSelf.map(head)}
            {props.isDifference && (
              <th scope="col" class="number">
                before
              </th>
            )}
            {props.isLive && <Head {...props} by="growth" title="growth" number />}
            {props.isLive && <Head {...props} by="rate" title="allocates" number />}
            {ofTotal.map(head)}
            <Head {...props} by="name" title="name" />
            <th scope="col">
              <span class="for-readers">Callers and callees</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {seen}
          {others}
        </tbody>
      </table>
      {rest.length > 0 && (
        <p class="rest">
          … {rest.length.toLocaleString("en-US")} more, {percentText(restSum, props.whole) || "0%"}{" "}
          <button type="button" onClick={props.onMore}>
            Show more
          </button>
        </p>
      )}
      {props.rows.length === 0 && <p class="rest">Nothing here holds any of this metric.</p>}
    </div>
  );
}
