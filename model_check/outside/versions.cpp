// What the figures of README.md depend on, in each program: table_test.py reads it there. moodycamel's headers carry no version.
#if __has_include(<boost/version.hpp>)
#include <boost/version.hpp>
#else
#define BOOST_LIB_VERSION "none"
#endif
#if __has_include(<tbb/version.h>)
#include <tbb/version.h>
#endif

#define TEXT_OF(value) #value
#define TEXT(value) TEXT_OF(value)

namespace {
[[gnu::used]] const char made_with[] = "made with g++ " TEXT(__GNUC__) "." TEXT(__GNUC_MINOR__) ", Boost " BOOST_LIB_VERSION
    ", oneTBB " TEXT(TBB_VERSION_MAJOR) "." TEXT(TBB_VERSION_MINOR) ";";
}  // namespace
