// Reads event logs row by row into columns.
#include "report/event_columns.hpp"

#include "tlmalloc/base/time_account.h"
#include "trace/gzip.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>
#include <map>
#include <vector>
#include <zlib.h>

namespace tlmalloc {

namespace {

using json_pointer = std::unique_ptr<json_t, decltype(&json_decref)>;

constexpr std::size_t line_bytes_max = std::size_t{64} << 20, part_bytes = std::size_t{1} << 17, blanks_max = 1000;
constexpr std::int64_t largest = (std::int64_t{1} << 53) - 2; // plus one is exact in a browser's numbers

struct column {
    std::string name;
    std::size_t place = 0; // in rows of the log
    bool is_text = false;
    std::int64_t limit = 0; // values are less, where they are numbers of a name; 0: any
    std::string bytes;
    std::int64_t before = 0;

    void add(std::int64_t value) {
        const std::int64_t difference = value - before;
        std::uint64_t left = difference < 0 ? 2 * static_cast<std::uint64_t>(-difference) + 1
                                            : 2 * static_cast<std::uint64_t>(difference);
        before = value;
        for (; left > 127; left >>= 7)
            bytes += static_cast<char>(left | 128);
        bytes += static_cast<char>(left);
    }
};

struct table {
    std::vector<column> columns;
    std::uint64_t rows = 0;
};

// The columns that pages show, for each kind of row, by the log's names.
const std::map<std::string, std::vector<const char *>> wanted{
    {"memory",
     {"module", "op", "arrival", "start", "done", "sender", "correlation", "status", "service", "channel", "object",
      "address", "bytes", "block", "free", "largest", "free_blocks"}},
    {"move",
     {"module", "by", "begin", "freed", "block", "bytes", "channel", "to_channel", "to_address", "free", "largest",
      "free_blocks"}},
    {"stop", {"module", "begin", "end"}},
    {"mapping", {"module", "op", "arrival", "start", "done", "sender", "correlation", "status", "request", "ranges"}},
    {"launch", {"module", "op", "arrival", "done", "correlation", "status", "began", "took"}},
    {"access", {"module", "what", "at", "va", "bytes", "access"}},
    {"interval", {"who", "kind", "begin", "end", "place", "unit"}},
    {"transfer",
     {"pe", "engine", "start", "end", "bytes", "status", "for_message", "address", "physical", "block", "tile_block",
      "memories"}},
    {"message", {"from", "to", "bytes", "sent", "received"}},
    {"tensor", {"object", "name", "va", "bytes"}}};

// Kinds that not all logs have.
const char *const sometimes[] = {"move", "stop"};

// Lists of lists become tables of their own.
const char *const range_columns[] = {"number", "va", "pa", "bytes"};
const char *const load_columns[] = {"link", "bucket", "bytes", "messages", "busy", "waited"};

class reader {
  public:
    reader(const char *path, tla_error *error) : path_(path), error_(error) {}

    tla_status read(event_columns *out);

  private:
    template <typename... Arguments>
    tla_status wrong(const char *format, Arguments... arguments) {
        char text[300];
        std::snprintf(text, sizeof text, format, arguments...);
        return tla_error_set(error_, TLA_SYNTAX, "%.200s:%" PRIu64 ": %s", path_, line_, text);
    }

    tla_status fill();
    tla_status next_line(std::string *line);
    tla_status read_header(const std::string &line, json_t *head);
    tla_status read_row(const std::string &line, json_t *head);
    tla_status add_row(const char *kind, const json_t *row);
    tla_status add_ranges(const json_t *row);
    tla_status add_loads(const json_t *row);
    tla_status value_of(const json_t *value, std::int64_t *out);
    std::int64_t number_of_text(const char *text);
    void make_lists();
    tla_status check_names(const json_t *head);
    column column_of(const char *name, std::size_t place) const;
    tla_status check(const column &c, const char *kind, const json_t *value, std::int64_t number);
    void describe(json_t *head) const;
    tla_status compress(std::string *out) const;

    const char *const path_;
    tla_error *const error_;
    std::unique_ptr<gzip_file, decltype(&gzip_close)> file_{nullptr, &gzip_close};
    std::string part_; // of the text, from next_ on not taken
    std::size_t next_ = 0;
    std::uint64_t line_ = 0;
    bool has_end_ = false;   // the row
    std::size_t blanks_ = 0; // lines behind it
    bool is_at_end_ = false; // of the file
    std::int64_t pes_ = 0, modules_ = 0, nodes_ = 0, links_ = 0;
    std::map<std::string, table> tables_;
    std::map<std::string, std::int64_t> texts_;
    std::vector<std::string> text_list_;
};

// More bytes of the text, or none at its end.
tla_status reader::fill() {
    std::size_t got = 0;
    part_.resize(part_bytes);
    next_ = 0;
    tla_error why{};
    const tla_status status = gzip_read(file_.get(), part_.data(), part_.size(), &got, &why);
    part_.resize(status ? 0 : got);
    return status ? tla_error_set(error_, status, "%s", why.text) : TLA_OK;
}

// Without its newline, or is_at_end_.
tla_status reader::next_line(std::string *line) {
    line->clear();
    line_++;
    for (;;) {
        if (next_ == part_.size())
            if (const tla_status status = fill()) return status;
        if (part_.empty()) break;
        const std::size_t newline = part_.find('\n', next_);
        const std::size_t end = newline == std::string::npos ? part_.size() : newline;
        line->append(part_, next_, end - next_);
        next_ = std::min(end + 1, part_.size());
        if (line->size() > line_bytes_max)
            return tla_error_set(error_, TLA_LIMIT, "%.200s:%" PRIu64 ": line longer than the limit of %zu bytes",
                                 path_, line_, line_bytes_max);
        if (newline != std::string::npos) return TLA_OK;
    }
    is_at_end_ = line->empty();
    return is_at_end_ ? TLA_OK
                      : wrong("%s", "incomplete line: the log is truncated; run again to write a complete log");
}

std::int64_t reader::number_of_text(const char *text) {
    const auto [found, is_new] = texts_.emplace(text, static_cast<std::int64_t>(text_list_.size()));
    if (is_new) text_list_.emplace_back(text);
    return found->second;
}

tla_status reader::value_of(const json_t *value, std::int64_t *out) {
    if (json_is_array(value)) value = json_array_get(value, 0); // of several memories the first
    if (!value || json_is_null(value))
        *out = 0;
    else if (json_is_string(value))
        *out = number_of_text(json_string_value(value)) + 1;
    else if (json_is_boolean(value))
        *out = json_is_true(value) + 1;
    else if (json_is_integer(value) && json_integer_value(value) >= 0)
        *out = 1 + std::min<std::int64_t>(json_integer_value(value), largest);
    else if (json_is_real(value) && json_real_value(value) >= 0)
        *out = static_cast<std::int64_t>(std::min(json_real_value(value), static_cast<double>(largest))) + 1;
    else
        return wrong("%s", "found an invalid value, expected a text or a number from 0 on");
    return TLA_OK;
}

tla_status reader::read_header(const std::string &line, json_t *head) {
    const json_pointer header(json_loadb(line.data(), line.size(), JSON_REJECT_DUPLICATES, nullptr), &json_decref);
    const char *const format = json_string_value(json_object_get(header.get(), "format"));
    if (!format || std::strcmp(format, "tlmalloc events") != 0)
        return wrong("%s", "found no event log header, expected a log that `tlmalloc run --events' wrote");
    if (json_integer_value(json_object_get(header.get(), "version")) != 1)
        return wrong("found an event log of version %" JSON_INTEGER_FORMAT ", expected 1: run again",
                     json_integer_value(json_object_get(header.get(), "version")));
    if (const tla_status status = check_names(header.get())) return status;
    for (const auto &[kind, names] : wanted) {
        const json_t *const has = json_object_get(json_object_get(header.get(), "columns"), kind.c_str());
        const bool may_miss = std::find(std::begin(sometimes), std::end(sometimes), kind) != std::end(sometimes);
        for (const char *const name : names) {
            std::size_t place = 0;
            for (; place < json_array_size(has); place++) {
                const char *const found = json_string_value(json_array_get(has, place));
                if (found && std::strcmp(found, name) == 0) break;
            }
            if (place == json_array_size(has) && (has || !may_miss))
                return wrong("the log has no column %s of %s: run again to write a complete log", name, kind.c_str());
            tables_[kind].columns.push_back(column_of(name, has ? place + 1 : SIZE_MAX));
        }
    }
    make_lists();
    for (const char *const key : {"kernel", "pes", "modules", "nodes", "links"})
        json_object_set(head, key, json_object_get(header.get(), key));
    return TLA_OK;
}

// Names that rows lead to, and links between nodes that there are.
tla_status reader::check_names(const json_t *header) {
    for (const auto &[key, count] :
         {std::pair{"pes", &pes_}, std::pair{"modules", &modules_}, std::pair{"nodes", &nodes_}}) {
        const json_t *const names = json_object_get(header, key);
        bool are_texts = json_is_array(names);
        for (std::size_t i = 0; i < json_array_size(names); i++)
            are_texts = are_texts && json_is_string(json_array_get(names, i));
        if (!are_texts) return wrong("the header has no list of names (%s)", key);
        *count = static_cast<std::int64_t>(json_array_size(names));
    }
    const json_t *const links = json_object_get(header, "links");
    bool are_links = json_is_array(links);
    for (std::size_t i = 0; i < json_array_size(links); i++)
        for (std::size_t end = 0; end < 2; end++) {
            const json_t *const node = json_array_get(json_array_get(links, i), end);
            are_links = are_links && json_is_integer(node) && json_integer_value(node) >= 0 &&
                        json_integer_value(node) < nodes_;
        }
    if (!are_links) return wrong("%s", "the header has no list of links between nodes (links)");
    links_ = static_cast<std::int64_t>(json_array_size(links));
    return TLA_OK;
}

column reader::column_of(const char *name, std::size_t place) const {
    const std::string key = name;
    column made{key, place};
    for (const char *const text :
         {"op", "status", "channel", "to_channel", "what", "access", "kind", "engine", "name", "by"})
        made.is_text = made.is_text || key == text;
    if (key == "module") made.limit = modules_;
    if (key == "sender" || key == "who") made.limit = pes_ + 1;
    if (key == "pe" || key == "from" || key == "to") made.limit = pes_;
    if (key == "memories") made.limit = nodes_;
    if (key == "link") made.limit = links_;
    return made;
}

// `number` is what will stand in the column.
tla_status reader::check(const column &c, const char *kind, const json_t *value, std::int64_t number) {
    if (number > 0 && json_is_string(value) != c.is_text)
        return wrong("%s of %s: found %s, expected %s", c.name.c_str(), kind, c.is_text ? "a number" : "a text",
                     c.is_text ? "a text" : "a number");
    if (c.limit && number > c.limit)
        return wrong("%s of %s: found %" PRId64 ", expected less than %" PRId64, c.name.c_str(), kind, number - 1,
                     c.limit);
    return TLA_OK;
}

void reader::make_lists() {
    for (const char *const name : range_columns)
        tables_["range"].columns.push_back(column_of(name, 0));
    for (const char *const name : load_columns)
        tables_["load"].columns.push_back(column_of(name, 0));
}

tla_status reader::add_row(const char *kind, const json_t *row) {
    table &into = tables_[kind];
    bool is_of_a_link = false; // an interval's place is a link by its kind, which comes before it
    for (column &c : into.columns) {
        if (c.name == "place") c.limit = is_of_a_link ? links_ : nodes_;
        std::int64_t value = 0;
        if (c.place >= json_array_size(row))
            return wrong("the row has only %zu columns of %s: the log is damaged", json_array_size(row) - 1, kind);
        const json_t *const found = json_array_get(row, c.place);
        if (c.name == "kind" && json_is_string(found))
            is_of_a_link = std::strcmp(json_string_value(found), tla_time_kind_name(TLA_TIME_LINK)) == 0;
        tla_status status = value_of(found, &value);
        if (!status) status = check(c, kind, found, value);
        if (status) return status;
        c.add(value);
    }
    into.rows++;
    return TLA_OK;
}

tla_status reader::add_ranges(const json_t *row) {
    std::size_t i = 0;
    json_t *range = nullptr;
    json_array_foreach(json_array_get(row, 2), i, range) {
        const json_t *const values[] = {json_array_get(row, 1), json_array_get(range, 0), json_array_get(range, 1),
                                        json_array_get(range, 2)};
        table &into = tables_["range"];
        for (std::size_t c = 0; c < 4; c++) {
            std::int64_t value = 0;
            if (const tla_status status = value_of(values[c], &value)) return status;
            into.columns[c].add(value);
        }
        into.rows++;
    }
    return TLA_OK;
}

// Adds every bucket with load or waits of a link.
tla_status reader::add_loads(const json_t *row) {
    table &into = tables_["load"];
    std::int64_t link = 0;
    if (const tla_status status = value_of(json_array_get(row, 1), &link)) return status;
    for (std::size_t i = 0; i < json_array_size(json_array_get(row, 2)); i++) {
        std::int64_t values[6] = {link, static_cast<std::int64_t>(i) + 1};
        bool is_used = false;
        for (std::size_t c = 2; c < 6; c++) {
            if (const tla_status status = value_of(json_array_get(json_array_get(row, c), i), &values[c]))
                return status;
            is_used = is_used || values[c] > 1;
        }
        if (const tla_status status = check(into.columns[0], "link", json_array_get(row, 1), link)) return status;
        if (!is_used) continue;
        for (std::size_t c = 0; c < 6; c++)
            into.columns[c].add(values[c]);
        into.rows++;
    }
    return TLA_OK;
}

tla_status reader::read_row(const std::string &line, json_t *head) {
    json_error_t problem;
    json_pointer row(json_loadb(line.data(), line.size(), JSON_REJECT_DUPLICATES, &problem), &json_decref);
    if (!row) // a number may have more than 63 bits
        row.reset(json_loadb(line.data(), line.size(), JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &problem));
    const char *const kind = json_string_value(json_array_get(row.get(), 0));
    if (!kind)
        return wrong("found no list that begins with its kind (%.100s), expected a row", row ? "" : problem.text);
    if (has_end_) return wrong("found a row of kind %.40s after the end row, expected the end of the file", kind);
    if (std::strcmp(kind, "ranges") == 0) return add_ranges(row.get());
    if (std::strcmp(kind, "link") == 0) return add_loads(row.get());
    if (std::strcmp(kind, "buckets") == 0) {
        json_object_set(head, "bucket_ps", json_array_get(row.get(), 1));
    } else if (std::strcmp(kind, "end") == 0) {
        has_end_ = true;
        json_object_set(head, "end_ps", json_array_get(row.get(), 1));
        json_object_set(head, "lost", json_array_get(row.get(), 3));
        json_object_set(head, "told_by_kind", json_array_get(row.get(), 4));
        json_object_set(head, "lost_by_kind", json_array_get(row.get(), 5));
    } else if (wanted.count(kind)) {
        return add_row(kind, row.get());
    } // a kind of a later program is passed over
    return TLA_OK;
}

void reader::describe(json_t *head) const {
    json_t *const tables = json_object(), *const texts = json_array();
    for (const auto &[kind, t] : tables_) {
        json_t *const columns = json_array();
        for (const column &c : t.columns)
            json_array_append_new(columns,
                                  json_pack("[s, I]", c.name.c_str(), static_cast<json_int_t>(c.bytes.size())));
        json_object_set_new(tables, kind.c_str(),
                            json_pack("{s: I, s: o}", "rows", static_cast<json_int_t>(t.rows), "columns", columns));
    }
    for (const std::string &text : text_list_)
        json_array_append_new(texts, json_string(text.c_str()));
    json_object_set_new(head, "tables", tables);
    json_object_set_new(head, "texts", texts);
}

tla_status reader::compress(std::string *out) const {
    std::string all;
    for (const auto &[kind, t] : tables_)
        for (const column &c : t.columns)
            all += c.bytes;
    uLongf length = compressBound(all.size());
    out->resize(length);
    if (compress2(reinterpret_cast<Bytef *>(out->data()), &length, reinterpret_cast<const Bytef *>(all.data()),
                  all.size(), Z_DEFAULT_COMPRESSION) != Z_OK)
        return tla_error_set(error_, TLA_NO_HOST_MEMORY, "%.200s: no host memory", path_);
    out->resize(length);
    return TLA_OK;
}

tla_status reader::read(event_columns *out) {
    gzip_file *file = nullptr;
    if (const tla_status status = gzip_open(path_, &file, error_)) return status;
    file_.reset(file);
    std::string line;
    out->head.reset(json_object());
    tla_status status = next_line(&line);
    if (!status) status = read_header(line, out->head.get());
    while (!status && !(status = next_line(&line)) && !is_at_end_)
        if (!line.empty() || !has_end_)
            status = read_row(line, out->head.get());
        else if (++blanks_ > blanks_max)
            status =
                wrong("found more than %zu blank lines after the end row, expected the end of the file", blanks_max);
    if (!status && !has_end_)
        status = wrong(
            "%s",
            "found the end of the file, expected more rows: the log is truncated; run again to write a complete log");
    if (!status) describe(out->head.get());
    return status ? status : compress(&out->bytes);
}

} // namespace

tla_status read_event_columns(const char *path, event_columns *out, tla_error *error) {
    return reader(path, error).read(out);
}

} // namespace tlmalloc
