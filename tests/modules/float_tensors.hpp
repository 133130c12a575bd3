// Numbers of tensors, as the host reads and writes them.
#ifndef TLMALLOC_TESTS_MODULES_FLOAT_TENSORS_HPP
#define TLMALLOC_TESTS_MODULES_FLOAT_TENSORS_HPP

#include "tlmalloc/modules/npu.hpp"

#include <boost/test/unit_test.hpp>
#include <vector>

inline std::vector<float> read_floats(tlmalloc::host &host, const tlmalloc::tensor *t, tla_error &error) {
    std::vector<float> numbers(t->nbytes / 4);
    BOOST_CHECK_EQUAL(host.read_tensor(*t, reinterpret_cast<std::uint8_t *>(numbers.data()), &error), TLA_OK);
    return numbers;
}

inline void write_floats(tlmalloc::host &host, const tlmalloc::tensor *t, const std::vector<float> &numbers,
                         tla_error &error) {
    BOOST_CHECK_EQUAL(host.write_tensor(*t, reinterpret_cast<const std::uint8_t *>(numbers.data()), &error), TLA_OK);
}

#endif
