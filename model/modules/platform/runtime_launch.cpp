// Launches of the runtime: the message to each SIP, the common start, and the joined answers.
#include "modules/pe/launch_pads.hpp"
#include "runtime_text.hpp"

#include <algorithm>
#include <new>

namespace tlmalloc {

runtime::launch_pads::launch_pads(const config &settings) : taken_(settings.launch_ports) {
    std::map<std::uint32_t, tla_pe_set> sets;
    for (const pe_location &pe : settings.pes)
        if (pe.sip < TLA_SIP_COUNT && pe.cube < TLA_CUBE_DIE_COUNT && pe.pe < TLA_PE_COUNT)
            sets[pe.sip].cubes[pe.cube] |= static_cast<std::uint16_t>(1u << pe.pe);
    for (const auto &[sip, pes] : sets) {
        tla_paddr window{};
        tla_paddr_io_cpu_control(sip, 0, &window);
        const tla_dispatch_route route{window.value, pes, 0, 0};
        tla_dispatcher *made = nullptr;
        if (tla_dispatcher_create(&route, 1, sip, 0, &made)) throw std::bad_alloc();
        sips.emplace(sip, pad(made, tla_dispatcher_destroy));
    }
}

unsigned runtime::launch_pads::take_port() {
    const auto free = std::find(taken_.begin(), taken_.end(), false);
    const auto port = static_cast<unsigned>(free - taken_.begin());
    if (free != taken_.end()) *free = true;
    return port;
}

void runtime::expect_way(unsigned sip, std::uint64_t way_ps) {
    const auto found = pads_->sips.find(sip);
    if (found != pads_->sips.end()) tla_dispatcher_set_way(found->second.get(), 0, way_ps, 0);
}

unsigned runtime::launches_on(std::uint32_t sip) const {
    const auto found = pads_->under_way.find(sip);
    return found == pads_->under_way.end() ? 0 : found->second;
}

namespace {

// The PEs of a launch, for each SIP; a SIP comes into being with its first PE.
using pe_sets = std::map<std::uint32_t, tla_pe_set>;

tla_status sort_pes(const std::vector<pe_location> &all, const std::vector<pe_location> &pes, pe_sets &sets,
                    const char *what, tla_error *error) {
    if (pes.empty()) return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: must name at least one PE", what);
    for (const pe_location &pe : pes) {
        const auto same = [&pe](const pe_location &p) { return p.sip == pe.sip && p.cube == pe.cube && p.pe == pe.pe; };
        if (std::none_of(all.begin(), all.end(), same))
            return tla_error_set(error, TLA_NOT_FOUND, "%s: unknown PE %s in this platform", what,
                                 to_string(pe).c_str());
        std::uint16_t &cube = sets[pe.sip].cubes[pe.cube];
        const auto bit = static_cast<std::uint16_t>(1u << pe.pe);
        if (cube & bit)
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "%s: %s is named twice", what, to_string(pe).c_str());
        cube |= bit;
    }
    return TLA_OK;
}

// The answer of one SIP that is no success; with the request of the tl_alloc that ended the kernel, if one did.
tla_status explain_launch(const tla_completion &answer, std::uint64_t tcm_reserved, tla_error *error) {
    const char *const what = answer.opcode == TLA_OP_LAUNCH ? "kernel on " : "DMA of ";
    const std::string which = what + to_string(answer.failed_at);
    if (answer.status == TLA_BUSY && answer.value == 0) // did not begin
        return tla_error_set(error, TLA_BUSY,
                             "%s: the previous kernel or DMA is still running (correlation %u, request %u)",
                             which.c_str(), answer.correlation_id, answer.request_id);
    return explain(error, answer.nbytes ? which + ": TCM" : which, answer, answer.nbytes, tcm_reserved);
}

} // namespace

// The messages of one launch, one for each SIP. It releases its port and PEs at its end, also when its thread is
// killed.
class runtime::launch_under_way {
  public:
    launch_under_way(runtime &of, unsigned port) : of_(of), pads_(*of.pads_), port_(port) {}
    launch_under_way(const launch_under_way &) = delete;
    launch_under_way &operator=(const launch_under_way &) = delete;
    ~launch_under_way() {
        for (tla_dispatch *part : parts_)
            tla_dispatch_destroy(part);
        pads_.leave_port(port_);
        for (const std::uint32_t sip : sips_)
            pads_.under_way[sip]--;
        of_.launch_ended();
    }

    tla_status begin(std::uint32_t sip, const tla_command &command, unsigned port, std::uint64_t at_ps) {
        tla_dispatch *part = nullptr;
        tla_location at{};
        const tla_status status = tla_dispatch_begin(pads_.sips.find(sip)->second.get(), &command, TLA_TARGET_IO_CPU,
                                                     port, at_ps, &part, &at);
        if (status) return status;
        parts_.push_back(part);
        sips_.push_back(sip);
        pads_.under_way[sip]++;
        return TLA_OK;
    }

    std::vector<tla_sent_command *> sent_commands() const {
        std::vector<tla_sent_command *> all;
        for (tla_dispatch *part : parts_) {
            tla_sent_command *sent_commands = nullptr;
            tla_dispatch_commands(part, &sent_commands);
            all.push_back(sent_commands);
        }
        return all;
    }

    // In ascending order of SIP.
    std::vector<tla_completion> end() {
        std::vector<tla_completion> answers(parts_.size());
        for (std::size_t i = 0; i < parts_.size(); i++)
            tla_dispatch_end(parts_[i], &answers[i]);
        parts_.clear();
        return answers;
    }

  private:
    runtime &of_;
    launch_pads &pads_;
    const unsigned port_;
    std::vector<tla_dispatch *> parts_;
    std::vector<std::uint32_t> sips_;
};

tla_status runtime::launch(std::uint32_t kernel, const std::vector<std::uint64_t> &arguments,
                           const std::vector<pe_location> &pes, tla_error *error, launched *result) {
    if (arguments.size() > TLA_COMMAND_MAX_ARGUMENTS)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "launch: %zu arguments: must be at most %d", arguments.size(),
                             TLA_COMMAND_MAX_ARGUMENTS);
    tla_command command{};
    command.opcode = TLA_OP_LAUNCH;
    command.kernel = kernel;
    command.programs = static_cast<std::uint32_t>(pes.size());
    command.count = static_cast<std::uint32_t>(arguments.size());
    std::copy(arguments.begin(), arguments.end(), command.arguments);
    return dispatch(command, pes, "launch", error, result);
}

tla_status runtime::pe_dma(tla_paddr pa, std::uint64_t nbytes, bool write, std::uint8_t pattern,
                           const std::vector<pe_location> &pes, tla_error *error, launched *result) {
    tla_command command{};
    command.opcode = TLA_OP_PE_DMA;
    command.pa = pa;
    command.nbytes = nbytes;
    command.write = write;
    command.pattern = pattern;
    return dispatch(command, pes, "PE DMA", error, result);
}

// `command` has the members of its opcode.
tla_status runtime::dispatch(tla_command &command, const std::vector<pe_location> &pes, const char *what,
                             tla_error *error, launched *result) {
    const call here(*this, what, error);
    return here.result(here.may_begin() ? try_to_dispatch(command, pes, what, error, result) : TLA_RESET);
}

tla_status runtime::try_to_dispatch(tla_command &command, const std::vector<pe_location> &pes, const char *what,
                                    tla_error *error, launched *result) {
    pe_sets sets;
    if (const tla_status status = sort_pes(settings_.pes, pes, sets, what, error)) return status;
    command.target = TLA_TARGET_IO_CPU;
    command.correlation_id = next_correlation_++;
    command.request_id = next_request_++;
    const unsigned port = pads_->take_port();
    if (port == pads_->ports())
        return tla_error_set(error, TLA_LIMIT,
                             "%s: %u launches and transfers are outstanding, the most that the host's ports allow",
                             what, port);
    launch_under_way messages(*this, port);
    for (const auto &of_sip : sets)
        wait_for_driver(of_sip.first);

    std::uint64_t farthest_ps = 0;
    bool known = true;
    for (const auto &[sip, set] : sets) { // all or none
        const tla_dispatcher *of_sip = pads_->sips.find(sip)->second.get();
        tla_completion refusal{};
        command.pes = set;
        refusal.status = tla_dispatcher_check(of_sip, &command, now_ps(), &refusal.failed_at);
        refusal.opcode = command.opcode;
        refusal.correlation_id = command.correlation_id;
        refusal.request_id = command.request_id;
        if (refusal.status) return explain_launch(refusal, settings_.tcm_reserved, error);
        const std::uint64_t way_ps = tla_dispatcher_way_ps(of_sip, &set);
        known = known && way_ps > 0;
        farthest_ps = std::max(farthest_ps, way_ps);
    }
    if (sets.size() > 1 && known) command.target_start_ps = now_ps() + farthest_ps;
    for (const auto &[sip, set] : sets) {
        command.pes = set;
        if (const tla_status status = messages.begin(sip, command, settings_.launch_port + port, now_ps()))
            return tla_error_set(error, status, "%s: %s", what, tla_status_text(status));
        command.program += tla_pe_set_count(&set);
        command.request_id = next_request_++;
    }
    post(way::fabric, messages.sent_commands());
    launched all;
    all.correlation_id = command.correlation_id;
    for (const tla_completion &answer : messages.end()) {
        if (answer.status) return explain_launch(answer, settings_.tcm_reserved, error);
        all.start_ps = std::max(all.start_ps, answer.value);
        all.duration_ps = std::max(all.duration_ps, answer.service_ps);
    }
    if (result) *result = all;
    return TLA_OK;
}

} // namespace tlmalloc
