// Recordings and benchmark data that lie beside the repository (../shared) and are no part of it.
#ifndef TLMALLOC_TESTS_SHARED_DATA_HPP
#define TLMALLOC_TESTS_SHARED_DATA_HPP

#include <filesystem>
#include <iostream>
#include <string>

inline const std::string shared_data = TLMALLOC_SOURCE_DIR "/../shared/";

// Whether a folder of it is here. If not, says so in the words by which ctest counts a test as skipped: a test asks
// before it checks anything, and returns.
inline bool shared_data_is_here(const std::string &folder) {
    if (std::filesystem::is_directory(shared_data + folder)) return true;
    std::cout << "test skipped: ../shared/" << folder << " is not here" << std::endl;
    return false;
}

#endif
