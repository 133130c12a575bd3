/* Names of the choices of a platform's keys, where no other file has them. */
#include "tlmalloc/config.h"

const char *tla_unmapped_name(tla_unmapped unmapped) {
    static const char *const names[] = {"error", "pa_fallback", "demand"};
    return (unsigned)unmapped < TLA_UNMAPPED_COUNT ? names[unmapped] : NULL;
}

const char *tla_fault_handler_name(tla_fault_handler handler) {
    static const char *const names[] = {"host", "controller"};
    return (unsigned)handler < TLA_FAULT_HANDLER_COUNT ? names[handler] : NULL;
}

const char *tla_map_ack_name(tla_map_ack ack) {
    static const char *const names[] = {"visible", "posted"};
    return (unsigned)ack < TLA_MAP_ACK_COUNT ? names[ack] : NULL;
}

const char *tla_overhead_place_name(tla_overhead_place place) {
    static const char *const names[] = {"access", "call"};
    return (unsigned)place < TLA_OVERHEAD_PLACE_COUNT ? names[place] : NULL;
}

const char *tla_back_pressure_name(tla_back_pressure back_pressure) {
    static const char *const names[] = {"sleep", "poll"};
    return (unsigned)back_pressure < TLA_BACK_PRESSURE_COUNT ? names[back_pressure] : NULL;
}

const char *tla_lockstep_scope_name(tla_lockstep_scope scope) {
    static const char *const names[] = {"off", "cube", "sip"};
    return (unsigned)scope < TLA_LOCKSTEP_SCOPE_COUNT ? names[scope] : NULL;
}

const char *tla_engine_kind_name(tla_engine_kind kind) {
    static const char *const names[] = {"model", "rtl", "firmware"};
    return (unsigned)kind < TLA_ENGINE_KIND_COUNT ? names[kind] : NULL;
}
