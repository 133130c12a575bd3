// Reads a configuration in Lua by QBox's conventions.
#ifndef TLMALLOC_TESTS_QBOX_LUA_FILE_HPP
#define TLMALLOC_TESTS_QBOX_LUA_FILE_HPP

#include <cstdint>
#include <map>
#include <string>
#include <variant>

namespace qbox {

using lua_value = std::variant<bool, std::uint64_t, std::int64_t, double, std::string>;

// Runs the file, and returns the global variables that it sets. The names of members of tables are joined by dots;
// members of lists count from 0. A whole number is unsigned, or signed if it is negative. Functions are left out.
// Throws std::runtime_error with Lua's message for a file that cannot be read or run.
std::map<std::string, lua_value> read_lua_file(const std::string &path);

// As QBox reads the value of `-p NAME=VALUE`: text that begins like a number, or like a value of JSON, is JSON.
bool is_json(const std::string &value);

} // namespace qbox
#endif
