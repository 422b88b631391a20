"""Compiles a model's configuration to a model library on disk.

    compile_model(json.load(open("mlc-chat-config.json")), output=Path("model.so"))

It reads no weights, because they are arguments of the library. The output is written as a whole or
not at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlc_llm.compiler import archive, hosts, kv_cache, models, targets
from mlc_llm.compiler import quantization as schemes
from mlc_llm.compiler.drafts import draft_of
from mlc_llm.compiler.models import mlc_folders, towers
from mlc_llm.compiler.models.config_reader import LIMITS, ConfigReader
from mlc_llm.compiler.options import OptimizationFlags, merged_config, notes, parse_overrides
from mlc_llm.compiler.seal import seal_file, sealed
from mlc_llm.compiler.trailer import as_wasm_section, trailer
from mlc_llm.compiler.variants import Variant, by_speed, pack
from mlc_llm.errors import (
    CorruptFileError,
    InvalidRequestError,
    MLCError,
    NotFoundError,
    ResourceError,
    UnsupportedError,
)
from mlc_llm.package import android
from mlc_llm.prepare import linker, wasm_linker, windows_linker
from mlc_llm.prepare.temporary_files import remove_leftovers, scratch_folder

if TYPE_CHECKING:
    from mlc_llm.compiler.library import LibrarySpec

CONFIG_NAME = "mlc-chat-config.json"
_SHARED = (".so", ".dylib", ".dll", ".wasm")
_DEFAULT_OPT = "O2"

Progress = Callable[[str], None]
Link = Callable[[Path, Sequence[str]], object]  # output, object files


def read_chat_config(model: Path) -> dict[str, Any]:
    """The mlc-chat-config.json of a folder, or that file itself."""
    path = model / CONFIG_NAME if model.is_dir() else model
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFoundError(
            f"{path} does not exist: give an -MLC folder or its {CONFIG_NAME}", param="model"
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise CorruptFileError(f"{path}: {error}", param="model") from None
    if not isinstance(config, dict):
        raise CorruptFileError(f"{path}: not a JSON object", param="model")
    return config


def compile_model(
    config: Mapping[str, Any],
    *,
    output: Path,
    quantization: str | None = None,
    model_type: str | None = None,
    device: str = "auto",
    host: str | None = None,
    opt: str = _DEFAULT_OPT,
    system_lib_prefix: str | None = None,
    overrides: str | None = None,
    kv_cache_dtype: str | None = None,
    adapters: bool = False,
    layer_states: bool = False,
    passes: Path | None = None,
    dump: Path | None = None,
    progress: Progress = lambda phase: None,
) -> None:
    """Compiles the library of a model; `config` is the content of its mlc-chat-config.json.

    `passes`: a file that changes the passes; `dump`: a folder for what each has made. `device` may
    list several presets; then the library has a variant for each CPU. An output that ends in .tar
    or .a is a static archive (`archive.py`).
    """
    is_static = _check_output(output, system_lib_prefix)
    devices = [hosts.on_host(one, host) for one in targets.resolve_all(device)]
    prefix = None
    if is_static:
        prefix = archive.prefix_of(
            system_lib_prefix,
            model_type=model_type or _text(config, "model_type"),
            quantization=quantization or _text(config, "quantization"),
        )
    _check_linking(output, devices, is_static)
    link = None if is_static else _linker(devices)  # checked before the work, not after it
    variants = []
    for one in devices:
        spec = library_spec(
            config,
            quantization=quantization,
            model_type=model_type,
            device=one,
            overrides=overrides,
            opt=opt,
            kv_cache_dtype=kv_cache_dtype,
            adapters=adapters,
            layer_states=layer_states,
        )
        for line in notes(opt, one) if opt != _DEFAULT_OPT else ():
            progress(line)
        given = parse_overrides(overrides)
        if why := _shards_not_used(config, given, one, adapters=adapters):
            progress(f"one shard, not the config's tensor_parallel_shards: {why} has one")
        folder = dump if dump is None or len(devices) == 1 else dump / one.name
        executable = _build(spec, prefix, passes, folder, progress)
        progress("archive" if is_static else "link")
        data = _linked(executable, output, prefix, link)
        variants.append(Variant(one.name, one.cpu_features(), data))
    data = variants[0].data if len(variants) == 1 else pack(by_speed(variants))
    if output.suffix == ".wasm":
        data = as_wasm_section(data)
    _write(data, b"" if is_static else trailer(data), output)


def _build(
    spec: LibrarySpec,
    prefix: str | None,
    passes: Path | None,
    dump: Path | None,
    progress: Progress,
) -> Any:
    from mlc_llm.compiler import changes, library, pipeline
    from mlc_llm.compiler.pass_record import PassRecord

    progress("model")
    chosen, record = pipeline.Pipeline(spec.device), PassRecord(dump)
    is_changed = changes.apply(chosen, passes)
    change = partial(chosen.run, pipeline.MODEL, record=record) if is_changed or dump else None
    family = models.get(mlc_folders.text_type(spec.model_type))
    with changes.blamed(is_changed):
        module = library.build_module(spec, family, change)
        if prefix is not None:
            module = module.with_attr("system_lib_prefix", prefix)
        return pipeline.build(
            module, spec.device, pipeline=chosen, record=record, progress=progress
        )


def library_spec(
    config: Mapping[str, Any],
    *,
    quantization: str | None = None,
    model_type: str | None = None,
    device: str | targets.Device | targets.GPU = "auto",
    overrides: str | None = None,
    opt: str = _DEFAULT_OPT,
    kv_cache_dtype: str | None = None,
    adapters: bool = False,
    layer_states: bool = False,
) -> LibrarySpec:
    """Combines the options and the configuration. `layer_states`: a step can give the rows after
    each layer."""
    from mlc_llm.compiler import shards
    from mlc_llm.compiler.library import LibrarySpec

    flags = OptimizationFlags.parse(opt)
    name = model_type or _text(config, "model_type")
    device = flags.applied_to(targets.resolve(device) if isinstance(device, str) else device)
    given = parse_overrides(overrides)
    if _shards_not_used(config, given, device, adapters=adapters):
        given = {**given, "tensor_parallel_shards": 1}
    merged = merged_config(config, given)
    typed = models.get(mlc_folders.text_type(name)).config_class.from_dict(merged)
    theirs = mlc_folders.is_theirs(config)
    if theirs and getattr(typed, "num_mtp_layers", 0):  # their converter drops the layer
        typed = replace(typed, num_mtp_layers=0)
    read = ConfigReader(merged)
    chunk = min(2048, typed.context_window_size)
    draft = draft_of(config)
    if draft is not None:
        draft.check(typed)
    return LibrarySpec(
        model_type=name,
        made_by_mlc_llm=theirs,
        config=typed,
        scheme=_scheme(config, quantization or _text(config, "quantization")),
        device=device,
        prefill_chunk_size=_size(read, "prefill_chunk_size", chunk),
        max_batch_size=_size(read, "max_batch_size", 128),
        activation_bits=_activation_bits(config, opt, flags),
        kv_cache_dtype=kv_cache.checked(
            kv_cache_dtype or str(config.get("kv_cache_dtype") or kv_cache.AUTO)
        ),
        hidden_layers=tuple(range(typed.num_hidden_layers)) if layer_states else (),
        adapters=adapters,
        tower=None if theirs else towers.spec_of(merged, typed.hidden_size),
        draft=draft,
        draft_vocab_size=read.integer("draft_vocab_size", default=0, minimum=0),
        shards=read.integer("tensor_parallel_shards", default=1, maximum=shards.MOST),
    )


def _size(read: ConfigReader, name: str, default: int) -> int:
    return read.integer(name, default=default, maximum=LIMITS[name])


def _shards_not_used(
    config: Mapping[str, Any],
    given: Mapping[str, int],
    device: targets.Device | targets.GPU,
    *,
    adapters: bool,
) -> str:
    """Why the number of shards in the folder is not used; "": it is used. Another program may have
    written it, and what the user asks for counts more."""
    from mlc_llm.compiler.shards import hindrance

    name = "tensor_parallel_shards"
    if name in given or merged_config(config, {}).get(name) in (None, 1):
        return ""
    if mlc_folders.is_theirs(config):
        return "a folder that MLC-LLM's converter made"
    if config.get("pictures") is not None:
        return "a model that takes pictures"
    return hindrance(device, adapters=adapters)


def _scheme(config: Mapping[str, Any], quantization: str) -> schemes.Scheme:
    found = schemes.get(quantization, weight_types=config.get("weight_types"))
    return schemes.with_tower(found, config.get(schemes.TOWER))


def _activation_bits(config: Mapping[str, Any], opt: str, flags: OptimizationFlags) -> int:
    """The value of --opt; otherwise that of the model's config."""
    asked = config.get("activation_bits")
    return asked if "activation_bits" not in opt and asked in (8, 16, 32) else flags.activation_bits


def _text(config: Mapping[str, Any], name: str) -> str:
    value = config.get(name)
    if not isinstance(value, str):
        raise CorruptFileError(f"config: {name} is missing", param=name)
    return value


def _check_output(output: Path, system_lib_prefix: str | None) -> bool:
    """Checks the output. Returns whether it is a static archive."""
    is_static = output.suffix in archive.SUFFIXES
    if not is_static and output.suffix not in _SHARED:
        offered = ", ".join((*_SHARED, *archive.SUFFIXES))
        raise InvalidRequestError(f"{output}: a model library ends in {offered}", param="output")
    if system_lib_prefix not in (None, "", "auto") and not is_static:
        raise InvalidRequestError(
            "--system-lib-prefix is for static libraries (.tar, .a)", param="system_lib_prefix"
        )
    if output.is_dir():
        raise InvalidRequestError(f"{output} is a folder", param="output")
    return is_static


def _check_linking(
    output: Path, devices: list[targets.Device | targets.GPU], is_static: bool
) -> None:
    if is_static and len(devices) > 1:
        raise InvalidRequestError(
            f"{output}: a static library is for one CPU; give one --device", param="device"
        )
    _check_ending(output, devices[0], is_static)
    if len(devices) > 1 and hosts.is_windows(devices[0]):
        raise UnsupportedError(
            f"{output}: a library for Windows is for one CPU; give one --device", param="device"
        )
    if hosts.is_wasm(devices[0]) or hosts.is_windows(devices[0]):
        return
    abis = {hosts.android_abi(one) for one in devices}
    foreign = [one.name for one in devices if hosts.is_foreign(one)]
    if foreign and (None in abis or len(abis) > 1) and not is_static and "CXX" not in os.environ:
        raise UnsupportedError(
            f"{output}: this machine's linker makes no shared library for {foreign[0]}; give an "
            "output that ends in .tar or .a, or name a cross compiler in CXX (for Android "
            "`pip install ziglang` is enough)",
            param="output",
        )


def _check_ending(output: Path, device: targets.Device | targets.GPU, is_static: bool) -> None:
    for ending, system, is_its, options in (
        (".wasm", "browsers", hosts.is_wasm(device), "--device webgpu --host wasm32, or with "
         "--device wasm for browsers without WebGPU"),
        (".dll", "Windows", hosts.is_windows(device), "--device windows"),
    ):  # fmt: skip
        if output.suffix == ending and not is_its:
            raise InvalidRequestError(
                f"{output}: {ending} is for {system}; compile with {options}", param="output"
            )
        if is_its and output.suffix != ending and not (is_static and hosts.is_wasm(device)):
            raise InvalidRequestError(
                f"{output}: a library for {system} ends in {ending}", param="output"
            )


def _linker(devices: list[targets.Device | targets.GPU]) -> Link:
    """What links a shared library for the devices. Raises MLCError if it is not here."""
    if hosts.is_wasm(devices[0]):
        wasm = wasm_linker.require()
        return lambda output, objects: linker.link(wasm, output, objects)
    if hosts.is_windows(devices[0]):
        lld = windows_linker.require()
        return lambda output, objects: windows_linker.link(lld, output, objects)
    abi = hosts.android_abi(devices[0])
    if abi is not None and "CXX" not in os.environ:
        android.require_linker()
        return lambda output, objects: android.link(output, objects, abi=abi)
    found = linker.require()
    return lambda output, objects: linker.link(found, output, objects)


def _linked(executable: Any, output: Path, prefix: str | None, join: Link | None) -> bytes:
    """The shared object or archive. It is made in a folder beside the output."""
    with _writing(output) as folder:
        linked = folder / output.name

        def link(name: str, objects: list[str], **_: Any) -> None:
            assert join is not None
            join(Path(name), [*objects, *seal_file(folder, objects)])

        if prefix is not None:
            return archive.write(executable, prefix, output, folder)
        try:
            executable.export_library(str(linked), fcompile=link, workspace_dir=str(folder))
        except (OSError, MLCError):
            raise
        except Exception as error:  # TVM's error if it cannot write the object files
            raise linker.failure(linked, str(error)) from error
        return sealed(linked.read_bytes())


def _write(data: bytes, end: bytes, output: Path) -> None:
    """Writes the library and what follows it. The output is written as a whole or not at all."""
    with _writing(output) as folder:
        file = folder / output.name
        with file.open("wb") as out:
            out.write(data + end)
            out.flush()
            os.fsync(out.fileno())
        file.chmod(0o755)
        file.replace(output)


@contextmanager
def _writing(output: Path) -> Iterator[Path]:
    """A folder beside `output`. Errors of the file system name the option."""
    try:
        remove_leftovers(output.parent, output.name)
        with scratch_folder(output) as folder:
            yield folder
    except OSError as error:
        raise ResourceError(f"{output}: {error.strerror or error}", param="output") from None
