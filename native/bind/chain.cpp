#include "bind.h"

namespace crfkit {

void bind_chain(nb::module_&) {}

}  // namespace crfkit
