// Lines of JSON, and files of them.
#include "events/json_line.hpp"

#include "cli/config_json.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <zlib.h>

namespace tlmalloc {

std::string json_quoted(const char *text) {
    json_t *const value = json_from_text(text);
    char *const encoded = value ? json_dumps(value, JSON_ENCODE_ANY) : nullptr;
    json_decref(value);
    if (!encoded) throw std::bad_alloc();
    std::string result;
    for (const char *at = encoded; *at; at++) {
        if (*at == '<')
            result += "\\u003c";
        else if (*at == '>')
            result += "\\u003e";
        else if (*at == '&')
            result += "\\u0026";
        else
            result += *at;
    }
    std::free(encoded);
    return result;
}

std::string as_decimal(std::uint64_t value, std::uint64_t unit) {
    std::string text = std::to_string(value / unit);
    if (value % unit == 0) return text;
    text += "." + std::to_string(unit + value % unit).substr(1);
    return text.erase(text.find_last_not_of('0') + 1);
}

struct text_file::stream {
    stream() {
        // 16: as gzip, whose header then has neither a name nor a date.
        if (deflateInit2(&of_zlib, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) throw std::bad_alloc();
    }
    ~stream() { deflateEnd(&of_zlib); }
    stream(const stream &) = delete;
    stream &operator=(const stream &) = delete;
    z_stream of_zlib{};
};

text_file::text_file(std::FILE *out, bool compressed)
    : out_(out), stream_(compressed ? std::make_unique<stream>() : nullptr) {}

text_file::~text_file() = default;

bool text_file::is_compressed(const char *path) {
    const std::size_t length = std::strlen(path);
    return length >= 3 && std::strcmp(path + length - 3, ".gz") == 0;
}

void text_file::write(const std::string &text) {
    if (stream_)
        deflate_to_file(text.data(), text.size(), false);
    else
        std::fwrite(text.data(), 1, text.size(), out_);
}

void text_file::end() {
    if (!stream_) return;
    deflate_to_file(nullptr, 0, true);
    stream_.reset();
}

void text_file::deflate_to_file(const char *bytes, std::size_t count, bool last) {
    z_stream &z = stream_->of_zlib;
    std::array<unsigned char, 16384> room{};
    do { // zlib takes at most what an unsigned int can count
        const auto part = static_cast<uInt>(std::min<std::size_t>(count, 1u << 30));
        z.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes)); // zlib only reads them
        z.avail_in = part;
        do {
            z.next_out = room.data();
            z.avail_out = static_cast<uInt>(room.size());
            deflate(&z, last && part == count ? Z_FINISH : Z_NO_FLUSH);
            std::fwrite(room.data(), 1, room.size() - z.avail_out, out_);
        } while (z.avail_out == 0);
        bytes += part;
        count -= part;
    } while (count > 0);
}

} // namespace tlmalloc
