// SPDX-License-Identifier: Apache-2.0
// What stands in the columns that the page's data lists: src/profile/report/report_columns.cc declares them.
import type { ColumnTerm, Metric, PageColumn } from "../data/block";
import { isBytes } from "../data/values";
import type { Row } from "./sums";

/** The other one of bytes and blocks. */
export function pairOf(metric: Metric): Metric {
  return metric.replace(/_(space|objects)$/, isBytes(metric) ? "_objects" : "_space") as Metric;
}

function metricOf(term: ColumnTerm, metric: Metric): Metric {
  if (term !== "bytes" && term !== "blocks") return metric;
  return (term === "bytes") === isBytes(metric) ? metric : pairOf(metric);
}

/** Whether a column needs the sums of the pair: rows have them then. */
export function needsPair(columns: PageColumn[], metric: Metric): boolean {
  return columns.some((column) => [column.of, column.per].some((term) => metricOf(term, metric) !== metric));
}

/** The metric in whose unit the number is. */
export function unitOf(column: PageColumn, metric: Metric): Metric {
  return metricOf(column.of, metric);
}

function termOf(term: ColumnTerm, column: PageColumn, row: Row, metric: Metric, whole: number): number {
  if (term === "") return 1;
  if (term === "whole") return whole;
  const isPair = metricOf(term, metric) !== metric;
  if (column.sums === "self") return isPair ? (row.pairSelf ?? 0) : row.self;
  return isPair ? (row.pairTotal ?? 0) : row.total;
}

/** What is divided, and by what. */
export function termsOf(column: PageColumn, row: Row, metric: Metric, whole: number): { of: number; per: number } {
  return {
    of: termOf(column.of, column, row, metric, whole),
    per: termOf(column.per, column, row, metric, whole),
  };
}
