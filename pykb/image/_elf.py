"""Removes symbols and debug information from programs and libraries, which are half of many wheels.

No slim base image has `strip`, and installing it needs a mirror of the distribution. Here, nothing moves: the file ends
after what the loader maps, followed by a new table of the sections that are left. So it is safe for libraries that
patchelf has rearranged.
Source: https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

MAGIC = b"\x7fELF"
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_LITTLE_64 = b"\x02\x01"
_ALLOCATED = 2
_STRING_TABLE, _NO_BITS = 3, 8


@dataclass(frozen=True, slots=True)
class _Section:
    """An entry of the section table; the names are those of the specification, without the prefix."""

    name: int
    type: int
    flags: int
    addr: int
    offset: int
    size: int
    link: int
    info: int
    addralign: int
    entsize: int

    def packed(self) -> bytes:
        values = (self.name, self.type, self.flags, self.addr, self.offset, self.size, self.link, self.info)
        return _SECTION.pack(*values, self.addralign, self.entsize)


def stripped(content: bytes) -> bytes:
    """The file without the sections that are not mapped. What has an unusual form is returned as it is."""
    if not content.startswith(MAGIC + _LITTLE_64) or len(content) < _HEADER.size:
        return content
    try:
        return _stripped(content)
    except struct.error:
        return content


def _stripped(content: bytes) -> bytes:
    header = list(_HEADER.unpack_from(content))
    segments_at, sections_at, segments, sections, names_index = *header[5:7], header[10], header[12], header[13]
    table = [_Section(*_SECTION.unpack_from(content, sections_at + i * _SECTION.size)) for i in range(sections)]
    kept = 1 + max((i for i, each in enumerate(table) if each.flags & _ALLOCATED), default=0)
    end = max(
        (sum(_SEGMENT.unpack_from(content, segments_at + i * _SEGMENT.size)[2:6:3]) for i in range(segments)), default=0
    )
    if kept == 1 or not all(map(_is_mapped, table[1:kept], [end] * kept)):
        return content
    names = table[names_index]
    texts = content[names.offset : names.offset + names.size]
    names_at = _aligned(end)
    new_names = _Section(names.name, _STRING_TABLE, 0, 0, names_at, len(texts), 0, 0, 1, 0)
    header[6], header[12], header[13] = _aligned(names_at + len(texts)), kept + 1, kept
    made = bytearray(content[:end])
    made[: _HEADER.size] = _HEADER.pack(*header)
    made += bytes(names_at - end) + texts
    made += bytes(header[6] - len(made)) + b"".join(each.packed() for each in (*table[:kept], new_names))
    return bytes(made) if len(made) < len(content) else content


def _is_mapped(section: _Section, end: int) -> bool:
    """Whether a section belongs to what the loader maps, so that it stays where it is."""
    fits = section.type == _NO_BITS or section.offset + section.size <= end
    return bool(section.flags & _ALLOCATED) and fits


def _aligned(offset: int) -> int:
    return -(-offset // 8) * 8
