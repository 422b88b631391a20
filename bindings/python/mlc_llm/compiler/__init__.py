"""The toolchain: model -> quantize -> convert -> compile. The only part that imports TVM."""
