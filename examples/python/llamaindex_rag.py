"""LlamaIndex with a local server: an index over a folder, and answers from it.

mlc_llm serve --embedding-model HF://sentence-transformers/all-MiniLM-L6-v2
pip install llama-index-core llama-index-llms-openai-like llama-index-embeddings-openai-like
python llamaindex_rag.py FOLDER "How do I add a model?" [http://localhost:8000/v1]
"""

from __future__ import annotations

import sys

from llama_index.core import SimpleDirectoryReader, VectorStoreIndex
from llama_index.embeddings.openai_like import OpenAILikeEmbedding
from llama_index.llms.openai_like import OpenAILike


def main() -> None:
    folder, question, *rest = sys.argv[1:]
    address = rest[0] if rest else "http://localhost:8000/v1"
    llm = OpenAILike(
        model="",
        api_base=address,
        api_key="none",
        is_chat_model=True,
        context_window=4096,
        max_tokens=200,
    )
    embeddings = OpenAILikeEmbedding(model_name="", api_base=address, api_key="none")
    documents = SimpleDirectoryReader(folder, recursive=True).load_data()
    index = VectorStoreIndex.from_documents(documents, embed_model=embeddings)
    answer = index.as_query_engine(llm=llm, similarity_top_k=2).query(question)
    print("Answer:", answer)
    for node in answer.source_nodes:
        print("Source:", node.metadata["file_name"], f"{node.score:.2f}")


if __name__ == "__main__":
    main()
