#include "bind.h"

namespace crfkit {

void bind_linear(nb::module_&) {}

}  // namespace crfkit
