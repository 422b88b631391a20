"""Kotlin: `@Serializable` data classes, sealed interfaces and open words; typed route functions."""

from __future__ import annotations

from codegen import ir
from codegen.languages import common, helpers, kotlin_compatible
from codegen.languages.kotlin_declarations import Kotlin, member_name, name_of
from codegen.languages.kotlin_views import UnionView, View

__all__ = ["generate", "member_name"]

# What the generated files import, or find in their package.
TAKEN_TYPES = (
    "Boolean", "Calls", "Double", "EncodeDefault", "ExperimentalSerializationApi", "Flow", "Json",
    "JsonArray", "JsonElement", "JsonIgnoreUnknownKeys", "JsonObject", "JvmField", "JvmOverloads",
    "JvmStatic", "List", "Long", "Map", "OptIn", "ReceiveChannel", "Route", "SerialName",
    "Serializable", "String", "Tool", "ToolLoop", "ToolOutcome", "ToolResult", "ToolRun",
    "ToolRunEvent", "ToolsTexts", "UnionSerializer", "WholeRoute", "Word", "WordSerializer",
)  # fmt: skip
PACKAGE = "bindings/kotlin/core/src/main/kotlin/ai/mlc/mlcllm"
FOLDER = f"{PACKAGE}/generated"


def generate(protocol: ir.Protocol) -> dict[str, str]:
    """The files by their path in the repository; Kotlin has no formatter of its own."""
    language = Kotlin(common.by_name(protocol), _memberships(protocol))
    views = [language.view(d) for d in protocol.declarations]
    compatible = kotlin_compatible.views(protocol)
    routes = [
        kotlin_compatible.with_request(language.route(route), compatible)
        for route in protocol.routes
    ]
    calls = common.call_views(
        protocol, common.camel_case, lambda name: name_of(language.declarations[name])
    )
    names = [name for view in views for name in _declared(view)]
    names += [*(r.class_name for r in routes), *(f"{r.request}Builder" for r in routes)]
    common.check_distinct("Kotlin types", [*TAKEN_TYPES, "OpenAIProtocol", *names])
    stamp = common.stamp(protocol)
    return {
        f"{FOLDER}/Types.gen.kt": common.render("kotlin/types.kt.j2", stamp=stamp, views=views),
        f"{PACKAGE}/compat/OpenAIProtocol.gen.kt": common.render(
            "kotlin/compatible.kt.j2", stamp=stamp, views=compatible
        ),
        f"{FOLDER}/Routes.gen.kt": common.render(
            "kotlin/routes.kt.j2", stamp=stamp, routes=routes, calls=calls
        ),
        **{
            f"{FOLDER}/{common.pascal_case(helper.name)}.gen.kt": helpers.render(
                "kotlin/helper.kt.j2", protocol, helper, language.style(helper)
            )
            for helper in protocol.helpers
        },
    }


def _memberships(protocol: ir.Protocol) -> dict[str, list[str]]:
    """The unions that each declared type is a member of, and so implements."""
    found: dict[str, list[str]] = {}
    for union in protocol.declarations:
        for variant in union.variants if isinstance(union, ir.Union) else ():
            if isinstance(variant.type, ir.Ref):
                found.setdefault(variant.type.name, []).append(name_of(union))
    return found


def _declared(view: View) -> list[str]:
    """The names of the public types that a view declares."""
    if not isinstance(view, UnionView):
        return [view.name]
    return [view.name, *(v.name for v in view.variants if v.wrapped), f"{view.name}Unknown"]
