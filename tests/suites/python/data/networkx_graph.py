# SPDX-License-Identifier: Apache-2.0
"""networkx: a graph of dicts, and the paths in it."""
import networkx as nx

USES = ["networkx"]


def graph(size):
    return nx.gnm_random_graph(size, 3 * size, seed=1)


def distances(one, starts):
    return {start: nx.single_source_shortest_path_length(one, start) for start in range(starts)}


one = graph(20_000)
all_paths = distances(one, 10)
print({"graph": None, "distances": None})
