// What a module shows of itself: figures in waveforms, statistics in reports, each declared once.
#ifndef TLMALLOC_MODULES_INSTRUMENTED_HPP
#define TLMALLOC_MODULES_INSTRUMENTED_HPP

#include "tlmalloc/modules/systemc.hpp"
#include "tlmalloc/wave.h"

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <ostream>
#include <string>
#include <vector>

namespace tlmalloc {

// --- Waveforms ---
//
// A VCD whose changes stand in the order of their local times.

// An ordered VCD file. Modules declare their signals in it (module.record(waveform)) before the simulation runs.
// Closing happens in the destructor or by close(), which says whether every byte was written.
class waveform {
  public:
    // Throws std::runtime_error with the reason when the file cannot be opened.
    explicit waveform(const std::string &path);

    // On a file that is open for writing and stays the caller's. Throws std::runtime_error without host memory.
    explicit waveform(std::FILE *file);
    ~waveform();
    waveform(const waveform &) = delete;
    waveform &operator=(const waveform &) = delete;

    // Before the first module declares its signals: only those that a pattern selects are shown (tla_wave_select).
    // Throws std::invalid_argument with the reason.
    void select(const std::string &pattern);

    // The first pattern that was selected and that no signal has matched yet; "" when there is none.
    std::string unmatched() const;

    tla_wave_signal declare(const std::string &scope, const std::string &name, unsigned bits);
    // What is set before the simulation runs, at whatever time, is what the signal starts with.
    void set(tla_wave_signal signal, std::uint64_t at_ps, std::uint64_t value);
    void add(tla_wave_signal signal, std::uint64_t at_ps, std::int64_t delta);

    // Writes the rest, with the kernel's time as the end. TLA_IO when something could not be written.
    tla_status close();

  private:
    std::uint64_t advance(std::uint64_t at_ps);

    tla_wave *wave_ = nullptr;
    bool running_ = false; // so is the simulation
    std::uint64_t now_ps_ = 0;
};

// --- Figures and statistics ---

class figure;

// What a module has counted so far, of one kind.
struct statistic {
    const char *name; // the key in reports
    std::uint64_t value;
    const char *unit;    // "ps", "bytes", or what is counted: "accesses"
    const char *meaning; // a line for whoever reads it
};

// The statistics of a module, or of one part of it that counts for itself.
struct statistics_group {
    std::vector<statistic> statistics;
    const char *kind = nullptr, *name = nullptr; // which part: "channel", "hbm"; null: the whole module
};

// The base of every module. What walks the modules of a platform (a waveform, a trace file, a report) asks here, so a
// figure or a statistic that a module gets appears in all of them.
class instrumented : public sc_core::sc_module {
  public:
    // Declares all figures in an ordered VCD, which must live as long as the simulation goes on; before it runs, and
    // once: what is declared already is an error report /tlmalloc/waveform/declare.
    void record(waveform &wave);

    // The same in a trace file of SystemC's, with the values that the kernel sees.
    void trace(sc_core::sc_trace_file *file) const override;

    // In the order of reports; may be asked at any time.
    virtual std::vector<statistics_group> list_statistics() const { return {}; }

    // A table to read: module, name, value, unit, meaning; at its end, as "order", what came late in the simulation, if
    // anything did (time_queue.hpp). Of several modules there is one end.
    static void print_statistics(std::ostream &out, std::initializer_list<const instrumented *> modules);
    void print_statistics(std::ostream &out) const { print_statistics(out, {this}); }

    // Which module this is ("tcm"), as in the ids of its reports: /tlmalloc/<kind>/<what>.
    const char *kind() const override { return kind_; }

  protected:
    instrumented(const sc_core::sc_module_name &name, const char *kind);

    // Reports /tlmalloc/<kind>/config: the module cannot be built as it is asked for.
    void refuse_config(const std::string &why) const;

  private:
    friend class figure;
    const char *const kind_;
    std::vector<figure *> figures_; // in the order of their declaration
};

// A signal of a module, a member of it: it enters the module's list itself. Costs a branch when nobody records.
class figure {
  public:
    // Dots in the name lead into scopes below the module's. `shown` false: a module that is configured like this has no
    // such figure.
    figure(instrumented &of, const char *name, unsigned bits, bool shown = true) : name_(name), bits_(bits) {
        if (shown) of.figures_.push_back(this);
    }
    figure(const figure &) = delete;
    figure &operator=(const figure &) = delete;

    // The value from at_ps (local time) on; from now on, when that lies in the kernel's past. Before the simulation
    // runs: the value that the figure starts with; 0 where none was set.
    void set(std::uint64_t at_ps, std::uint64_t value) {
        value_ = value;
        if (waveform_) waveform_->set(signal_, at_ps, value);
    }

    // The figure changes by delta at at_ps; for figures whose changes are known out of order.
    void add(std::uint64_t at_ps, std::int64_t delta) {
        value_ += static_cast<std::uint64_t>(delta);
        if (waveform_) waveform_->add(signal_, at_ps, delta);
    }

    // Somebody records or traces it: for figures that cost something to find out.
    bool is_watched() const { return waveform_ || traced_; }

  private:
    friend class instrumented;
    const char *name_;
    unsigned bits_;
    bool traced_ = false;
    sc_dt::uint64 value_ = 0;
    waveform *waveform_ = nullptr;
    tla_wave_signal signal_ = 0;
};

} // namespace tlmalloc
#endif
