// The program unicorn_oracle, asked in one go.
#ifndef TLMALLOC_TESTS_RISCV_ORACLE_HPP
#define TLMALLOC_TESTS_RISCV_ORACLE_HPP

#include "scratch_directory.hpp"

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

// The bytes of anything as hexadecimal digits.
inline std::string hex_of(const void *from, std::size_t count) {
    static const char digits[] = "0123456789abcdef";
    const auto *const bytes = static_cast<const unsigned char *>(from);
    std::string text;
    for (std::size_t i = 0; i < count; i++) {
        text += digits[bytes[i] >> 4];
        text += digits[bytes[i] & 15];
    }
    return text;
}

// What the hash of `sum` is of these bytes.
inline std::uint64_t hash_of(const std::vector<unsigned char> &bytes) {
    std::uint64_t hash = 0xcbf29ce484222325;
    for (const unsigned char byte : bytes)
        hash = (hash ^ byte) * 0x100000001b3;
    return hash;
}

// The answers to lines of commands, each a line of numbers.
inline std::vector<std::vector<std::uint64_t>> ask_oracle(const std::string &commands) {
    const scratch_directory scratch;
    const std::string in = scratch.write("commands", commands), out = scratch.path("answers");
    BOOST_REQUIRE_EQUAL(std::system(("'" TLMALLOC_ORACLE "' <'" + in + "' >'" + out + "'").c_str()), 0);
    std::istringstream text(read_text(out));
    std::vector<std::vector<std::uint64_t>> answers;
    for (std::string line; std::getline(text, line);) {
        std::istringstream words(line);
        answers.emplace_back();
        for (std::uint64_t value; words >> std::hex >> value;)
            answers.back().push_back(value);
    }
    return answers;
}

#endif
