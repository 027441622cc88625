"""What a vend shows, once: where the agent connects, by what, and blocks to paste."""

from __future__ import annotations

from switchboard.cli.client import Document
from switchboard.wiring import CREDENTIAL_VARIABLE, blocks, blocks_with_variable


def print_vended(answer: Document) -> None:
    """Print the reveal of a vend. Nothing of it can be had again."""
    endpoint, replaced = answer["endpoint"], answer["replaced"]
    print(f"Vended {endpoint['slug']} for {', '.join(endpoint['queues'])}.")
    if replaced is not None:
        print(
            f"{replaced['slug']} is revoked: {replaced['moved']} assigned todos moved here, "
            f"{replaced['failed']} failed, {replaced['released']} claimed ones went back, "
            f"{replaced['sessions_closed']} sessions ended."
        )
    _print_reveal(answer)


def print_rotated(answer: Document) -> None:
    """Print the reveal of a rotation. Nothing of it can be had again."""
    print(f"{answer['endpoint']['slug']} has a new credential.")
    until = answer["endpoint"]["previous_until"]
    print(f"The one so far works until {until}." if until else "The one so far is over.")
    _print_reveal(answer)


def _print_reveal(answer: Document) -> None:
    url, credential = answer["url"], answer["credential"]
    print("The credential is shown this once. Whoever has it can act as this agent.\n")
    print(f"url         {url}")
    print(f"credential  {credential}\n")
    print("Paste one of these blocks where the agent runs.\n")
    for block in blocks(url, credential):
        print(f"{block.client}, in {block.file}:\n{block.text}\n")
    print(f"For files that are shared, with the credential in {CREDENTIAL_VARIABLE}:\n")
    for block in blocks_with_variable(url):
        print(f"{block.client}, in {block.file}:\n{block.text}\n")
