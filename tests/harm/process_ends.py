# SPDX-License-Identifier: Apache-2.0
"""How the processes end that a command starts, all of them: the kernel's process events tell root of each fork and end."""
import os
import select
import socket
import struct
import threading

NETLINK_CONNECTOR, CN_IDX_PROC, CN_VAL_PROC = 11, 1, 1
LISTEN, IGNORE = 1, 2
FORK, EXIT = 0x00000001, 0x80000000
NLMSG_DONE = 3
HEADERS = struct.calcsize("=IHHII") + struct.calcsize("=IIIIHH")  # netlink's and the connector's


class ProcessEnds:
    """with ProcessEnds() as ends: ...; ends.by_signal(pid): {signal: count} of what descends from a process. OSError where the
    kernel does not tell (not root, another namespace, no CONFIG_PROC_EVENTS)."""

    def __init__(self):
        self.parents, self.statuses = {}, []
        self.socket = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, NETLINK_CONNECTOR)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.socket.bind((0, CN_IDX_PROC))
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.wake, self.waker = os.pipe()

    def tell(self, what):
        body = struct.pack("=IIIIHHI", CN_IDX_PROC, CN_VAL_PROC, 0, 0, 4, 0, what)
        self.socket.send(struct.pack("=IHHII", 16 + len(body), NLMSG_DONE, 0, 0, os.getpid()) + body)

    def __enter__(self):
        self.tell(LISTEN)
        if not select.select([self.socket], [], [], 2)[0]:
            raise OSError("the kernel tells of no processes")
        self.thread.start()
        return self

    def __exit__(self, *_):
        os.write(self.waker, b"x")
        self.thread.join()
        self.tell(IGNORE)
        self.socket.close()
        os.close(self.wake)
        os.close(self.waker)

    def listen(self):
        while self.wake not in select.select([self.socket, self.wake], [], [])[0]:
            data = self.socket.recv(4096)
            what, = struct.unpack_from("=I", data, HEADERS)
            event = HEADERS + 16  # what, processor, time
            if what == FORK:
                _, parent, thread, process = struct.unpack_from("=IIII", data, event)
                if thread == process:
                    self.parents[process] = parent
            elif what == EXIT:
                thread, process, status = struct.unpack_from("=III", data, event)
                if thread == process:
                    self.statuses.append((process, status))

    def by_signal(self, ancestor):
        """Of all processes below `ancestor` that signals have ended."""
        counts = {}
        for process, status in self.statuses:
            at = process
            while at in self.parents and at != ancestor:
                at = self.parents[at]
            if at == ancestor and status & 0x7f:
                counts[status & 0x7f] = counts.get(status & 0x7f, 0) + 1
        return counts
