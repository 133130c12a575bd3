// Threads in front of the driver's locks: the core decides which waiting thread wakes.
#include "tlmalloc/modules/host_driver.hpp"

#include "tlmalloc/modules/time.hpp"

namespace tlmalloc {

host_driver::host_driver(sc_core::sc_module_name name, const config &settings)
    : instrumented(name, "host_driver"), config_(settings), turns_(settings.devices) {
    tla_host_driver *made = nullptr;
    if (settings.kind == TLA_HOST_DRIVER_NONE || tla_host_driver_create(&settings, settings.devices, &made))
        refuse_config("kind must be serial, per_device or asynchronous, and devices above 0");
    driver_.reset(made);
    for (std::uint32_t device = 0; device < settings.devices; device++)
        names_.push_back("sip" + std::to_string(device));
}

// A call from asking for the lock to giving it back.
class host_driver::pass : public tla_host_driver_call {
  public:
    pass(host_driver &of, std::uint32_t number, tla_host_driver_operation what) : tla_host_driver_call{}, of_(of) {
        status_ = tla_host_driver_enter(of_.driver_.get(), number, what, now(), this);
        if (status_) return;
        figure *const in = inside ? &of_.inside_ : &of_.waiting_;
        in->add(now(), 1);
        try {
            while (!inside)
                sc_core::wait(called_);
        } catch (...) {
            leave();
            throw;
        }
    }
    ~pass() { leave(); }
    pass(const pass &) = delete;
    pass &operator=(const pass &) = delete;

    tla_status status() const { return status_; }

  private:
    static std::uint64_t now() { return to_ps(sc_core::sc_time_stamp()); }

    void leave() {
        if (status_) return;
        (inside ? of_.inside_ : of_.waiting_).add(now(), -1);
        auto *const woken = static_cast<pass *>(tla_host_driver_leave(of_.driver_.get(), this, now()));
        if (!woken) return;
        of_.waiting_.add(now(), -1);
        of_.inside_.add(now(), 1);
        woken->called_.notify(sc_core::SC_ZERO_TIME);
    }

    host_driver &of_;
    tla_status status_ = TLA_OK;
    sc_core::sc_event called_;
};

tla_status host_driver::call(std::uint32_t device, tla_host_driver_operation operation,
                             const std::function<tla_status()> &work) {
    if (in_reset()) return TLA_RESET;
    const visit here(this);
    const pass lock(*this, device, operation);
    if (lock.status()) return lock.status();
    if (in_reset()) return TLA_RESET;
    const bool posted = config_.kind == TLA_HOST_DRIVER_ASYNCHRONOUS;
    if (config_.synchronous && !posted && wait_for_device) wait_for_device(device);
    if (in_reset()) return TLA_RESET;
    const std::uint64_t begin_ps = to_ps(sc_core::sc_time_stamp());
    tla_status status = TLA_OK;
    {
        const turnstile::turn turn(turns_[device]);
        status = in_reset() ? TLA_RESET : work();
    }
    if (in_reset()) return TLA_RESET;
    const std::uint64_t now_ps = to_ps(sc_core::sc_time_stamp());
    const std::uint64_t end_ps = begin_ps + tla_host_driver_price(driver_.get(), operation);
    if (posted)
        tla_host_driver_post(driver_.get(), device, operation, begin_ps);
    else if (end_ps > now_ps)
        sc_core::wait(from_ps(end_ps - now_ps), reset_began_);
    return in_reset() ? TLA_RESET : status;
}

std::vector<statistics_group> host_driver::list_statistics() const {
    std::vector<statistics_group> parts;
    for (std::uint32_t device = 0; device < config_.devices; device++) {
        const tla_host_driver_stats s = get_statistics(device);
        parts.push_back({{{"allocs", s.allocs, "calls", "that allocate memory of the device"},
                          {"frees", s.frees, "calls", "that free memory of the device"},
                          {"waits", s.waits, "calls", "that waited for the lock"},
                          {"foreign_waits", s.foreign_waits, "calls", "that waited for a call for another device"},
                          {"waited_ps", s.waited_ps, "ps", "of waits for the lock"},
                          {"busy_ps", s.busy_ps, "ps", "in the driver"}},
                         "device",
                         names_[device].c_str()});
    }
    return parts;
}

} // namespace tlmalloc
