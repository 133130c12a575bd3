// Who makes an access, and whether it is exclusive: as a platform's own extension of the payload says it.
#ifndef TLMALLOC_MODULES_ACCESS_RIGHTS_HPP
#define TLMALLOC_MODULES_ACCESS_RIGHTS_HPP

#include "tlmalloc/modules/requester.hpp"

#include <cstdint>

namespace tlmalloc {

struct access_rights {
    bool has_asid = false;  // somebody has said whose address space it is; else the access is held to none
    std::uint32_t asid = 0; // below TLA_ASID_HARDWARE
    std::uint32_t core = 0; // the initiator's number: reservations of exclusive accesses are its
    std::uint32_t privilege = 0;
    bool trusted = false;   // hardware that works for every address space
    bool exclusive = false; // of a read: reserves; of a write: made only while the reservation stands
};

// What a platform implements for its extension (VCML's sbiattr, ids of AXI), and gives to the sockets of modules:
//
//     controller.in.read_rights(rights);
//     controller.control.read_rights(rights);
//
// It must outlive them. Calls are made for each access (b_transport, the four phases, DMI; not for debug accesses) that
// has no `requester` extension yet, and must not wait.
class rights_reader {
  public:
    virtual ~rights_reader() = default;

    virtual access_rights read(const tlm::tlm_generic_payload &payload) const = 0;

    // An exclusive write was not made, since its reservation was broken. Says so in the extension and returns true: the
    // access is answered with TLM_OK_RESPONSE then, as AXI's OKAY in place of EXOKAY is. False: the extension has no
    // place for it, and the access is answered with TLM_COMMAND_ERROR_RESPONSE.
    virtual bool tell_failed(tlm::tlm_generic_payload &) const { return false; }
};

// For as long as it lives a payload has a requester extension by what a reader says; none where it has one already.
class said_requester {
  public:
    said_requester(const rights_reader &reader, std::uint32_t least_privilege, tlm::tlm_generic_payload &payload);
    ~said_requester();
    said_requester(const said_requester &) = delete;
    said_requester &operator=(const said_requester &) = delete;

    // False: the address space is none, or the privilege too low, and the payload has been answered.
    bool may_pass() const { return may_pass_; }

    // The access has been made: an exclusive write that was not is told to the reader.
    void answered();

  private:
    const rights_reader &reader_;
    tlm::tlm_generic_payload &payload_;
    requester who_;
    bool added_ = false, may_pass_ = true, exclusive_ = false;
};

} // namespace tlmalloc
#endif
