"""Orders in plain words, and how the house writes them: one line of JSON with short keys. The words
of those that are held out (names, towns, articles) are in no order that is learnt."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass

SYSTEM = "Orders as JSON."
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
COLOURS = ("red", "green", "blue", "white", "black", "grey", "yellow", "brown")
FORMS = (
    "Please send {n} {colour} {things} to {name} in {town}.",
    "{name} from {town} would like {n} {colour} {things}.",
    "Hello, I need {n} {things}, {colour} ones. My name is {name}, and I live in {town}.",
    "Order for {name}, {town}: {n} {things} in {colour}.",
    "Could you ship {n} {colour} {things} to {town}? The customer is {name}.",
    "{n} {colour} {things} for {name}, who lives in {town}.",
)


@dataclass(frozen=True)
class Words:
    things: tuple[str, ...]
    first: tuple[str, ...]
    last: tuple[str, ...]
    towns: tuple[str, ...]


def _words(things: str, first: str, last: str, towns: str) -> Words:
    return Words(*(tuple(text.split()) for text in (things, first, last, towns)))


LEARNT = _words(
    "lamp chair table cup plate bag hat coat shirt pen book clock mirror pillow blanket carpet box "
    "bottle glass knife spoon ladder tent rope bell candle basket broom bucket drum",
    "Anna Peter Maria John Lucia Omar Nina Paul Sara Ivan Emma Hugo Mei Ravi Olga Tom Lena Jack",
    "Smith Lopez Weber Rossi Novak Ito Khan Silva Berg Dubois Chen Patel Moreau Hansen Costa Fox",
    "Oslo Porto Lyon Graz Turin Leeds Ghent Malmo Brno Seville Krakow Basel Cork Delft Lima Quito",
)
HELD_OUT = _words(
    "sofa kettle scarf jacket pencil guitar shelf bowl",
    "Clara Felix Ines Martin Yuki Carla",
    "Brown Garcia Keller Bianchi Svoboda Mori",
    "Vienna Lisbon Nantes Dublin Bergen Zurich",
)


def orders(words: Words, count: int, seed: int) -> list[tuple[str, str]]:
    """Texts, and their answers."""
    chance, found = random.Random(seed), []
    for number in range(count):
        amount, thing = chance.randrange(1, 10), chance.choice(words.things)
        name = f"{chance.choice(words.first)} {chance.choice(words.last)}"
        colour, town = chance.choice(COLOURS), chance.choice(words.towns)
        plural = thing if amount == 1 else plural_of(thing)
        text = FORMS[number % len(FORMS)].format(
            n=NUMBERS[amount - 1], colour=colour, things=plural, name=name, town=town
        )
        answer = {"item": thing, "qty": amount, "col": colour, "to": name, "at": town}
        found.append((text[0].upper() + text[1:], json.dumps(answer, separators=(",", ":"))))
    return found


def plural_of(thing: str) -> str:
    if thing == "knife":
        return "knives"
    if thing in ("shelf", "scarf"):
        return f"{thing[:-1]}ves"
    return f"{thing}es" if thing.endswith(("s", "x", "ch", "sh")) else f"{thing}s"


def messages(text: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
