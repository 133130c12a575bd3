-- A memory of tlmalloc on QBox's router. The CPUs of a platform bind to router.target_socket as the initiator does.
platform = {
    router = { moduletype = "router" },

    initiator = { moduletype = "random_initiator", mem = { bind = "&router.target_socket" } },

    mem = {
        moduletype = "tlmalloc_memory",
        hbm_policy = "best_fit", -- like every key of the controller (without `controller.`) and the slice
        target_socket = { address = 0x80000000, size = 0x4000000, bind = "&router.initiator_socket" },
        control_socket = { address = 0x10000000, size = 0x10000, bind = "&router.initiator_socket" },
    },
}
