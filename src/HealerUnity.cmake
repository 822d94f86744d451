# Several files compiled at a time, which takes a third less work: each file of a unit includes what the others have read
# already. Two files of a folder may then not give the same name to different things, unnamed namespace or not; those of
# the tests are namespaces of their own. That every file includes what it uses shows where HEALER_UNITY is OFF
# (`./start test tidy`).
#
# CMake's own unity builds name the files by absolute paths, so that what one checkout has compiled would serve no other
# one through ccache, and no package.

# healer_unity(SIZE TARGET...): compiles the files of each target in units of at most SIZE files of one folder
# of src and its rooms. A file that has flags of its own, or SKIP_UNITY_BUILD_INCLUSION, is compiled by itself. Called
# when all files have been added.
function(healer_unity size)
  if(NOT HEALER_UNITY)
    return()
  endif()
  foreach(target ${ARGN})
    get_target_property(sources ${target} SOURCES)
    get_target_property(home ${target} SOURCE_DIR)
    set(folders "")
    foreach(source ${sources})
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${home} NORMALIZE)
      set(alone FALSE)
      foreach(property COMPILE_OPTIONS COMPILE_DEFINITIONS SKIP_PRECOMPILE_HEADERS SKIP_UNITY_BUILD_INCLUSION)
        get_source_file_property(value ${source} TARGET_DIRECTORY ${target} ${property})
        if(value)
          set(alone TRUE)
        endif()
      endforeach()
      if(alone)
        continue()
      endif()
      cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
      string(REGEX MATCH "^[^/]+(/[^/]+)?/" folder ${source}) # src/engine and its rooms are one folder here
      string(REGEX REPLACE "/$" "" folder ${folder})
      if(NOT folder IN_LIST folders)
        list(APPEND folders ${folder})
        set(files_of_${folder} "")
      endif()
      list(APPEND files_of_${folder} ${source})
    endforeach()
    foreach(folder ${folders})
      healer_unity_of_folder(${size} ${target} ${folder} ${files_of_${folder}})
    endforeach()
  endforeach()
endfunction()

# The units of one folder, all of about one length, as build/unity/TARGET/FOLDER/NUMBER.cpp.
function(healer_unity_of_folder size target folder)
  list(LENGTH ARGN count)
  math(EXPR units "(${count} + ${size} - 1) / ${size}")
  math(EXPR last "${units} - 1")
  foreach(unit RANGE ${last})
    math(EXPR first "${count} * ${unit} / ${units}")
    math(EXPR length "${count} * (${unit} + 1) / ${units} - ${first}")
    list(SUBLIST ARGN ${first} ${length} files)
    list(TRANSFORM files REPLACE "(.+)" "#include \"\\1\"\n" OUTPUT_VARIABLE text)
    list(JOIN text "" text)
    set(path ${PROJECT_BINARY_DIR}/unity/${target}/${folder}/${unit}.cpp)
    file(CONFIGURE OUTPUT ${path} CONTENT "${text}" @ONLY)
    target_sources(${target} PRIVATE ${path})
  endforeach()
  list(TRANSFORM ARGN PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE sources)
  set_source_files_properties(${sources} TARGET_DIRECTORY ${target} PROPERTIES HEADER_FILE_ONLY ON)
endfunction()
