/* A control port: collects a descriptor, keeps a completion. */
#include "tlmalloc/command/control_port.h"

#include <string.h>

static tla_status drop(tla_control_port *port) {
    port->state = TLA_PORT_IDLE;
    port->staged = 0;
    return TLA_BAD_COMMAND;
}

/* Sets *claimed when enough bytes have arrived to know it, and otherwise leaves it unchanged. TLA_BAD_COMMAND when the
 * claimed length cannot be right. */
static tla_status check_claim(const tla_control_port *port, uint32_t *claimed, tla_error *error) {
    if (port->staged < TLA_COMMAND_CLAIM_BYTES) return TLA_OK;
    *claimed = tla_command_claimed_length(port->command);
    if (*claimed == 0)
        return tla_error_set(
            error, TLA_BAD_COMMAND,
            "descriptor begins with %02x %02x %02x %02x or claims 0 bytes: must begin with \"TLAC\" and its length",
            port->command[0], port->command[1], port->command[2], port->command[3]);
    if (*claimed < TLA_COMMAND_HEADER_BYTES || *claimed > TLA_COMMAND_MAX_BYTES)
        return tla_error_set(error, TLA_BAD_COMMAND, "descriptor claims %u bytes: must be %d to %d", *claimed,
                             TLA_COMMAND_HEADER_BYTES, TLA_COMMAND_MAX_BYTES);
    if (port->staged > *claimed)
        return tla_error_set(error, TLA_BAD_COMMAND, "write of %u bytes for a descriptor that claims %u", port->staged,
                             *claimed);
    return TLA_OK;
}

tla_status tla_control_port_write(tla_control_port *port, uint32_t offset, const uint8_t *bytes, uint32_t length,
                                  bool *complete, tla_error *error) {
    *complete = false;
    if (offset > TLA_COMMAND_MAX_BYTES || length > TLA_COMMAND_MAX_BYTES - offset)
        return tla_error_set(error, TLA_OUT_OF_RANGE,
                             "write of %u bytes at 0x%x of a control port: outside the command area [0, 0x%x)", length,
                             offset, TLA_COMMAND_MAX_BYTES);
    if (port->state == TLA_PORT_RUNNING)
        return tla_error_set(error, TLA_BUSY, "write to a control port whose command is still executing");
    if (length == 0) return TLA_OK;
    uint32_t expected = port->state == TLA_PORT_STAGING ? port->staged : 0;
    if (offset != 0 && offset != expected) {
        tla_error_set(error, TLA_BAD_COMMAND, "write at 0x%x of a control port: must be at 0x%x%s", offset, expected,
                      expected ? " or at 0x0" : "");
        return drop(port);
    }
    memcpy(port->command + offset, bytes, length);
    port->staged = offset + length;
    port->result = 0;
    port->state = TLA_PORT_STAGING;
    uint32_t claimed = 0;
    if (check_claim(port, &claimed, error) != TLA_OK) return drop(port);
    if (port->staged == claimed) {
        port->state = TLA_PORT_RUNNING;
        memset(port->completion, 0, sizeof port->completion);
        *complete = true;
    }
    return TLA_OK;
}

void tla_control_port_complete(tla_control_port *port, const tla_completion *completion) {
    if (port->state != TLA_PORT_RUNNING) return;
    tla_completion_encode(completion, port->completion);
    port->state = TLA_PORT_DONE;
    port->staged = 0;
}

void tla_control_port_complete_with(tla_control_port *port, const tla_completion *completion, const uint8_t *result,
                                    uint32_t count) {
    if (port->state != TLA_PORT_RUNNING) return;
    if (count > 0) memcpy(port->command, result, count);
    port->result = count;
    tla_control_port_complete(port, completion);
}

bool tla_control_port_reset(tla_control_port *port) {
    tla_completion answer = {0};
    tla_command command;
    if (port->state == TLA_PORT_RUNNING) {
        if (!tla_command_decode(port->command, port->staged, &command, NULL))
            answer = (tla_completion){
                .correlation_id = command.correlation_id, .request_id = command.request_id, .opcode = command.opcode};
    } else {
        tla_completion last;
        if (tla_completion_decode(port->completion, &last)) {
            *port = (tla_control_port){.state = TLA_PORT_IDLE};
            return false;
        }
        answer = (tla_completion){
            .correlation_id = last.correlation_id, .request_id = last.request_id, .opcode = last.opcode};
    }
    answer.status = TLA_RESET;
    *port = (tla_control_port){.state = TLA_PORT_RUNNING};
    tla_control_port_complete(port, &answer);
    return true;
}

tla_status tla_control_port_read(const tla_control_port *port, uint32_t offset, uint8_t *bytes, uint32_t length) {
    if (offset < port->result && length <= port->result - offset && port->state == TLA_PORT_DONE) {
        memcpy(bytes, port->command + offset, length);
        return TLA_OK;
    }
    if (offset < TLA_PORT_COMPLETION || offset > TLA_PORT_BYTES || length > TLA_PORT_BYTES - offset)
        return TLA_OUT_OF_RANGE;
    for (uint32_t i = 0; i < length; i++) {
        uint32_t at = offset + i;
        if (at < TLA_PORT_COMPLETION + TLA_COMPLETION_BYTES)
            bytes[i] = port->completion[at - TLA_PORT_COMPLETION];
        else
            bytes[i] =
                at == TLA_PORT_STATE ? (uint8_t)port->state : 0; /* u32 little-endian; only its low byte is used */
    }
    return TLA_OK;
}
