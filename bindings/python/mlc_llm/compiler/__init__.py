"""The toolchain: model -> quantize -> convert -> compile. Only this package imports TVM."""
