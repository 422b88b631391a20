# The libraries of a wheel name source files, in messages about broken invariants, as the repository
# does: not by the folder in which they were built.
if(SKBUILD_STATE STREQUAL "wheel" AND NOT MSVC)
  include(PythonPackage)
  mlc_python_package_dir(tvm_ffi_dir tvm_ffi)
  get_filename_component(packages ${tvm_ffi_dir} DIRECTORY)
  foreach(folder ${packages} ${PROJECT_SOURCE_DIR} ${CMAKE_BINARY_DIR})
    add_compile_options(-fmacro-prefix-map=${folder}/=)
  endforeach()
endif()
