// Blocks of a key-value cache on a platform: commands, patterns, references.
#include "cli/platform_blocks.hpp"

#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace tlmalloc {

namespace {

// Eight bytes of a pattern: of which block, which generation of it, and which eight.
std::uint64_t word_of(std::uint32_t block, std::uint64_t generation, std::uint64_t number) {
    std::uint64_t x = (std::uint64_t{block} << 32 ^ generation) * 0x9e3779b97f4a7c15u + number * 0xd1342543de82ef95u;
    x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 32);
}

std::uint64_t now_ps() {
    return to_ps(sc_core::sc_time_stamp());
}

} // namespace

struct platform_blocks::sockets {
    sockets(const std::string &name, pe_unit &unit)
        : pe(unit), controller((name + "_controller").c_str()), bytes((name + "_bytes").c_str()),
          mappings((name + "_mappings").c_str()) {
        controller.bind(pe.controller.control);
        bytes.bind(pe.controller.in);
        mappings.bind(pe.mmu.control);
    }

    pe_unit &pe;
    tlm_utils::simple_initiator_socket<platform_blocks> controller, bytes, mappings;
};

platform_blocks::platform_blocks(sc_core::sc_module_name name, npu &platform, std::uint32_t blocks,
                                 std::uint64_t block_bytes, std::uint64_t page_bytes, std::uint64_t pattern_bytes,
                                 std::uint32_t asid)
    : sc_module(name), block_bytes_(block_bytes), stride_((block_bytes + page_bytes - 1) / page_bytes * page_bytes),
      pattern_bytes_(pattern_bytes), asid_(asid), blocks_(blocks) {
    for (std::size_t i = 0; i < platform.pes().size(); i++)
        sockets_.push_back(std::make_unique<sockets>("pe" + std::to_string(i), *platform.pes()[i]));
    SC_HAS_PROCESS(platform_blocks);
    SC_THREAD(work);
}

platform_blocks::~platform_blocks() = default;

void platform_blocks::hear(const tla_block_decision &decision) {
    for (std::uint32_t i = 0; i < decision.count; i++) {
        const std::uint32_t block = decision.blocks[i];
        if (decision.kind == TLA_BLOCKS_ALLOCATED)
            noted_.push_back({i < decision.found ? action::find : action::take, block});
        else if (decision.kind == TLA_BLOCKS_ENTERED)
            noted_.push_back({action::enter, block});
    }
    if (decision.kind == TLA_BLOCKS_RELEASED) // from the last to the first
        for (std::uint32_t i = decision.count; i-- > 0;)
            noted_.push_back({action::release, decision.blocks[i]});
}

tla_status platform_blocks::run(times &took, tla_error *error) {
    times_ = {};
    const tla_status status = noted_.empty() ? failure_.status : simulate(error);
    took.allocation_ps += times_.allocation_ps;
    took.mapping_ps += times_.mapping_ps;
    return status;
}

tla_status platform_blocks::simulate(tla_error *error) {
    if (!failure_.status) {
        begin_.notify(sc_core::SC_ZERO_TIME);
        sc_core::sc_start();
    }
    if (!failure_.status && !noted_.empty())
        tla_error_set(&failure_, TLA_BUSY, "the platform came to rest before its commands were done");
    if (failure_.status) *error = failure_;
    return failure_.status;
}

tla_status platform_blocks::finish(tla_error *error) {
    times ignored;
    if (const tla_status status = run(ignored, error)) return status;
    for (std::uint32_t block = 0; block < blocks_.size(); block++)
        if (blocks_[block].references) noted_.push_back({action::release, block});
    return run(ignored, error);
}

void platform_blocks::work() {
    while (!failure_.status) {
        while (noted_.empty())
            wait(begin_);
        for (const noted &n : noted_)
            if (act(n)) break;
        if (!failure_.status) noted_.clear();
        sc_core::sc_pause(); // whatever else the platform has pending waits for the next step
    }
}

tla_status platform_blocks::act(const noted &n) {
    switch (n.what) {
    case action::take:
        return take(n.block);
    case action::find:
        if (const tla_status status = check(n.block)) return status;
        return reference(n.block);
    case action::enter:
        if (blocks_[n.block].indexed) return TLA_OK;
        blocks_[n.block].indexed = true;
        return reference(n.block);
    case action::release:
        if (const tla_status status = check(n.block)) return status;
        return give_up(n.block);
    }
    return TLA_OK;
}

tla_status platform_blocks::failed(tla_status status, const char *what, std::uint32_t block) {
    if (!status) return TLA_OK;
    return tla_error_set(&failure_, status, "%s of block %u in PE %zu's slice: %s", what, block, pe_of(block),
                         tla_status_text(status));
}

// Where a block is for its PE; the first page is nobody's.
std::uint64_t platform_blocks::address(std::uint32_t block) const {
    return (block / sockets_.size() + 1) * stride_;
}

tla_status platform_blocks::memory(tla_opcode opcode, std::uint32_t block, tla_completion &completion) {
    tla_command command{};
    command.opcode = opcode;
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    command.channel = TLA_HBM;
    command.nbytes = block_bytes_;
    command.pa = {blocks_[block].pa};
    const std::uint64_t start = now_ps();
    sc_core::sc_time delay;
    const tla_status status = send_command(*of(block).controller.operator->(), port, command, completion, delay);
    wait(delay);
    times_.allocation_ps += now_ps() - start;
    commands_++;
    return failed(status, opcode == TLA_OP_ALLOC ? "ALLOC" : opcode == TLA_OP_FREE ? "FREE" : "REF", block);
}

tla_status platform_blocks::map(tla_opcode opcode, std::uint32_t block) {
    tla_command command{};
    command.opcode = opcode;
    command.target = TLA_TARGET_PE_MMU;
    command.scope = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    command.count = 1;
    command.entries[0] = {{address(block)}, {blocks_[block].pa}, block_bytes_, TLA_READ | TLA_WRITE, asid_};
    const std::uint64_t start = now_ps();
    sc_core::sc_time delay;
    tla_completion completion{};
    const tla_status status = send_command(*of(block).mappings.operator->(), port, command, completion, delay);
    wait(delay);
    times_.mapping_ps += now_ps() - start;
    commands_++;
    return failed(status, opcode == TLA_OP_MAP ? "MAP" : "UNMAP", block);
}

tla_status platform_blocks::reference(std::uint32_t block) {
    tla_completion completion{};
    blocks_[block].references++;
    return memory(TLA_OP_REF, block, completion);
}

tla_status platform_blocks::give_up(std::uint32_t block) {
    block_state &b = blocks_[block];
    tla_completion completion{};
    if (b.references == 1)
        if (const tla_status status = map(TLA_OP_UNMAP, block)) return status;
    if (const tla_status status = memory(TLA_OP_FREE, block, completion)) return status;
    b.references--;
    if (completion.value != b.references)
        return tla_error_set(&failure_, TLA_WRONG_RESULT, "block %u has %llu references on the platform, expected %u",
                             block, static_cast<unsigned long long>(completion.value), b.references);
    if (b.references == 0) b.indexed = false;
    return TLA_OK;
}

tla_status platform_blocks::take(std::uint32_t block) {
    block_state &b = blocks_[block];
    if (b.references > 1)
        return tla_error_set(&failure_, TLA_WRONG_RESULT, "block %u is given to a request while others have it", block);
    if (b.references) // the index gives it up
        if (const tla_status status = act({action::release, block})) return status;
    tla_completion completion{};
    if (const tla_status status = memory(TLA_OP_ALLOC, block, completion)) return status;
    b.pa = completion.value;
    b.references = 1;
    b.generation++;
    if (const tla_status status = map(TLA_OP_MAP, block)) return status;
    if (!write_pattern(block, 0, pattern_bytes_) || !write_pattern(block, block_bytes_ - end_bytes, end_bytes))
        return failed(TLA_BUS_ERROR, "writing the pattern", block);
    return TLA_OK;
}

void platform_blocks::expect(std::uint32_t block, std::uint64_t offset, std::uint8_t *bytes,
                             std::uint64_t nbytes) const {
    for (std::uint64_t i = 0; i < nbytes;) {
        const std::uint64_t skipped = (offset + i) % 8, count = std::min(8 - skipped, nbytes - i);
        std::uint64_t word = word_of(block, blocks_[block].generation, (offset + i) / 8) >> 8 * skipped;
        for (std::uint64_t k = 0; k < count; k++, word >>= 8)
            bytes[i + k] = static_cast<std::uint8_t>(word);
        i += count;
    }
}

bool platform_blocks::write_pattern(std::uint32_t block, std::uint64_t offset, std::uint64_t nbytes) {
    std::vector<std::uint8_t> bytes(nbytes);
    expect(block, offset, bytes.data(), nbytes);
    return copy(tlm::TLM_WRITE_COMMAND, block, offset, bytes.data(), nbytes);
}

bool platform_blocks::copy(tlm::tlm_command command, std::uint32_t block, std::uint64_t offset, std::uint8_t *bytes,
                           std::uint64_t nbytes) {
    tlm::tlm_generic_payload payload;
    payload.set_command(command);
    payload.set_address(blocks_[block].pa + offset);
    payload.set_data_ptr(bytes);
    payload.set_data_length(static_cast<unsigned>(nbytes));
    payload.set_streaming_width(static_cast<unsigned>(nbytes));
    return of(block).bytes->transport_dbg(payload) == nbytes;
}

tla_status platform_blocks::check(std::uint32_t block) {
    const block_state &b = blocks_[block];
    for (unsigned end = 0; end < 2; end++) {
        const std::uint64_t offset = end * (block_bytes_ - end_bytes);
        if (!of(block).pe.mmu.leads_into(asid_, {address(block) + offset}, end_bytes, TLA_READ, now_ps(), b.pa + offset,
                                         end_bytes))
            return failed(TLA_UNMAPPED, "the mapping", block);
        std::array<std::uint8_t, end_bytes> bytes{}, expected{};
        if (!copy(tlm::TLM_READ_COMMAND, block, offset, bytes.data(), end_bytes))
            return failed(TLA_BUS_ERROR, "reading the pattern", block);
        expect(block, offset, expected.data(), end_bytes);
        const auto wrong = std::mismatch(bytes.begin(), bytes.end(), expected.begin());
        if (wrong.first == bytes.end()) continue;
        const std::uint64_t at = offset + static_cast<std::uint64_t>(wrong.first - bytes.begin());
        return tla_error_set(&failure_, TLA_WRONG_RESULT,
                             "block %u, byte %llu, in PE %zu's slice: found 0x%02x, expected 0x%02x", block,
                             static_cast<unsigned long long>(at), pe_of(block), *wrong.first, *wrong.second);
    }
    return TLA_OK;
}

} // namespace tlmalloc
