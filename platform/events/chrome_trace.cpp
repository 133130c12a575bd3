// Timelines in the Trace Event Format (model/SOURCES.md). Viewers decide the open points of the
// format. These rules suit all viewers:
// - Slices are pairs of B and E, in the order of time. An X has a duration: the viewer computes its end as a sum of
//   fractions of us, which differs from the begin of the next slice; speedscope then loses the slice.
// - On a thread slices are one after the other, or within each other.
// - "ts" is the first member: Perfetto searches for it before it reads others.
// - Category, name and number identify an arrow; it touches the slice that is open at its time.
#include "events/chrome_trace.hpp"

#include <algorithm>
#include <tuple>

namespace tlmalloc {

namespace {

enum rank : std::uint8_t { rank_ending, rank_end, rank_begin, rank_point, rank_inside, rank_count };

void append(std::string &line, const char *key, const std::string &value) {
    line += ",\"";
    line += key;
    line += "\":";
    line += value;
}

std::string begin_row(std::uint64_t ps, char phase) {
    return "{\"ts\":" + as_decimal(ps, 1'000'000) + ",\"ph\":\"" + phase + "\"";
}

} // namespace

std::uint32_t chrome_trace::number_of(const std::string &text) {
    const auto [found, is_new] = numbers_.emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(json_quoted(text.c_str()));
    return found->second;
}

std::uint32_t chrome_trace::add_process(const std::string &name) {
    processes_.push_back({number_of(name), false});
    return static_cast<std::uint32_t>(processes_.size() - 1);
}

std::uint32_t chrome_trace::add_track(std::uint32_t process, const std::string &name, bool nests) {
    tracks_.push_back({process, number_of(name), nests, 0});
    return static_cast<std::uint32_t>(tracks_.size() - 1);
}

std::uint32_t chrome_trace::add_slice(std::uint32_t track, std::uint64_t begin_ps, std::uint64_t end_ps,
                                      const char *category, const std::string &name, const std::string &args) {
    slices_.push_back({begin_ps, std::max(begin_ps, end_ps), args_.size(), static_cast<std::uint32_t>(args.size()),
                       track, number_of(name), number_of(category), no_text, no_text, 0});
    args_ += args;
    return static_cast<std::uint32_t>(slices_.size() - 1);
}

void chrome_trace::set_text(std::uint32_t slice, const std::string &key, const std::string &text) {
    slices_[slice].key = number_of(key);
    slices_[slice].text = number_of(text);
}

void chrome_trace::add_instant(std::uint32_t track, std::uint64_t ps, const char *category, const std::string &name,
                               const std::string &args) {
    instants_.push_back({ps, track, number_of(name), number_of(category), args});
}

void chrome_trace::add_notice(std::uint64_t ps, const std::string &name) {
    notices_.emplace_back(ps, name);
}

std::uint8_t chrome_trace::rank_of(const flow_point &at) const {
    return at.ends && has_length(slices_[at.slice]) ? rank_ending : rank_inside;
}

void chrome_trace::add_flow(const char *category, const std::vector<flow_point> &points) {
    const flow_point *before = nullptr;
    for (const flow_point &at : points) {
        const slice_data &s = slices_[at.slice];
        const bool touches =
            has_length(s) ? at.ends ? s.begin_ps < at.ps && at.ps <= s.end_ps : s.begin_ps <= at.ps && at.ps < s.end_ps
                          : at.ps == s.begin_ps;
        if (!touches) return;
        if (before && std::make_pair(at.ps, rank_of(at)) < std::make_pair(before->ps, rank_of(*before))) return;
        before = &at;
    }
    for (const flow_point &at : points) {
        const char phase = &at == &points.front() ? 's' : &at == &points.back() ? 'f' : 't';
        flows_.push_back({at, number_of(category), arrows_, phase});
    }
    arrows_++;
}

std::uint32_t chrome_trace::add_counter(std::uint32_t process, const std::string &name, const char *unit) {
    counters_.push_back({process, number_of(name), number_of(unit), {}});
    return static_cast<std::uint32_t>(counters_.size() - 1);
}

void chrome_trace::count(std::uint32_t counter, std::uint64_t ps, std::uint64_t thousandths) {
    counters_[counter].values.push_back({ps, thousandths});
}

// --- what can be shown -----------------------------------------------------------------------------------------------

// Slices of a track in the order of time, outer ones first, each into the first thread in which it has room.
void chrome_trace::assign_threads() {
    std::vector<std::uint32_t> order(slices_.size());
    for (std::uint32_t i = 0; i < order.size(); i++)
        order[i] = i;
    std::sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
        const slice_data &x = slices_[a], &y = slices_[b];
        return std::make_tuple(x.track, x.begin_ps, ~x.end_ps, a) < std::make_tuple(y.track, y.begin_ps, ~y.end_ps, b);
    });
    std::vector<bool> has_instants(tracks_.size());
    for (const instant_data &i : instants_)
        has_instants[i.track] = true;
    auto next = order.begin();
    for (std::uint32_t track = 0; track < tracks_.size(); track++) {
        const auto first = static_cast<std::uint32_t>(threads_.size());
        tracks_[track].first_thread = first;
        std::vector<std::vector<std::uint64_t>> open; // of each thread the ends of the open slices, inner ones last
        if (has_instants[track]) open.emplace_back();
        for (; next != order.end() && slices_[*next].track == track; ++next) {
            slice_data &s = slices_[*next];
            std::size_t lane = 0;
            for (; lane < open.size(); lane++) {
                std::vector<std::uint64_t> &ends = open[lane];
                while (!ends.empty() && ends.back() <= s.begin_ps)
                    ends.pop_back();
                if (ends.empty() || (tracks_[track].nests && s.end_ps <= ends.back())) break;
            }
            if (lane == open.size()) open.emplace_back();
            open[lane].push_back(s.end_ps);
            s.thread = first + static_cast<std::uint32_t>(lane);
        }
        for (std::uint32_t lane = 0; lane < open.size(); lane++)
            threads_.push_back({track, lane});
        processes_[tracks_[track].process].is_used |= !open.empty();
    }
}

// The last of several values at one time counts; repeated values are left out, and so are counters that are always 0.
void chrome_trace::settle_counters() {
    for (counter_data &c : counters_) {
        std::stable_sort(c.values.begin(), c.values.end(), [](const value &a, const value &b) { return a.ps < b.ps; });
        std::vector<value> settled;
        for (std::size_t i = 0; i < c.values.size(); i++) {
            if (i + 1 < c.values.size() && c.values[i + 1].ps == c.values[i].ps) continue;
            if (!settled.empty() && settled.back().thousandths == c.values[i].thousandths) continue;
            settled.push_back(c.values[i]);
        }
        if (settled.size() == 1 && settled.front().thousandths == 0) settled.clear();
        c.values = std::move(settled);
        processes_[c.process].is_used |= !c.values.empty();
    }
}

std::vector<chrome_trace::row> chrome_trace::sorted_rows() const {
    std::vector<row> rows;
    rows.reserve(2 * slices_.size() + flows_.size() + instants_.size());
    for (std::uint32_t i = 0; i < slices_.size(); i++) {
        const slice_data &s = slices_[i];
        if (!has_length(s)) {
            rows.push_back({s.begin_ps, 0, i, rank_point, 'X'});
            continue;
        }
        // If slices begin and end together, the slice that was added first is the outer one.
        rows.push_back({s.begin_ps, ~s.end_ps, i, rank_begin, 'B'});
        rows.push_back({s.end_ps, ~s.begin_ps, ~i, rank_end, 'E'});
    }
    for (std::uint32_t i = 0; i < flows_.size(); i++)
        rows.push_back({flows_[i].at.ps, 0, i, rank_of(flows_[i].at), 's'});
    for (std::uint32_t i = 0; i < instants_.size(); i++)
        rows.push_back({instants_[i].ps, 1, i, rank_inside, 'i'});
    for (std::uint32_t i = 0; i < notices_.size(); i++)
        rows.push_back({notices_[i].first, 2, i, rank_inside, 'g'});
    for (std::uint32_t i = 0; i < counters_.size(); i++)
        for (const value &v : counters_[i].values)
            rows.push_back({v.ps, v.thousandths, i, rank_count, 'C'});
    std::sort(rows.begin(), rows.end(), [](const row &a, const row &b) {
        return std::make_tuple(a.ps, a.rank, a.tie, a.index) < std::make_tuple(b.ps, b.rank, b.tie, b.index);
    });
    return rows;
}

// --- writing ---------------------------------------------------------------------------------------------------------

// No number is both: Perfetto takes a thread that has its process's number for the main one.
std::uint64_t chrome_trace::number_of_thread(std::uint32_t thread) const {
    return processes_.size() + 1 + thread;
}

std::string chrome_trace::place_of(std::uint32_t thread) const {
    return ",\"pid\":" + std::to_string(tracks_[threads_[thread].track].process + 1) +
           ",\"tid\":" + std::to_string(number_of_thread(thread));
}

std::string chrome_trace::text_of_slice(const slice_data &s, char phase) const {
    std::string line = begin_row(phase == 'E' ? s.end_ps : s.begin_ps, phase);
    if (phase == 'X') line += ",\"dur\":0";
    append(line, "name", texts_[s.name]);
    line += place_of(s.thread);
    if (phase == 'E') return line + "}";
    append(line, "cat", texts_[s.category]);
    if (s.args_length == 0 && s.text == no_text) return line + "}";
    line += ",\"args\":{";
    line.append(args_, s.args, s.args_length);
    if (s.text != no_text) line += (s.args_length ? "," : "") + texts_[s.key] + ":" + texts_[s.text];
    return line + "}}";
}

std::string chrome_trace::text_of(const row &r) const {
    std::string line;
    switch (r.what) {
    case 'E':
        return text_of_slice(slices_[~r.index], r.what);
    case 's': {
        const flow_data &f = flows_[r.index];
        line = begin_row(r.ps, f.phase);
        append(line, "name", texts_[f.category]);
        line += place_of(slices_[f.at.slice].thread);
        append(line, "cat", texts_[f.category]);
        append(line, "id", std::to_string(f.id));
        return line + (f.phase == 's' ? "}" : ",\"bp\":\"e\"}");
    }
    case 'i': {
        const instant_data &i = instants_[r.index];
        line = begin_row(r.ps, 'i');
        append(line, "name", texts_[i.name]);
        line += place_of(tracks_[i.track].first_thread);
        append(line, "cat", texts_[i.category]);
        return line + ",\"s\":\"t\",\"args\":{" + i.args + "}}";
    }
    case 'g':
        line = begin_row(r.ps, 'i');
        append(line, "name", json_quoted(notices_[r.index].second.c_str()));
        return line + ",\"pid\":1,\"cat\":\"notice\",\"s\":\"g\"}";
    case 'C': {
        const counter_data &c = counters_[r.index];
        line = begin_row(r.ps, 'C');
        append(line, "name", texts_[c.name]);
        line += ",\"pid\":" + std::to_string(c.process + 1);
        return line + ",\"args\":{" + texts_[c.unit] + ":" + as_decimal(r.tie, 1000) + "}}";
    }
    default:
        return text_of_slice(slices_[r.index], r.what);
    }
}

void chrome_trace::write_names(text_file &file) const {
    const char *separator = "\n";
    const auto name = [&](const char *what, const std::string &place, const std::string &args) {
        file.write(std::string(separator) + "{\"ph\":\"M\",\"name\":\"" + what + "\"" + place + ",\"args\":{" + args +
                   "}}");
        separator = ",\n";
    };
    for (std::uint32_t i = 0; i < processes_.size(); i++) {
        if (!processes_[i].is_used) continue;
        const std::string place = ",\"pid\":" + std::to_string(i + 1);
        name("process_name", place, "\"name\":" + texts_[processes_[i].name]);
        name("process_sort_index", place, "\"sort_index\":" + std::to_string(i + 1));
    }
    for (std::uint32_t i = 0; i < threads_.size(); i++) {
        std::string text = texts_[tracks_[threads_[i].track].name];
        if (threads_[i].lane) text.insert(text.size() - 1, " (" + std::to_string(threads_[i].lane + 1) + ")");
        name("thread_name", place_of(i), "\"name\":" + text);
        name("thread_sort_index", place_of(i), "\"sort_index\":" + std::to_string(number_of_thread(i)));
    }
}

void chrome_trace::write(text_file &file, const std::string &other) {
    assign_threads();
    settle_counters();
    if (!notices_.empty()) processes_[0].is_used = true;
    file.write("{\"displayTimeUnit\":\"ns\",\n\"otherData\":{" + other + "},\n\"traceEvents\":[");
    write_names(file);
    for (const row &r : sorted_rows())
        file.write(",\n" + text_of(r));
    file.write("\n]}\n");
}

} // namespace tlmalloc
