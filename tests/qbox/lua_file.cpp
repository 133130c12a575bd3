// Reads a configuration in Lua, as QBox does.
#include "lua_file.hpp"

#include <cctype>
#include <cmath>
#include <lua.hpp>
#include <memory>
#include <set>
#include <stdexcept>

namespace {

using values = std::map<std::string, qbox::lua_value>;

qbox::lua_value number_at_top(lua_State *lua) {
    if (lua_isinteger(lua, -1) && lua_tointeger(lua, -1) >= 0)
        return static_cast<std::uint64_t>(lua_tointeger(lua, -1));
    const double number = lua_tonumber(lua, -1);
    if (std::floor(number) != number || std::fabs(number) >= 0x1p63) return number;
    if (number < 0) return static_cast<std::int64_t>(number);
    return static_cast<std::uint64_t>(number);
}

// Adds the members of the table at the top of the stack, whose names begin with `prefix`.
void add_members(lua_State *lua, const std::string &prefix, const std::set<std::string> &but, values &found) {
    if (!lua_checkstack(lua, 4)) throw std::runtime_error(prefix + ": too many tables in one another");
    for (lua_pushnil(lua); lua_next(lua, -2); lua_pop(lua, 1)) {
        // lua_tolstring would change the key, which lua_next needs as it is.
        const bool in_a_list = lua_type(lua, -2) == LUA_TNUMBER;
        const std::string key = in_a_list ? std::to_string(lua_tointeger(lua, -2) - 1) : lua_tostring(lua, -2);
        if (prefix.empty() && but.count(key)) continue;
        const std::string name = prefix + key;
        switch (lua_type(lua, -1)) {
        case LUA_TBOOLEAN:
            found[name] = lua_toboolean(lua, -1) != 0;
            break;
        case LUA_TNUMBER:
            found[name] = number_at_top(lua);
            break;
        case LUA_TSTRING:
            found[name] = std::string(lua_tostring(lua, -1));
            break;
        case LUA_TTABLE:
            add_members(lua, name + ".", but, found);
            break;
        default:
            break;
        }
    }
}

std::set<std::string> globals_of(lua_State *lua) {
    std::set<std::string> names;
    lua_pushglobaltable(lua);
    for (lua_pushnil(lua); lua_next(lua, -2); lua_pop(lua, 1))
        names.insert(lua_tostring(lua, -2));
    lua_pop(lua, 1);
    return names;
}

} // namespace

values qbox::read_lua_file(const std::string &path) {
    const std::unique_ptr<lua_State, void (*)(lua_State *)> state(luaL_newstate(), lua_close);
    lua_State *const lua = state.get();
    if (!lua) throw std::bad_alloc();
    luaL_openlibs(lua);
    const std::set<std::string> of_lua = globals_of(lua);
    if (luaL_dofile(lua, path.c_str())) throw std::runtime_error(lua_tostring(lua, -1));
    values found;
    lua_pushglobaltable(lua);
    add_members(lua, "", of_lua, found);
    return found;
}

bool qbox::is_json(const std::string &value) {
    if (value.empty() || value == "true" || value == "false" || value == "null") return true;
    const char first = value[0];
    return first == '"' || first == '[' || first == '{' || first == '-' ||
           std::isdigit(static_cast<unsigned char>(first));
}
