# SPDX-License-Identifier: Apache-2.0
"""Draws who includes whom, of files that layers.py has read: rooms as text, all folders for Graphviz.

A room stands above all rooms that it includes, so each arrow leads down. An arrow that leads up is drawn as such:
then there is a circle.
"""


def arrows_of(includes, place_of):
    """{place: set of places that it includes} of `includes`: {file: set of files}."""
    arrows = {}
    for path, targets in includes.items():
        here = place_of(path)
        arrows.setdefault(here, set()).update({place_of(target) for target in targets} - {here})
    return arrows


def heights(arrows):
    """{place: its rung}: 0 of who includes nobody, else one more than the highest that it includes. An arrow back into
    a way that is being followed (a circle) does not count."""
    found, open_places = {}, set()

    def height(place):
        if place not in found:
            open_places.add(place)
            below = [height(other) for other in sorted(arrows.get(place, ())) if other not in open_places]
            open_places.remove(place)
            found[place] = 1 + max(below, default=-1)
        return found[place]

    for place in sorted(arrows):
        height(place)
    return found


def circles(edges):
    """The strongly connected parts of a graph {node: set of nodes} that are more than one node, each sorted."""
    number, low, stack, found = {}, {}, [], []

    def visit(node):
        number[node] = low[node] = len(number)
        stack.append(node)
        for other in sorted(edges.get(node, ())):
            if other not in number:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], number[other])
        if low[node] == number[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(edges):
        if node not in number:
            visit(node)
    return found


def text_of(arrows):
    """A line for each place, the highest first: its rung, its name, and the places that it includes."""
    rungs = heights(arrows)
    width = max(map(len, arrows), default=0)
    order = sorted(arrows, key=lambda place: (-rungs[place], place))
    lines = []
    for place in order:
        others = sorted(arrows[place], key=order.index)
        down = [other if rungs[other] < rungs[place] else f"UP TO {other}" for other in others]
        lines.append(f"{rungs[place]:2}  {place:{width}}{'  -> ' + ', '.join(down) if down else ''}".rstrip())
    return "\n".join(lines) + "\n"


def dot_of(arrows, room_of):
    """The same for Graphviz, of folders: each room is a box around its folders, and an arrow that leads up is red."""
    rungs = heights(arrows)
    lines = ["digraph includes {", "  node [shape=box];"]
    for number, room in enumerate(sorted({room_of(place) for place in arrows})):
        inside = " ".join(f'"{place}";' for place in sorted(arrows) if room_of(place) == room)
        lines.append(f'  subgraph cluster_{number} {{ label="{room}"; {inside} }}')
    for place in sorted(arrows):
        for other in sorted(arrows[place]):
            red = "" if rungs[other] < rungs[place] else " [color=red]"
            lines.append(f'  "{place}" -> "{other}"{red};')
    return "\n".join([*lines, "}"]) + "\n"
