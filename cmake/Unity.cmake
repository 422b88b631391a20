# Unity builds: a few files are compiled as one, so that the headers which they share are read, and
# the templates of the standard library compiled, once for all of them. It takes a third of the
# CPU time. MLC_UNITY=OFF compiles each file by itself; this must keep working.
option(MLC_UNITY "Compile several source files of a folder as one" ON)

# mlc_unity(TARGET count): files of one folder, at most `count` of them, are one unit. A file with
# options of its own stays alone.
function(mlc_unity target count)
  get_target_property(sources ${target} SOURCES)
  set(folders)
  foreach(source ${sources})
    get_filename_component(folder ${source} DIRECTORY)
    get_filename_component(folder ${folder} ABSOLUTE)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
    string(MAKE_C_IDENTIFIER ${folder} folder)
    list(APPEND folders ${folder})
    list(APPEND files_of_${folder} ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    list(LENGTH files_of_${folder} length)
    math(EXPR units "(${length} + ${count} - 1) / ${count}")
    set(index 0)
    foreach(source ${files_of_${folder}})  # units of equal size
      math(EXPR unit "${index} * ${units} / ${length}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${folder}_${unit}")
      math(EXPR index "${index} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${MLC_UNITY} UNITY_BUILD_MODE GROUP)
  if(MLC_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    # It takes a unit's files for headers, where a type of an unnamed namespace would be a mistake.
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# mlc_test_units(VARIABLE count): puts units of about `count` files in place of the files of tests in
# the variable (test_units.py): most of the code of a test is templates that its neighbours have too.
function(mlc_test_units variable count)
  if(NOT MLC_UNITY)
    return()
  endif()
  set(script ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/test_units.py)
  set(folder ${CMAKE_BINARY_DIR}/test_units)
  list(LENGTH ${variable} length)
  math(EXPR last "(${length} - 1) / ${count}")
  set(units "")
  foreach(number RANGE ${last})
    list(APPEND units ${folder}/unit_${number}.cc)
  endforeach()
  list(LENGTH units number)
  add_custom_command(OUTPUT ${units} DEPENDS ${script} ${${variable}}
    COMMAND ${Python_EXECUTABLE} ${script} ${number} ${folder} ${${variable}}
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR} VERBATIM)
  set(${variable} ${units} PARENT_SCOPE)
endfunction()
