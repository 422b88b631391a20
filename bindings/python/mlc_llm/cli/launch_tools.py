"""The coding tools that `mlc_llm launch` starts, as data.

The names of variables, options and files are those of each tool's own documentation. In values and
files `{url}` is the server's address without `/v1`, `{key}` its key, `{model}` the model's name and
`{file}` the file's path.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Tool:
    """How a tool is told which server to use."""

    program: str  # its command
    get: str  # how it is installed
    variables: Mapping[str, str]
    arguments: tuple[str, ...] = ()  # before those of the user
    # A file that the tool reads, in JSON; its path is `{file}`, or in a variable.
    file: object | None = None
    file_variable: str = ""


TOOLS: Mapping[str, Tool] = {
    "claude": Tool(
        program="claude",
        get="npm install -g @anthropic-ai/claude-code",
        variables={
            "ANTHROPIC_BASE_URL": "{url}",
            "ANTHROPIC_AUTH_TOKEN": "{key}",
            "ANTHROPIC_MODEL": "{model}",
            "ANTHROPIC_SMALL_FAST_MODEL": "{model}",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    ),
    "codex": Tool(
        program="codex",
        get="npm install -g @openai/codex",
        variables={"MLC_LLM_API_KEY": "{key}"},
        arguments=(
            "-c", 'model_provider="mlc_llm"',
            "-c", 'model_providers.mlc_llm.name="mlc_llm"',
            "-c", 'model_providers.mlc_llm.base_url="{url}/v1"',
            "-c", 'model_providers.mlc_llm.env_key="MLC_LLM_API_KEY"',
            "-c", 'model_providers.mlc_llm.wire_api="responses"',
            "-m", "{model}",
        ),
    ),
    "opencode": Tool(
        program="opencode",
        get="npm install -g opencode-ai",
        variables={},
        file_variable="OPENCODE_CONFIG",
        file={
            "model": "mlc_llm/{model}",
            "provider": {
                "mlc_llm": {
                    "npm": "@ai-sdk/openai-compatible",
                    "name": "mlc_llm",
                    "options": {"baseURL": "{url}/v1", "apiKey": "{key}"},
                    "models": {"{model}": {"name": "{model}"}},
                }
            },
        },
    ),
    "aider": Tool(
        program="aider",
        get="python -m pip install aider-install && aider-install",
        variables={"OPENAI_API_BASE": "{url}/v1", "OPENAI_API_KEY": "{key}"},
        arguments=("--model", "openai/{model}"),
    ),
    "goose": Tool(
        program="goose",
        get="brew install block-goose-cli",
        variables={
            "GOOSE_PROVIDER": "openai",
            "GOOSE_MODEL": "{model}",
            "OPENAI_HOST": "{url}",
            "OPENAI_BASE_PATH": "v1/chat/completions",
            "OPENAI_API_KEY": "{key}",
        },
        arguments=("session",),
    ),
    "continue": Tool(
        program="cn",
        get="npm install -g @continuedev/cli",
        variables={},
        arguments=("--config", "{file}"),
        file={
            "name": "mlc_llm",
            "version": "0.0.1",
            "schema": "v1",
            "models": [
                {
                    "name": "{model}",
                    "provider": "openai",
                    "model": "{model}",
                    "apiBase": "{url}/v1",
                    "apiKey": "{key}",
                    "roles": ["chat", "edit", "apply"],
                }
            ],
        },
    ),
}  # fmt: skip
