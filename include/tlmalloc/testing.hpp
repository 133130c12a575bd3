// For tests of targets, ours and yours: the rules of TLM-2.0, a checker, an initiator.
#ifndef TLMALLOC_TESTING_HPP
#define TLMALLOC_TESTING_HPP

#include "tlmalloc/testing/base_protocol_checker.hpp"
#include "tlmalloc/testing/conformance.hpp"
#include "tlmalloc/testing/conformance_probe.hpp"
#include "tlmalloc/testing/conformance_transport.hpp"
#include "tlmalloc/testing/initiator.hpp"

#endif
