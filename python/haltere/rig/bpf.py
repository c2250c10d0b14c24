"""Small programs for the kernel, which send packets on by another interface.

One leaves them as they are, one treats them as a router does, and one drops those on a list first.

A link's losses are drawn beforehand, from the simulator's own stream, and handed to the kernel as bits: whether a
packet is lost depends on its ordinal alone. So one seed gives one loss pattern, in the kernel as in the simulator.

Instructions: RFC 9669. The system call: bpf(2).
"""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from dataclasses import dataclass

_SYS_BPF = {"x86_64": 321, "aarch64": 280, "riscv64": 280}.get(os.uname().machine, 280)
_MAP_CREATE, _PROG_LOAD = 0, 5
_MAP_ARRAY, _MMAPABLE = 2, 1 << 10
_SCHED_CLS = 3
_LOOKUP, _CLONE_REDIRECT, _REDIRECT = 1, 13, 23
_TYPE_OF_SERVICE = 14 + 1
"""Where the byte stands in an Ethernet frame (RFC 791)."""
_PRIORITY = 32
"""Offset in `struct __sk_buff`."""
_SHOT = 2  # TC_ACT_SHOT: drop

_libc = ctypes.CDLL(None, use_errno=True)


def _bpf(command: int, attributes: bytes, what: str) -> int:
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    answer = int(_libc.syscall(_SYS_BPF, command, buffer, len(attributes)))
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return answer


def _instruction(code: int, destination: int = 0, source: int = 0, offset: int = 0, value: int = 0) -> bytes:
    return struct.pack("<BBhi", code, source << 4 | destination, offset, value)


def _load_map(register: int, fd: int) -> bytes:
    return _instruction(0x18, register, 1, 0, fd) + _instruction(0)


def _lookup(fd: int, key_register: int) -> bytes:
    """r0 = address of the map's value with the index in a register, or 0."""
    return (
        _instruction(0x63, 10, key_register, -4)  # *(u32 *)(r10 - 4) = key
        + _load_map(1, fd)
        + _instruction(0xBF, 2, 10)
        + _instruction(0x07, 2, 0, 0, -4)
        + _instruction(0x85, value=_LOOKUP)
    )


def _send_on(interface: int) -> bytes:
    return (
        _instruction(0xB7, 1, value=interface)
        + _instruction(0xB7, 2)
        + _instruction(0x85, value=_REDIRECT)
        + _instruction(0x95)
    )


def _program(instructions: bytes) -> int:
    code = ctypes.create_string_buffer(instructions, len(instructions))
    licence = ctypes.create_string_buffer(b"GPL")
    log = ctypes.create_string_buffer(1 << 16)
    attributes = struct.pack(
        "<IIQQIIQ",
        _SCHED_CLS,
        len(instructions) // 8,
        ctypes.addressof(code),
        ctypes.addressof(licence),
        1,
        len(log),
        ctypes.addressof(log),
    ).ljust(120, b"\0")
    try:
        return _bpf(_PROG_LOAD, attributes, "the kernel refuses a program that forwards packets")
    except OSError as error:
        said = log.value.decode(errors="replace").strip().splitlines()
        raise OSError(error.errno, f"{error.strerror} ({said[-1]})" if said else error.strerror) from None


def redirect(interface: int) -> int:
    """Return a program that sends each packet out of the interface with this index."""
    return _program(_send_on(interface))


def route(interface: int) -> int:
    """Return a program that sends each packet out of the interface as a router does.

    A packet no longer belongs to its sender's socket, which otherwise would wait for it (TCP small queues): a copy of
    its header goes on. It has the priority of its type of service: 0, 2, 6 or 4 by the two bits above the last three
    (`ip_tos2prio` of Linux, net/ipv4/route.c), which `pfifo_fast` and `prio` use.
    """
    return _program(
        _instruction(0xBF, 6, 1)
        + _instruction(0x30, value=_TYPE_OF_SERVICE)  # r0 = the byte of the packet that r6 points to
        + _instruction(0x77, 0, value=3)
        + _instruction(0x57, 0, value=3)
        + _instruction(0xBF, 1, 0)
        + _instruction(0x77, 1, value=1)
        + _instruction(0xAF, 0, 1)
        + _instruction(0x67, 0, value=1)  # r0 = 2 * (bits ^ bits >> 1)
        + _instruction(0x63, 6, 0, _PRIORITY)
        + _instruction(0xBF, 1, 6)
        + _instruction(0xB7, 2, value=interface)
        + _instruction(0xB7, 3)
        + _instruction(0x85, value=_CLONE_REDIRECT)
        + _instruction(0xB7, 0, value=_SHOT)
        + _instruction(0x95)
    )


@dataclass
class Dropper:
    """A program that drops the packets on its list and sends the others on; packets beyond the list are not dropped."""

    fd: int
    _map: int
    _memory: mmap.mmap

    @classmethod
    def make(cls, bits: bytes, interface: int) -> Dropper:
        """Make it.

        Args:
            bits: bit n % 8 of byte n // 8 stands for the packet with the ordinal n, from 0.
            interface: the index of the interface that the others leave by.
        """
        words = -(-len(bits) // 8)
        size = struct.pack("<IIIII", _MAP_ARRAY, 4, 8, 1 + words, _MMAPABLE).ljust(120, b"\0")
        table = _bpf(_MAP_CREATE, size, "the kernel has no room for a list of losses")
        memory = mmap.mmap(table, -(-8 * (1 + words) // mmap.PAGESIZE) * mmap.PAGESIZE)
        memory.madvise(mmap.MADV_DONTFORK)  # a program that is started needs none of it
        memory[8 : 8 + len(bits)] = bits
        head = _instruction(0xB7, 3) + _lookup(table, 3)  # value 0: how many packets came
        count = (
            _instruction(0x79, 8, 0)  # r8 = *r0
            + _instruction(0xBF, 9, 8)
            + _instruction(0x07, 9, value=1)
            + _instruction(0x7B, 0, 9)  # *r0 = r8 + 1
            + _instruction(0xBF, 9, 8)
            + _instruction(0x77, 9, value=6)
            + _instruction(0x07, 9, value=1)  # r9 = 1 + r8 / 64
            + _lookup(table, 9)
        )
        test = (
            _instruction(0x79, 1, 0)
            + _instruction(0x57, 8, value=63)
            + _instruction(0x7F, 1, 8)
            + _instruction(0x57, 1, value=1)
        )
        drop = _instruction(0xB7, 0, value=_SHOT) + _instruction(0x95)
        steps = len(test) // 8
        code = (
            head
            + _instruction(0x55, 0, 0, 2)  # without the counter, which is always there, drop
            + drop
            + count
            + _instruction(0x15, 0, 0, steps + 3)  # beyond the list: send on
            + test
            + _instruction(0x15, 1, 0, 2)
            + drop
            + _send_on(interface)
        )
        return cls(_program(code), table, memory)

    @property
    def seen(self) -> int:
        """How many packets the program has seen."""
        return int.from_bytes(self._memory[:8], "little")

    def close(self) -> None:
        """Release the memory; the kernel keeps the program as long as an interface uses it."""
        self._memory.close()
        os.close(self.fd)
        os.close(self._map)
