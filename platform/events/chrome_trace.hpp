// A timeline for trace viewers: processes with threads of slices, arrows from slice to slice, and counters, written in
// the Trace Event Format. It knows viewers, not platforms.
#ifndef TLMALLOC_PLATFORM_EVENTS_CHROME_TRACE_HPP
#define TLMALLOC_PLATFORM_EVENTS_CHROME_TRACE_HPP

#include "events/json_line.hpp"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace tlmalloc {

// Everything is kept until it is written: viewers want events in the order of their times, and who adds them need not
// know them so. Times are in ps, and are written exactly.
class chrome_trace {
  public:
    // Shown in the order in which they are added, those that have nothing are left out.
    std::uint32_t add_process(const std::string &name);

    // In a nesting track a slice may lie in another one. Other overlapping slices get a thread of their own, named like
    // the track with a number.
    std::uint32_t add_track(std::uint32_t process, const std::string &name, bool nests);

    // `args` is the inside of a JSON object, "" for none.
    std::uint32_t add_slice(std::uint32_t track, std::uint64_t begin_ps, std::uint64_t end_ps, const char *category,
                            const std::string &name, const std::string &args);
    void rename(std::uint32_t slice, const std::string &name) { slices_[slice].name = number_of(name); }
    // One more argument, a text; at most one for each slice.
    void set_text(std::uint32_t slice, const std::string &key, const std::string &text);
    std::uint64_t begin_of(std::uint32_t slice) const { return slices_[slice].begin_ps; }
    std::uint64_t end_of(std::uint32_t slice) const { return slices_[slice].end_ps; }

    // A mark.
    void add_instant(std::uint32_t track, std::uint64_t ps, const char *category, const std::string &name,
                     const std::string &args);
    // A mark across all processes.
    void add_notice(std::uint64_t ps, const std::string &name);

    // The point at which an arrow touches a slice: a time in [begin, end), or in (begin, end] with `ends`; for a slice
    // without length, its only time.
    struct flow_point {
        std::uint32_t slice;
        std::uint64_t ps;
        bool ends;
    };
    // An arrow from point to point. One that would touch something else, or go back in time, is not drawn.
    void add_flow(const char *category, const std::vector<flow_point> &points);

    // Steps from value to value, in thousandths of `unit`. A value that is as the one before costs nothing.
    std::uint32_t add_counter(std::uint32_t process, const std::string &name, const char *unit);
    void count(std::uint32_t counter, std::uint64_t ps, std::uint64_t thousandths);

    // All of it. `other` is the inside of a JSON object: what viewers show of the trace as a whole.
    void write(text_file &file, const std::string &other);

  private:
    static constexpr std::uint32_t no_text = UINT32_MAX;

    struct process_data {
        std::uint32_t name;
        bool is_used;
    };
    struct track_data {
        std::uint32_t process, name;
        bool nests;
        std::uint32_t first_thread;
    };
    struct slice_data {
        std::uint64_t begin_ps, end_ps, args; // args: where they begin
        std::uint32_t args_length, track, name, category, key, text, thread;
    };
    struct instant_data {
        std::uint64_t ps;
        std::uint32_t track, name, category;
        std::string args;
    };
    struct flow_data {
        flow_point at;
        std::uint32_t category, id;
        char phase;
    };
    struct value {
        std::uint64_t ps, thousandths;
    };
    struct counter_data {
        std::uint32_t process, name, unit;
        std::vector<value> values;
    };
    struct thread_data {
        std::uint32_t track, lane; // which of the track's threads
    };
    // The written events, by time; at one time by rank.
    struct row {
        std::uint64_t ps, tie;
        std::uint32_t index;
        std::uint8_t rank;
        char what; // the event's phase; for all parts of arrows s, and for marks across processes g
    };

    std::uint32_t number_of(const std::string &text);
    static bool has_length(const slice_data &s) { return s.begin_ps < s.end_ps; }
    std::uint8_t rank_of(const flow_point &at) const;
    void assign_threads();
    void settle_counters();
    std::vector<row> sorted_rows() const;
    std::uint64_t number_of_thread(std::uint32_t thread) const;
    std::string place_of(std::uint32_t thread) const;
    void write_names(text_file &file) const;
    std::string text_of_slice(const slice_data &s, char phase) const;
    std::string text_of(const row &r) const;

    std::vector<std::string> texts_; // quoted
    std::unordered_map<std::string, std::uint32_t> numbers_;
    std::vector<process_data> processes_;
    std::vector<track_data> tracks_;
    std::vector<slice_data> slices_;
    std::string args_; // of all slices
    std::vector<instant_data> instants_;
    std::vector<std::pair<std::uint64_t, std::string>> notices_;
    std::vector<flow_data> flows_;
    std::uint32_t arrows_ = 0;
    std::vector<counter_data> counters_;
    std::vector<thread_data> threads_;
};

} // namespace tlmalloc
#endif
