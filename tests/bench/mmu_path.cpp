// An access on its whole way through a platform, with and without an MMU in it.
#include "mmu_path.hpp"

#include "tlmalloc/modules/npu.hpp"

#include <cstring>
#include <stdexcept>

using namespace tlmalloc;

namespace {

const std::uint64_t span = 64 * 4096; // what is accessed: as many pages as the TLB has entries

tla_config settings(bool tlb) {
    const char *overrides[] = {"system.pes_per_cube=1", "mmu.page_size=4 KiB", "mmu.tlb_l1.entries=64",
                               tlb ? "mmu.walk=flat" : "mmu.walk=ideal"};
    tla_config config{};
    if (tla_config_load(nullptr, overrides, 4, &config, nullptr, nullptr)) throw std::runtime_error("no configuration");
    return config;
}

// The local time of the initiator that drives all paths: it does not go back between two of them.
sc_core::sc_time &local_time() {
    static sc_core::sc_time time;
    return time;
}

} // namespace

struct mmu_path::parts {
    parts(const char *name, bool tlb) : platform(name, settings(tlb), {}) {
        platform.host().main = [this] {
            platform.host().create_tensor("t", span, 1, platform.host().everywhere(), &t, nullptr);
        };
    }

    std::uint64_t run(tlm::tlm_fw_transport_if<> &socket, std::uint64_t base, std::uint64_t n) {
        std::uint8_t data[256] = {};
        std::uint64_t sum = 0;
        tlm::tlm_generic_payload payload;
        payload.set_read();
        payload.set_data_ptr(data);
        payload.set_data_length(sizeof data);
        payload.set_streaming_width(sizeof data);
        for (std::uint64_t i = 0; i < n; i++) {
            payload.set_address(base + i * sizeof data % span);
            payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
            socket.b_transport(payload, delay);
            if (!payload.is_response_ok()) throw std::runtime_error("an access was refused");
            sum += data[0] + 1u;
        }
        return sum;
    }

    std::uint64_t run_dmi(tlm::tlm_fw_transport_if<> &socket, std::uint64_t base, std::uint64_t n) {
        std::uint8_t data[256] = {};
        std::uint64_t sum = 0;
        tlm::tlm_dmi granted;
        granted.set_start_address(1);
        granted.set_end_address(0);
        for (std::uint64_t i = 0; i < n; i++) {
            const std::uint64_t address = base + i * sizeof data % span;
            if (address < granted.get_start_address() || address + sizeof data - 1 > granted.get_end_address()) {
                tlm::tlm_generic_payload payload;
                payload.set_read();
                payload.set_address(address);
                if (!socket.get_direct_mem_ptr(payload, granted)) throw std::runtime_error("DMI was refused");
            }
            std::memcpy(data, granted.get_dmi_ptr() + (address - granted.get_start_address()), sizeof data);
            delay += granted.get_read_latency();
            sum += data[0] + 1u;
        }
        return sum;
    }

    npu platform;
    tensor *t = nullptr;
    sc_core::sc_time &delay = local_time();
};

mmu_path::mmu_path(const char *name, bool tlb) : parts_(std::make_unique<parts>(name, tlb)) {}

mmu_path::~mmu_path() = default;

void mmu_path::begin() {
    sc_core::sc_start();
}

std::uint64_t mmu_path::with_mmu(std::uint64_t n) {
    return parts_->run(*parts_->platform.pes()[0]->dma.out.operator->(), parts_->t->va.value, n);
}

std::uint64_t mmu_path::without_mmu(std::uint64_t n) {
    return parts_->run(*parts_->platform.pes()[0]->mmu.out.operator->(), parts_->t->shards[0].pa.value, n);
}

std::uint64_t mmu_path::dmi_with_mmu(std::uint64_t n) {
    return parts_->run_dmi(*parts_->platform.pes()[0]->dma.out.operator->(), parts_->t->va.value, n);
}

std::uint64_t mmu_path::dmi_without_mmu(std::uint64_t n) {
    return parts_->run_dmi(*parts_->platform.pes()[0]->mmu.out.operator->(), parts_->t->shards[0].pa.value, n);
}
