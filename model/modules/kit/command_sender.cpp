// Commands through a control port, from a thread or in order of arrival; repeats rejected commands.
#include "tlmalloc/modules/command_sender.hpp"

#include "lent_payload.hpp"
#include "tlmalloc/modules/time.hpp"

#include <string>

namespace tlmalloc {

bool access(forward_path target, tlm::tlm_command command, std::uint64_t address, void *data, std::uint32_t nbytes,
            sc_core::sc_time &delay, requester *who, transfer_extent *extent, transaction_part *part,
            message_token *token) {
    lent_payload payload;
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_ptr(static_cast<unsigned char *>(data));
    payload.set_data_length(nbytes);
    payload.set_streaming_width(nbytes);
    payload.set_extension(who);
    payload.set_extension(extent);
    payload.set_extension(part);
    payload.set_extension(token);
    target->b_transport(payload, delay);
    return payload.is_response_ok();
}

tla_status post_command(forward_path target, std::uint64_t port_address, const tla_command &command,
                        sc_core::sc_time &delay, requester *who) {
    std::uint8_t bytes[TLA_COMMAND_MAX_BYTES];
    std::size_t length = 0;
    if (const tla_status status = tla_command_encode(&command, bytes, sizeof bytes, &length)) {
        tla_error why{};
        tla_command_explain(&command, &why);
        SC_REPORT_WARNING("/tlmalloc/command_sender", (std::string(why.text) + ": the command was not sent").c_str());
        return status;
    }
    return access(target, tlm::TLM_WRITE_COMMAND, port_address, bytes, static_cast<std::uint32_t>(length), delay, who)
               ? TLA_OK
               : TLA_BUS_ERROR;
}

tla_status read_completion(forward_path target, std::uint64_t port_address, tla_completion &completion,
                           sc_core::sc_time &delay, requester *who) {
    std::uint8_t bytes[TLA_COMPLETION_BYTES];
    if (!access(target, tlm::TLM_READ_COMMAND, port_address + TLA_PORT_COMPLETION, bytes, sizeof bytes, delay, who) ||
        tla_completion_decode(bytes, &completion))
        return TLA_BUS_ERROR;
    return completion.status;
}

tla_status send_command(forward_path target, std::uint64_t port_address, const tla_command &command,
                        tla_completion &completion, sc_core::sc_time &delay, requester *who) {
    const tla_status status = post_command(target, port_address, command, delay, who);
    return status ? status : read_completion(target, port_address, completion, delay, who);
}

tla_status send_command(forward_path target, std::uint64_t port_address, const tla_command &command,
                        tla_completion &completion, sc_core::sc_time &delay, const retry_policy &policy,
                        std::uint64_t &retried, requester *who) {
    tla_status status = send_command(target, port_address, command, completion, delay, who);
    for (unsigned i = 0; i < policy.retries && status == TLA_BUSY; i++) {
        delay += from_ps(policy.delay_ps);
        retried++;
        status = send_command(target, port_address, command, completion, delay, who);
    }
    return status;
}

} // namespace tlmalloc
