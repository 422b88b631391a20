"""LangChain with a local server: a stream, a typed answer, a tool.

mlc_llm serve
pip install langchain-openai
python langchain_chat.py [http://localhost:8000/v1]
"""

from __future__ import annotations

import sys
from typing import Literal

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, Field


class Light(BaseModel):
    room: Literal["bath", "kitchen"] = Field(description="Where the light is.")
    on: bool


@tool
def switch_light(room: Literal["bath", "kitchen"], on: bool) -> str:
    """Switches a light."""
    return f"The light in the {room} is {'on' if on else 'off'}."


def main() -> None:
    address = sys.argv[1] if len(sys.argv) > 1 else "http://localhost:8000/v1"
    model = ChatOpenAI(base_url=address, api_key="none", model="", max_tokens=200)

    for chunk in model.stream("Name three colours."):
        print(chunk.content, end="", flush=True)
    print()

    typed = model.with_structured_output(Light, method="json_schema")
    print("typed:", typed.invoke("Switch on the light in the kitchen."))

    with_tools = model.bind_tools([switch_light], tool_choice="required", strict=True)
    for call in with_tools.invoke("Switch on the light in the kitchen.").tool_calls:
        print("call:", switch_light.invoke(call).content)


if __name__ == "__main__":
    main()
