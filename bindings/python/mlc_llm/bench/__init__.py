"""`mlc_llm bench serve`: a load generator for OpenAI-compatible servers, ours or another.

It sends requests as users do (streams, with lengths as in shared chats), with a fixed concurrency
or at a request rate. It reports time to first token (TTFT), time per output token (TPOT),
inter-token latency (ITL) and throughput, as MLC-LLM's own benchmark does.
"""
