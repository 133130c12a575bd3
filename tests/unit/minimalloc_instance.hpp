// Instances of the MiniMalloc benchmark, which are not part of the project: read where they are at hand.
#ifndef TLMALLOC_TESTS_MINIMALLOC_INSTANCE_HPP
#define TLMALLOC_TESTS_MINIMALLOC_INSTANCE_HPP

#include "tlmalloc/lifetime_plan.h"

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

// "A" to "K"; empty, with a message, where the data is missing.
inline std::vector<tla_lifetime> minimalloc_instance(const std::string &name) {
    std::ifstream file(TLMALLOC_SOURCE_DIR "/../shared/data/minimalloc/" + name + ".1048576.csv");
    std::vector<tla_lifetime> buffers;
    std::string line;
    std::getline(file, line); // id,lower,upper,size
    while (std::getline(file, line)) {
        std::istringstream fields(line);
        std::string id, lower, upper, size;
        std::getline(std::getline(std::getline(std::getline(fields, id, ','), lower, ','), upper, ','), size);
        buffers.push_back({std::stoull(lower), std::stoull(upper), std::stoull(size)});
    }
    if (buffers.empty()) BOOST_TEST_MESSAGE("skipped: instance " << name << " of the MiniMalloc benchmark is not here");
    return buffers;
}

#endif
