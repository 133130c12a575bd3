// The visible data of a module: figures in waveforms, statistics in reports, each declared once.
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

class instrumented;

// --- Waveforms ---
//
// A VCD whose changes are in the order of their local times.

// An ordered VCD file. Modules declare their signals in it (module.record(waveform)) before the simulation runs. The
// destructor or close() closes the file; close() reports whether every byte was written.
class waveform {
  public:
    // The length of a window, for figures of windows (instrumented::show_windows). Windows begin at its multiples.
    static constexpr std::uint64_t window_ps = 1'000'000;

    // Throws std::runtime_error with the reason if the file cannot be opened.
    explicit waveform(const std::string &path);

    // Writes to a file that is open for writing and stays the caller's. Throws std::runtime_error without host memory.
    explicit waveform(std::FILE *file);
    ~waveform();
    waveform(const waveform &) = delete;
    waveform &operator=(const waveform &) = delete;

    // Shows only the signals that a pattern selects (tla_wave_select). Call it before the first module declares its
    // signals. Throws std::invalid_argument with the reason.
    void select(const std::string &pattern);

    // Returns the first selected pattern that no signal has matched yet, or "" if all patterns have matched.
    std::string unmatched() const;

    // Declares a signal of 1 to 64 bits, as tla_wave_declare. Call it before the simulation runs. A failure is an error
    // report /tlmalloc/waveform/declare, and returns an unusable signal.
    tla_wave_signal declare(const std::string &scope, const std::string &name, unsigned bits);
    // Change a signal at at_ps in ps, or now if at_ps lies in the kernel's past. A value that is set before the
    // simulation runs, at whatever time, is the signal's initial value. After close() the calls have no effect.
    void set(tla_wave_signal signal, std::uint64_t at_ps, std::uint64_t value);
    void add(tla_wave_signal signal, std::uint64_t at_ps, std::int64_t delta);

    // Writes the rest, with the kernel's time as the end. Returns TLA_IO if a write has failed since the opening. A
    // second call does nothing and returns TLA_OK.
    tla_status close();

  private:
    friend class instrumented;
    void advance();

    tla_wave *wave_ = nullptr;
    bool running_ = false;                // the simulation runs
    std::uint64_t now_ps_ = 0;            // the kernel's time at the last change
    std::uint64_t passed_ps_ = 0;         // no change lies before it
    std::vector<instrumented *> modules_; // with figures here
};

// --- Figures and statistics ---

class figure;

// A counter of a module, with its value so far.
struct statistic {
    const char *name; // the key in reports
    std::uint64_t value;
    const char *unit;    // "ps", "bytes", or the counted items, such as "accesses"
    const char *meaning; // one line of explanation
};

// The statistics of a module, or of a part that counts for itself.
struct statistics_group {
    std::vector<statistic> statistics;
    const char *kind = nullptr, *name = nullptr; // the part: "channel", "hbm"; null: the whole module
};

// The base of every module. Code that walks the modules of a platform (a waveform, a trace file, a report) uses this
// interface. A new figure or statistic of a module therefore appears in every output.
//
// A constructor reports an error /tlmalloc/time/resolution unless the time resolution is 1 ps. Errors of configuration
// are /tlmalloc/<kind>/config, from the constructor or at the start of the simulation. By default SystemC throws such
// an error as sc_core::sc_report. A module must not be used if SystemC is set to continue after it.
class instrumented : public sc_core::sc_module {
  public:
    ~instrumented() override;

    // Declares all figures in an ordered VCD, which must live until the simulation ends. Call it once, before the
    // simulation runs. A second declaration is an error report /tlmalloc/waveform/declare. Close the VCD before the
    // module ends, if it has figures of windows: otherwise windows after its last change are missing.
    void record(waveform &wave);

    // Declares all figures in a SystemC trace file, with the values that the kernel sees.
    void trace(sc_core::sc_trace_file *file) const override;

    // In the order of reports. You can call it at any time.
    virtual std::vector<statistics_group> list_statistics() const { return {}; }

    // Prints a table for readers: module, name, value, unit, meaning. If posts arrived late in the simulation
    // (time_queue.hpp), the table ends with these posts, as "order". A table of several modules has one such end.
    static void print_statistics(std::ostream &out, std::initializer_list<const instrumented *> modules);
    void print_statistics(std::ostream &out) const { print_statistics(out, {this}); }

    // The kind of module ("tcm"), as in the ids of its reports: /tlmalloc/<kind>/<what>.
    const char *kind() const override { return kind_; }

  protected:
    instrumented(const sc_core::sc_module_name &name, const char *kind);

    // Reports /tlmalloc/<kind>/config: the requested module cannot be built.
    void refuse_config(const std::string &why) const;

    // Sets figures of windows, such as rates: at the end of each window that ends by until_ps and is not shown yet, to
    // the value of that window. A waveform calls it before it passes these ends, so that they appear without an event.
    // The module has no change before until_ps to come then.
    virtual void show_windows(std::uint64_t /*until_ps*/) {}

    // Shows the windows that end by at_ps. Call it before a change at at_ps of what show_windows() shows.
    void end_windows(std::uint64_t at_ps) {
        if (waveform_) waveform_->advance();
        show_windows(at_ps);
    }

  private:
    friend class figure;
    friend class waveform;
    const char *const kind_;
    waveform *waveform_ = nullptr;  // open, with figures of this module
    std::vector<figure *> figures_; // in the order of their declaration
};

// A signal of a module, and a member of it: it enters the module's list itself. If it is not recorded, it costs a
// branch.
class figure {
  public:
    // The name must outlive the figure; dots in it lead into scopes below the module's scope. `bits`: 1 to 64. With
    // `shown` false, a module in this configuration has no such figure.
    figure(instrumented &of, const char *name, unsigned bits, bool shown = true) : name_(name), bits_(bits) {
        if (shown) of.figures_.push_back(this);
    }
    figure(const figure &) = delete;
    figure &operator=(const figure &) = delete;

    // Sets the value from at_ps (local time) on, or from now on if at_ps lies in the kernel's past. A value that is set
    // before the simulation runs is the initial value; otherwise the initial value is 0.
    void set(std::uint64_t at_ps, std::uint64_t value) {
        value_ = value;
        if (waveform_) waveform_->set(signal_, at_ps, value);
    }

    // Changes the figure by delta at at_ps, for figures whose changes are known out of order.
    void add(std::uint64_t at_ps, std::int64_t delta) {
        value_ += static_cast<std::uint64_t>(delta);
        if (waveform_) waveform_->add(signal_, at_ps, delta);
    }

    // True if a waveform or a trace file shows the figure, for figures that are costly to compute.
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
