// Figures of modules in waveforms: our ordered VCD (stamped with local time), or a user's own sc_trace_file.
#ifndef TLMALLOC_MODULES_WAVEFORM_HPP
#define TLMALLOC_MODULES_WAVEFORM_HPP

#include "tlmalloc/modules/systemc.hpp"
#include "tlmalloc/wave.h"

#include <cstdint>
#include <cstdio>
#include <string>

namespace tlmalloc {

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

    tla_wave_signal declare(const std::string &scope, const std::string &name, unsigned bits);
    void set(tla_wave_signal signal, std::uint64_t at_ps, std::uint64_t value);
    void add(tla_wave_signal signal, std::uint64_t at_ps, std::int64_t delta);

    // Writes the rest, with the kernel's time as the end. TLA_IO when something could not be written.
    tla_status close();

  private:
    std::uint64_t advance(std::uint64_t at_ps);

    tla_wave *wave_ = nullptr;
    std::uint64_t now_ps_ = 0;
};

// One figure of a module. Costs a branch when nobody records.
class figure {
  public:
    figure(const char *name, unsigned bits) : name_(name), bits_(bits) {}

    // The value from at_ps (local time) on; from now on, when that lies in the kernel's past.
    void set(std::uint64_t at_ps, std::uint64_t value) {
        value_ = value;
        if (waveform_) waveform_->set(signal_, at_ps, value);
    }

    // The figure changes by delta at at_ps; for figures whose changes are known out of order.
    void add(std::uint64_t at_ps, std::int64_t delta) {
        value_ += static_cast<std::uint64_t>(delta);
        if (waveform_) waveform_->add(signal_, at_ps, delta);
    }

    void record(waveform &wave, const std::string &scope) {
        waveform_ = &wave;
        signal_ = wave.declare(scope, name_, bits_);
    }

    // The value as the kernel sees it: without local time, changes inside a quantum fall together.
    void trace(sc_core::sc_trace_file *file, const std::string &scope) const {
        sc_core::sc_trace(file, value_, scope + "." + name_, static_cast<int>(bits_));
    }

  private:
    const char *name_;
    unsigned bits_;
    sc_dt::uint64 value_ = 0;
    waveform *waveform_ = nullptr;
    tla_wave_signal signal_ = 0;
};

} // namespace tlmalloc
#endif
