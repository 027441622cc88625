"""The first start: a workspace, its owner, and a token for the machine that holds the data."""

from __future__ import annotations

from switchboard.clock import Clock
from switchboard.data_directory import DataDirectory
from switchboard.domain.credential import RandomBytes, hash_secret, mint_operator_token
from switchboard.domain.identifier import mint_identifier
from switchboard.domain.workspace import PersonId, WorkspaceId
from switchboard.records import Founding
from switchboard.store import People

WORKSPACE_NAME = "home"
OWNER_NAME = "owner"
LOCAL_TOKEN_NAME = "local"


async def ensure_local_operator(
    store: People, directory: DataDirectory, clock: Clock, random_bytes: RandomBytes
) -> bool:
    """Found the ledger if it is empty, and see that the local token file opens it.

    The file is written after the commit: a crash in between leaves a ledger whose file is lost,
    which the next start repairs with a new secret. Returns whether the ledger was empty.
    """
    token = mint_operator_token(random_bytes)
    if await store.found_if_empty(_founding(hash_secret(token), clock.now_ms(), random_bytes)):
        directory.write_token(token)
        return True
    known = directory.read_token()
    if known is None or await store.operator_by_token(hash_secret(known)) is None:
        token_id = mint_identifier("tk", clock.now_ms(), random_bytes)
        await store.replace_local_token(token_id, hash_secret(token))
        directory.write_token(token)
    return False


def _founding(token_hash: bytes, now_ms: int, random_bytes: RandomBytes) -> Founding:
    return Founding(
        workspace_id=WorkspaceId(mint_identifier("ws", now_ms, random_bytes)),
        workspace_name=WORKSPACE_NAME,
        person_id=PersonId(mint_identifier("ps", now_ms, random_bytes)),
        person_name=OWNER_NAME,
        token_id=mint_identifier("tk", now_ms, random_bytes),
        token_name=LOCAL_TOKEN_NAME,
        token_hash=token_hash,
    )
