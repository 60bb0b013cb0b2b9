# SPDX-License-Identifier: Apache-2.0
"""Reads a request of OpenTelemetry's profiles signal, as profiles.proto and profiles_service.proto of opentelemetry-proto
1.11.0 have it, and says what breaks their rules."""
import collections

# message -> number -> (name, kind). Kinds: int, fixed64, text, bytes, ints (packed), or a message; + is repeated.
SCHEMA = {
    "Request": {1: ("resource_profiles", "ResourceProfiles+"), 2: ("dictionary", "Dictionary")},
    "Dictionary": {1: ("mapping_table", "Mapping+"), 2: ("location_table", "Location+"), 3: ("function_table", "Function+"),
                   4: ("link_table", "Link+"), 5: ("string_table", "text+"), 6: ("attribute_table", "KeyValueAndUnit+"),
                   7: ("stack_table", "Stack+")},
    "ResourceProfiles": {1: ("resource", "Resource"), 2: ("scope_profiles", "ScopeProfiles+"), 3: ("schema_url", "text")},
    "Resource": {1: ("attributes", "KeyValue+"), 2: ("dropped_attributes_count", "int")},
    "ScopeProfiles": {1: ("scope", "Scope"), 2: ("profiles", "Profile+"), 3: ("schema_url", "text")},
    "Scope": {1: ("name", "text"), 2: ("version", "text"), 3: ("attributes", "KeyValue+")},
    "Profile": {1: ("sample_type", "ValueType"), 2: ("samples", "Sample+"), 3: ("time_unix_nano", "fixed64"),
                4: ("duration_nano", "int"), 5: ("period_type", "ValueType"), 6: ("period", "int"), 7: ("profile_id", "bytes"),
                8: ("dropped_attributes_count", "int"), 9: ("original_payload_format", "text"), 10: ("original_payload", "bytes"),
                11: ("attribute_indices", "ints")},
    "ValueType": {1: ("type_strindex", "int"), 2: ("unit_strindex", "int")},
    "Sample": {1: ("stack_index", "int"), 2: ("attribute_indices", "ints"), 3: ("link_index", "int"), 4: ("values", "ints"),
               5: ("timestamps_unix_nano", "bytes")},
    "Mapping": {1: ("memory_start", "int"), 2: ("memory_limit", "int"), 3: ("file_offset", "int"), 4: ("filename_strindex", "int"),
                5: ("attribute_indices", "ints")},
    "Stack": {1: ("location_indices", "ints")},
    "Location": {1: ("mapping_index", "int"), 2: ("address", "int"), 3: ("lines", "Line+"), 4: ("attribute_indices", "ints")},
    "Line": {1: ("function_index", "int"), 2: ("line", "int"), 3: ("column", "int")},
    "Function": {1: ("name_strindex", "int"), 2: ("system_name_strindex", "int"), 3: ("filename_strindex", "int"),
                 4: ("start_line", "int")},
    "Link": {1: ("trace_id", "bytes"), 2: ("span_id", "bytes")},
    "KeyValueAndUnit": {1: ("key_strindex", "int"), 2: ("value", "AnyValue"), 3: ("unit_strindex", "int")},
    "KeyValue": {1: ("key", "text"), 2: ("value", "AnyValue"), 3: ("key_strindex", "int")},
    "AnyValue": {1: ("string_value", "text"), 2: ("bool_value", "int"), 3: ("int_value", "int"), 8: ("string_value_strindex", "int")},
}
EMPTY = {"int": 0, "fixed64": 0, "text": "", "bytes": b"", "ints": []}


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            return number, at


def signed(number):
    return number - (1 << 64) if number >= 1 << 63 else number


def fields_of(data):
    """(number, wire type, value) of each."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        wire = tag & 7
        if wire == 0:
            value, at = varint(data, at)
        else:
            size, at = (8, at) if wire == 1 else varint(data, at) if wire == 2 else (None, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "cut off"
        yield tag >> 3, wire, value


def decoded(data, message="Request"):
    """A message as a dict; fields that are not there have their defaults."""
    fields = SCHEMA[message]
    found = {name: [] if kind[-1] == "+" else EMPTY.get(kind, {}) for name, kind in fields.values()}
    for number, wire, value in fields_of(data):
        name, kind = fields[number]  # one that the schema has not is an error
        is_repeated, kind = kind[-1] == "+", kind.rstrip("+")
        assert wire == {"int": 0, "fixed64": 1}.get(kind, 2), f"{message}.{name} has the wire type {wire}"
        if kind == "int":
            value = signed(value)
        elif kind == "fixed64":
            value = int.from_bytes(value, "little")
        elif kind == "text":
            value = bytes(value).decode()  # UTF-8, or an error
        elif kind == "ints":
            at, numbers = 0, []
            while at < len(value):
                item, at = varint(value, at)
                numbers.append(signed(item))
            value = numbers
        elif kind != "bytes":
            value = decoded(value, kind)
        if is_repeated:
            found[name].append(value)
        else:
            found[name] = value
    return found


def is_zero(value):
    if isinstance(value, dict):
        return all(map(is_zero, value.values()))
    return not value or (isinstance(value, bytes) and not any(value))


Profile = collections.namedtuple("Profile", "attributes scope type unit time_ns duration_ns id samples")
Sample = collections.namedtuple("Sample", "value attributes frames")      # frames: leaf first
Frame = collections.namedtuple("Frame", "name file line path build_id")   # of a line, innermost first; path of the mapping


def value_of(value):
    return value["string_value"] or value["int_value"]


def profiles_of(data):
    """All profiles of a request. Raises where a rule of the format is broken."""
    request = decoded(data)
    tables = request["dictionary"]
    used = {name: {0} for name in tables}
    for name, table in tables.items():
        assert table and is_zero(table[0]), f"{name}[0] is not the zero value"

    def at(table, index):
        used[table].add(index)
        assert 0 <= index < len(tables[table]), f"{table} has no {index}"
        return tables[table][index]

    def attributes(indices):
        pairs = [(at("string_table", one["key_strindex"]), value_of(one["value"]))
                 for one in (at("attribute_table", index) for index in indices)]
        assert len(dict(pairs)) == len(pairs), "a key is there twice"
        return dict(pairs)

    def frames(location):
        mapping = at("mapping_table", location["mapping_index"])
        path = at("string_table", mapping["filename_strindex"])
        build_id = attributes(mapping["attribute_indices"]).get("process.executable.build_id.gnu", "")
        if not location["lines"]:
            return [Frame("", "", 0, path, build_id)]
        lines = []
        for line in location["lines"]:
            function = at("function_table", line["function_index"])
            at("string_table", function["system_name_strindex"])
            lines.append(Frame(at("string_table", function["name_strindex"]), at("string_table", function["filename_strindex"]),
                               line["line"], path, build_id))
        return lines

    def samples(profile):
        for sample in profile["samples"]:
            assert len(sample["values"]) == 1 and not sample["timestamps_unix_nano"], "not one value without a time"
            locations = [at("location_table", index) for index in at("stack_table", sample["stack_index"])["location_indices"]]
            yield Sample(sample["values"][0], attributes(sample["attribute_indices"]),
                         [frame for location in locations for frame in frames(location)])

    found = []
    for of_resource in request["resource_profiles"]:
        pairs = [(one["key"], value_of(one["value"])) for one in of_resource["resource"]["attributes"]]
        assert len(dict(pairs)) == len(pairs), "a key of the resource is there twice"
        for of_scope in of_resource["scope_profiles"]:
            for profile in of_scope["profiles"]:
                kind = profile["sample_type"]
                identities = [(s["stack_index"], tuple(s["attribute_indices"]), s["link_index"]) for s in profile["samples"]]
                assert len(set(identities)) == len(identities), "two samples have one identity"
                at("string_table", profile["period_type"]["type_strindex"])
                at("string_table", profile["period_type"]["unit_strindex"])
                found.append(Profile(dict(pairs), (of_scope["scope"]["name"], of_scope["scope"]["version"]),
                                     at("string_table", kind["type_strindex"]), at("string_table", kind["unit_strindex"]),
                                     profile["time_unix_nano"], profile["duration_nano"], profile["profile_id"],
                                     list(samples(profile))))
    for name, table in tables.items():
        orphans = set(range(len(table))) - used[name]
        assert not orphans, f"{name}: nothing uses {sorted(orphans)}"
    assert len(set(tables["string_table"])) == len(tables["string_table"]), "a text is there twice"
    return found
