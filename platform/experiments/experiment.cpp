// Experiments: read from YAML by the reader of configurations, and made into rows that can run.
#include "experiments/experiment.hpp"

#include "cli/output.h"
#include "cli/overrides.h"
#include "cli/read_text.h"
#include "model/base/suggest.h"
#include "model/config/loader.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace tlmalloc {

namespace {

constexpr std::size_t file_bytes_max = std::size_t{1} << 20;

// A text as the file has it; not written: line 0.
struct text {
    std::string value;
    tla_place at{};

    bool is_written() const { return at.line != 0; }
};

struct setting {
    std::string key;
    text value;
};

enum file_key {
    file_name,
    file_about,
    file_unit,
    file_platform,
    file_set,
    file_workload,
    file_with,
    file_figures,
    file_long,
    file_rows,
    file_keys
};

enum row_key {
    row_label,
    row_figure,
    row_unit,
    row_set,
    row_with,
    row_published,
    row_closed_form,
    row_input,
    row_bound,
    row_at_most,
    row_fitted,
    row_source,
    row_note,
    row_relative_to,
    row_keys
};

// The contents of a file or of a row.
template <std::size_t Keys>
struct written {
    tla_place at{};
    std::array<text, Keys> texts;
    std::vector<std::size_t> order; // of the texts
    std::vector<setting> set, with;
};
using written_row = written<row_keys>;

// `, did you mean "..."?`, or nothing.
std::string hint(const std::string &text, const std::vector<std::string> &names) {
    tla_nearest nearest = tla_nearest_to(text.c_str());
    for (const std::string &name : names)
        tla_nearest_try(&nearest, name.c_str(), name.size());
    return nearest.found ? std::string(", did you mean \"") + nearest.name.text + "\"?" : "";
}

class reader {
  public:
    reader(const std::string &path, const std::string &data, experiment &made)
        : path_(path), data_(data), made_(made) {}

    tla_status read() {
        output_protect(path_.c_str());
        const std::array<tla_schema_key, row_keys> row{
            {key("label", take_row), key("figure", take_row), key("unit", take_row),
             key("set", take_row_set, TLA_VALUE_PAIRS), key("with", take_row_with, TLA_VALUE_PAIRS),
             key("published", take_row), key("closed_form", take_row), key("input", take_row), key("bound", take_row),
             key("at_most", take_row), key("fitted", take_row), key("source", take_row), key("note", take_row),
             key("relative_to", take_row)}};
        const tla_schema row_schema{row.data(), row.size(), sizeof(unused_), nullptr, [](tla_loader *) {}};
        const std::array<tla_schema_key, file_keys> file{
            {key("name", take_file), key("about", take_file), key("unit", take_file), key("platform", take_file),
             key("set", take_set, TLA_VALUE_PAIRS), key("workload", take_file), key("with", take_with, TLA_VALUE_PAIRS),
             key("figures", take_file), key("long", take_file), key("rows", begin_row, TLA_VALUE_ROWS, &row_schema)}};
        const tla_schema schema{file.data(), file.size(), sizeof(unused_), nullptr, check};
        char *text = nullptr;
        std::size_t length = 0;
        tla_error error{};
        if (const tla_status status = ::read_text(path_.c_str(), file_bytes_max, &text, &length, &error)) {
            std::fprintf(stderr, "%s\n", error.text);
            return status;
        }
        const tla_status status =
            tla_loader_parse(&schema, text, length, path_.c_str(), nullptr, 0, nullptr, &unused_, report_own, this);
        std::free(text);
        return status;
    }

  private:
    using take = void (*)(tla_loader *, std::size_t, const tla_written *, const tla_written *);

    static tla_schema_key key(const char *name, take taker, tla_value_type type = TLA_VALUE_ANY,
                              const tla_schema *rows = nullptr) {
        tla_schema_key result{};
        result.key = name;
        result.form.type = type;
        result.take = taker;
        result.rows = rows;
        return result;
    }

    static reader &self(tla_loader *loader) { return *static_cast<reader *>(loader->context); }

    static void take_file(tla_loader *loader, std::size_t key, const tla_written *, const tla_written *value) {
        self(loader).file_.texts[key] = {value->text, value->at};
        self(loader).file_.order.push_back(key);
    }
    static void take_row(tla_loader *loader, std::size_t key, const tla_written *, const tla_written *value) {
        self(loader).rows_.back().texts[key] = {value->text, value->at};
        self(loader).rows_.back().order.push_back(key);
    }
    static void begin_row(tla_loader *loader, std::size_t, const tla_written *, const tla_written *row) {
        self(loader).rows_.emplace_back();
        self(loader).rows_.back().at = row->at;
    }
    static void take_set(tla_loader *loader, std::size_t, const tla_written *name, const tla_written *value) {
        take_pair(loader, self(loader).file_.set, name, value);
    }
    static void take_with(tla_loader *loader, std::size_t, const tla_written *name, const tla_written *value) {
        take_pair(loader, self(loader).file_.with, name, value);
    }
    static void take_row_set(tla_loader *loader, std::size_t, const tla_written *name, const tla_written *value) {
        take_pair(loader, self(loader).rows_.back().set, name, value);
    }
    static void take_row_with(tla_loader *loader, std::size_t, const tla_written *name, const tla_written *value) {
        take_pair(loader, self(loader).rows_.back().with, name, value);
    }

    static void take_pair(tla_loader *loader, std::vector<setting> &into, const tla_written *name,
                          const tla_written *value) {
        for (const setting &other : into)
            if (other.key == name->text)
                return tla_loader_find(loader, name->at, "%s: found the key again, expected it once (line %zu)",
                                       name->text, other.value.at.line);
        into.push_back({name->text, {value->text, value->at}});
    }

    static void check(tla_loader *loader) {
        reader &r = self(loader);
        r.loader_ = loader;
        if (!loader->incomplete) r.make();
    }

    static void report_own(void *, const tla_config_finding *finding) { print_finding(nullptr, finding); }

    void find(const tla_place &at, const std::string &what) { tla_loader_find(loader_, at, "%s", what.c_str()); }

    // "one of a, b", with what may have been meant; `found` is none of them.
    void refuse(const char *key, const text &found, const std::string &expected,
                const std::vector<std::string> &names) {
        std::string known;
        for (const std::string &name : names)
            known += (known.empty() ? "" : ", ") + name;
        find(found.at, std::string(key) + ": found " + tla_quote(found.value.c_str()).text + ", expected " + expected +
                           known + hint(found.value, names));
    }

    void make() {
        const text &name = file_.texts[file_name];
        if (loader_->findings) return;
        if (file_.order.empty() && rows_.empty())
            return find({path_.c_str(), 1, 1}, "found an empty file, expected an experiment");
        made_.name = name.value;
        made_.about = file_.texts[file_about].value;
        made_.unit = file_.texts[file_unit].value;
        if (made_.name.find_first_of("/'") != std::string::npos) // the name is that of files, too
            find(name.at, std::string("name: found ") + tla_quote(made_.name.c_str()).text +
                              ", expected a file name without / and '");
        find_workload(file_.texts[file_workload]);
        read_boolean("long", file_.texts[file_long], made_.takes_long);
        if (loader_->findings || (made_.workload && made_.workload->missing)) return;
        if (made_.name.empty() || made_.unit.empty() || !made_.workload || rows_.empty())
            return find({path_.c_str(), 1, 1}, "expected name, unit, workload and rows");
        read_parameters(file_.with, parameters_);
        for (const written_row &row : rows_)
            if (!loader_->findings) make_row(row);
        if (file_.texts[file_figures].is_written() && !loader_->findings) show_all_figures(file_.texts[file_figures]);
    }

    // Each row once for each figure, with its unit.
    void show_all_figures(const text &wanted) {
        const experiment_workload &w = *made_.workload;
        if (wanted.value != "all") return refuse("figures", wanted, "all", {});
        if (w.units.size() != w.figures.size() || w.units.empty())
            return find(wanted.at,
                        std::string("figures: workload ") + w.name + " does not support all: set figure in each row");
        for (std::size_t i = 0; i < rows_.size(); i++)
            for (const row_key key : {row_figure, row_unit, row_published, row_closed_form, row_input, row_at_most})
                if (rows_[i].texts[key].is_written())
                    return find(
                        rows_[i].texts[key].at,
                        "a row of an experiment with figures: all must not set a figure, a unit or a reference value");
        std::vector<experiment_row> all;
        for (std::size_t figure = 0; figure < w.figures.size(); figure++)
            for (experiment_row row : made_.rows) {
                row.figure = figure;
                row.unit = w.units[figure];
                all.push_back(std::move(row));
            }
        made_.rows = std::move(all);
        made_.all_figures = true;
    }

    void find_workload(const text &wanted) {
        std::vector<std::string> names;
        for (const experiment_workload &w : experiment_workloads()) {
            if (wanted.value == w.name) made_.workload = &w;
            if (!w.missing) names.emplace_back(w.name);
        }
        if (wanted.is_written() && !made_.workload) refuse("workload", wanted, "one of ", names);
    }

    void read_parameters(const std::vector<setting> &written, experiment_parameters &into) {
        const auto &known = made_.workload->parameters;
        for (const setting &s : written) {
            const auto found = std::find_if(known.begin(), known.end(), [&](const experiment_parameter &parameter) {
                return s.key == parameter.name;
            });
            std::vector<std::string> names;
            for (const experiment_parameter &parameter : known)
                names.emplace_back(parameter.name);
            if (found == known.end()) {
                find(s.value.at,
                     "unknown parameter " + s.key + " of workload " + made_.workload->name + hint(s.key, names));
                continue;
            }
            if (found->type == TLA_VALUE_TEXT) {
                into.files[s.key] = found->is_data ? in_data(s.value.value) : beside(s.value.value);
                output_protect(into.files[s.key].c_str());
                continue;
            }
            tla_value value{};
            tla_error error{};
            const tla_value_form form{found->type, found->value_name, nullptr, nullptr};
            if (tla_value_parse(&form, s.value.value.c_str(), &value, &error))
                find(s.value.at, s.key + ": " + error.text);
            else
                into.numbers[s.key] = value.number;
        }
    }

    void read_number(const char *key, const text &number, std::optional<double> &into) {
        if (!number.is_written()) return;
        char *end = nullptr;
        const double value = std::strtod(number.value.c_str(), &end);
        if (*end || value < 0)
            find(number.at, std::string(key) + ": found " + tla_quote(number.value.c_str()).text +
                                ", expected a number from 0 on");
        else
            into = value;
    }

    void read_boolean(const char *key, const text &value, bool &into) {
        if (!value.is_written()) return;
        into = value.value == "true";
        if (!into && value.value != "false") refuse(key, value, "false or true", {});
    }

    void make_row(const written_row &w) {
        experiment_row row;
        const auto said = [&w](row_key key) -> const text & { return w.texts[key]; };
        row.label = said(row_label).value;
        row.unit = said(row_unit).is_written() ? said(row_unit).value : made_.unit;
        row.source = said(row_source).value;
        row.note = said(row_note).value;
        row.parameters = parameters_;
        read_parameters(w.with, row.parameters);
        read_references(w, row);
        read_number("bound", said(row_bound), row.bound_pct);
        read_figure(said(row_figure), row);
        read_relative(said(row_relative_to), row);
        read_number("at_most", said(row_at_most), row.at_most);
        read_boolean("fitted", said(row_fitted), row.fitted);
        if (row.label.empty()) find(w.at, "row without a label");
        const std::string kind =
            std::string("a ") + (row.reference_is == standing::published ? "published" : "reference");
        if (row.reference && row.source.empty()) find(w.at, "row with " + kind + " value and no source");
        if (row.bound_pct && !row.reference) find(w.at, "row with a bound and no reference value");
        if (row.at_most && row.reference)
            find(said(row_at_most).at,
                 "at_most: the row has a reference value too: remove one, as the figure is already a deviation");
        if (row.at_most && row.source.empty()) find(w.at, "row with at_most and no source");
        for (const experiment_parameter &parameter : made_.workload->parameters)
            if (!row.parameters.has(parameter.name))
                find(w.at, std::string("row without the parameter ") + parameter.name);
        std::vector<setting> settings = file_.set;
        settings.insert(settings.end(), w.set.begin(), w.set.end());
        load_config(settings, row.config);
        row.missing = missing(row.parameters);
        tla_error wrong{};
        if (!loader_->findings && row.missing.empty() && made_.workload->check &&
            made_.workload->check(row.config, row.parameters, &wrong))
            find(w.at, wrong.text);
        made_.rows.push_back(std::move(row));
    }

    void read_references(const written_row &w, experiment_row &row) {
        const std::map<std::size_t, standing> standings{{row_published, standing::published},
                                                        {row_closed_form, standing::closed_form},
                                                        {row_input, standing::input}};
        const char *const names[] = {"published", "closed_form", "input"};
        for (const std::size_t key : w.order) {
            const auto is = standings.find(key);
            if (is == standings.end()) continue;
            const char *const name = names[key - row_published];
            if (row.reference)
                find(w.texts[key].at, std::string(name) + ": found a second reference value, expected one");
            read_number(name, w.texts[key], row.reference);
            row.reference_is = is->second;
        }
    }

    void read_figure(const text &figure, experiment_row &row) {
        if (!figure.is_written()) return;
        const std::vector<const char *> &figures = made_.workload->figures;
        const std::vector<std::string> names(figures.begin(), figures.end());
        row.figure = static_cast<std::size_t>(std::find(names.begin(), names.end(), figure.value) - names.begin());
        if (row.figure < names.size()) return;
        refuse("figure", figure,
               names.empty() ? std::string("no figure: ") + made_.workload->name + " has only one" : "one of ", names);
    }

    void read_relative(const text &label, experiment_row &row) {
        if (!label.is_written()) return;
        const auto found = std::find_if(made_.rows.begin(), made_.rows.end(),
                                        [&](const experiment_row &other) { return other.label == label.value; });
        row.relative_to = static_cast<std::size_t>(found - made_.rows.begin());
        if (row.label == label.value) row.relative_to = made_.rows.size();
        if (!made_.workload->relative)
            find(label.at, std::string("relative_to: figures of ") + made_.workload->name + " are not relative");
        else if (row.label != label.value && found == made_.rows.end())
            find(label.at, std::string("relative_to: found ") + tla_quote(label.value.c_str()).text +
                               ", expected the label of this row or of one further up");
    }

    // A finding of the configuration stands where the setting stands.
    struct context {
        reader *self;
        const std::vector<setting> *settings;
    };

    static void report_platform(void *opaque, const tla_config_finding *finding) {
        const auto &c = *static_cast<context *>(opaque);
        if (finding->override) return c.self->find((*c.settings)[finding->override - 1].value.at, finding->text);
        c.self->find({finding->file, finding->line, finding->column}, finding->text);
    }

    // A file that the experiment names stands beside it.
    std::string beside(const std::string &file) const {
        const std::size_t slash = path_.rfind('/');
        return file.empty() || file[0] == '/' || slash == std::string::npos ? file : path_.substr(0, slash + 1) + file;
    }

    // One that begins with a dot stands beside the experiment nevertheless.
    std::string in_data(const std::string &file) const {
        return file.empty() || file[0] == '/' ? file : file[0] == '.' ? beside(file) : data_ + "/" + file;
    }

    // The first file of data that is not there.
    std::string missing(const experiment_parameters &p) const {
        std::error_code problem;
        for (const experiment_parameter &parameter : made_.workload->parameters)
            if (parameter.is_data && p.has(parameter.name) && !p.files.at(parameter.name).empty() &&
                !std::filesystem::exists(p.files.at(parameter.name), problem))
                return p.files.at(parameter.name);
        return "";
    }

    void load_config(const std::vector<setting> &settings, tla_config &config) {
        std::vector<std::string> overrides;
        for (const setting &s : settings)
            overrides.push_back(s.key + "=" + s.value.value);
        std::vector<const char *> texts;
        for (const std::string &override : overrides)
            texts.push_back(override.c_str());
        const std::string platform = beside(file_.texts[file_platform].value);
        if (!platform.empty()) output_protect(platform.c_str());
        context c{this, &settings};
        const tla_status status = tla_config_load(platform.empty() ? nullptr : platform.c_str(), texts.data(),
                                                  texts.size(), &config, report_platform, &c);
        if (status == TLA_NO_HOST_MEMORY) loader_->no_memory = true;
    }

    const std::string path_, data_;
    experiment &made_;
    int unused_ = 0; // nothing is stored by a schema here: everything is taken
    tla_loader *loader_ = nullptr;
    written<file_keys> file_;
    std::vector<written_row> rows_;
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

tla_status load_experiment(const std::string &path, const std::string &data, experiment &made) {
    return reader(path, data, made).read();
}

} // namespace tlmalloc
