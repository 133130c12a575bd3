// A processing element: runs a kernel written in C, whose loads, stores, allocations and arithmetic take time.
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

struct tla_operation; // an operation of the vector engine

namespace tlmalloc {

// The working time of an engine of a module: a signal while the engine works, and a sum.

class unit_load {
  public:
    // The signal counts the work that the engine has received and not completed. A value above 1 means that work waits
    // for the engine, as accesses wait for a port.
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

// `control` accepts LAUNCH and PE_DMA (command.h). One kernel runs at a time, on a stack of its own. It starts
// launch_ps after the arrival of the command, or at the target start. The completion arrives when the kernel has
// returned and nothing is in flight; it contains the status, the start and the duration. The status is TLA_BUSY while
// another kernel runs, TLA_NOT_FOUND for an unknown kernel, and TLA_TIMEOUT past a limit. It is TLA_CRASHED if the
// kernel does something that no program may do. The element frees everything that an ended kernel held.
//
// `allocator` leads to the PE's memory_controller.control, `local` to its data side; DMA goes through `dma`. A reset
// (resettable.hpp) ends the kernel with TLA_RESET in its next call, or in the call in which it waits.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/pe/PROCESSING_ELEMENT.md.
class processing_element : public instrumented, public resettable, private command_handler {
  public:
    // Along an axis of tl_program_id: the PE's place, and the number of places.
    struct place {
        std::uint32_t index = 0, count = 1;
    };

    struct config : tla_pe_parameters {
        config() { tla_pe_defaults(this); }
        explicit config(const tla_pe_parameters &parameters) : tla_pe_parameters(parameters) {}

        const tl_kernel *kernels = nullptr; // kernels that LAUNCH can name; the table outlives the module
        std::size_t kernel_count = 0;
        unsigned allocator_port = 0;      // this PE's control port at the memory controller
        std::uint32_t initiator = 0;      // the PE's number in requester extensions
        std::uint64_t translation_ps = 0; // of a load or store, before the DMA (mmu.overhead_at: call)
        std::uint64_t tcm_reserved = 0;   // bytes of the TCM that are never allocated, for messages
        bool tcm_segmented = false;       // the TCM has segment_cache or segmented as its front
        bool tcm_divided = false;         // the TCM is in two parts
        bool tells_freed = false;         // warn of a tile that the kernel uses after its tl_free
        place places[TL_ALL]{}; // TL_PE: in its cube, TL_CUBE: of the cube in its SIP, TL_SIP: of the SIP in the
                                // platform
        std::uint32_t mesh_columns = 1; // cubes in a row of the SIP's mesh
        unsigned ports = 16;            // control ports, at least 1
    };

    // Figures of the last kernel that ran. The sums are times in which the kernel waited for that kind of work.
    struct run {
        std::uint64_t start_ps = 0, end_ps = 0;
        std::uint64_t late_ps = 0; // from the launch's target start to start_ps
        std::uint64_t alloc_ps = 0, dma_ps = 0, compute_ps = 0;
        std::uint64_t message_ps = 0;                               // in messages (kernel/messages.h), waits included
        std::uint64_t retries = 0;                                  // repeated commands
        std::uint64_t composites = 0, tiles = 0;                    // awaited composites; steps of their plans
        std::uint64_t composite_begin_ps = 0, composite_end_ps = 0; // of their first stage, and of their last stage
        tla_status status = TLA_OK;
        tla_completion refused{};    // of the last tl_alloc that failed; status TLA_OK if no tl_alloc failed
        tla_error problem{};         // why it ended with `status`, if more details are known
        tla_error failed{};          // the first call that returned an error, by name; status TLA_OK if no call did
        std::uint64_t failed_ps = 0; // time of that return
    };

    tlm_utils::simple_initiator_socket<processing_element> allocator{"allocator"};
    tlm_utils::simple_initiator_socket<processing_element> local{"local"};

    control_window control;

    // `dma` outlives the element. Reports an error /tlmalloc/processing_element/config for a gemm_rate, a vector_rate
    // or `ports` of 0, and for more scratch than the address map has for a TCM.
    processing_element(sc_core::sc_module_name name, const config &settings, pe_dma &dma);
    ~processing_element() override;

    // Sets the unit by which kernels send and receive; it must outlive the element. Without a unit, such calls return
    // TLA_UNSUPPORTED.
    void send_by(pe_ipcq &unit) { messages_ = &unit; }

    // Returns why a page between two virtual addresses did not arrive, or "" if no page was rejected. The error text of
    // a load or a store contains the result. May be empty.
    std::function<std::string(std::uint64_t begin, std::uint64_t end)> why_no_page;

    const run &last_run() const { return run_; }

    // From the next kernel on, keeps an account of the kernel's time, from start_ps to end_ps of its run. The account
    // of the last kernel remains until the next kernel begins. If no account is kept, also for lack of host memory,
    // account() returns null.
    void keep_account();
    const tla_time_account *account() const { return account_.get(); }
    tla_time_account *account() { return account_.get(); } // for observers

    struct statistics {
        std::uint64_t launches = 0;                 // kernels that began
        std::uint64_t late_starts = 0, late_ps = 0; // kernels that began after their target start, and the sum of these
                                                    // delays
        std::uint64_t composites = 0, tiles = 0;    // as in `run`, summed over all kernels
    };
    const statistics &get_statistics() const { return statistics_; }
    std::vector<statistics_group> list_statistics() const override;

    // The implementation of the tl_* calls (kernel.h), with their arguments and errors. Only the kernel that runs on
    // this PE may call these functions.
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
    // Adds a text to the error of a call that fails without a text.
    template <typename Work>
    tla_status in_words(Work work) {
        const std::uint64_t before = problems_;
        const tla_status status = work(*this);
        return status && problems_ == before ? problem(status, "%s: %s", call_, tla_status_text(status)) : status;
    }
    tla_status move_by_address();
    void begin(); // one tl_* call: charges its dispatch time
    void end(std::uint64_t &sum, std::uint64_t since_ps, tla_time_kind rest);
    void translate(); // a load or store
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
    // Users of the accelerator. If several users need it at one time, the first in this list goes first.
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
    tla_timeline accelerator_{}; // the multiplier, and the vector engine
    arrival_gate accelerator_gate_{name()};
    std::unique_ptr<transfer_queue> queues_[2];                      // of the read engine and of the write engine
    std::unique_ptr<stage_units> stage_units_;                       // exists from the first composite on
    std::map<std::uint64_t, std::unique_ptr<operation>> operations_; // operations that have begun and are not awaited
                                                                     // yet, by handle
    std::uint64_t next_handle_ = 1;
    sc_core::sc_event launched_, time_over_;
    bool in_kernel_ = false, host_time_over_ = false;
    sc_core::sc_time delay_; // the kernel's lead over the SystemC kernel
    bool running_ = false;
    unsigned port_ = 0;
    tla_command launch_{};
    std::uint64_t launch_ps_ = 0, late_ps_ = 0;
    std::uint32_t next_request_ = 1;
    std::unique_ptr<kernel_stack> stack_;    // exists from the first kernel on
    std::vector<tl_tile> held_;              // tiles that the kernel has allocated and not freed, once for each
                                             // reference
    std::vector<tl_tile> owed_;              // tiles whose FREE failed in spite of all retries
    std::vector<tl_tile> pinned_;            // tiles that the kernel has pinned, once for each pin
    std::map<std::uint64_t, tl_tile> freed_; // freed tiles whose memory has not been allocated since, by address
    const char *call_ = "";                  // the kernel's last call
    tla_error of_free_{};                    // why the last tl_free failed, if another call had failed before
    std::uint64_t problems_ = 0;             // problems that were reported
    tl_tile scratch_{};                      // the scratch area, from its first use on
    std::uint64_t scratch_used_ = 0;         // bytes of that area
    statistics statistics_;
    run run_;
    struct destroy_account {
        void operator()(tla_time_account *account) const { tla_time_account_destroy(account); }
    };
    std::unique_ptr<tla_time_account, destroy_account> account_;
    std::vector<tla_time_part> parts_; // parts of the current call's time so far
    figure kernel_running_{*this, "kernel_running", 1}, computing_{*this, "computing", 1},
        waits_for_allocator_{*this, "waits_for_allocator", 1}, waits_for_dma_{*this, "waits_for_dma", 1};
    unit_load scheduler_{*this, "engines.scheduler"}, dma_read_{*this, "engines.dma_read"},
        dma_write_{*this, "engines.dma_write"}, fetch_{*this, "engines.fetch"}, gemm_{*this, "engines.gemm"},
        math_{*this, "engines.math"}, store_{*this, "engines.store"};
};

} // namespace tlmalloc
#endif
