// A VCD whose changes stand in the order of their local times (instrumented.hpp says what modules show in it).
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

} // namespace tlmalloc
#endif
