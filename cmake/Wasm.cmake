# A toolchain file: WebAssembly by Debian's `emscripten` (./dev build web). No threads, 32-bit addresses,
# exceptions of wasm itself. The page's half is TypeScript (bindings/web/runtime), so Emscripten's own
# JavaScript is not used. em++ and not clang++ --target=wasm32-unknown-emscripten: it adds
# -D_LIBCPP_ABI_VERSION=2, without which nothing links to its libc++.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(EMSCRIPTEN ON)
set(CMAKE_C_COMPILER emcc)
set(CMAKE_CXX_COMPILER em++)
set(CMAKE_AR emar CACHE FILEPATH "")
set(CMAKE_RANLIB emranlib CACHE FILEPATH "")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
# The same for what is compiled and what is linked. Every browser that can suspend a call has SIMD.
set(CMAKE_CXX_FLAGS_INIT "-fwasm-exceptions -msimd128")
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE NEVER)
