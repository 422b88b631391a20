# A toolchain file: x86-64 Windows without Visual Studio, by the Clang and the MinGW headers of the
# PyPI package `ziglang` (devtools/wheel/windows.py). The compilers are wrappers that know the target.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
# No check of undefined behaviour, which zig adds. <windows.h> defines no `min` and `max`.
set(CMAKE_CXX_FLAGS_INIT "-fno-sanitize=all -g0 -DNOMINMAX -DWIN32_LEAN_AND_MEAN")
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE NEVER)
