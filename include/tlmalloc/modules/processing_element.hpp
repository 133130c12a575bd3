// A processing element: runs a kernel written in C; its loads, stores, allocations and arithmetic take time.
#ifndef TLMALLOC_MODULES_PROCESSING_ELEMENT_HPP
#define TLMALLOC_MODULES_PROCESSING_ELEMENT_HPP

#include "tlmalloc/base/time_account.h"
#include "tlmalloc/base/timeline.h"
#include "tlmalloc/config/parameters.h"
#include "tlmalloc/kernel/language.h"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/control_window.hpp"
#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/instrumented.hpp"
#include "tlmalloc/modules/pe_dma.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tlm_utils/simple_initiator_socket.h>
#include <vector>

struct tla_operation; // of the vector engine

namespace tlmalloc {

// How long an engine of a module works: a signal while it does, and a sum.

class unit_load {
  public:
    // The signal counts what the engine has been given and not ended: more than 1 waits for it, as accesses to a port.
    unit_load(instrumented &of, const char *name) : under_way_(of, name, 4) {}

    void begin(std::uint64_t at_ps) { under_way_.add(at_ps, 1); }
    void end(std::uint64_t since_ps, std::uint64_t at_ps) {
        under_way_.add(at_ps, -1);
        busy_ps_ += at_ps - since_ps;
    }
    std::uint64_t busy_ps() const { return busy_ps_; }

  private:
    figure under_way_;
    std::uint64_t busy_ps_ = 0;
};

class kernel_program;
class kernel_stack;
class pe_ipcq;
class transfer_queue;

// `control` takes LAUNCH and PE_DMA (command.h). One kernel runs at a time, launch_ps after the arrival or at the
// target start, on a stack of its own. The completion arrives when the kernel has returned and nothing is in flight:
// its status, its start and its duration; TLA_BUSY while another runs, TLA_NOT_FOUND for an unknown kernel, TLA_CRASHED
// for one that does something that no program may do, TLA_TIMEOUT past a limit. Everything that an ended kernel held is
// freed. `allocator` leads to the PE's memory_controller.control, `local` to its data side; DMA goes through `dma`. A
// reset (resettable.hpp) ends the kernel with TLA_RESET in its next call, or in the call in which it waits.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/pe/PROCESSING_ELEMENT.md.
class processing_element : public instrumented, public resettable, private command_handler {
  public:
    // Along an axis of tl_program_id: the PE's place, of how many.
    struct place {
        std::uint32_t index = 0, count = 1;
    };

    struct config : tla_pe_parameters {
        config() { tla_pe_defaults(this); }
        explicit config(const tla_pe_parameters &parameters) : tla_pe_parameters(parameters) {}

        const tl_kernel *kernels = nullptr; // what LAUNCH can name; outlives the module
        std::size_t kernel_count = 0;
        unsigned allocator_port = 0;    // the control port of the memory controller that is this PE's
        std::uint32_t initiator = 0;    // the PE's number in requester extensions
        std::uint64_t tcm_reserved = 0; // bytes of the TCM that are never given, for messages
        bool tcm_segmented = false;     // it has segment_cache in front
        bool tells_freed = false;       // warn of a tile that is used after its tl_free
        place places[TL_ALL]{}; // TL_PE: in its cube, TL_CUBE: of that in its SIP, TL_SIP: of that in the platform
        std::uint32_t mesh_columns = 1; // cubes in a row of the SIP's mesh
        unsigned ports = 16;
    };

    // Of the last kernel that ran. The sums are time in which the kernel waited for that kind of work.
    struct run {
        std::uint64_t start_ps = 0, end_ps = 0;
        std::uint64_t late_ps = 0; // by which start_ps is after the launch's target start
        std::uint64_t alloc_ps = 0, dma_ps = 0, compute_ps = 0;
        std::uint64_t message_ps = 0;                               // in messages (kernel/messages.h), waits included
        std::uint64_t retries = 0;                                  // commands that were sent again
        std::uint64_t composites = 0, tiles = 0;                    // that were waited for; steps of their plans
        std::uint64_t composite_begin_ps = 0, composite_end_ps = 0; // of the first stage of them, and of the last
        tla_status status = TLA_OK;
        tla_completion refused{};    // of the last tl_alloc that failed; status TLA_OK when none has
        tla_error problem{};         // why it ended with `status`, where more can be said than that
        tla_error failed{};          // the first call that returned an error, named; status TLA_OK when none did
        std::uint64_t failed_ps = 0; // when it returned
    };

    tlm_utils::simple_initiator_socket<processing_element> allocator{"allocator"};
    tlm_utils::simple_initiator_socket<processing_element> local{"local"};

    control_window control;

    processing_element(sc_core::sc_module_name name, const config &settings, pe_dma &dma);
    ~processing_element() override;

    // Kernels send and receive by this unit, which must outlive the element; without one such calls are
    // TLA_UNSUPPORTED.
    void send_by(pe_ipcq &unit) { messages_ = &unit; }

    // Who knows why a page between two virtual addresses did not come ("" when none was refused), for the text of a
    // load or a store that fails; may be empty.
    std::function<std::string(std::uint64_t begin, std::uint64_t end)> why_no_page;

    const run &last_run() const { return run_; }

    // From the next kernel on an account is kept of where its time goes, from start_ps to end_ps of its run; that of
    // the last one is there until the next begins. Null: none is kept, for want of host memory too.
    void keep_account();
    const tla_time_account *account() const { return account_.get(); }
    tla_time_account *account() { return account_.get(); } // for who watches it

    struct statistics {
        std::uint64_t launches = 0;                 // kernels that began
        std::uint64_t late_starts = 0, late_ps = 0; // of them, after their target start, and by how much in all
        std::uint64_t composites = 0, tiles = 0;    // as of a run, of all
    };
    const statistics &get_statistics() const { return statistics_; }
    std::vector<statistics_group> list_statistics() const override;

    // What the tl_* calls of the kernel that runs on this PE do; see kernel.h. From the kernel only.
    tla_status allocate(std::uint32_t rows, std::uint32_t columns, tl_dtype dtype, tl_tile &tile);
    tla_status take_scratch(std::uint32_t rows, std::uint32_t columns, tl_dtype dtype, tl_tile &tile);
    tla_status release(const tl_tile &tile);
    tla_status hold(tl_hold what, const tl_tile &tile, std::uint64_t timeout_ns);
    tla_status load(const tl_tile &tile, tla_vaddr source, std::uint64_t pitch);
    tla_status store(tla_vaddr destination, std::uint64_t pitch, const tl_tile &tile);
    tla_status load_tensor(const tl_tile &tile, const tl_tensor &tensor, const tl_tile *mask, float other);
    tla_status store_tensor(const tl_tensor &tensor, const tl_tile &tile, const tl_tile *mask);
    tla_status gather_rows(const tl_tile &tile, const tl_tensor &tensor, const tl_tile &index);
    tla_status transpose(const tl_tile &out, const tl_tile &a);
    tla_status load_async(const tl_tile &tile, tla_vaddr source, std::uint64_t pitch, tl_handle &handle);
    tla_status store_async(tla_vaddr destination, std::uint64_t pitch, const tl_tile &tile, tl_handle &handle);
    tla_status wait_for(tl_handle handle);
    tla_status wait_for_all();
    tla_status compose(const tl_composition &what, tl_handle &handle);
    tla_status dot(const tl_tile &sum, const tl_tile &a, const tl_tile &b);
    tla_status map(const tla_operation &what, const tl_tile &out, const tl_tile *operands);
    tla_status reduce(tl_reduction what, std::uint32_t axis, const tl_tile &out, const tl_tile &a);
    tla_status softmax(const tl_tile &out, const tl_tile &a);
    tla_status fill(const tl_tile &tile, float value);
    tla_status convert(const tl_tile &out, const tl_tile &a);
    tla_status send(std::uint32_t peer, const tl_tile &tile);
    tla_status receive(std::uint32_t peer, const tl_tile &tile);
    tla_status receive_async(std::uint32_t peer, const tl_tile &tile, tl_handle &handle);
    tla_status program_at(std::uint32_t sip, std::uint32_t cube, std::uint32_t pe, std::uint32_t &program);
    tla_status place_of(std::uint32_t program, tl_place &found);
    const tl_collective_settings &collective_settings() const { return config_.collectives; }
    std::uint32_t mesh_columns() const { return config_.mesh_columns; }
    tla_status fail(tla_status status, const char *why);
    void note_failed_call();
    const tla_command &launched() const { return launch_; }
    const place &where(std::uint32_t axis) const { return config_.places[axis]; } // axis < TL_ALL

  private:
    struct operation;
    struct asynchronous_transfer;
    struct asynchronous_receive;
    struct composite;
    class stage_units;

    std::uint64_t execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) override;
    friend class kernel_program;

    void wait_for_launch();
    void main();
    void begin_reset() override;
    void make_new() override;
    bool is_busy() const override { return running_; }
    tla_status end_messages(tla_status status);
    tla_status run_kernel();
    void owe_held();
    tla_status free_scratch();
    tla_status free_owed();
    tla_status check_no_scratch(const char *call, const tl_tile &tile);
    bool is_over_time() const;
    void end_wait();   // a method: the limit of simulated time
    void watch_host(); // the limit of real time
    tla_status problem(tla_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));
    // What a call answers that fails without a word, gets one.
    template <typename Work>
    tla_status in_words(Work work) {
        const std::uint64_t before = problems_;
        const tla_status status = work(*this);
        return status && problems_ == before ? problem(status, "%s: %s", call_, tla_status_text(status)) : status;
    }
    tla_status move_by_address();
    void begin(); // one tl_* call: its dispatch time
    void end(std::uint64_t &sum, std::uint64_t since_ps, tla_time_kind rest);
    void note(tla_time_kind kind, std::uint64_t begin_ps, std::uint64_t end_ps);
    std::vector<tla_time_part> *went() { return account_ ? &parts_ : nullptr; }
    transfer_queue &queue(pe_dma::direction way) { return *queues_[way == pe_dma::direction::write]; }
    tla_status transfer(pe_dma::direction way, const tl_tile &tile, tla_vaddr va, std::uint64_t pitch);
    tla_status refuse_transfer(const char *call, pe_dma::direction way, tla_vaddr va, std::uint64_t end,
                               const tl_tile *tile = nullptr);
    using transfer_list = std::vector<pe_dma::request>;
    template <typename Plan>
    tla_status move_tensor(pe_dma::direction way, tla_vaddr va, const tl_tile &tile, Plan plan);
    tla_status read_mask(const tl_tile &tile, const tl_tile &mask, std::vector<std::uint8_t> &bytes);
    tla_status check_tensor(pe_dma::direction way, const tl_tile &tile, const tl_tensor &tensor);
    tla_status begin_transfer(pe_dma::direction way, const tl_tile &tile, tla_vaddr va, std::uint64_t pitch,
                              tl_handle &handle);
    tla_status add_operation(std::unique_ptr<operation> what, tl_handle &handle);
    tla_status check_room();
    tla_status check_unused(const tl_tile &tile);
    tla_status end_operation(std::uint64_t handle);
    tla_status end_operations();
    tla_status finish_operations(tla_status status);
    void drop_waiting();
    void drop_operations();
    enum class array { gemm, vector }; // parts of the accelerator
    template <typename Body>
    tla_status compute(Body body);
    template <typename Check, typename Body>
    tla_status compute_matrix(const tl_tile &out, const tl_tile *operands, std::size_t count, Check check, Body body,
                              std::uint64_t operations);
    tla_status access_rows(tlm::tlm_command command, const tl_tile &tile, std::vector<std::uint8_t> &bytes,
                           sc_core::sc_time &delay);
    tla_status give_back(const tl_tile &tile);
    tla_status check_type(const tl_tile &tile, const char *argument);
    tla_status check_tile(const tl_tile &tile, const char *argument = "");
    tla_status check_size(const tl_tile &wanted);
    tla_status refuse_alloc(const tl_tile &wanted, const tla_completion &completion);
    tla_status refuse_tile(tla_status status, const tl_tile &tile);
    void note_freed(const tl_tile &tile);
    void forget_freed(const tl_tile &taken);
    bool was_freed(const tl_tile &tile) const;
    tla_status check_use(const tl_tile &tile, bool written, const void *engine = nullptr);
    // Who needs the accelerator; of those at one time the first goes first.
    enum asks : unsigned { by_kernel, by_product, by_steps };
    std::uint64_t engine(array which, asks who, std::uint64_t operations, sc_core::sc_time &delay);
    tla_status fetch(const tl_tile &tile, std::vector<std::uint8_t> &bytes, sc_core::sc_time &delay);
    tla_status write_back(const tl_tile &tile, std::vector<std::uint8_t> &bytes, sc_core::sc_time &delay);
    tla_status fetch(const tl_tile &tile, std::vector<std::uint8_t> &bytes);
    tla_status write_back(const tl_tile &tile, std::vector<std::uint8_t> &bytes);
    void engine(array which, std::uint64_t operations);
    tla_status check_composition(const tl_composition &what);
    tla_status allocate_buffers(composite &what);
    tla_status free_buffers(composite &what);
    tla_status command(tla_command &descriptor, tla_completion &completion);

    const config config_;
    requester requester_;
    pe_ipcq *messages_ = nullptr;
    tla_timeline accelerator_{}; // what multiplies, and the vector engine
    arrival_gate accelerator_gate_{name()};
    std::unique_ptr<transfer_queue> queues_[2];                      // of the read and of the write engine
    std::unique_ptr<stage_units> stage_units_;                       // from the first composite on
    std::map<std::uint64_t, std::unique_ptr<operation>> operations_; // begun and not waited for, by their handles
    std::uint64_t next_handle_ = 1;
    sc_core::sc_event launched_, time_over_;
    bool in_kernel_ = false, host_time_over_ = false;
    sc_core::sc_time delay_; // how far the kernel is ahead of the SystemC kernel
    bool running_ = false;
    unsigned port_ = 0;
    tla_command launch_{};
    std::uint64_t launch_ps_ = 0, late_ps_ = 0;
    std::uint32_t next_request_ = 1;
    std::unique_ptr<kernel_stack> stack_;    // from the first kernel on
    std::vector<tl_tile> held_;              // what the kernel has allocated and not freed, once for each reference
    std::vector<tl_tile> owed_;              // whose FREE was refused in spite of all retries
    std::vector<tl_tile> pinned_;            // and pinned, once for each pin
    std::map<std::uint64_t, tl_tile> freed_; // and freed, where nothing has been allocated since; by address
    const char *call_ = "";                  // of the kernel, the last one
    tla_error of_free_{};                    // why the last tl_free failed, where something else had before
    std::uint64_t problems_ = 0;             // that were told
    tl_tile scratch_{};                      // the area, from its first use on
    std::uint64_t scratch_used_ = 0;         // bytes of it
    statistics statistics_;
    run run_;
    struct destroy_account {
        void operator()(tla_time_account *account) const { tla_time_account_destroy(account); }
    };
    std::unique_ptr<tla_time_account, destroy_account> account_;
    std::vector<tla_time_part> parts_; // where the time of the call in hand has gone so far
    figure kernel_running_{*this, "kernel_running", 1}, computing_{*this, "computing", 1},
        waits_for_allocator_{*this, "waits_for_allocator", 1}, waits_for_dma_{*this, "waits_for_dma", 1};
    unit_load scheduler_{*this, "engines.scheduler"}, dma_read_{*this, "engines.dma_read"},
        dma_write_{*this, "engines.dma_write"}, fetch_{*this, "engines.fetch"}, gemm_{*this, "engines.gemm"},
        math_{*this, "engines.math"}, store_{*this, "engines.store"};
};

} // namespace tlmalloc
#endif
