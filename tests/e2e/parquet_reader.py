# SPDX-License-Identifier: Apache-2.0
"""A reader of Parquet files, written from the format's specification (parquet.thrift, Encodings.md) and not from our sources.
What `memprof export` does not write (other codecs, encodings, nested lists) is refused. DuckDB and ClickHouse: tests/fleet."""
import pathlib
import zlib

INT64, BYTE_ARRAY = 2, 6
REQUIRED, OPTIONAL, REPEATED = 0, 1, 2


class Bytes:
    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, count):
        if self.at + count > len(self.data):
            raise ValueError("too short")
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, count):
        return int.from_bytes(self.take(count), "little")

    def varint(self):
        number = shift = 0
        while True:
            byte = self.take(1)[0]
            number |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return number

    def value(self, kind):
        """Of Thrift's compact protocol; a struct is a dict by ids of fields."""
        if kind in (1, 2):
            return kind == 1
        if kind in (5, 6):
            zigzag = self.varint()
            return zigzag >> 1 ^ -(zigzag & 1)
        if kind == 8:
            return self.take(self.varint())
        if kind == 9:
            head = self.take(1)[0]
            count = self.varint() if head >> 4 == 15 else head >> 4
            return [self.value(head & 15) for _ in range(count)]
        if kind == 12:
            fields, field = {}, 0
            while head := self.take(1)[0]:
                if head < 16:
                    raise ValueError("a long form of a field")
                field += head >> 4
                fields[field] = self.value(head & 15)
            return fields
        raise ValueError(f"a value of type {kind}")


def hybrid(data, width, count):
    """Runs and bit-packed groups."""
    source, values = Bytes(data), []
    while source.at < len(data):
        head = source.varint()
        if head & 1:
            for _ in range(head >> 1):
                packed = source.number(width)
                values += [packed >> (i * width) & ((1 << width) - 1) for i in range(8)]
        else:
            values += [source.number((width + 7) // 8)] * (head >> 1)
    if not count <= len(values) < count + 8:
        raise ValueError(f"{len(values)} values in runs, not {count}")
    return values[:count]


class Column:
    """A leaf of the schema: where it stands, and how deep."""

    def __init__(self, path, element, ancestors):
        self.path = path
        self.type = element[1]
        self.is_time = element.get(6) == 10
        if self.is_time and element[10] != {8: {1: True, 2: {2: {}}}}:
            raise ValueError(f"{path}: other than microseconds of UTC")
        if self.type == BYTE_ARRAY and (element[6], element[10]) != (0, {1: {}}):
            raise ValueError(f"{path}: no text")
        steps = [*ancestors, element[3]]
        self.max_definition = sum(step != REQUIRED for step in steps)
        self.max_repetition = sum(step == REPEATED for step in steps)


def schema_columns(elements):
    """The leaves, by their order, and the names of the table's columns."""
    root, rest = elements[0], iter(elements[1:])
    leaves, names = [], []

    def walk(path, ancestors):
        element = next(rest)
        path = (*path, element[4].decode())
        if len(path) == 1:
            names.append(path[0])
        if 5 not in element:
            leaves.append(Column(path, element, ancestors))
            return
        if len(path) == 1 and (element[6], element[10]) not in ((3, {3: {}}), (1, {2: {}})):
            raise ValueError(f"{path}: neither list nor map")
        for _ in range(element[5]):
            walk(path, (*ancestors, element[3]))

    for _ in range(root[5]):
        walk((), ())
    if next(rest, None) is not None:
        raise ValueError("elements that no group has")
    return leaves, names


def cells(data, column, metadata):
    """For each row a list of its values."""
    if metadata[1] != column.type or tuple(name.decode() for name in metadata[3]) != column.path or metadata[4] != 2:
        raise ValueError(f"{column.path}: other metadata than the schema's, or other than gzip")
    begin = metadata.get(11, metadata[9])
    source, rows, dictionary, left, unpacked = Bytes(data, begin), [], None, metadata[5], 0

    def plain(body):
        return int.from_bytes(body.take(8), "little", signed=True) if column.type == INT64 else body.take(body.number(4)).decode()

    while left > 0:
        at = source.at
        page = source.value(12)
        unpacked += source.at - at + page[2]
        body = Bytes(zlib.decompress(source.take(page[3]), wbits=31))
        if len(body.data) != page[2]:
            raise ValueError(f"{column.path}: a page of another size")
        if page[1] == 2:
            if page[7][2] != 0 or dictionary is not None:
                raise ValueError(f"{column.path}: a dictionary")
            dictionary = [plain(body) for _ in range(page[7][1])]
            if source.at != metadata[9]:
                raise ValueError(f"{column.path}: where data pages begin")
            continue
        if page[1] != 0:
            raise ValueError(f"{column.path}: a page of kind {page[1]}")
        count, encoding = page[5][1], page[5][2]
        left -= count
        repetition = hybrid(body.take(body.number(4)), 1, count) if column.max_repetition else [0] * count
        definition = hybrid(body.take(body.number(4)), 1, count)
        present = sum(definition)
        if encoding == 8:
            width = body.take(1)[0]
            values = [dictionary[index] for index in hybrid(body.take(len(body.data) - body.at), width, present)]
        elif encoding == 0:
            values = [plain(body) for _ in range(present)]
        else:
            raise ValueError(f"{column.path}: encoding {encoding}")
        if body.at != len(body.data):
            raise ValueError(f"{column.path}: bytes behind the values")
        values = iter(values)
        for again, is_there in zip(repetition, definition):
            if not again:
                rows.append([])
            if is_there:
                rows[-1].append(next(values))
    if (source.at - begin, unpacked, left) != (metadata[7], metadata[6], 0):
        raise ValueError(f"{column.path}: sizes that the metadata does not have")
    statistics = metadata.get(12)
    if statistics is not None:
        there = [row[0] for row in rows if row]
        if statistics[3] != len(rows) - len(there):
            raise ValueError(f"{column.path}: count of nulls")
        if 5 in statistics:
            found = [value.to_bytes(8, "little", signed=True) if column.type == INT64 else value.encode()
                     for value in (max(there), min(there))]
            if column.type == INT64 and [statistics[5], statistics[6]] != found:
                raise ValueError(f"{column.path}: extremes")
            if column.type == BYTE_ARRAY and (statistics[5], statistics[6]) != (max(v.encode() for v in there), min(v.encode() for v in there)):
                raise ValueError(f"{column.path}: extremes")
    return rows


def read(path):
    """A list of rows: dicts by the names of columns, None for null, lists and dicts for lists and maps."""
    data = pathlib.Path(path).read_bytes()
    if data[:4] != b"PAR1" or data[-4:] != b"PAR1":
        raise ValueError("no magic")
    size = int.from_bytes(data[-8:-4], "little")
    footer = Bytes(data[:-8], len(data) - 8 - size)
    metadata = footer.value(12)
    if footer.at != len(data) - 8:
        raise ValueError("bytes behind the footer")
    leaves, names = schema_columns(metadata[2])
    if metadata[7] != [{1: {}}] * len(leaves):
        raise ValueError("orders of columns")
    table, end = [], 4
    for group in metadata[4]:
        chunks = [chunk[3] for chunk in group[1]]
        if group[5] != end or group[2] != sum(chunk[6] for chunk in chunks) or group[6] != sum(chunk[7] for chunk in chunks):
            raise ValueError("a row group with other sizes")
        end += group[6]
        columns = {leaf.path: cells(data, leaf, chunk) for leaf, chunk in zip(leaves, chunks)}
        if {len(column) for column in columns.values()} != {group[3]}:
            raise ValueError("rows of a row group")
        for i in range(group[3]):
            row = {}
            for name in names:
                if (name,) in columns:
                    row[name] = columns[name,][i][0] if columns[name,][i] else None
                elif (name, "list", "element") in columns:
                    row[name] = columns[name, "list", "element"][i]
                else:
                    row[name] = dict(zip(columns[name, "key_value", "key"][i], columns[name, "key_value", "value"][i]))
            table.append(row)
    if len(table) != metadata[3]:
        raise ValueError("rows")
    return table
