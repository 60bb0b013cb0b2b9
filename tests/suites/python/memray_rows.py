# SPDX-License-Identifier: Apache-2.0
"""The rows of a recording of memray at the highest of its heap, by the innermost line of Python, as JSON: of the heap, and
of mappings.

usage: memray_rows.py RECORDING      each row: bytes, the innermost function of native code, and the lines, innermost first
"""
import collections
import json
import sys

import memray

ROWS = 5
ARENA = 1 << 20  # that Python's allocator of small objects maps: of the heap, for its objects have no rows of their own

heap, mapped, natives = collections.Counter(), collections.Counter(), {}
reader = memray.FileReader(sys.argv[1])
for record in reader.get_high_watermark_allocation_records(merge_threads=True):
    lines = tuple(record.stack_trace())
    (mapped if record.allocator == memray.AllocatorType.MMAP and record.size != ARENA * record.n_allocations else heap)[lines[:1]] += record.size
    if record.size > natives.get(lines[:1], (0,))[0]:
        hybrid = record.hybrid_stack_trace() if reader.metadata.has_native_traces else lines
        natives[lines[:1]] = record.size, hybrid[0][0] if hybrid else "", lines
print(json.dumps([[{"bytes": size, "native": natives[place][1], "lines": natives[place][2]}
                   for place, size in sizes.most_common(ROWS)] for sizes in (heap, mapped)]))
