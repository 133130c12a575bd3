// The value of a key in CCI (component cci): a text, which presets may also give as a whole number or a bool. For typed
// handles of parameters: cci::cci_param_typed_handle<tlmalloc::cci_text>.
#ifndef TLMALLOC_CCI_CCI_TEXT_HPP
#define TLMALLOC_CCI_CCI_TEXT_HPP

#include "tlmalloc/modules/systemc.hpp"

#include <cci_configuration>
#include <cmath>
#include <ostream>
#include <string>

namespace tlmalloc {

struct cci_text {
    std::string text;

    friend bool operator==(const cci_text &one, const cci_text &other) { return one.text == other.text; }
    friend bool operator!=(const cci_text &one, const cci_text &other) { return !(one == other); }
    friend std::ostream &operator<<(std::ostream &out, const cci_text &value) { return out << value.text; }
};

// The text of any value: its own, or that of JSON ("64", "true", "[1,2]"), which the key's reader judges. A text with a
// NUL has that of JSON too: no key accepts it, where the part before the NUL might be a value.
//
// A floating-point number that is whole has the text of the integer: some tools have no other numbers (Lua up to 5.2).
// Up to 2^53 such a number has one meaning; above, it may be another that was rounded, and has the text of JSON.
inline std::string text_of_cci_value(const ::cci::cci_value &value) {
    if (value.is_double()) {
        const double number = value.get_double();
        const bool whole = std::fabs(number) <= 0x1p53 && std::trunc(number) == number;
        if (whole) return std::to_string(static_cast<long long>(number));
    }
    if (!value.is_string()) return value.to_json();
    const std::string whole = value.get_string();
    return whole.find('\0') == std::string::npos ? whole : value.to_json();
}

} // namespace tlmalloc

namespace cci {

template <>
struct cci_value_converter<tlmalloc::cci_text> {
    typedef tlmalloc::cci_text type;
    static const bool enabled = true;
    static bool pack(cci_value::reference to, const type &from) {
        to.set_string(from.text);
        return true;
    }
    static bool unpack(type &to, cci_value::const_reference from) {
        to.text = tlmalloc::text_of_cci_value(cci_value(from));
        return true;
    }
};

} // namespace cci

#endif
