"""`mlc_llm bench serve`: a load generator for OpenAI-compatible servers, ours or another.

It asks as users do (streams, lengths as in shared chats), at a fixed concurrency or at a request
rate, and reports time to first token (TTFT), time per output token (TPOT), inter-token latency
(ITL) and throughput, in the manner of MLC-LLM's own benchmark.
"""
