"""Questions about the texts of a folder: search by embeddings, rerank, answer with sources.

python rag.py FOLDER "How do I add a model?"

Three models: one makes vectors of all paragraphs, one judges the 20 nearest, one answers.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mlc_llm import MLCEngine

EMBEDDINGS = "HF://sentence-transformers/all-MiniLM-L6-v2"
RERANKER = "HF://cross-encoder/ms-marco-MiniLM-L6-v2"
LONGEST = 800  # characters of a piece; the encoders read some 250 tokens


@dataclass(frozen=True)
class Piece:
    source: str
    text: str


def pieces_of(folder: Path) -> Iterator[Piece]:
    """Paragraphs of all texts; a long one is cut."""
    for path in sorted(path for kind in ("*.md", "*.txt") for path in folder.rglob(kind)):
        for paragraph in path.read_text(encoding="utf-8", errors="replace").split("\n\n"):
            text = " ".join(paragraph.split())
            for start in range(0, len(text), LONGEST):
                yield Piece(str(path.relative_to(folder)), text[start : start + LONGEST])


def vectors_of(engine: MLCEngine, texts: list[str]) -> np.ndarray:
    """A row of length 1 for each text."""
    rows: list[list[float]] = []
    for start in range(0, len(texts), 64):
        answer = engine.embeddings.create(input=texts[start : start + 64])
        rows += [item.embedding for item in answer.data]
    found = np.array(rows, np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def search(question: str, pieces: list[Piece], count: int = 3) -> list[Piece]:
    """The best pieces: the nearest 20 by their vectors, judged again by the reranker."""
    with MLCEngine(EMBEDDINGS) as encoder:
        rows = vectors_of(encoder, [piece.text for piece in pieces])
        scores = rows @ vectors_of(encoder, [question])[0]
    near = [pieces[i] for i in np.argsort(-scores)[:20]]
    with MLCEngine(RERANKER) as reranker:
        ranked = reranker.rerank.create(
            query=question, documents=[piece.text for piece in near], top_n=count
        )
    return [near[result.index] for result in ranked.results]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("question")
    arguments.add_argument("--model", nargs=1, default=[], help="the model that answers")
    options = arguments.parse_args()
    pieces = list(pieces_of(options.folder))
    if not pieces:
        raise SystemExit(f"{options.folder} has no text in .md or .txt files")
    best = search(options.question, pieces)
    context = "\n\n".join(f"[{i}] {piece.text}" for i, piece in enumerate(best, 1))
    prompt = f"{context}\n\nAnswer with these texts alone: {options.question}"
    with MLCEngine(*options.model) as engine:
        answer = engine.chat.completions.create(
            messages=[{"role": "user", "content": prompt}], max_tokens=300
        )
    print(answer.choices[0].message.content)
    for number, piece in enumerate(best, 1):
        print(f"[{number}] {piece.source}: {piece.text[:60]}")


if __name__ == "__main__":
    main()
