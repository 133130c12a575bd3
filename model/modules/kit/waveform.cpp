// The ordered VCD of a simulation.
#include "tlmalloc/modules/instrumented.hpp"

#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <stdexcept>

namespace tlmalloc {

void require_ps_resolution() {
    if (sc_core::sc_get_time_resolution() != sc_core::sc_time(1, sc_core::SC_PS))
        SC_REPORT_ERROR("/tlmalloc/time/resolution", "the time resolution must be 1 ps, SystemC's default");
}

waveform::waveform(const std::string &path) {
    tla_error error;
    if (tla_wave_open(path.c_str(), &wave_, &error)) throw std::runtime_error(error.text);
}

waveform::waveform(std::FILE *file) {
    if (tla_wave_create(file, &wave_)) throw std::runtime_error("no host memory for the waveform");
}

waveform::~waveform() {
    close();
}

void waveform::select(const std::string &pattern) {
    tla_error error;
    if (tla_wave_select(wave_, pattern.c_str(), &error)) throw std::invalid_argument(error.text);
}

std::string waveform::unmatched() const {
    const char *pattern = wave_ ? tla_wave_unmatched(wave_) : nullptr;
    return pattern ? pattern : "";
}

tla_wave_signal waveform::declare(const std::string &scope, const std::string &name, unsigned bits) {
    tla_wave_signal signal = 0;
    tla_error error;
    if (!wave_) return TLA_WAVE_HIDDEN;
    if (tla_wave_declare(wave_, scope.c_str(), name.c_str(), bits, &signal, &error))
        SC_REPORT_ERROR("/tlmalloc/waveform/declare", error.text);
    return signal;
}

// Later changes do not lie before the kernel's time, so the recorder may write up to it, once windows that end by then
// are shown. Meanwhile passed_ps_ is the last time, so that their ends are not in the past.
void waveform::advance() {
    const std::uint64_t now = to_ps(sc_core::sc_time_stamp());
    if (now == now_ps_) return;
    const bool ends_windows = now / window_ps != now_ps_ / window_ps;
    now_ps_ = now;
    if (ends_windows)
        for (instrumented *module : modules_)
            module->show_windows(now);
    tla_wave_advance(wave_, passed_ps_ = now);
}

void waveform::set(tla_wave_signal signal, std::uint64_t at_ps, std::uint64_t value) {
    if (!wave_ || signal == TLA_WAVE_HIDDEN) return;
    running_ = running_ || sc_core::sc_get_status() >= sc_core::SC_RUNNING;
    if (!running_) {
        tla_wave_start(wave_, signal, value);
        return;
    }
    advance();
    tla_wave_set(wave_, signal, std::max(at_ps, passed_ps_), value);
}

void waveform::add(tla_wave_signal signal, std::uint64_t at_ps, std::int64_t delta) {
    if (!wave_ || signal == TLA_WAVE_HIDDEN) return;
    advance();
    tla_wave_add(wave_, signal, std::max(at_ps, passed_ps_), delta);
}

tla_status waveform::close() {
    if (!wave_) return TLA_OK;
    advance();
    for (instrumented *module : modules_)
        module->waveform_ = nullptr;
    tla_status status = tla_wave_close(wave_, to_ps(sc_core::sc_time_stamp()));
    wave_ = nullptr;
    return status;
}

} // namespace tlmalloc
