// A line of JSON, and the destinations of lines: a file, compressed or not, whose bytes depend only on the lines.
#ifndef TLMALLOC_PLATFORM_EVENTS_JSON_LINE_HPP
#define TLMALLOC_PLATFORM_EVENTS_JSON_LINE_HPP

#include "tlmalloc/base/status.h"

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <memory>
#include <string>

namespace tlmalloc {

// A text as JSON has it, with its quotation marks. Bytes that are no UTF-8 stand as \xNN, as in reports; `<`, `>` and
// `&` are escaped, so that whatever is put into a page stays text there.
std::string json_quoted(const char *text);

// value / unit, `unit` a power of ten, with all its digits, so that nothing is lost: 1500010 / 1000000 is 1.50001.
std::string as_decimal(std::uint64_t value, std::uint64_t unit);

// Values one after the other, with the commas between them.
class json_line {
  public:
    json_line &number(std::uint64_t value) { return raw(std::to_string(value)); }
    json_line &numbers(std::initializer_list<std::uint64_t> values) {
        for (const std::uint64_t value : values)
            number(value);
        return *this;
    }
    json_line &nothing() { return raw("null"); }
    json_line &truth(bool value) { return raw(value ? "true" : "false"); }
    // null for a null pointer.
    json_line &text(const char *value) { return value ? raw(json_quoted(value)) : nothing(); }
    json_line &text(const std::string &value) { return text(value.c_str()); }
    // A name that needs no escapes.
    json_line &key(const char *name) {
        separate();
        line_ += '"';
        line_ += name;
        line_ += "\":";
        fresh_ = true;
        return *this;
    }
    json_line &open(char bracket) {
        separate();
        line_ += bracket;
        fresh_ = true;
        return *this;
    }
    json_line &close(char bracket) {
        line_ += bracket;
        fresh_ = false;
        return *this;
    }
    const std::string &written() const { return line_; }

  private:
    json_line &raw(const std::string &value) {
        separate();
        line_ += value;
        return *this;
    }
    void separate() {
        if (!fresh_) line_ += ',';
        fresh_ = false;
    }
    std::string line_;
    bool fresh_ = true; // nothing stands before, of this list or object
};

// The same text makes the same file, gzip too (no date, no name).
class text_file {
  public:
    // On a file that is open for writing and stays the caller's. `compressed`: as gzip. Throws std::bad_alloc.
    text_file(std::FILE *out, bool compressed);
    ~text_file();
    text_file(const text_file &) = delete;
    text_file &operator=(const text_file &) = delete;

    // Errors of writing stay in the stream.
    void write(const std::string &text);

    // Writes the rest; nothing is written afterwards.
    void end();

    // Whether a name asks for gzip: it ends in .gz.
    static bool is_compressed(const char *path);

  private:
    struct stream;
    void deflate_to_file(const char *bytes, std::size_t count, bool last);

    std::FILE *const out_;
    std::unique_ptr<stream> stream_; // gzip
};

} // namespace tlmalloc
#endif
