# mlc_python_package_dir(VARIABLE package): the folder of an installed Python package.
#
# Headers and libraries come out of PyPI packages (apache-tvm, apache-tvm-ffi, nlohmann-json), which
# are found without importing them: importing TVM takes seconds.
find_package(Python COMPONENTS Interpreter REQUIRED)

# The same, where the package may be missing: the variable is empty then.
function(mlc_find_python_package_dir variable package)
  execute_process(
    COMMAND ${Python_EXECUTABLE} -c
            "import importlib.util, pathlib; print(pathlib.Path(importlib.util.find_spec('${package}').origin).parent.as_posix(), end='')"
    OUTPUT_VARIABLE dir RESULT_VARIABLE failed ERROR_QUIET)
  if(failed)
    set(dir "")
  endif()
  set(${variable} ${dir} PARENT_SCOPE)
endfunction()

# A variable that is set already stays: a build for another machine names that machine's package.
function(mlc_python_package_dir variable package)
  if(${variable})
    return()
  endif()
  mlc_find_python_package_dir(dir ${package})
  if(NOT dir)
    message(FATAL_ERROR "The Python package '${package}' is missing from ${Python_EXECUTABLE}. "
                        "It is named in pyproject.toml, [build-system] requires: install those.")
  endif()
  set(${variable} ${dir} PARENT_SCOPE)
endfunction()
