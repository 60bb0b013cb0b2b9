# SPDX-License-Identifier: Apache-2.0
from libc.stdlib cimport malloc, free
import sys


cdef class History:
    cdef double *values
    cdef int count

    def __cinit__(self, int count):
        self.values = <double *> malloc(count * sizeof(double))
        self.count = count
        for i in range(count):
            self.values[i] = i

    def __dealloc__(self):
        free(self.values)


def words(int count):
    return ["word number %d" % i for i in range(count)]


def size_of(words):
    return sys.getsizeof(words) + sum([sys.getsizeof(w) for w in words])
