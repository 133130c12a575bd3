// Experiments: read from YAML, run point by point, compared with their references.
#include "cli/experiment.hpp"

#include "cli/message.h"
#include "cli/output.h"
#include "cli/read_text.h"
#include "model/base/suggest.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <yaml.h>

namespace tlmalloc {

namespace {

struct place {
    std::size_t line, column;
};

struct setting {
    std::string text; // "key=value"
    place at;
};

constexpr std::size_t file_bytes_max = std::size_t{1} << 20;

// `, did you mean "..."?`, or nothing.
std::string hint(const std::string &text, const std::vector<std::string> &names) {
    tla_nearest nearest = tla_nearest_to(text.c_str());
    for (const std::string &name : names)
        tla_nearest_try(&nearest, name.c_str(), name.size());
    return nearest.found ? std::string(", did you mean \"") + nearest.name.text + "\"?" : "";
}

class reader {
  public:
    reader(const std::string &path, experiment &made) : path_(path), made_(made) {}
    ~reader() {
        if (loaded_) yaml_document_delete(&document_);
    }
    reader(const reader &) = delete;
    reader &operator=(const reader &) = delete;

    tla_status read() {
        output_protect(path_.c_str());
        char *text = nullptr;
        std::size_t length = 0;
        tla_error error{};
        if (const tla_status status = ::read_text(path_.c_str(), file_bytes_max, &text, &length, &error)) {
            std::fprintf(stderr, "%s\n", error.text);
            return status;
        }
        yaml_parser_t parser;
        yaml_parser_initialize(&parser);
        yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char *>(text), length);
        loaded_ = yaml_parser_load(&parser, &document_) != 0;
        if (!loaded_)
            find({parser.problem_mark.line + 1, parser.problem_mark.column + 1},
                 std::string("not YAML: ") + (parser.problem ? parser.problem : "unreadable") +
                     tla_tab_hint(text, length, parser.problem_mark.line + 1));
        yaml_parser_delete(&parser);
        std::free(text);
        if (loaded_) read_top();
        return findings_ ? TLA_SYNTAX : TLA_OK;
    }

  private:
    void find(place at, const std::string &text) {
        print_message("%s:%zu:%zu: error: %s", path_.c_str(), at.line, at.column, text.c_str());
        findings_++;
    }

    static place place_of(const yaml_node_t *node) { return {node->start_mark.line + 1, node->start_mark.column + 1}; }

    yaml_node_t *node(int index) { return yaml_document_get_node(&document_, index); }

    const char *text_of(const yaml_node_t *n, const std::string &what) {
        if (n->type == YAML_SCALAR_NODE) return reinterpret_cast<const char *>(n->data.scalar.value);
        find(place_of(n), what + ": found a collection, expected one value");
        return nullptr;
    }

    // Calls visit(key, value) for each pair of a mapping; a key that comes twice is a finding.
    template <typename Visit>
    void each(const yaml_node_t *mapping, const char *what, Visit visit) {
        if (mapping->type != YAML_MAPPING_NODE) {
            find(place_of(mapping), std::string(what) + ": expected a mapping");
            return;
        }
        std::vector<std::string> seen;
        for (auto *pair = mapping->data.mapping.pairs.start; pair < mapping->data.mapping.pairs.top; pair++) {
            const char *key = text_of(node(pair->key), what);
            if (!key) continue;
            if (std::find(seen.begin(), seen.end(), key) != seen.end())
                find(place_of(node(pair->key)), std::string(key) + ": found a second time");
            else
                visit(std::string(key), node(pair->value), place_of(node(pair->key)));
            seen.emplace_back(key);
        }
    }

    void read_text(const yaml_node_t *n, const std::string &what, std::string &into) {
        if (const char *text = text_of(n, what)) into = text;
        if (into.empty()) find(place_of(n), what + ": found nothing, expected a text");
    }

    // The name is that of files, too.
    void read_name(const yaml_node_t *n) {
        read_text(n, "name", made_.name);
        if (made_.name.find_first_of("/'") != std::string::npos)
            find(place_of(n), std::string("name: found ") + tla_quote(made_.name.c_str()).text +
                                  ", expected a name of a file, without / and '");
    }

    void read_number(const yaml_node_t *n, const std::string &what, std::optional<double> &into) {
        const char *text = text_of(n, what);
        if (!text) return;
        char *end = nullptr;
        const double value = std::strtod(text, &end);
        if (end == text || *end || value < 0)
            find(place_of(n), what + ": found " + tla_quote(text).text + ", expected a number that is not negative");
        else
            into = value;
    }

    void read_settings(const yaml_node_t *n, std::vector<setting> &into) {
        each(n, "set", [&](const std::string &key, yaml_node_t *value, place) {
            if (const char *text = text_of(value, key)) into.push_back({key + "=" + text, place_of(value)});
        });
    }

    void read_parameters(const yaml_node_t *n, experiment_parameters &into) {
        each(n, "with", [&](const std::string &key, yaml_node_t *value, place at) {
            const char *text = text_of(value, key);
            if (!text || !made_.workload) return;
            for (const auto &[name, type] : made_.workload->parameters) {
                if (key != name) continue;
                tla_value number{};
                tla_error error{};
                if (tla_value_parse(type, text, &number, &error))
                    find(place_of(value), key + ": " + error.text);
                else
                    into[key] = number.number;
                return;
            }
            std::vector<std::string> names;
            for (const auto &parameter : made_.workload->parameters)
                names.push_back(parameter.first);
            find(at, "unknown parameter " + key + " of workload " + made_.workload->name + hint(key, names));
        });
    }

    void read_workload(const yaml_node_t *n) {
        const char *text = text_of(n, "workload");
        if (!text) return;
        std::string known;
        std::vector<std::string> names;
        for (const experiment_workload &w : experiment_workloads()) {
            if (std::strcmp(w.name, text) == 0) made_.workload = &w;
            known += std::string(known.empty() ? "" : ", ") + w.name;
            names.push_back(w.name);
        }
        if (!made_.workload)
            find(place_of(n), std::string("workload: found ") + tla_quote(text).text + ", expected one of " + known +
                                  hint(text, names));
    }

    void read_top() {
        const yaml_node_t *root = yaml_document_get_root_node(&document_), *with = nullptr, *rows = nullptr;
        if (!root) {
            find({1, 1}, "found nothing, expected an experiment");
            return;
        }
        each(root, "experiment", [&](const std::string &key, yaml_node_t *value, place at) {
            if (key == "name")
                read_name(value);
            else if (key == "about")
                read_text(value, key, made_.about);
            else if (key == "unit")
                read_text(value, key, made_.unit);
            else if (key == "platform")
                read_text(value, key, platform_);
            else if (key == "workload")
                read_workload(value);
            else if (key == "set")
                read_settings(value, settings_);
            else if (key == "with")
                with = value;
            else if (key == "rows")
                rows = value;
            else
                find(at, "unknown key " + key + ", expected name, about, unit, platform, set, workload, with or rows" +
                             hint(key, {"name", "about", "unit", "platform", "set", "workload", "with", "rows"}));
        });
        if (made_.name.empty() || made_.unit.empty() || !made_.workload || !rows) {
            if (!findings_) find(place_of(root), "expected name, unit, workload and rows");
            return;
        }
        if (with) read_parameters(with, parameters_);
        if (rows->type != YAML_SEQUENCE_NODE || rows->data.sequence.items.start == rows->data.sequence.items.top) {
            find(place_of(rows), "rows: expected a sequence of at least one row");
            return;
        }
        for (auto *item = rows->data.sequence.items.start; item < rows->data.sequence.items.top && !findings_; item++)
            read_row(node(*item));
    }

    void read_reference(const yaml_node_t *n, const std::string &key, standing is, experiment_row &row) {
        if (row.reference) find(place_of(n), key + ": found a second value to compare with, expected one");
        read_number(n, key, row.reference);
        row.reference_is = is;
    }

    void read_relative(const yaml_node_t *n, experiment_row &row) {
        const char *label = text_of(n, "relative_to");
        if (!label) return;
        const auto is_it = [&](const experiment_row &other) { return other.label == label; };
        const auto found = std::find_if(made_.rows.begin(), made_.rows.end(), is_it);
        row.relative_to = static_cast<std::size_t>(found - made_.rows.begin());
        if (row.label == label) row.relative_to = made_.rows.size();
        if (!made_.workload->relative)
            find(place_of(n), std::string("relative_to: figures of ") + made_.workload->name + " are not relative");
        else if (row.label != label && found == made_.rows.end())
            find(place_of(n), std::string("relative_to: found ") + tla_quote(label).text +
                                  ", expected the label of this row or of one further up");
    }

    void read_figure(const yaml_node_t *n, experiment_row &row) {
        const char *text = text_of(n, "figure");
        if (!text) return;
        const std::vector<const char *> &figures = made_.workload->figures;
        const std::vector<std::string> names(figures.begin(), figures.end());
        row.figure = static_cast<std::size_t>(std::find(names.begin(), names.end(), text) - names.begin());
        if (row.figure < names.size()) return;
        std::string known;
        for (const std::string &name : names)
            known += (known.empty() ? "" : ", ") + name;
        find(place_of(n),
             std::string("figure: found ") + tla_quote(text).text + ", expected " +
                 (names.empty() ? std::string("none: ") + made_.workload->name + " has one" : "one of " + known) +
                 hint(text, names));
    }

    void read_row(const yaml_node_t *n) {
        experiment_row row;
        row.unit = made_.unit;
        row.parameters = parameters_;
        std::vector<setting> settings = settings_;
        each(n, "row", [&](const std::string &key, yaml_node_t *value, place at) {
            if (key == "label")
                read_text(value, key, row.label);
            else if (key == "figure")
                read_figure(value, row);
            else if (key == "unit")
                read_text(value, key, row.unit);
            else if (key == "source")
                read_text(value, key, row.source);
            else if (key == "note")
                read_text(value, key, row.note);
            else if (key == "published")
                read_reference(value, key, standing::published, row);
            else if (key == "closed_form")
                read_reference(value, key, standing::closed_form, row);
            else if (key == "input")
                read_reference(value, key, standing::input, row);
            else if (key == "relative_to")
                read_relative(value, row);
            else if (key == "bound")
                read_number(value, key, row.bound_pct);
            else if (key == "set")
                read_settings(value, settings);
            else if (key == "with")
                read_parameters(value, row.parameters);
            else if (key == "fitted") {
                const char *text = text_of(value, key);
                row.fitted = text && std::strcmp(text, "true") == 0;
                if (text && !row.fitted && std::strcmp(text, "false") != 0)
                    find(place_of(value),
                         std::string("fitted: found ") + tla_quote(text).text + ", expected false or true");
            } else
                find(at, "unknown key " + key +
                             ", expected label, figure, unit, set, with, published, closed_form, input, bound, fitted, "
                             "source, note or relative_to" +
                             hint(key, {"label", "figure", "unit", "set", "with", "published", "closed_form", "input",
                                        "bound", "fitted", "source", "note", "relative_to"}));
        });
        if (row.label.empty()) find(place_of(n), "row without a label");
        const std::string kind =
            std::string("a ") + (row.reference_is == standing::published ? "published" : "reference");
        if (row.reference && row.source.empty()) find(place_of(n), "row with " + kind + " value and no source");
        if (row.bound_pct && !row.reference) find(place_of(n), "row with a bound and no value to compare with");
        for (const auto &parameter : made_.workload->parameters)
            if (!row.parameters.count(parameter.first))
                find(place_of(n), std::string("row without the parameter ") + parameter.first);
        load_config(settings, row.config);
        made_.rows.push_back(std::move(row));
    }

    struct context {
        reader *self;
        const std::vector<setting> *settings;
    };

    // A finding of the configuration stands where the setting stands.
    static void report(void *opaque, const tla_config_finding *finding) {
        const auto &c = *static_cast<context *>(opaque);
        for (const setting &s : *c.settings) {
            const std::string quoted = tla_quote(s.text.c_str()).text;
            if (std::strcmp(finding->file, "--set") != 0 ||
                std::strncmp(finding->text, quoted.c_str(), quoted.size()) != 0)
                continue;
            c.self->find(s.at, finding->text);
            return;
        }
        print_message("%s:%zu:%zu: error: %s", finding->file, finding->line, finding->column, finding->text);
        c.self->findings_++;
    }

    void load_config(const std::vector<setting> &settings, tla_config &config) {
        std::vector<const char *> overrides;
        for (const setting &s : settings)
            overrides.push_back(s.text.c_str());
        std::string platform = platform_;
        const std::size_t slash = path_.rfind('/');
        if (!platform.empty() && platform[0] != '/' && slash != std::string::npos)
            platform = path_.substr(0, slash + 1) + platform; // beside the experiment
        if (!platform.empty()) output_protect(platform.c_str());
        context c{this, &settings};
        tla_config_load(platform.empty() ? nullptr : platform.c_str(), overrides.data(), overrides.size(), &config,
                        report, &c);
    }

    const std::string path_;
    experiment &made_;
    yaml_document_t document_;
    bool loaded_ = false;
    std::size_t findings_ = 0;
    std::string platform_;
    std::vector<setting> settings_;
    experiment_parameters parameters_;
};

} // namespace

const char *standing_name(standing s) {
    switch (s) {
    case standing::published:
        return "published";
    case standing::closed_form:
        return "closed form";
    case standing::input:
        return "input";
    case standing::none:
        break;
    }
    return "none";
}

tla_status load_experiment(const std::string &path, experiment &made) {
    return reader(path, made).read();
}

} // namespace tlmalloc
