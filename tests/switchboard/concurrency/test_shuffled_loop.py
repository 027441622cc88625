"""The scheduler finds a race that asyncio's own order hides, and spares what is right."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

import pytest

from tests.specification import requirement
from tests.switchboard.concurrency.shuffled_loop import ShuffledLoop

SEEDS = range(20)

pytestmark = pytest.mark.concurrency


class Leaky:
    """Hands out numbered places. Planted: between the look and the entry others run."""

    def __init__(self) -> None:
        self.owner_of: dict[int, str] = {}
        self._free = [0, 1]

    async def take(self, owner: str) -> int:
        place = self._free[0]
        await asyncio.sleep(0)
        self._free.remove(place)
        self.owner_of[place] = owner
        return place


class Tight(Leaky):
    """The same without the gap."""

    async def take(self, owner: str) -> int:
        place = self._free.pop(0)
        self.owner_of[place] = owner
        await asyncio.sleep(0)
        return place


async def two_in_turn(places: Leaky) -> None:
    """One comes two steps after the other: in asyncio's order they never meet."""

    async def late() -> int:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return await places.take("late")

    taken = await asyncio.gather(places.take("early"), late())
    assert sorted(taken) == [0, 1], taken


def fails(loop: Callable[[], asyncio.AbstractEventLoop], places: Leaky) -> bool:
    with asyncio.Runner(loop_factory=loop) as runner:
        try:
            runner.run(two_in_turn(places))
        except (AssertionError, ValueError):
            return True
    return False


@requirement("SPEC-0014/concurrency/race-detection")
def test_a_planted_race_that_asyncios_order_hides_is_caught_under_some_seed() -> None:
    assert not fails(asyncio.SelectorEventLoop, Leaky())
    assert [seed for seed in SEEDS if fails(partial(ShuffledLoop, seed), Leaky())]


@requirement("SPEC-0014/concurrency/race-detection")
def test_the_same_object_without_the_race_passes_under_every_seed() -> None:
    assert not [seed for seed in SEEDS if fails(partial(ShuffledLoop, seed), Tight())]


def order_of(seed: int) -> list[int]:
    order: list[int] = []

    async def step(number: int) -> None:
        for _ in range(3):
            await asyncio.sleep(0)
            order.append(number)

    async def all_steps() -> None:
        await asyncio.gather(*(step(number) for number in range(5)))

    with asyncio.Runner(loop_factory=partial(ShuffledLoop, seed)) as runner:
        runner.run(all_steps())
    return order


def test_a_seed_gives_its_order_again_and_other_seeds_give_others() -> None:
    orders = [order_of(seed) for seed in SEEDS]
    assert orders == [order_of(seed) for seed in SEEDS]
    assert len({tuple(order) for order in orders}) > len(SEEDS) / 2


def test_callbacks_that_are_no_tasks_step_keep_their_order() -> None:
    for seed in SEEDS:
        order: list[int] = []

        async def register(seen: list[int] = order) -> None:
            loop = asyncio.get_running_loop()
            for number in range(10):
                loop.call_soon(seen.append, number)
            for _ in range(50):
                await asyncio.sleep(0)

        with asyncio.Runner(loop_factory=partial(ShuffledLoop, seed)) as runner:
            runner.run(register())
        assert order == list(range(10))


@requirement("SPEC-0014/concurrency/race-detection")
async def test_a_test_of_this_folder_runs_shuffled_in_debug_mode_and_names_its_seed(
    request: pytest.FixtureRequest,
) -> None:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, ShuffledLoop)
    assert loop.get_debug()
    assert f"seed-{loop.seed}" in request.node.name
