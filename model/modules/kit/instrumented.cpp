// The lists of figures and statistics of a module, for waveforms and reports.
#include "tlmalloc/modules/instrumented.hpp"

#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <iomanip>

namespace tlmalloc {

instrumented::instrumented(const sc_core::sc_module_name &name, const char *kind) : sc_module(name), kind_(kind) {
    require_ps_resolution();
}

instrumented::~instrumented() {
    if (!waveform_) return;
    std::vector<instrumented *> &modules = waveform_->modules_;
    modules.erase(std::remove(modules.begin(), modules.end(), this), modules.end());
}

void instrumented::refuse_config(const std::string &why) const {
    SC_REPORT_ERROR((std::string("/tlmalloc/") + kind_ + "/config").c_str(), why.c_str());
}

void instrumented::record(waveform &wave) {
    time_queue::keep_in_step();
    for (figure *f : figures_) {
        const std::string whole = std::string(name()) + "." + f->name_;
        const std::size_t dot = whole.rfind('.');
        f->signal_ = wave.declare(whole.substr(0, dot), whole.substr(dot + 1), f->bits_);
        if (f->signal_ != TLA_WAVE_HIDDEN) f->waveform_ = waveform_ = &wave;
    }
    if (waveform_) wave.modules_.push_back(this);
}

// Without local time, changes inside a quantum fall together.
void instrumented::trace(sc_core::sc_trace_file *file) const {
    time_queue::keep_in_step();
    for (figure *f : figures_) {
        f->traced_ = true;
        sc_core::sc_trace(file, f->value_, std::string(name()) + "." + f->name_, static_cast<int>(f->bits_));
    }
}

static void print_row(std::ostream &out, const std::string &of, const statistic &s) {
    out << std::left << std::setw(24) << of << ' ' << std::setw(18) << s.name << std::right << std::setw(14) << s.value
        << ' ' << std::left << std::setw(10) << s.unit << ' ' << s.meaning << std::right << '\n';
}

void instrumented::print_statistics(std::ostream &out, std::initializer_list<const instrumented *> modules) {
    for (const instrumented *module : modules)
        for (const statistics_group &part : module->list_statistics())
            for (const statistic &s : part.statistics)
                print_row(out, std::string(module->name()) + (part.name ? std::string(".") + part.name : ""), s);
    const time_queue::late_figures order = time_queue::get_late();
    if (order.late == 0) return;
    print_row(out, "order", {"late", order.late, "accesses", "served after later accesses, in the whole simulation"});
    print_row(out, "order", {"displaced_ps", order.displaced_ps, "ps", "total delay of late accesses"});
    print_row(out, "order", {"worst_ps", order.worst_ps, "ps", "largest delay of a late access"});
}

} // namespace tlmalloc
