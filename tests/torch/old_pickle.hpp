// A value as protocols 0 and 1 of pickle write it, with a memo: by Python 3, or by Python 2 with its own texts.
#ifndef TLMALLOC_TESTS_TORCH_OLD_PICKLE_HPP
#define TLMALLOC_TESTS_TORCH_OLD_PICKLE_HPP

#include "tests/torch/recording.hpp"

#include <cmath>
#include <map>
#include <sstream>

namespace naive_torch {

class old_pickle {
    int version;
    bool python2;
    std::map<std::string, int> texts; // of the memo
    int next = 0;
    std::string out;

    void memo(char text, char binary, int number) {
        if (version == 0)
            out += text + std::to_string(number) + '\n';
        else if (number < 256)
            out += {binary, static_cast<char>(number)};
        else {
            out += binary == 'q' ? 'r' : 'j';
            little_endian(static_cast<u64>(number), 4, out);
        }
    }
    void put() { memo('p', 'q', next++); }

    void write(bool b) { out += b ? "I01\n" : "I00\n"; }
    void write(std::int64_t n) {
        const bool small = n >= -2147483648LL && n < 2147483648LL;
        if (version == 0 || !small)
            out += (small ? "I" : "L") + std::to_string(n) + (small ? "\n" : "L\n");
        else if (n >= 0 && n < 65536) {
            out += n < 256 ? 'K' : 'M';
            little_endian(static_cast<u64>(n), n < 256 ? 1 : 2, out);
        } else {
            out += 'J';
            little_endian(static_cast<u64>(n), 4, out);
        }
    }
    void write(double x) {
        if (version) {
            write_pickle(x, out);
            return;
        }
        std::ostringstream text;
        text.precision(17);
        text << x;
        out += 'F' + (std::isnan(x) ? "nan" : text.str()) + '\n';
    }
    void write_text(const std::string &text) {
        char escaped[16];
        if (version && python2) {
            out += text.size() < 256 ? 'U' : 'T';
            little_endian(text.size(), text.size() < 256 ? 1 : 4, out);
            out += text;
        } else if (version) {
            write_pickle(text, out);
        } else {
            out += python2 ? "S'" : "V";
            for (char c : text) { // ASCII only
                std::snprintf(escaped, sizeof escaped, python2 ? "\\x%02x" : "\\u%04x", c);
                out += c < 0x20 || c == '\\' || (python2 && c == '\'') ? std::string(escaped) : std::string(1, c);
            }
            out += python2 ? "'\n" : "\n";
        }
    }
    void write(const std::string &text) {
        if (const auto known = texts.find(text); known != texts.end()) {
            memo('g', 'h', known->second);
            return;
        }
        write_text(text);
        texts[text] = next;
        put();
    }
    void write(const value::list &items) {
        out += version ? "]" : "(l";
        put();
        if (version && !items.empty()) out += '(';
        for (const value &item : items) {
            write(item);
            if (!version) out += 'a';
        }
        if (version && !items.empty()) out += 'e';
    }
    void write(const value::dict &items) {
        out += version ? "}" : "(d";
        put();
        if (version && !items.empty()) out += '(';
        for (const auto &[key, item] : items) {
            write(key);
            write(item);
            if (!version) out += 's';
        }
        if (version && !items.empty()) out += 'u';
    }
    void write(std::nullptr_t) { out += 'N'; }
    void write(const value &v) {
        std::visit([this](const auto &is) { write(is); }, v.is);
    }

  public:
    old_pickle(int protocol, bool by_python2) : version(protocol), python2(by_python2) {}

    static std::string of(const value &v, int protocol, bool by_python2 = false) {
        old_pickle p(protocol, by_python2);
        p.write(v);
        return p.out + '.';
    }
};

} // namespace naive_torch

#endif
