"""The Debian packages that `./dev` installs: what shows that one is there, and its name.

A key is a program or the path of a file.
"""

from __future__ import annotations

import platform

COMPILER = {"g++": "g++"}
# What unpacks the sources of the decoders of pictures (cmake/picture_sources.py).
SOURCES = {"dpkg-source": "dpkg-dev"}
TEST_BUILD = {"/usr/include/gtest/gtest.h": "libgtest-dev"}
# Without them the tests of the Kotlin binding are skipped.
KOTLIN_TESTS = {"javac": "openjdk-17-jdk-headless", "/usr/share/java/junit4.jar": "junit4"}
# Without them kernels for ARM are compiled but not run.
ARM_TESTS = {
    "qemu-aarch64": "qemu-user",
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu",
    "/usr/aarch64-linux-gnu/lib/libc.so": "libc6-dev-arm64-cross",
}
# Without them the OpenCL backend is not built. Its tests need a driver (PoCL: the CPU as a device).
OPENCL_BUILD = {"/usr/include/CL/cl.h": "opencl-headers"}
OPENCL_TESTS = {
    f"/usr/lib/{platform.machine()}-linux-gnu/libOpenCL.so.1": "ocl-icd-libopencl1",
    "/etc/OpenCL/vendors/pocl.icd": "pocl-opencl-icd",
}
# Without a Vulkan driver (lavapipe: the CPU as a device) the tests of the WebGPU backend are
# skipped.
VULKAN_TESTS = {
    f"/usr/lib/{platform.machine()}-linux-gnu/libvulkan.so.1": "libvulkan1",
    f"/usr/share/vulkan/icd.d/lvp_icd.{platform.machine()}.json": "mesa-vulkan-drivers",
}
# Without them there is no engine for browsers, and its tests are skipped.
WEB = {"em++": "emscripten"}
# What compiles the wheel for the other CPU.
OTHER_CPU = {"aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu"}
# What `./dev app android` builds an APK with; devtools/apk downloads the rest.
APK = {
    "aapt2": "aapt",
    "zipalign": "zipalign",
    "apksigner": "apksigner",
    "/usr/share/android-framework-res/framework-res.apk": "android-framework-res",
}
# They are large, so only `./dev test --long` installs them.
LONG_TESTS = {
    # For the server's page and the browser's engine.
    "chromium": "chromium",
    "chromedriver": "chromium-driver",
    # Letters of the languages that the pictures of the Android app's screens show.
    "fc-list": "fontconfig",
    "/usr/share/fonts/truetype/noto/NotoSansArabic-Regular.ttf": "fonts-noto-core",
    "/usr/share/fonts/truetype/droid/DroidSansFallbackFull.ttf": "fonts-droid-fallback",
    # Maven's resolver reads the folder that `./dev build android` makes.
    "/usr/share/maven/lib/maven-resolver-impl.jar": "maven",
    # Runs the core and its tests for Windows.
    "/usr/lib/wine/wine64": "wine64",
}
FUZZING = {
    "clang++-14": "clang-14",
    "/usr/lib/llvm-14/lib/clang/14.0.6/lib/linux/libclang_rt.fuzzer-x86_64.a": "libclang-rt-14-dev",
}
