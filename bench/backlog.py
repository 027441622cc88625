"""Claims on a ledger full of work that is finished, not due or somebody else's.

`python -m bench.backlog`. The same claim is timed on an almost empty ledger, in turns, so that a
noisy minute falls on both. The store alone: no HTTP.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

from bench.servers import scratch
from switchboard.clock import SystemClock
from switchboard.domain.actor import Actor, ActorKind
from switchboard.domain.credential import hash_secret
from switchboard.domain.endpoint import CORE_VERBS, Caller, EndpointId, Protocol
from switchboard.domain.workspace import PersonId, WorkspaceId
from switchboard.records import Claimed, Founding, NewEndpoint
from switchboard.stores.sqlite import SqliteStore

WANTED_RATIO = 1.5
CLAIMS = 400
WARM = 50
LEASE_MS = 300_000
WORKSPACE = WorkspaceId("ws_" + "0" * 26)
OWNER = Actor(ActorKind.PERSON, "ps_" + "0" * 26, "Owner")
MINE, OTHER = EndpointId("ep_" + "0" * 26), EndpointId("ep_" + "1" * 26)


@dataclass(frozen=True, slots=True)
class Backlog:
    """How many todos stand in the way, and how many are ready."""

    finished: int = 0
    not_due: int = 0
    elsewhere: int = 0
    ready: int = CLAIMS + WARM + 50


FULL = Backlog(finished=1_000_000, not_due=50_000, elsewhere=10_000, ready=40_000)
QUICK = Backlog(finished=2_000, not_due=500, elsewhere=100, ready=1_000)
"""Shows that it runs."""

_INSERT = """
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :count)
INSERT INTO todo (id, workspace_id, queue, title, payload_json, payload_bytes, priority, state,
                  attempt, max_attempts, max_lapses, available_at_ms, ready_at_ms, assignee_id,
                  trust, person_id, key_space, created_at_ms, updated_at_ms, ended_at_ms)
SELECT printf('td_%s%025d', :prefix, i), :workspace_id, 'work', 'Todo ' || i, '{"n":1}', 7,
       :priority, :state, :state = 'done', 5, 10, :at_ms, :at_ms, :assignee_id, 'operator',
       :person_id, 'person', :now_ms, :now_ms, CASE :state WHEN 'done' THEN :now_ms END
FROM n
"""


def main() -> None:
    """Build both ledgers, time the claims, print."""
    parser = argparse.ArgumentParser(prog="python -m bench.backlog", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a small backlog: does it run at all?")
    backlog = QUICK if parser.parse_args().quick else FULL
    with scratch() as kept:
        asyncio.run(_measure(kept, backlog))


async def _measure(kept: Path, backlog: Backlog) -> None:
    stores = {
        "almost empty": await _store(kept / "few.db", Backlog()),
        "full": await _store(kept / "many.db", backlog),
    }
    print(f"{backlog}\n", flush=True)
    took_s: dict[str, list[float]] = {name: [] for name in stores}
    for number in range(CLAIMS + WARM):
        for name, (store, caller) in stores.items():
            began_s = time.perf_counter()
            token_hash = hash_secret(secrets.token_hex(8))
            got = await store.claim_next_ready(caller, ("work",), LEASE_MS, token_hash)
            if number >= WARM:
                took_s[name].append(time.perf_counter() - began_s)
            assert isinstance(got, Claimed), got
    for store, _ in stores.values():
        await store.stop()
    p50_ms = {name: sorted(times)[len(times) // 2] * 1000 for name, times in took_s.items()}
    for name, p50 in p50_ms.items():
        print(f"claim, ledger {name:13} p50 {p50:.3f} ms", flush=True)
    ratio = p50_ms["full"] / p50_ms["almost empty"]
    mark = "reached" if ratio <= WANTED_RATIO else "MISSED "
    print(f"{mark} {ratio:.2f} times the claim of an almost empty queue, wanted {WANTED_RATIO}")


async def _store(path: Path, backlog: Backlog) -> tuple[SqliteStore, Caller]:
    store = SqliteStore(path, clock=SystemClock())
    await store.start()
    await store.found_if_empty(
        Founding(
            workspace_id=WORKSPACE,
            workspace_name="bench",
            person_id=PersonId(OWNER.id),
            person_name=OWNER.name,
            token_id="ot_0",
            token_name="local",
            token_hash=hash_secret("operator"),
        )
    )
    for endpoint_id in (MINE, OTHER):
        await store.vend_endpoint(WORKSPACE, _endpoint(endpoint_id), OWNER)
    caller = await store.caller_by_credential(hash_secret(MINE))
    assert caller is not None
    await asyncio.to_thread(_fill, path, backlog)
    return store, caller


def _endpoint(endpoint_id: EndpointId) -> NewEndpoint:
    return NewEndpoint(
        id=endpoint_id,
        slug=f"bench-{endpoint_id[-8:]}",
        agent="bench",
        queues=("work",),
        verbs=CORE_VERBS,
        protocol=Protocol.AUTO,
        lease_ms=LEASE_MS,
        lifetime_ms=None,
        credential_id="cr_" + endpoint_id[3:],
        credential_hash=hash_secret(endpoint_id),
        credential_prefix="sbk_0000",
    )


def _fill(path: Path, backlog: Backlog) -> None:
    """By SQL: a million todos through the store would take minutes."""
    now_ms = SystemClock().now_ms()
    later_ms = now_ms + 86_400_000
    parts = (
        ("a", backlog.finished, 0, "done", now_ms - 1000, None),
        ("b", backlog.not_due, 9, "pending", later_ms, None),
        ("c", backlog.elsewhere, 9, "pending", now_ms - 2000, OTHER),
        ("d", backlog.ready, 0, "pending", now_ms - 1000, None),
    )
    connection = sqlite3.connect(path, isolation_level=None, timeout=60)
    for prefix, count, priority, state, at_ms, assignee_id in parts:
        if count:
            values = {"prefix": prefix, "count": count, "priority": priority, "state": state}
            values |= {"at_ms": at_ms, "assignee_id": assignee_id, "now_ms": now_ms}
            values |= {"workspace_id": WORKSPACE, "person_id": OWNER.id}
            connection.execute(_INSERT, values)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


if __name__ == "__main__":
    main()
