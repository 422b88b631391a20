"""What a step of a model takes: the one list of its inputs.

The compiler makes the arguments of a library's functions from it, and the library's metadata names
those that it takes. The core's `Batch` has the values, and the code that runs a step binds them by
name. So a new input is a row here and the code that uses it: a layer that asks for it
(`Builder.asks`) and reads it from the batch, and the engine, which fills it.
"""

from __future__ import annotations

from codegen.rows import StepInput as Row

STEP_INPUTS = (
    Row("tokens", ("n",), "The token of each row.", when="tokens"),
    Row("positions", ("n",), "Of each row in its sequence."),
    Row("slots", ("n",), "Where its key and value go: page * page_size + offset."),
    Row("row_sequence", ("n",), "The sequence of each row, a number below b."),
    Row("page_indptr", ("b_plus_1",), "Where the pages of each sequence begin in `page_indices`."),
    Row("page_indices", ("p",), "The pages of all sequences, one sequence after another."),
    Row(
        "windowed_slots",
        ("n",),
        "The same as `slots`, in the pages of layers with a window, if these have their own.",
        when="windowed_pages",
    ),
    Row(
        "windowed_indices",
        ("p",),
        "The pages of layers with a window, as many as in `page_indices`; -1: no row reads it.",
        when="windowed_pages",
    ),
    Row(
        "token_types",
        ("n",),
        "The type of each row: of a first or of a second text.",
        when="token_types",
        unset=0,
    ),
    Row(
        "last_seen",
        ("n",),
        "The last position that each row sees. The rows of one picture may see each other.",
        when="rows_ahead",
        unset="positions",
    ),
    Row(
        "rotary",
        ("n", 3),
        "The positions of each row for rotations: time, height, width.",
        when="axes",
        unset="positions",
    ),
    Row(
        "adapter_rows",
        ("u",),
        "The rows that have adapters, each once for every group of 8 ranks of its adapters.",
        when="adapters",
    ),
    Row("adapter_groups", ("u",), "That group, in the pool of adapters.", when="adapters"),
    Row(
        "adapter_scales",
        ("u",),
        "By how much the group counts: the bits of a float32.",
        when="adapters",
    ),
    Row(
        "copy_source",
        ("c",),
        "Slots of this step's rows that branches of a token tree need in their own pages.",
        when="token_trees",
    ),
    Row("copy_destination", ("c",), "Where these slots are copied to.", when="token_trees"),
    Row(
        "windowed_copy_source",
        ("c",),
        "The same as `copy_source`, in the pages of layers with a window.",
        when="windowed_trees",
    ),
    Row(
        "windowed_copy_destination",
        ("c",),
        "The same as `copy_destination`, in the pages of layers with a window.",
        when="windowed_trees",
    ),
    Row(
        "state_source",
        ("b",),
        "The slot of the recurrent state from which each sequence goes on; -1: an empty state.",
        when="states",
        unset=-1,
    ),
    Row("row_indptr", ("b_plus_1",), "Where the rows of each sequence begin.", when="states"),
    Row(
        "state_writes",
        ("n",),
        "The slot for the recurrent state after each row; -1: it is not kept.",
        when="states",
        unset=-1,
    ),
    Row("logit_rows", ("m",), "The rows that want logits, ascending.", when="logits"),
    Row(
        "hidden_rows",
        ("h",),
        "The rows that want hidden states: after the last norm, and of the chosen layers.",
        when="hidden_states",
    ),
)
