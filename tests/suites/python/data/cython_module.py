# SPDX-License-Identifier: Apache-2.0
"""Cython: classes and functions of a .pyx of the program's own."""
import numbers_cy as cy

USES = ["numbers_cy"]
BUILD = "cython"


def histories(count):
    return [cy.History(2_000) for _ in range(count)]


def words(count):
    return cy.words(count)


held = histories(1_500), words(100_000)
print({"histories": 1_500 * 2_000 * 8, "words": cy.size_of(held[1])})
