// The conformance battery's rules for loosely timed initiators, through the plugin's C interface: the plugin is loaded
// with a SystemC of its own beside that of the battery.
#include "tlmalloc/tlm_c.h"

#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/time.hpp"
#include "tlmalloc/testing/conformance.hpp"

#include <boost/test/unit_test.hpp>
#include <dlfcn.h>
#include <stdexcept>
#include <tlm_utils/simple_target_socket.h>

using namespace tlmalloc;
using namespace tlmalloc::testing;

namespace {

template <typename Function>
Function *find(void *plugin, const char *name) {
    void *const found = dlsym(plugin, name);
    if (!found) throw std::runtime_error(dlerror());
    return reinterpret_cast<Function *>(found);
}

// A target whose every call goes to a controller in the plugin.
struct plugin_target final : conformance_target, sc_core::sc_module {
    static constexpr std::uint64_t base = 0x8000'0000, size = 16 << 20;

    explicit plugin_target(std::uint32_t which) : sc_module(sc_core::sc_module_name("plugin")), socket_(which) {
        void *const plugin = dlmopen(LM_ID_NEWLM, TLMALLOC_PLUGIN, RTLD_NOW);
        if (!plugin) throw std::runtime_error(dlerror());
        transport_ = find<decltype(tlmc_transport)>(plugin, "tlmc_transport");
        debug_ = find<decltype(tlmc_debug)>(plugin, "tlmc_debug");
        get_dmi_ = find<decltype(tlmc_get_dmi)>(plugin, "tlmc_get_dmi");
        allocate_ = find<decltype(tlmc_allocate)>(plugin, "tlmc_allocate");
        free_ = find<decltype(tlmc_free)>(plugin, "tlmc_free");
        controller_ = find<decltype(tlmc_create)>(plugin, "tlmc_create")(
            TLMC_VERSION, "controller",
            "hbm.capacity_per_cube = 16 MiB\nsystem.pes_per_cube = 1\nhbm.base = 0x80000000\ntcm.present = false\n");
        if (!controller_) throw std::runtime_error(find<decltype(tlmc_error)>(plugin, "tlmc_error")());
        find<decltype(tlmc_on_dmi_lost)>(plugin, "tlmc_on_dmi_lost")(
            controller_,
            [](void *self, std::uint64_t first, std::uint64_t last) {
                static_cast<plugin_target *>(self)->in_->invalidate_direct_mem_ptr(first, last);
            },
            this);
        in_.register_b_transport(this, &plugin_target::b_transport);
        in_.register_transport_dbg(this, &plugin_target::debug);
        in_.register_get_direct_mem_ptr(this, &plugin_target::get_dmi);
        if (which == TLMC_DATA) {
            memory = {base, base + size - 1};
        } else {
            memory = {0xf00, 0xfff};
            writable = false;
        }
    }

    void bind(tlm::tlm_initiator_socket<> &from) override { from.bind(in_); }

    std::optional<range> withdraw_dmi() override {
        if (socket_ == TLMC_CONTROL) return std::nullopt;
        tlmc_access who{};
        std::uint64_t address = 0;
        allocate_(controller_, 0, "hbm", 1000, &who, &address);
        free_(controller_, 0, address, 1000, &who);
        return range{address, address + 999};
    }

  private:
    static tlmc_access as_access(const tlm::tlm_generic_payload &payload) {
        tlmc_access access{};
        access.address = payload.get_address();
        access.data = payload.get_data_ptr();
        access.enables = payload.get_byte_enable_ptr();
        access.command = payload.is_read() ? TLMC_READ : payload.is_write() ? TLMC_WRITE : TLMC_IGNORE;
        access.length = payload.get_data_length();
        access.streaming_width = payload.get_streaming_width();
        access.enables_length = payload.get_byte_enable_length();
        return access;
    }
    void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        tlmc_access access = as_access(payload);
        access.delay_ps = to_ps(delay);
        if (transport_(controller_, socket_, &access)) throw std::runtime_error("an access was not made");
        delay = from_ps(access.delay_ps);
        payload.set_dmi_allowed(access.dmi_hint);
        payload.set_response_status(static_cast<tlm::tlm_response_status>(access.response));
    }
    unsigned debug(tlm::tlm_generic_payload &payload) {
        tlmc_access access = as_access(payload);
        access.enables = nullptr; // TLM's debug access ignores what tlmc_debug obeys
        access.enables_length = access.streaming_width = 0;
        return debug_(controller_, socket_, &access);
    }
    bool get_dmi(tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) {
        const tlmc_access access = as_access(payload);
        tlmc_dmi answer{};
        const bool granted = get_dmi_(controller_, socket_, &access, &answer);
        dmi.init();
        dmi.set_dmi_ptr(answer.pointer);
        dmi.set_start_address(answer.first);
        dmi.set_end_address(answer.last);
        dmi.set_read_latency(from_ps(answer.read_latency_ps));
        dmi.set_write_latency(from_ps(answer.write_latency_ps));
        dmi.set_granted_access(
            static_cast<tlm::tlm_dmi::dmi_access_e>((answer.reads ? 1 : 0) | (answer.writes ? 2 : 0)));
        return granted;
    }

    const std::uint32_t socket_;
    decltype(&tlmc_transport) transport_;
    decltype(&tlmc_debug) debug_;
    decltype(&tlmc_get_dmi) get_dmi_;
    decltype(&tlmc_allocate) allocate_;
    decltype(&tlmc_free) free_;
    tlmc_controller *controller_ = nullptr;
    tlm_utils::simple_target_socket<plugin_target> in_{"in"};
};

void conforms(std::uint32_t which, const std::string &not_applicable) {
    for (const conformance_rule &rule : conformance_rules()) {
        if (!rule.loosely_timed) continue;
        const verdict v =
            check_conformance(rule, coding::loosely_timed, [which] { return std::make_unique<plugin_target>(which); });
        const bool may_not_apply =
            (" " + not_applicable + " ").find(" " + std::string(rule.name) + " ") != std::string::npos;
        BOOST_CHECK_MESSAGE(v.result == (may_not_apply ? outcome::not_applicable : outcome::passed),
                            rule.name << ": " << v.text);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(the_plugin_conforms_in_its_memory) {
    conforms(TLMC_DATA, "");
}
