# How every target of healer is compiled, and the check that no source file is forgotten.

define_property(TARGET PROPERTY HEALER_UNSHIPPED INHERITED)  # ON in the folders of tests
add_library(healer_options INTERFACE)
target_compile_options(healer_options INTERFACE -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion
                                                -Wnon-virtual-dtor -Woverloaded-virtual
                                                $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread;-Wno-array-bounds>
                                                -Wno-missing-field-initializers) # designated initialisers leave the defaults; g++ 12 warns wrongly of std::string (GCC bug 105651), with precompiled headers all the more
target_compile_definitions(healer_options INTERFACE HEALER_VERSION="${PROJECT_VERSION}")
# A precompiled header of clang keeps the times of all files it is made of, unless it is told not to: to a compiler cache
# every checkout would be another.
target_compile_options(healer_options INTERFACE $<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>)
# Libraries like programs (all of them end up in programs), so that one precompiled header serves both.
target_compile_options(healer_options INTERFACE -fPIE)
# Of several files compiled at a time g++ takes none for the main one, whose unnamed namespaces are its own business.
target_compile_options(healer_options INTERFACE $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${HEALER_UNITY}>>:-Wno-subobject-linkage>)
if(HEALER_WERROR)
  target_compile_options(healer_options INTERFACE -Werror)
endif()
if(HEALER_SANITIZE)
  # A report names the lines of what is tested, and of a test only the function: lines cost a seventh of the compiler's time.
  target_compile_options(healer_options INTERFACE -fsanitize=${HEALER_SANITIZE} -fno-omit-frame-pointer
                                                  $<IF:$<BOOL:$<TARGET_PROPERTY:HEALER_UNSHIPPED>>,-g0,-g1>)
  target_compile_options(healer_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>) # wrong of <regex> then
  target_link_options(healer_options INTERFACE -fsanitize=${HEALER_SANITIZE})
  # Programs of 150 MB each: the linker of LLVM takes a sixth of the time.
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=lld HEALER_HAS_LLD)
  if(HEALER_HAS_LLD)
    target_link_options(healer_options INTERFACE -fuse-ld=lld)
  endif()
  if(HEALER_SANITIZE MATCHES "undefined")
    # The vptr check asks the kernel for a pipe, and takes it for a bad object where descriptors have run out. A null
    # pointer faults by itself: its check costs a quarter of the compiler's time, and finds nothing more.
    target_compile_options(healer_options INTERFACE -fno-sanitize-recover=undefined -fno-sanitize=vptr,null)
    # That of alignment costs as much again. Where it is wanted, it is named: the fuzzers that run for long have it.
    if(NOT HEALER_SANITIZE MATCHES "alignment")
      target_compile_options(healer_options INTERFACE -fno-sanitize=alignment)
    endif()
  endif()
else()
  # What is shipped is built like this: a package's own build adds nothing, so that it shares the objects of `./start build`
  # through ccache, and both are the same. Line tables are for backtraces; they go into the package of debug symbols.
  # No path of the build folder is in what is compiled: it has the same bytes wherever it is built.
  set(hardened -D_FORTIFY_SOURCE=2 -fstack-protector-strong -Wformat -Werror=format-security -g1
               -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|i.86)$")
    list(APPEND hardened -fstack-clash-protection -fcf-protection)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|ppc64le|s390x)$")
    list(APPEND hardened -fstack-clash-protection)
  endif()
  target_compile_options(healer_options INTERFACE $<$<AND:$<CONFIG:Release>,$<NOT:$<BOOL:$<TARGET_PROPERTY:HEALER_UNSHIPPED>>>>:${hardened}>)
  target_link_options(healer_options INTERFACE $<$<CONFIG:Release>:-pie;-Wl,-z,relro;-Wl,-z,now;-Wl,--as-needed>)
endif()
# A root daemon ends rather than goes on with an element or a value that is not there.
target_compile_definitions(healer_options INTERFACE _GLIBCXX_ASSERTIONS)

# healer_sources(TARGET FILE...): adds the listed files of this folder to TARGET; a .cpp of the folder that is not
# listed is an error, so that nothing lies around unbuilt. Names after EXCEPT belong to another target.
function(healer_sources target)
  cmake_parse_arguments(ARG "" "" "EXCEPT" ${ARGN})
  file(GLOB present RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(REMOVE_ITEM present ${ARG_UNPARSED_ARGUMENTS} ${ARG_EXCEPT})
  if(present)
    message(SEND_ERROR "not listed in ${CMAKE_CURRENT_SOURCE_DIR}/CMakeLists.txt: ${present}")
  endif()
  list(TRANSFORM ARG_UNPARSED_ARGUMENTS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  target_sources(${target} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
endfunction()
