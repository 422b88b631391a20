# What ik-llama-cpp-python lacks when its source package is built: a script that notes the commit,
# and where its libraries find each other.
set(CMAKE_INSTALL_RPATH "$ORIGIN")
set(common "${CMAKE_SOURCE_DIR}/vendor/ik_llama.cpp/common")
file(WRITE "${common}/cmake/build-info-gen-cpp.cmake" [[
set(BUILD_NUMBER 0)
set(BUILD_COMMIT unknown)
set(BUILD_COMPILER unknown)
set(BUILD_TARGET unknown)
configure_file(common/build-info.cpp.in common/build-info.cpp)
]])
