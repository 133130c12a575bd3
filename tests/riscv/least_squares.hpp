// What a unit of each of several counts takes, from observations of their sum: least squares.
#ifndef TLMALLOC_TESTS_RISCV_LEAST_SQUARES_HPP
#define TLMALLOC_TESTS_RISCV_LEAST_SQUARES_HPP

#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

struct observation {
    std::vector<double> counts;
    double sum;
};

// The coefficients of the counts, by the normal equations and elimination; the counts must be independent.
inline std::vector<double> least_squares(const std::vector<observation> &all) {
    BOOST_REQUIRE(!all.empty());
    const std::size_t n = all.front().counts.size();
    std::vector<std::vector<long double>> m(n, std::vector<long double>(n + 1));
    for (const observation &o : all)
        for (std::size_t i = 0; i < n; i++) {
            for (std::size_t j = 0; j < n; j++)
                m[i][j] += static_cast<long double>(o.counts[i]) * o.counts[j];
            m[i][n] += static_cast<long double>(o.counts[i]) * o.sum;
        }
    for (std::size_t i = 0; i < n; i++) {
        for (std::size_t row = i + 1; row < n; row++)
            if (std::fabs(m[row][i]) > std::fabs(m[i][i])) std::swap(m[row], m[i]);
        BOOST_REQUIRE_GT(std::fabs(m[i][i]), 1e-6L);
        for (std::size_t row = 0; row < n; row++)
            for (std::size_t column = n + 1; row != i && column-- > i;)
                m[row][column] -= m[i][column] * m[row][i] / m[i][i];
    }
    std::vector<double> result;
    for (std::size_t i = 0; i < n; i++)
        result.push_back(static_cast<double>(m[i][n] / m[i][i]));
    return result;
}

#endif
