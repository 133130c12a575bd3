// Instances of the MiniMalloc benchmark, which are not part of the project: read where they are at hand.
#ifndef TLMALLOC_TESTS_MINIMALLOC_INSTANCE_HPP
#define TLMALLOC_TESTS_MINIMALLOC_INSTANCE_HPP

#include "shared_data.hpp"
#include "tlmalloc/plan/plan.h"

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

inline bool minimalloc_is_here() {
    return shared_data_is_here("data/minimalloc");
}

// "A" to "K"; fails the test where it is missing: ask minimalloc_is_here first.
inline std::vector<tla_lifetime> minimalloc_instance(const std::string &name) {
    std::ifstream file(shared_data + "data/minimalloc/" + name + ".1048576.csv");
    std::vector<tla_lifetime> buffers;
    std::string line;
    std::getline(file, line); // id,lower,upper,size
    while (std::getline(file, line)) {
        std::istringstream fields(line);
        std::string id, lower, upper, size;
        std::getline(std::getline(std::getline(std::getline(fields, id, ','), lower, ','), upper, ','), size);
        buffers.push_back({std::stoull(lower), std::stoull(upper), std::stoull(size)});
    }
    BOOST_REQUIRE_MESSAGE(!buffers.empty(), "instance " << name << " of the MiniMalloc benchmark");
    return buffers;
}

#endif
