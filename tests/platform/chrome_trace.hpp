// The rules of the Trace Event Format that a file for trace viewers must keep, and what they leave open and viewers
// insist on; read by the tests' own, simplest means.
#ifndef TLMALLOC_TESTS_PLATFORM_CHROME_TRACE_HPP
#define TLMALLOC_TESTS_PLATFORM_CHROME_TRACE_HPP

#include <cmath>
#include <cstdint>
#include <jansson.h>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

// What a trace says, and everything that is wrong with it.
struct chrome_trace {
    struct slice {
        std::string thread, name, category;
        std::int64_t begin_ps, end_ps;
        const json_t *args; // null for none
        std::size_t depth;
    };
    struct touch {
        char phase;
        std::int64_t ps;
        std::string thread, slice; // the innermost one that is open there
    };

    std::shared_ptr<json_t> file;
    std::vector<std::string> wrong;
    std::vector<slice> slices;                                                             // as they end
    std::map<std::pair<std::string, std::int64_t>, std::vector<touch>> flows;              // by category, id
    std::map<std::string, std::vector<std::pair<std::int64_t, double>>> counters;          // by name and unit
    std::vector<std::pair<std::string, const json_t *>> instants;                          // name, args
    std::map<std::int64_t, std::string> processes;                                         // by pid
    std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::string, bool>> threads; // by pid, tid; used?

    explicit chrome_trace(std::shared_ptr<json_t> of) : file(std::move(of)) {
        const char *const unit = json_string_value(json_object_get(file.get(), "displayTimeUnit"));
        if (!unit || (std::string(unit) != "ns" && std::string(unit) != "ms")) wrong.push_back("displayTimeUnit");
        if (!json_is_object(json_object_get(file.get(), "otherData"))) wrong.push_back("otherData");
        const json_t *const events = json_object_get(file.get(), "traceEvents");
        if (!json_is_array(events)) wrong.push_back("no traceEvents");
        std::size_t i = 0;
        json_t *event = nullptr;
        json_array_foreach(events, i, event) {
            at_ = "event " + std::to_string(i) + ": ";
            read(event);
        }
        at_.clear();
        check_end();
    }

    const json_t *other(const char *key) const {
        return json_object_get(json_object_get(file.get(), "otherData"), key);
    }

  private:
    struct open_thread {
        std::vector<slice> open;
        std::string last_point; // the last slice without length, and its time
        std::int64_t last_point_ps = -1;
    };

    void fail(const std::string &what) { wrong.push_back(at_ + what); }

    static std::string text(const json_t *event, const char *key) {
        const char *const value = json_string_value(json_object_get(event, key));
        return value ? value : "";
    }

    // A time in ps, of us that are exact to 10^-6.
    std::int64_t time(const json_t *event, const char *key) {
        const json_t *const value = json_object_get(event, key);
        const double us = json_number_value(value), ps = std::round(us * 1e6);
        if (!json_is_number(value) || !std::isfinite(us) || us < 0 || std::abs(us * 1e6 - ps) > 0.01)
            fail(std::string(key) + " is no time");
        return static_cast<std::int64_t>(ps);
    }

    void read(const json_t *event) {
        const std::string phase = text(event, "ph"), name = text(event, "name");
        if (phase.size() != 1 || std::string("BEXstfiCM").find(phase) == std::string::npos)
            return fail("ph '" + phase + "'");
        if (name.empty()) fail("no name");
        const json_t *const pid = json_object_get(event, "pid"), *const tid = json_object_get(event, "tid");
        if (!json_is_integer(pid) || json_integer_value(pid) <= 0) return fail("pid");
        if (tid && (!json_is_integer(tid) || json_integer_value(tid) == json_integer_value(pid))) return fail("tid");
        if (phase == "M") return read_name(event, name, json_integer_value(pid), json_integer_value(tid));
        const std::int64_t ps = time(event, "ts");
        if (ps < last_ps_) fail("goes back in time");
        last_ps_ = ps;
        if (!processes.count(json_integer_value(pid))) fail("a process without a name");
        if (phase == "C") return read_counter(event, name, ps);
        if (phase == "i" && text(event, "s") == "g") return instants.emplace_back(name, nullptr), void();
        const auto thread = threads.find({json_integer_value(pid), json_integer_value(tid)});
        if (thread == threads.end()) return fail("a thread without a name");
        thread->second.second = true;
        const std::string &place = thread->second.first;
        if (phase == "i") {
            if (text(event, "s") != "t" && text(event, "s") != "p") fail("s");
            instants.emplace_back(name, json_object_get(event, "args"));
        } else if (phase == "s" || phase == "t" || phase == "f") {
            read_flow(event, phase[0], ps, place);
        } else {
            read_slice(event, phase[0], ps, place);
        }
    }

    void read_name(const json_t *event, const std::string &what, std::int64_t pid, std::int64_t tid) {
        const json_t *const args = json_object_get(event, "args");
        const std::string name = text(args, "name");
        const bool sorts = what == "process_sort_index" || what == "thread_sort_index";
        if (sorts ? !json_is_integer(json_object_get(args, "sort_index")) : name.empty()) fail("args of " + what);
        if (what == "process_name") {
            if (!processes.emplace(pid, name).second) fail("a second name of a process");
        } else if (what == "thread_name") {
            if (!names_.insert(name).second) fail("two threads are called " + name);
            if (!tids_.insert(tid).second) fail("two threads have the same tid");
            threads[{pid, tid}] = {name, false};
        } else if (!sorts) {
            fail(what);
        }
    }

    void read_slice(const json_t *event, char phase, std::int64_t ps, const std::string &place) {
        open_thread &of = open_[place];
        const std::string name = text(event, "name");
        const json_t *const args = json_object_get(event, "args");
        if (args && !json_is_object(args)) fail("args");
        if (phase != 'E' && text(event, "cat").empty()) fail("no cat");
        if (phase == 'B') {
            of.open.push_back({place, name, text(event, "cat"), ps, ps, args, of.open.size()});
        } else if (phase == 'X') {
            if (time(event, "dur") != 0) fail("an X that is long ends where no viewer can tell");
            slices.push_back({place, name, text(event, "cat"), ps, ps, args, of.open.size()});
            of.last_point = name;
            of.last_point_ps = ps;
        } else if (of.open.empty()) {
            fail("E without B");
        } else {
            if (of.open.back().name != name) fail("E of " + name + " within " + of.open.back().name);
            of.open.back().end_ps = ps;
            slices.push_back(of.open.back());
            of.open.pop_back();
        }
    }

    void read_flow(const json_t *event, char phase, std::int64_t ps, const std::string &place) {
        const json_t *const id = json_object_get(event, "id");
        if (!json_is_integer(id) || text(event, "cat").empty()) return fail("a flow without cat or id");
        if (phase != 's' && text(event, "bp") != "e") fail("bp");
        const open_thread &of = open_[place];
        const std::string within = of.last_point_ps == ps ? of.last_point : of.open.empty() ? "" : of.open.back().name;
        if (within.empty()) fail("a flow that touches no slice");
        std::vector<touch> &touches = flows[{text(event, "cat"), json_integer_value(id)}];
        if (!ids_.emplace(json_integer_value(id), text(event, "cat")).second &&
            ids_[json_integer_value(id)] != text(event, "cat"))
            fail("two flows have the same id");
        if ((phase == 's') != touches.empty() || (!touches.empty() && touches.back().phase == 'f'))
            fail("a flow out of order");
        touches.push_back({phase, ps, place, within});
    }

    void read_counter(const json_t *event, const std::string &name, std::int64_t ps) {
        json_t *const args = json_object_get(event, "args");
        if (json_object_size(args) == 0) fail("a counter without a value");
        const char *unit = nullptr;
        json_t *value = nullptr;
        json_object_foreach(args, unit, value) {
            auto &values = counters[name + ", " + unit];
            if (!json_is_number(value) || !std::isfinite(json_number_value(value))) fail("a value that is no number");
            if (!values.empty() && values.back().first >= ps) fail("a counter that goes back in time");
            values.emplace_back(ps, json_number_value(value));
        }
    }

    void check_end() {
        for (const auto &[place, of] : open_)
            for (const slice &s : of.open)
                fail(place + ": " + s.name + " does not end");
        for (const auto &[key, touches] : flows)
            if (touches.back().phase != 'f') fail("a flow of " + key.first + " does not end");
        for (const auto &[key, thread] : threads)
            if (!thread.second) fail("nothing is on " + thread.first);
    }

    std::string at_;
    std::int64_t last_ps_ = 0;
    std::set<std::string> names_;
    std::set<std::int64_t> tids_;
    std::map<std::int64_t, std::string> ids_;
    std::map<std::string, open_thread> open_; // by thread
};

#endif
