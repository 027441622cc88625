"""Lines through pipes and files: whole, in order, however they were cut on their way."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_transport.mcp import lines as lines_module
from agent_transport.mcp.lines import LineReader, LineWriter
from tests.agent_transport.mcp.pipes import pipe_peer
from tests.agent_transport.mcp.wire_client import BOUND_S

PIECES = st.lists(st.binary(max_size=40).map(lambda b: b.replace(b"x", b"\n")), max_size=12)


async def read_all(reader: LineReader) -> list[bytes]:
    found: list[bytes] = []
    async with asyncio.timeout(BOUND_S):
        while (line := await reader.line()) is not None:
            found.append(line)
    return found


@given(PIECES)
async def test_lines_are_the_same_however_their_bytes_were_cut(pieces: list[bytes]) -> None:
    whole = b"".join(pieces)
    expected = whole.split(b"\n")
    if not expected[-1]:
        expected.pop()
    inbound, outbound = os.pipe()
    reader = LineReader(inbound)
    reader.open()
    try:
        for piece in filter(None, pieces):
            os.write(outbound, piece)
            await asyncio.sleep(0)
        os.close(outbound)
        assert await read_all(reader) == expected
        assert reader.ended.done()
    finally:
        reader.close()
        os.close(inbound)


@pytest.mark.parametrize("line", [b"", b"y" * 99_999], ids=["empty", "long"])
async def test_nobody_reads_ahead_without_end(line: bytes, tmp_path: Path) -> None:
    """A peer that floods waits in its own pipe; with empty lines too."""
    count = 4_000_000 // (len(line) + 1)
    path = tmp_path / "flood"
    path.write_bytes((line + b"\n") * count)
    fd = os.open(path, os.O_RDONLY)
    reader = LineReader(fd)
    try:
        reader.open()
        assert await reader.line() == line
        for _ in range(100):
            await asyncio.sleep(0)
        assert os.lseek(fd, 0, os.SEEK_CUR) < 600_000
        assert await read_all(reader) == [line] * (count - 1)
    finally:
        reader.close()
        os.close(fd)


async def test_the_null_device_is_an_end_at_once() -> None:
    fd = os.open(os.devnull, os.O_RDONLY)
    reader = LineReader(fd)
    reader.open()
    assert await read_all(reader) == []
    reader.close()
    os.close(fd)


async def test_a_line_that_is_too_long_is_cut_and_the_next_one_is_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lines_module, "MAX_LINE_BYTES", 10)
    with pipe_peer() as peer:
        reader = LineReader(peer.wire.inbound)
        reader.open()
        for _ in range(3):
            os.write(peer.to_transport, b"0123456789ABC")
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        peer.send(b"-the end")
        peer.send(b"next")
        peer.leave()
        assert await read_all(reader) == [b"0123456789", b"next"]
        reader.close()


async def test_a_reader_that_is_closed_while_somebody_waits_ends_the_wait() -> None:
    with pipe_peer() as peer:
        reader = LineReader(peer.wire.inbound)
        reader.open()
        waiting = asyncio.ensure_future(reader.line())
        await asyncio.sleep(0)
        reader.close()
        async with asyncio.timeout(BOUND_S):
            assert await waiting is None


async def test_many_writers_at_once_never_mix_their_lines() -> None:
    with pipe_peer() as peer:
        writer = LineWriter(peer.wire.outbound)
        writer.open()
        lines = [bytes([65 + n]) * (20_000 + n) for n in range(26)]
        writing = asyncio.gather(*(writer.write(line) for line in lines))
        read = [await peer.next_line() for _ in lines]
        await writing
        assert read == lines
        writer.close()


async def test_a_reader_that_goes_away_in_the_middle_of_a_line_releases_every_writer() -> None:
    with pipe_peer() as peer:
        writer = LineWriter(peer.wire.outbound)
        writer.open()
        writing = [asyncio.ensure_future(writer.write(b"z" * 400_000)) for _ in range(3)]
        await asyncio.sleep(0)
        peer.stop_reading()
        async with asyncio.timeout(BOUND_S):
            for task in writing:
                with contextlib.suppress(BrokenPipeError):
                    await task
            await writer.gone
            await writer.drain(BOUND_S)
        with pytest.raises(BrokenPipeError):
            await writer.write(b"late")
        writer.close()


async def test_a_drain_is_bounded() -> None:
    with pipe_peer() as peer:
        writer = LineWriter(peer.wire.outbound)
        writing = asyncio.ensure_future(writer.write(b"z" * 1_000_000))
        await asyncio.sleep(0)
        async with asyncio.timeout(BOUND_S):
            await writer.drain(0.01)
        assert not writing.done()
        writer.close()
        await writing
