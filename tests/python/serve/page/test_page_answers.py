"""The page in headless Chromium: answers, their shape, and what the user does with them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlunsplit

from .driver import Page
from .scripted import Model, Scripted

OTHER = urlunsplit(("https", "other.example", "/p.png", "", ""))
CALLS = [
    {"index": 0, "id": "c0", "function": {"name": "calculator", "arguments": ""}},
    {"index": 0, "function": {"arguments": '{"expression": "6*7"}'}},
    {"index": 1, "id": "c1", "function": {"name": "clock", "arguments": '{"time_zone": "UTC"}'}},
]


def test_an_answer_is_streamed_with_its_statistics(real: Page) -> None:
    real.set("max_tokens", 60)
    real.set("seed", 7)
    real.ask("Hello there")
    assert real.bodies("user") == ["Hello there"] and real.notice() == ""
    (answer,) = real.bodies("assistant")
    assert len(answer) > 20
    stats = real.text("#chat .stats")
    assert "tokens/s" in stats and "first token after" in stats and "fake-model" in stats
    real.ask("And again")  # the conversation goes on
    assert len(real.bodies("assistant")) == 2
    assert "of 8,192 tokens" in real.element("meter").text


def test_text_is_shown_while_it_comes(page: Page, server: Scripted) -> None:
    more = threading.Event()
    server.answers.append(["The first ", more, "and the second."])
    page.say("Hello")
    page.until(lambda: page.bodies("assistant") == ["The first"], "nothing is shown")
    assert not page.idle() and page.element("send").text == "Stop"
    more.set()
    page.finish()
    assert page.bodies("assistant") == ["The first and the second."]


def test_a_growing_answer_leaves_its_finished_blocks_alone(page: Page, server: Scripted) -> None:
    """So the time of a render does not grow with the answer."""
    watch = """
    window.touched = new Set();
    const blocks = [...document.querySelectorAll("#chat .assistant .markdown > *")].slice(0, 3);
    new MutationObserver((changes) => changes.forEach(({ target, removedNodes }) => {
      for (const block of blocks) {
        const isInside = block.contains(target) || [...removedNodes].includes(block);
        if (isInside) window.touched.add(block.tagName);
      }
    })).observe(
      document.getElementById("chat"), { subtree: true, childList: true, characterData: true });
    return blocks.map((block) => block.tagName);
    """
    more = threading.Event()
    first = "One *paragraph*.\n\n- a list\n\n```\ncode\n```\n"
    server.answers.append([first + "\nNext", more, *["word "] * 300, "\n\nLast"])
    page.say("Write much")
    page.until(lambda: "Next" in page.text("#chat .assistant .body"), "nothing is shown")
    assert page.script(watch) == ["P", "UL", "DIV"]
    more.set()
    page.until(lambda: "Last" in page.text("#chat .assistant .body"), "it does not grow")
    assert page.script("return [...window.touched]") == []
    page.finish()
    assert page.texts("#chat .assistant .markdown > p")[-1] == "Last"


def test_parameters_reach_the_model(real: Page) -> None:
    texts = []
    for seed in (3, 3, 4):
        real.new_chat()
        real.set("seed", seed)
        real.set("temperature", 1.5)
        real.set("max_tokens", 12)
        real.set("system", "Be brief.")
        real.ask("Hello")
        texts += real.bodies("assistant")
        assert real.text("#chat .stats").startswith("12 tokens")
    assert texts[0] == texts[1] != texts[2]


def test_a_request_has_the_fields_of_the_settings(page: Page, server: Scripted) -> None:
    fields = {"system": "Be brief.", "temperature": 0.5, "top_p": 0.9, "max_tokens": 20, "seed": 4}
    for name, value in fields.items():
        page.set(name, value)
    page.set("extra", '{"top_k": 40}')
    page.ask("Hello")
    (body,) = server.requests
    assert body.pop("messages") == [
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello"},
    ]  # fmt: skip
    del fields["system"]
    assert body == {
        "model": "scripted", "stream": True, "stream_options": {"include_usage": True},
        "top_k": 40, **fields,
    }  # fmt: skip


def test_stop_keeps_what_has_come(page: Page, server: Scripted) -> None:
    server.answers.append(["It began ", threading.Event(), "and never ends."])
    page.say("Go on and on")
    page.until(lambda: page.bodies("assistant") == ["It began"], "nothing comes")
    page.element("send").click()
    page.finish()
    assert page.bodies("assistant") == ["It began"] and page.notice() == ""
    assert "stopped" in page.text("#chat .stats")
    page.ask("Go on")
    said = [message["content"].strip() for message in server.requests[1]["messages"]]
    assert said == ["Go on and on", "It began", "Go on"]


def test_the_schema_box_shapes_the_answer(real: Page) -> None:
    schema = {
        "type": "object",
        "properties": {"answer": {"enum": ["yes", "no"]}},
        "required": ["answer"],
        "additionalProperties": False,
    }
    real.set("schema", json.dumps(schema))
    real.ask("Yes or no?")
    answer = json.loads(real.text("#chat article.assistant code"))
    assert answer["answer"] in ("yes", "no")
    real.set("schema", "{no JSON")
    real.ask("Yes or no?")
    assert "not valid JSON" in real.notice() and "schema" in real.notice()
    assert real.bodies("user")[-1] == "Yes or no?"  # nothing is lost


def test_markdown_is_shown_and_code_blocks_can_be_copied(page: Page, server: Scripted) -> None:
    server.answers.append(
        [
            "# Title\n\nSome **bold** text\n\n- one\n- two\n\n",
            "```python\nprint(1)\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```\nsecond\n```\n",
        ]
    )
    page.ask("Show me")
    body = "#chat article.assistant .body"
    assert page.texts(f"{body} h3") == ["Title"] and page.texts(f"{body} strong") == ["bold"]
    assert page.texts(f"{body} li") == ["one", "two"] and page.texts(f"{body} td") == ["1", "2"]
    assert page.texts(f"{body} pre code") == ["print(1)", "second"]
    page.script("navigator.clipboard.writeText = (text) => { window.copied = text; }")
    for button, text in zip(page.all(".codeblock button"), ("print(1)", "second"), strict=True):
        button.click()
        page.until(lambda wanted=text: page.script("return window.copied") == wanted, "no copy")


def test_html_in_an_answer_stays_text(page: Page, server: Scripted) -> None:
    attacks = [
        "<script>window.hacked = 1</script>", "<img src=x onerror='window.hacked=1'>",
        "[a](javascript:window.hacked=1)", "`<b onclick=hack()>`", "```html\n<svg onload=a()>\n```",
        f"![p]({OTHER})", "[b](data:text/html,<script>1</script>)",
    ]  # fmt: skip
    server.answers.append(["\n\n".join(attacks)])
    page.ask("<b>Attack</b>")
    inside = "#chat article"
    assert page.all(", ".join(f"{inside} {tag}" for tag in ("script", "img", "svg", "b"))) == []
    assert page.bodies("user") == ["<b>Attack</b>"]
    assert "<script>window.hacked = 1</script>" in page.text("#chat .assistant .body")
    links = [link.get_attribute("href") for link in page.all(f"{inside} a")]
    assert links == [OTHER]
    assert page.script("return window.hacked") is None


def test_thoughts_are_shown_apart(page: Page, server: Scripted) -> None:
    server.answers.append([{"reasoning_content": "Let me see."}, "It is so."])
    page.ask("Why?")
    assert page.bodies("assistant") == ["It is so."]
    details = page.one("#chat details.thoughts")
    assert details.get_property("open") is False
    page.one("#chat summary").click()
    assert page.texts(".thoughts div") == ["Let me see."]


def test_tool_calls_wait_for_the_user(page: Page, server: Scripted) -> None:
    page.open_settings()
    page.element("tool-calculator").click()
    page.element("tool-clock").click()
    server.answers += [[{"tool_calls": [call]} for call in CALLS], ["It is 42."]]
    page.ask("What is 6 times 7, and what time is it?")
    assert [tool["function"]["name"] for tool in server.requests[0]["tools"]] == [
        "calculator", "clock",
    ]  # fmt: skip
    assert len(page.all(".call")) == 2 and len(server.requests) == 1
    page.click('[data-call="c0"] .allow')
    page.until(lambda: page.texts('[data-call="c0"] .result'), "no result")
    assert len(server.requests) == 1  # the other call is not decided yet
    page.click('[data-call="c1"] .refuse')
    page.until(lambda: page.bodies("assistant")[-1:] == ["It is 42."], "the answer does not go on")
    said, first, second = server.requests[1]["messages"][1:]
    assert [call["id"] for call in said["tool_calls"]] == ["c0", "c1"]
    assert json.loads(first["content"]) == {"result": 42} and first["tool_call_id"] == "c0"
    assert "did not allow" in second["content"]


def test_an_open_call_survives_a_reload(page: Page, server: Scripted) -> None:
    server.answers += [[{"tool_calls": CALLS[:1]}, {"tool_calls": CALLS[1:2]}], ["Done."]]
    page.ask("What is 6 times 7?")
    page.reload()
    page.click(".call .allow")
    page.until(lambda: page.bodies("assistant")[-1:] == ["Done."], "the answer does not go on")


def test_retry_replaces_the_answer(page: Page, server: Scripted) -> None:
    server.answers += [["The first."], ["The second."]]
    page.ask("Hello")
    page.click("#chat .retry")
    page.until(lambda: page.bodies("assistant") == ["The second."], "no other answer")
    assert server.requests[0]["messages"] == server.requests[1]["messages"]


def test_an_edited_message_is_sent_again(page: Page, server: Scripted) -> None:
    page.ask("Helo")
    page.ask("And then?")
    page.all("#chat .edit-message")[0].click()
    area = page.one("#chat .edit textarea")
    area.clear()
    area.send_keys("Hello", "\n")
    page.until(lambda: len(server.requests) == 3, "nothing is sent")
    page.finish()
    assert server.requests[2]["messages"] == [{"role": "user", "content": "Hello"}]
    assert page.bodies("user") == ["Hello"] and page.bodies("assistant") == ["Yes."]


def test_an_answer_can_be_copied(page: Page, server: Scripted) -> None:
    server.answers.append(["Some **bold** text"])
    page.ask("Hello")
    # The older way to copy, for pages that come over plain HTTP from another machine.
    page.script(
        "Object.defineProperty(navigator, 'clipboard', {value: undefined});"
        "document.execCommand = () => { window.copied = document.activeElement.value; };"
    )
    page.click("#chat article.assistant .foot button")
    assert page.script("return window.copied") == "Some **bold** text"


def test_pictures_only_where_the_model_takes_them(
    open_page: Callable[[], Page], server: Scripted, tmp_path: Path
) -> None:
    assert not open_page().element("attach").is_displayed()
    server.models = [Model("scripted", takes_pictures=True)]
    page = open_page()
    assert page.element("attach").is_displayed()
    picture = tmp_path / "dot.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n")
    page.element("files").send_keys(str(picture))
    page.until(lambda: page.all("#pictures img"), "the picture is not shown")
    page.ask("What is this?")
    image, text = server.requests[0]["messages"][0]["content"]
    assert image["image_url"]["url"].startswith("data:image/png;base64,iVBORw0K")
    assert text == {"type": "text", "text": "What is this?"}
    assert len(page.all("#chat .user img")) == 1 and not page.element("pictures").is_displayed()


def test_pictures_are_pasted_and_dropped(open_page: Callable[[], Page], server: Scripted) -> None:
    server.models = [Model("sees", takes_pictures=True), Model("blind")]
    page = open_page()
    give = """
        const [kind, target, type] = arguments;
        const data = new DataTransfer();
        data.items.add(new File([Uint8Array.of(137, 80, 78, 71)], "dot", {type}));
        const init = {bubbles: true, cancelable: true, dataTransfer: data, clipboardData: data};
        const event = kind === "paste" ? new ClipboardEvent(kind, init) : new DragEvent(kind, init);
        return document.querySelector(target).dispatchEvent(event);
    """
    assert page.script(give, "paste", "#prompt", "text/plain")  # the browser goes on with it
    assert not page.script(give, "dragover", "body", "image/png")
    assert not page.script(give, "drop", "body", "application/pdf")  # the page stays
    assert not page.script(give, "paste", "#prompt", "image/png")
    assert not page.script(give, "drop", "#chat", "image/png")
    page.until(lambda: len(page.all("#pictures img")) == 2, "the pictures are not shown")
    page.ask("What is this?")
    assert [part["type"] for part in server.requests[0]["messages"][0]["content"]] == [
        "image_url", "image_url", "text",
    ]  # fmt: skip
    page.click("#model option[value=blind]")
    page.script(give, "paste", "#prompt", "image/png")
    word = "This model takes no pictures. Left out: 1"
    page.until(lambda: page.element("left-out").text == word, "no word")


def test_a_chosen_picture_is_taken_back_or_left_out_with_a_word(
    open_page: Callable[[], Page], server: Scripted, tmp_path: Path
) -> None:
    server.models = [Model("sees", takes_pictures=True), Model("too", takes_pictures=True)]
    server.models.append(Model("blind"))
    page = open_page()
    for name in ("one.png", "two.png"):
        (tmp_path / name).write_bytes(b"\x89PNG\r\n\x1a\n")
    names = "\n".join(str(tmp_path / name) for name in ("one.png", "two.png"))
    page.element("files").send_keys(names)
    page.until(lambda: len(page.all("#pictures img")) == 2, "the pictures are not shown")
    page.click("[aria-label='Remove: Picture 1']")
    page.until(lambda: len(page.all("#pictures img")) == 1, "it was not taken back")
    page.script("window.kept = document.querySelector('#pictures button')")
    page.click("#model option[value=too]")  # the list stays, and so does its focus
    assert page.element("model").get_property("value") == "too"
    assert page.script("return document.querySelector('#pictures button') === window.kept")
    page.open_settings()
    page.click("#language option[value=de]")
    page.until(lambda: page.all("[aria-label='Entfernen: Bild 1']"), "it is not in German")
    page.click("#language option[value=en]")
    page.until(lambda: page.all("[aria-label='Remove: Picture 1']"), "it is not in English")
    page.click("#model option[value=blind]")
    word = "This model takes no pictures. Left out: 1"
    page.until(lambda: page.element("left-out").text == word, "no word")
    assert not page.element("pictures").is_displayed()
    page.ask("What is this?")
    assert server.requests[0]["messages"][0]["content"] == "What is this?"
    assert not page.element("left-out").is_displayed()


def test_a_full_context_is_shown_and_the_user_drops_messages(page: Page, server: Scripted) -> None:
    page.set("context", 140)
    page.ask("one " * 30)
    page.ask("two " * 30)
    page.ask("three " * 30)
    assert len(server.requests) == 2 and "its context has 140" in page.notice()
    assert len(page.bodies("user")) == 3
    page.click("#notice button")  # Drop the oldest messages
    page.until(lambda: len(server.requests) == 3, "nothing is sent")
    page.finish()
    sent = [message["content"].split()[0] for message in server.requests[2]["messages"]]
    assert sent == ["two", "Yes.", "three"]
    assert len(page.bodies("user")) == 3 and page.all("#chat article.dropped")
